package record

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says which of the three shapes a line has.
type Kind uint8

// The shapes of a line (seed 000, Line kinds).
const (
	KindEnvelope Kind = iota + 1
	KindFrame
	KindMarker
)

func (k Kind) String() string {
	switch k {
	case KindEnvelope:
		return "envelope"
	case KindFrame:
		return "retained_frame"
	case KindMarker:
		return "retained_marker"
	}
	return "unknown"
}

// View is a line taken apart without copying: every byte slice is a part of
// the scanned line. Strings are the text between the quotes with their escapes
// as they stand; [Text] resolves them. Fields the line lacks are zero.
type View struct {
	Kind Kind

	// Of an envelope; a marker has SchemaVersion, the stream, and as ID and
	// Sequence those of its position.
	SchemaVersion          int64
	ID                     []byte
	StreamKind, StreamID   []byte
	Sequence               int64
	RecordedAt             int64
	RecordType, Durability []byte
	CausationID            []byte // nil for null
	PayloadType            []byte
	PayloadSchemaVersion   int64
	Payload                []byte // the raw value

	// Of a frame and, Name alone, of a marker.
	Name               []byte // the value of retained_frame or retained_marker
	FrameSchemaVersion int64
	Ordinal            int64
	TransactionID      []byte
	Children           []byte // the raw array
	ContentSHA256      []byte

	// OmittedRecord is a marker's raw omitted_record.
	OmittedRecord []byte

	// Extra says that the line has fields that its shape does not know.
	Extra bool

	missing string // the first field the line lacks
}

// key numbers the top-level keys of the three shapes.
type key int

const (
	kSchemaVersion key = iota
	kID
	kStream
	kSequence
	kRecordedAt
	kRecordType
	kDurability
	kCausationID
	kPayloadType
	kPayloadSchemaVersion
	kPayload
	kFrame
	kFrameSchemaVersion
	kOrdinal
	kTransactionID
	kChildren
	kContentSHA256
	kMarker
	kPosition
	kOmittedRecord
	keys
)

func keyOf(name []byte) (key, bool) {
	switch string(name) {
	case "schema_version":
		return kSchemaVersion, true
	case "id":
		return kID, true
	case "stream":
		return kStream, true
	case "sequence":
		return kSequence, true
	case "recorded_at":
		return kRecordedAt, true
	case "record_type":
		return kRecordType, true
	case "durability":
		return kDurability, true
	case "causation_id":
		return kCausationID, true
	case "payload_type":
		return kPayloadType, true
	case "payload_schema_version":
		return kPayloadSchemaVersion, true
	case "payload":
		return kPayload, true
	case "retained_frame":
		return kFrame, true
	case "frame_schema_version":
		return kFrameSchemaVersion, true
	case "outer_log_ordinal":
		return kOrdinal, true
	case "transaction_id":
		return kTransactionID, true
	case "children":
		return kChildren, true
	case "content_sha256":
		return kContentSHA256, true
	case "retained_marker":
		return kMarker, true
	case "position":
		return kPosition, true
	case "omitted_record":
		return kOmittedRecord, true
	}
	return 0, false
}

var errNotObject = errors.New("line is not a JSON object")

// Scan takes a line apart at memory speed. It is lenient: it finds its way
// through any well-formed object, checks nothing it does not need and lets
// fields be missing, so a line it accepts may still be one that [ParseLine]
// refuses. A line that ParseLine accepts is always accepted here, with the
// same fields.
func Scan(raw []byte) (View, error) {
	var v View
	var vals [keys][]byte
	found := 0
	err := members(raw, func(name, val []byte) error {
		k, ok := keyOf(name)
		if !ok {
			v.Extra = true
			return nil
		}
		if vals[k] == nil {
			found++
		}
		vals[k] = val
		return nil
	})
	if err != nil {
		return View{}, err
	}
	t := taker{v: &v, found: found}
	switch {
	case vals[kFrame] != nil:
		v.Kind = KindFrame
		t.frame(&vals)
	case vals[kMarker] != nil:
		v.Kind = KindMarker
		t.marker(&vals)
	default:
		v.Kind = KindEnvelope
		t.envelope(&vals)
	}
	if t.err != nil {
		return View{}, t.err
	}
	if t.found > 0 {
		v.Extra = true // keys of another shape
	}
	return v, nil
}

// taker files raw values into a view. It keeps the first error and counts down
// the values that belong to no field of the line's shape.
type taker struct {
	v     *View
	found int
	err   error
}

func (t *taker) envelope(vals *[keys][]byte) {
	v := t.v
	t.integer(&v.SchemaVersion, "schema_version", vals[kSchemaVersion])
	t.text(&v.ID, "id", vals[kID])
	t.stream(vals[kStream])
	t.integer(&v.Sequence, "sequence", vals[kSequence])
	t.integer(&v.RecordedAt, "recorded_at", vals[kRecordedAt])
	t.text(&v.RecordType, "record_type", vals[kRecordType])
	t.text(&v.Durability, "durability", vals[kDurability])
	if c := vals[kCausationID]; string(c) == "null" {
		t.found--
	} else {
		t.text(&v.CausationID, "causation_id", c)
	}
	t.text(&v.PayloadType, "payload_type", vals[kPayloadType])
	t.integer(&v.PayloadSchemaVersion, "payload_schema_version", vals[kPayloadSchemaVersion])
	t.value(&v.Payload, "payload", vals[kPayload])
}

