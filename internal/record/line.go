package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// Line is one line of a log, decoded. Exactly one of Envelope, Frame and
// Marker is set, as Kind says.
type Line struct {
	Kind     Kind
	Envelope *Envelope
	Frame    *Frame
	Marker   *Marker
	// Raw is the line as it was read, without its line feed. It is what to
	// write when a line is passed on: it keeps what the decoded form does not
	// hold.
	Raw []byte
	// Extra says that Raw has fields beside those decoded.
	Extra bool
}

// Append appends the decoded form as one line, without the line feed.
func (l Line) Append(dst []byte) []byte {
	switch l.Kind {
	case KindEnvelope:
		return l.Envelope.Append(dst)
	case KindFrame:
		return l.Frame.Append(dst)
	case KindMarker:
		return l.Marker.Append(dst)
	}
	return dst
}

// Exact reports whether the decoded form, written again, gives Raw byte for
// byte.
func (l Line) Exact() bool { return bytes.Equal(l.Append(nil), l.Raw) }

// ParseLine decodes one line strictly: the bytes are valid JSON in valid UTF-8
// without a key twice in any object, all fields are there with the right
// types, and no line feed is inside. Keys may come in any order; unknown
// fields are allowed and stay in [Line.Raw].
//
// Raw and the payload are parts of raw, not copies.
func ParseLine(raw []byte) (Line, error) {
	var p Parser
	return p.ParseLine(raw)
}

// Parser is [ParseLine] for many lines of one log: names that repeat from line
// to line are held once. The zero value is ready; it is not safe for
// concurrent use.
type Parser struct {
	streamID string
	types    map[string]string
	source   bytes.Buffer
	decoder  *jsontext.Decoder
	vals     values
	view     View
}

// ParseLine decodes one line as the function of the same name does.
func (p *Parser) ParseLine(raw []byte) (Line, error) {
	if bytes.IndexByte(raw, '\n') >= 0 {
		return Line{}, errors.New("line has a line feed inside")
	}
	if e, ok := p.usual(raw); ok {
		return Line{Kind: KindEnvelope, Envelope: e, Raw: raw}, nil
	}
	p.vals, p.view = values{}, View{}
	if err := p.split(raw); err != nil {
		return Line{}, err
	}
	v := &p.view
	if err := v.take(&p.vals); err != nil {
		return Line{}, err
	}
	if v.missing != "" {
		return Line{}, fmt.Errorf("%s has no field %s", v.Kind, v.missing)
	}
	line := Line{Kind: v.Kind, Raw: raw, Extra: v.Extra}
	var err error
	switch v.Kind {
	case KindFrame:
		line.Frame, err = decodeFrame(v, &line)
	case KindMarker:
		line.Marker, err = p.decodeMarker(v, &line)
	default:
		line.Envelope, err = p.decodeEnvelope(v)
	}
	if err != nil {
		return Line{}, err
	}
	return line, nil
}

// usual decodes a line in the form that nearly all have.
func (p *Parser) usual(raw []byte) (*Envelope, bool) {
	p.view = View{}
	rest, ok := p.view.usual(raw)
	if !ok {
		return nil, false
	}
	p.view.Payload = rest[: len(rest)-1 : len(rest)-1]
	if !jsontext.Value(p.view.Payload).IsValid() {
		return nil, false // damaged, or there are fields after the payload
	}
	e, err := p.decodeEnvelope(&p.view)
	return e, err == nil
}

// split checks raw and finds the values of its members in one pass. They are
// parts of raw: a decoder that reads from a bytes.Buffer uses its bytes as
// they are and does not change them.
func (p *Parser) split(raw []byte) error {
	p.source = *bytes.NewBuffer(raw)
	if p.decoder == nil {
		p.decoder = jsontext.NewDecoder(&p.source)
	} else {
		p.decoder.Reset(&p.source)
	}
	d := p.decoder
	if start, err := d.ReadToken(); err != nil {
		return syntaxError(err)
	} else if start.Kind() != '{' {
		return errNotObject
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		key := []byte(name[1 : len(name)-1])
		if bytes.IndexByte(key, '\\') >= 0 {
			key = unescape(key)
		}
		val, err := d.ReadValue()
		if err != nil {
			return syntaxError(err)
		}
		p.vals.set(key, val)
	}
	if _, err := d.ReadToken(); err != nil { // the closing brace
		return syntaxError(err)
	}
	switch _, err := d.ReadToken(); {
	case err == nil:
		return errors.New("line goes on after its JSON value")
	case !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return syntaxError(err)
	}
	return nil
}

// syntaxError says in the words of this package that a line was cut.
func syntaxError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("line ends inside a JSON value")
	}
	return err
}

func (p *Parser) decodeEnvelope(v *View) (*Envelope, error) {
	if v.Payload[0] != '{' {
		return nil, errors.New("field payload is not an object")
	}
	schema, err := small(v.SchemaVersion, "schema_version")
	if err != nil {
		return nil, err
	}
	payloadSchema, err := small(v.PayloadSchemaVersion, "payload_schema_version")
	if err != nil {
		return nil, err
	}
	return &Envelope{
		SchemaVersion: schema, ID: Text(v.ID), Stream: p.stream(v),
		Sequence: v.Sequence, RecordedAt: v.RecordedAt,
		RecordType: known(v.RecordType), Durability: known(v.Durability), CausationID: Text(v.CausationID),
		PayloadType: p.typeName(v.PayloadType), PayloadSchemaVersion: payloadSchema, Payload: v.Payload,
	}, nil
}

