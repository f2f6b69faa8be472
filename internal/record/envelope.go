// Package record is the shape of everything that is kept or streamed: the
// envelope with its eleven fields, and the two other lines a log may hold, the
// retained frame and the retained marker (seed 000, Record schema). The codecs
// of both dialects, the log's and the stream's, live here beside each other.
//
// Invariants: a payload is kept byte for byte, never decoded and encoded again
// on the way through; what a reader does not know it does not lose
// ([Line.Raw]); one line is one JSON value without a line feed. The package
// knows bytes only: numbering, clocks and files belong to the journal.
package record

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// SchemaVersion is the envelope's schema_version, 1 in every release seen.
const SchemaVersion = 1

// Values of record_type and durability. A log holds only durable events; the
// others stand on the stream (STREAM.md (a), Framing and envelope).
const (
	TypeEvent          = "event"
	TypeReconciliation = "reconciliation"
	TypeStatus         = "status"
	Durable            = "durable"
	Ephemeral          = "ephemeral"
)

// Kinds of stream an envelope may belong to.
const (
	StreamSession = "session"
	StreamRun     = "run"
	StreamTask    = "task"
)

// Stream names what a record belongs to: {"kind":"session","id":"<uuid>"}.
type Stream struct{ Kind, ID string }

// Envelope is one record of a log or of the stdout stream. Its JSON form has
// the eleven keys below, in this order (STREAM.md (a), Framing and envelope).
type Envelope struct {
	SchemaVersion int
	ID            string // UUID of this record
	Stream        Stream
	// Sequence counts from 1 without gaps over envelopes, frame children and
	// markers together.
	Sequence   int64
	RecordedAt int64 // microseconds since the Unix epoch, UTC
	RecordType string
	Durability string
	// CausationID is the id of what caused this record; "" stands for null.
	CausationID          string
	PayloadType          string
	PayloadSchemaVersion int
	// Payload is one JSON object without a line feed. It is written as it is.
	Payload jsontext.Value
}

// Append appends the envelope as one compact line, without the line feed.
// Strings are written with the shortest escapes and non-ASCII text raw, as
// every known log and stream has them. A string that is not UTF-8 gets U+FFFD
// where it is not.
func (e *Envelope) Append(dst []byte) []byte {
	dst = append(dst, `{"schema_version":`...)
	dst = strconv.AppendInt(dst, int64(e.SchemaVersion), 10)
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, e.ID)
	dst = append(dst, `,"stream":`...)
	dst = e.Stream.append(dst)
	dst = append(dst, `,"sequence":`...)
	dst = strconv.AppendInt(dst, e.Sequence, 10)
	dst = append(dst, `,"recorded_at":`...)
	dst = strconv.AppendInt(dst, e.RecordedAt, 10)
	dst = append(dst, `,"record_type":`...)
	dst = appendString(dst, e.RecordType)
	dst = append(dst, `,"durability":`...)
	dst = appendString(dst, e.Durability)
	dst = append(dst, `,"causation_id":`...)
	if e.CausationID == "" {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, e.CausationID)
	}
	dst = append(dst, `,"payload_type":`...)
	dst = appendString(dst, e.PayloadType)
	dst = append(dst, `,"payload_schema_version":`...)
	dst = strconv.AppendInt(dst, int64(e.PayloadSchemaVersion), 10)
	dst = append(dst, `,"payload":`...)
	dst = append(dst, e.Payload...)
	return append(dst, '}')
}

func (s Stream) append(dst []byte) []byte {
	dst = append(dst, `{"kind":`...)
	dst = appendString(dst, s.Kind)
	dst = append(dst, `,"id":`...)
	dst = appendString(dst, s.ID)
	return append(dst, '}')
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	// The only error is invalid UTF-8, and the text is then already appended
	// with replacement characters, which is what Append promises.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
