package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// CheckpointType is the payload type of an integrity checkpoint. Readers that
// skip unknown types never notice it.
const CheckpointType = "openmuse.integrity.checkpoint"

// Checkpoint is the record of an integrity checkpoint, payload.record of its
// envelope. The keys are written in this order, which is sorted.
type Checkpoint struct {
	Algorithm string `json:"algorithm"` // "sha256"
	// Bytes is the offset at which the checkpoint's own line starts: the hash
	// is over that many bytes from the beginning of the file.
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // "sha256:" and 64 hex digits
	// LineDigests names single lines, so that an edit is found where it is: the
	// base64 form of the first 4 bytes of the SHA-256 of each line without its
	// line feed, from the previous checkpoint's own line (or line 1) to the line
	// before this one. Left out where they are not known.
	LineDigests string `json:"line_digests,omitzero"`
	// Sealed marks the last line of a session that was ended in order. When
	// the session goes on later, the sealed part still has to match.
	Sealed bool `json:"sealed"`
	// Self guards the checkpoint's own line: the SHA-256, in 64 hex digits, of
	// the line without its line feed and with these digits as zeros.
	Self string `json:"self,omitzero"`
}

type checkpointPayload struct {
	Kind   string     `json:"kind"`
	Record Checkpoint `json:"record"`
}

// ParseCheckpoint reads the checkpoint out of its envelope.
func ParseCheckpoint(e *record.Envelope) (Checkpoint, error) {
	var p checkpointPayload
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return Checkpoint{}, fmt.Errorf("decode integrity checkpoint: %w", err)
	}
	if p.Record.Algorithm != "sha256" {
		return Checkpoint{}, fmt.Errorf("integrity checkpoint uses the unknown algorithm %q", p.Record.Algorithm)
	}
	return p.Record, nil
}

func (c Checkpoint) payload() (jsontext.Value, error) {
	b, err := json.Marshal(checkpointPayload{Kind: "integrity_checkpoint", Record: c})
	if err != nil {
		return nil, fmt.Errorf("encode integrity checkpoint: %w", err)
	}
	return b, nil
}

// noSelf stands in the place of Self while the line is hashed.
const noSelf = "0000000000000000000000000000000000000000000000000000000000000000"

// signSelf fills in Self in a checkpoint's line.
func signSelf(line []byte) {
	at := bytes.LastIndex(line, []byte(noSelf))
	if at < 0 {
		return
	}
	sum := sha256.Sum256(line)
	hex.Encode(line[at:at+len(noSelf)], sum[:])
}

// lineDigestSize is how much of a line's hash a checkpoint keeps: enough to
// find an edit, while the digest over everything proves it.
const lineDigestSize = 4

// maxKnownTail bounds how much of a log is read again on opening to name the
// lines since its last checkpoint.
const maxKnownTail = 8 << 20

// lineDigests are the lines since the last checkpoint.
type lineDigests struct {
	known bool // they are all there
	sums  []byte
}

func (d *lineDigests) add(line []byte) {
	if d.known {
		sum := sha256.Sum256(line)
		d.sums = append(d.sums, sum[:lineDigestSize]...)
	}
}

// text is the form that a checkpoint carries, "" when they are not known.
func (d *lineDigests) text() string {
	if !d.known {
		return ""
	}
	return base64.StdEncoding.EncodeToString(d.sums)
}

// restart begins anew with the checkpoint that is written next.
func (d *lineDigests) restart() { d.known, d.sums = true, d.sums[:0] }

// readTail takes in the lines of an opened log from the offset of its last
// checkpoint on.
func (j *Journal) readTail(from int64) error {
	if j.size-from > maxKnownTail {
		return nil
	}
	tail := make([]byte, j.size-from)
	if _, err := j.file.ReadAt(tail, from); err != nil && !(errors.Is(err, io.EOF) && len(tail) == 0) {
		return err
	}
	j.digests.known = true
	for line := range bytes.Lines(tail) {
		j.digests.add(bytes.TrimSuffix(line, []byte("\n")))
	}
	return nil
}

func digest(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// isObject reports whether b is one JSON object, if perhaps none of ours: a
// line that was cut short never is.
func isObject(b []byte) bool {
	v := jsontext.Value(b)
	return v.Kind() == '{' && v.IsValid()
}