func decodeFrame(v *View, line *Line) (*Frame, error) {
	schema, err := small(v.FrameSchemaVersion, "frame_schema_version")
	if err != nil {
		return nil, err
	}
	f := &Frame{
		Name: Text(v.Name), SchemaVersion: schema, Ordinal: v.Ordinal,
		TransactionID: Text(v.TransactionID), ContentSHA256: Text(v.ContentSHA256),
	}
	err = elements(v.Children, func(val []byte) error {
		child, extra, err := decodeChild(val)
		if err != nil {
			return err
		}
		line.Extra = line.Extra || extra
		f.Children = append(f.Children, child)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("field children: %w", err)
	}
	return f, nil
}

func decodeChild(val []byte) (c FrameChild, extra bool, err error) {
	var v View
	t := taker{v: &v}
	child := t.pair("child", val, "child_index", "record_json")
	var index int64
	var text []byte
	t.integer(&index, "child_index", child[0])
	t.text(&text, "record_json", child[1])
	if t.err != nil {
		return c, v.Extra, t.err
	}
	if v.missing != "" {
		return c, v.Extra, fmt.Errorf("child has no field %s", v.missing)
	}
	c.Index, err = small(index, "child_index")
	c.RecordJSON = Text(text)
	return c, v.Extra, err
}

func (p *Parser) decodeMarker(v *View, line *Line) (*Marker, error) {
	schema, err := small(v.SchemaVersion, "schema_version")
	if err != nil {
		return nil, err
	}
	m := &Marker{
		Name: known(v.Name), SchemaVersion: schema, Stream: p.stream(v), ID: Text(v.ID), Sequence: v.Sequence,
	}
	var sub View
	t := taker{v: &sub}
	var kind, class []byte
	s := scanner{b: v.OmittedRecord}
	for t.err == nil {
		name, val, err := s.next()
		if err != nil {
			t.err = err
		}
		if err != nil || val == nil {
			break
		}
		switch string(name) {
		case "record_type":
			t.text(&sub.RecordType, "record_type", val)
		case "durability":
			t.text(&sub.Durability, "durability", val)
		case "payload_type":
			t.text(&sub.PayloadType, "payload_type", val)
		case "payload_schema_version":
			t.integer(&sub.PayloadSchemaVersion, "payload_schema_version", val)
		case "payload_kind":
			t.text(&kind, "payload_kind", val)
		case "omission_class":
			t.text(&class, "omission_class", val)
		default:
			line.Extra = true
		}
	}
	if t.err != nil {
		return nil, fmt.Errorf("field omitted_record: %w", t.err)
	}
	if t.found != -6 { // a line has no key twice, so six filed values are six fields
		return nil, errors.New("field omitted_record lacks a field")
	}
	payloadSchema, err := small(sub.PayloadSchemaVersion, "payload_schema_version")
	if err != nil {
		return nil, err
	}
	m.Omitted = Omitted{
		RecordType: known(sub.RecordType), Durability: known(sub.Durability),
		PayloadType: p.typeName(sub.PayloadType), PayloadSchemaVersion: payloadSchema,
		PayloadKind: known(kind), OmissionClass: known(class),
	}
	return m, nil
}

func (p *Parser) stream(v *View) Stream {
	id := p.streamID
	if string(v.StreamID) != id || bytes.IndexByte(v.StreamID, '\\') >= 0 {
		id = Text(v.StreamID)
		p.streamID = id
	}
	return Stream{Kind: known(v.StreamKind), ID: id}
}

func (p *Parser) typeName(raw []byte) string {
	if string(raw) == "runtime.session" {
		return "runtime.session"
	}
	if s, ok := p.types[string(raw)]; ok {
		return s
	}
	s := Text(raw)
	// A log has a few dozen types; one that names a new one on every line
	// must not fill memory.
	if len(p.types) < 256 {
		if p.types == nil {
			p.types = make(map[string]string)
		}
		p.types[string(raw)] = s
	}
	return s
}

// known gives the words that stand on almost every line without allocating.
func known(raw []byte) string {
	switch string(raw) {
	case TypeEvent:
		return TypeEvent
	case Durable:
		return Durable
	case StreamSession:
		return StreamSession
	case StreamTask:
		return StreamTask
	case TypeStatus:
		return TypeStatus
	case Ephemeral:
		return Ephemeral
	case OmittedLiveOnly:
		return OmittedLiveOnly
	}
	return Text(raw)
}

func small(n int64, name string) (int, error) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fmt.Errorf("field %s is out of range", name)
	}
	return int(n), nil
}

// elements calls fn for each element of the array in b.
func elements(b []byte, fn func(val []byte) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return errors.New("not an array")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return onlySpace(b, i+1)
	}
	for {
		end := valueEnd(b, i)
		if end < 0 {
			return broken(b, i)
		}
		if err := fn(b[i:end]); err != nil {
			return err
		}
		i = skipSpace(b, end)
		if i >= len(b) {
			return broken(b, i)
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return onlySpace(b, i+1)
		default:
			return broken(b, i)
		}
	}
}