func (t *taker) frame(vals *[keys][]byte) {
	v := t.v
	t.text(&v.Name, "retained_frame", vals[kFrame])
	t.integer(&v.FrameSchemaVersion, "frame_schema_version", vals[kFrameSchemaVersion])
	t.integer(&v.Ordinal, "outer_log_ordinal", vals[kOrdinal])
	t.text(&v.TransactionID, "transaction_id", vals[kTransactionID])
	t.value(&v.Children, "children", vals[kChildren])
	t.text(&v.ContentSHA256, "content_sha256", vals[kContentSHA256])
}

func (t *taker) marker(vals *[keys][]byte) {
	v := t.v
	t.text(&v.Name, "retained_marker", vals[kMarker])
	t.integer(&v.SchemaVersion, "schema_version", vals[kSchemaVersion])
	t.stream(vals[kStream])
	var position []byte
	t.value(&position, "position", vals[kPosition])
	t.pair(position, "position", func(name, val []byte) bool {
		switch string(name) {
		case "id":
			t.text(&v.ID, "position.id", val)
		case "sequence":
			t.integer(&v.Sequence, "position.sequence", val)
		default:
			return false
		}
		return true
	})
	t.value(&v.OmittedRecord, "omitted_record", vals[kOmittedRecord])
}

func (t *taker) stream(val []byte) {
	var raw []byte
	t.value(&raw, "stream", val)
	t.pair(raw, "stream", func(name, val []byte) bool {
		switch string(name) {
		case "kind":
			t.text(&t.v.StreamKind, "stream.kind", val)
		case "id":
			t.text(&t.v.StreamID, "stream.id", val)
		default:
			return false
		}
		return true
	})
}

// pair reads an object of two members, each handed to take; a member that take
// does not know is an extra field.
func (t *taker) pair(raw []byte, name string, take func(name, val []byte) bool) {
	if raw == nil || t.err != nil {
		return
	}
	found := t.found
	known := 0
	err := members(raw, func(key, val []byte) error {
		if take(key, val) {
			known++
		} else {
			t.v.Extra = true
		}
		return nil
	})
	t.found = found // the members are none of the line's own keys
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("field %s: %w", name, err)
	}
	if known < 2 {
		t.lacks(name + " in full")
	}
}

func (t *taker) lacks(name string) {
	if t.v.missing == "" {
		t.v.missing = name
	}
}

func (t *taker) text(dst *[]byte, name string, val []byte) {
	switch {
	case val == nil:
		t.lacks(name)
		return
	case len(val) >= 2 && val[0] == '"':
		*dst = val[1 : len(val)-1]
	case t.err == nil:
		t.err = fmt.Errorf("field %s is not a string", name)
	}
	t.found--
}

func (t *taker) value(dst *[]byte, name string, val []byte) {
	if val == nil {
		t.lacks(name)
		return
	}
	*dst = val
	t.found--
}

func (t *taker) integer(dst *int64, name string, val []byte) {
	if val == nil {
		t.lacks(name)
		return
	}
	n, ok := parseInt(val)
	if !ok && t.err == nil {
		t.err = fmt.Errorf("field %s is not a whole number", name)
	}
	*dst = n
	t.found--
}

func parseInt(b []byte) (int64, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	if neg {
		return -int64(n), true
	}
	return int64(n), true
}

// Text resolves the escapes of a string as a [View] holds it.
func Text(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return string(unescape(raw))
}

// unescape resolves escapes; a malformed one is kept as it stands, since only
// unchecked lines can have it.
func unescape(raw []byte) []byte {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(quoted, '"')
	quoted = append(quoted, raw...)
	quoted = append(quoted, '"')
	out, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return raw
	}
	return out
}

// members calls fn for each member of the object in b, with the key's text and
// the raw value. Space around tokens is allowed, anything after the object but
// space is not.
func members(b []byte, fn func(key, val []byte) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errNotObject
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return onlySpace(b, i+1)
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return broken(b, i)
		}
		end := stringEnd(b, i)
		if end < 0 {
			return broken(b, len(b))
		}
		key := b[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = unescape(key)
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return broken(b, i)
		}
		i = skipSpace(b, i+1)
		end = valueEnd(b, i)
		if end < 0 {
			return broken(b, i)
		}
		if err := fn(key, b[i:end]); err != nil {
			return err
		}
		i = skipSpace(b, end)
		if i >= len(b) {
			return broken(b, i)
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return onlySpace(b, i+1)
		default:
			return broken(b, i)
		}
	}
}

func broken(b []byte, i int) error {
	if i >= len(b) {
		return errors.New("line ends inside a JSON value")
	}
	return fmt.Errorf("unexpected byte %q at offset %d", b[i], i)
}

func onlySpace(b []byte, i int) error {
	if i = skipSpace(b, i); i < len(b) {
		return broken(b, i)
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// stringEnd is the index after the string that starts at i, or -1.
func stringEnd(b []byte, i int) int {
	j := i + 1
	for {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return -1
		}
		k += j
		// The quote is escaped when an odd number of backslashes precedes it.
		s := k
		for s > j && b[s-1] == '\\' {
			s--
		}
		if (k-s)&1 == 0 {
			return k + 1
		}
		j = k + 1
	}
}

// valueEnd is the index after the value that starts at i, or -1.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	case '}', ']', ',', ':':
		return -1
	}
	j := i
	for j < len(b) {
		switch b[j] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return j
		}
		j++
	}
	return j
}

// nestedEnd is the index after the object or array that starts at i, or -1. It
// counts brackets outside strings.
func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
