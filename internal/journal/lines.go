package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is loaded, in bytes. No record comes near
// it; a longer line is damage or an attack and is skipped with a diagnostic.
const MaxLine = 256 << 20

// blockSize is how much is read at a time. It bounds the memory of a reader
// together with the few blocks in flight and the longest line.
const blockSize = 1 << 20

// rawLine is one line of a file as it lies there.
type rawLine struct {
	bytes  []byte // without the line feed, nil when too long
	offset int64  // of the first byte
	number int64  // from 1
	size   int64  // without the line feed
	ended  bool   // a line feed follows
	long   bool   // longer than a line may be
	own    bool   // bytes are a copy that nothing else uses
}

// splitter cuts a stream into lines in bounded memory.
type splitter struct {
	maxLine int

	carry  []byte // start of a line whose end is in a later block
	size   int64  // bytes of that line so far, also those not kept
	start  int64  // its offset
	total  int64  // bytes cut so far
	number int64  // lines ended so far
}

// cut hands over the lines that end in b, the next part of the stream. The
// bytes of a line that began in an earlier part belong to the receiver, those
// of the others are parts of b.
func (s *splitter) cut(b []byte, fn func(rawLine)) {
	at := 0
	for {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			s.keep(b[at:])
			s.total += int64(len(b))
			return
		}
		s.number++
		l := rawLine{offset: s.start, number: s.number, size: s.size + int64(n), ended: true}
		switch {
		case l.size > int64(s.maxLine):
			l.long = true
		case s.size == 0:
			l.bytes = b[at : at+n : at+n]
		default:
			s.keep(b[at : at+n])
			l.bytes, l.own = s.carry, true
		}
		fn(l)
		s.carry, s.size = nil, 0
		at += n + 1
		s.start = s.total + int64(at)
	}
}

// rest hands over an unterminated last line.
func (s *splitter) rest(fn func(rawLine)) {
	if s.size == 0 {
		return
	}
	l := rawLine{offset: s.start, number: s.number + 1, size: s.size}
	if s.size > int64(s.maxLine) {
		l.long = true
	} else {
		l.bytes, l.own = s.carry, true
	}
	fn(l)
}

// keep adds part to the line that is being put together, as long as the line
// may be loaded at all.
func (s *splitter) keep(part []byte) {
	if len(part) == 0 {
		return
	}
	s.size += int64(len(part))
	if s.size > int64(s.maxLine) {
		s.carry = nil
		return
	}
	if need := int(s.size); need > cap(s.carry) {
		grown := make([]byte, len(s.carry), min(max(2*cap(s.carry), need), s.maxLine))
		copy(grown, s.carry)
		s.carry = grown
	}
	s.carry = append(s.carry, part...)
}

// ScanLines is for looking through a log for a few lines at the speed of
// memory: fn gets each line as it lies there, good or bad, with the offset of
// its first byte. The bytes are valid during the call only. Lines longer than
// [MaxLine] are left out.
func ScanLines(r io.Reader, fn func(raw []byte, offset int64) error) error {
	s := splitter{maxLine: MaxLine}
	buf := make([]byte, 256<<10)
	var err error
	take := func(l rawLine) {
		if err == nil && !l.long {
			err = fn(l.bytes, l.offset)
		}
	}
	for err == nil {
		n, readErr := r.Read(buf)
		s.cut(buf[:n], take)
		if errors.Is(readErr, io.EOF) {
			s.rest(take)
			return err
		}
		if readErr != nil && err == nil {
			return fmt.Errorf("read log: %w", readErr)
		}
	}
	return err
}
