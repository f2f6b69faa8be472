package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/openmuse/muse/internal/record"
)

// seekStop is how near [Seek] comes: reading so much costs less than looking
// once more.
const seekStop = 64 << 10

// Seek finds where to begin reading a log of size bytes for what comes after a
// record: the start of a line before which no record has a higher number than
// sequence, at most some lines too early. It needs no index: a log's numbers
// rise, so that a few looks into its middle do. Lines that are no records are
// passed over.
func Seek(log io.ReaderAt, size, sequence int64) (int64, error) {
	low, high := int64(0), size
	for high-low > seekStop {
		middle := low + (high-low)/2
		at, found, err := recordAfter(log, middle, high)
		switch {
		case err != nil:
			return 0, fmt.Errorf("look for record %d in the log: %w", sequence, err)
		case at < 0, found > sequence:
			high = middle
		default:
			low = at
		}
	}
	return low, nil
}

// recordAfter is the first line after an offset, and before the end, that is an
// envelope or a marker, and its number; -1 for none.
func recordAfter(log io.ReaderAt, offset, end int64) (at, sequence int64, err error) {
	for size := int64(16 << 10); ; size *= 4 {
		part := make([]byte, min(size, end-offset))
		n, err := log.ReadAt(part, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return -1, 0, err
		}
		part = part[:n]
		_, rest, _ := bytes.Cut(part, []byte{'\n'}) // the line that offset is in
		for len(rest) > 0 {
			line, next, whole := bytes.Cut(rest, []byte{'\n'})
			if !whole {
				break
			}
			if v, err := record.Scan(line); err == nil && v.Kind != record.KindFrame && v.Sequence > 0 {
				return offset + int64(len(part)-len(rest)), v.Sequence, nil
			}
			rest = next
		}
		if size >= end-offset || n < len(part) {
			return -1, 0, nil
		}
	}
}
