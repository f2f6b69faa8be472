package journal

import (
	"encoding/hex"
	"fmt"
	"hash"

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
	// Sealed marks the last line of a session that was ended in order. When
	// the session goes on later, the sealed part still has to match.
	Sealed bool `json:"sealed"`
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

func digest(h hash.Hash) string { return "sha256:" + hex.EncodeToString(h.Sum(nil)) }

// isObject reports whether b is one JSON object, if perhaps none of ours: a
// line that was cut short never is.
func isObject(b []byte) bool {
	v := jsontext.Value(b)
	return v.Kind() == '{' && v.IsValid()
}
