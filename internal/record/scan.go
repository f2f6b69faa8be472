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
	if rest, ok := v.usual(raw); ok && nestedEnd(rest, 0) == len(rest)-1 {
		v.Payload = rest[: len(rest)-1 : len(rest)-1]
		return v, nil
	}
	return scanAny(raw)
}

// scanAny is Scan for lines of any form.
func scanAny(raw []byte) (View, error) {
	var v View
	var vals values
	s := scanner{b: raw}
	for {
		name, val, err := s.next()
		if err != nil {
			return View{}, err
		}
		if val == nil {
			break
		}
		vals.set(name, val)
	}
	if err := v.take(&vals); err != nil {
		return View{}, err
	}
	return v, nil
}

// values are the raw top-level values of a line.
type values struct {
	of    [keys][]byte
	found int
	extra bool // keys of no shape
}

func (vs *values) set(name, val []byte) {
	k, ok := keyOf(name)
	if !ok {
		vs.extra = true
		return
	}
	if vs.of[k] == nil {
		vs.found++
	}
	vs.of[k] = val
}

// take files the raw values of a line into v.
func (v *View) take(vals *values) error {
	v.Extra = vals.extra
	t := taker{v: v, found: vals.found}
	switch {
	case vals.of[kFrame] != nil:
		v.Kind = KindFrame
		t.frame(&vals.of)
	case vals.of[kMarker] != nil:
		v.Kind = KindMarker
		t.marker(&vals.of)
	default:
		v.Kind = KindEnvelope
		t.envelope(&vals.of)
	}
	if t.found > 0 {
		v.Extra = true // keys of another shape
	}
	return t.err
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
	position := t.pair("position", vals[kPosition], "id", "sequence")
	t.text(&v.ID, "position.id", position[0])
	t.integer(&v.Sequence, "position.sequence", position[1])
	t.found += position.found()
	t.value(&v.OmittedRecord, "omitted_record", vals[kOmittedRecord])
}

func (t *taker) stream(val []byte) {
	stream := t.pair("stream", val, "kind", "id")
	t.text(&t.v.StreamKind, "stream.kind", stream[0])
	t.text(&t.v.StreamID, "stream.id", stream[1])
	t.found += stream.found()
}

// pair reads an object of two members; any other member is an extra field.
func (t *taker) pair(name string, raw []byte, first, second string) (p pair) {
	var obj []byte
	if t.value(&obj, name, raw); obj == nil {
		return p
	}
	s := scanner{b: obj}
	for {
		key, val, err := s.next()
		if err != nil && t.err == nil {
			t.err = fmt.Errorf("field %s: %w", name, err)
		}
		if err != nil || val == nil {
			return p
		}
		switch string(key) {
		case first:
			p[0] = val
		case second:
			p[1] = val
		default:
			t.v.Extra = true
		}
	}
}

// pair holds the raw values of a two-member object.
type pair [2][]byte

// found counts the members that are there. They are none of the line's own
// keys, so who files them has to add them back.
func (p pair) found() int {
	n := 0
	for _, v := range p {
		if v != nil {
			n++
		}
	}
	return n
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
