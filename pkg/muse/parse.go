package muse

import "strings"

// Members of a line this package reads, by the object they stand in. One flat
// set serves every payload type, so a line is parsed in a single pass whatever
// the order of its keys.
const (
	lnSchema = iota
	lnID
	lnStream
	lnSequence
	lnRecordedAt
	lnRecordType
	lnDurability
	lnCausation
	lnPayloadType
	lnPayloadSchema
	lnPayload

	stKind
	stID

	plCommandID
	plClientID
	plCommandKind
	plProviderID
	plProfileID
	plModelID
	plLabel
	plSource
	plPrompt
	plText
	plCallID
	plTerminal
	plReason
	plTaskID
	plRunStream
	plEvent
	plFacts
	plEdit
	plRecord

	rsID

	cfTool
	cfOutcome

	efTool
	efPath
	efAdded

	evKind
	evTaskID
	evTaskKind
	evKey
	evOperation
	evPolicy
	evParent
	evSpan
	evMessage
	evDetails
	evChunk
	evFinal
	evReason

	rcRoot
	rcVCS
	rcCommit
	rcDirty
	rcReference

	rfKind
	rfName

	slotCount
)

// object names one of the objects whose members are read.
type object uint8

const (
	nowhere object = iota
	inLine
	inStream
	inPayload
	inRunStream
	inFacts
	inEdit
	inEvent
	inRecord
	inReference
)

// members are the values found in a line, as views of it.
type members [slotCount]value

// reset forgets the values. Only the kinds are cleared: clearing the views too
// would cost the garbage collector more than the parsing.
func (m *members) reset() {
	for i := range m {
		m[i].kind = absent
	}
}

// parser decodes one line at a time.
type parser struct {
	scan      scanner
	m         members
	duplicate string // a known key that stood twice in one object of this line
}

// parse scans a whole line. It fails only when the line is not one JSON
// object.
func (p *parser) parse(line []byte) error {
	p.scan = scanner{data: line}
	p.m.reset()
	p.duplicate = ""
	s := &p.scan
	s.space()
	if s.pos < len(line) && line[s.pos] != '{' {
		if _, err := s.value(0); err != nil {
			return err
		}
		return errNotObject
	}
	if _, err := p.object(inLine, 0); err != nil {
		return err
	}
	if !s.atEnd() {
		return errSyntax
	}
	return nil
}

// object scans a value; when it is an object, its members go where slot says.
func (p *parser) object(in object, depth int) (value, error) {
	s := &p.scan
	s.space()
	start := s.pos
	if !s.open() {
		return s.value(depth)
	}
	for first := true; ; first = false {
		name, more, err := s.key(first)
		if err != nil {
			return value{}, err
		}
		if !more {
			return value{s.data[start:s.pos], kindObject}, nil
		}
		at, inner := slot(in, name.raw)
		if at < 0 {
			if _, err := s.value(depth + 1); err != nil {
				return value{}, err
			}
			continue
		}
		if p.m[at].kind != absent {
			p.duplicate = string(name.raw)
			p.forget(inner)
		}
		if inner == nowhere {
			p.m[at], err = s.value(depth + 1)
		} else {
			p.m[at], err = p.object(inner, depth+1)
		}
		if err != nil {
			return value{}, err
		}
	}
}

// forget drops what an earlier object of the same name held: the last one
// counts, whole.
func (p *parser) forget(in object) {
	var from, to int
	switch in {
	case inStream:
		from, to = stKind, stID+1
	case inPayload:
		from, to = plCommandID, slotCount
	case inRunStream:
		from, to = rsID, rsID+1
	case inFacts:
		from, to = cfTool, cfOutcome+1
	case inEdit:
		from, to = efTool, efAdded+1
	case inEvent:
		from, to = evKind, evReason+1
	case inRecord:
		from, to = rcRoot, slotCount // its reference stands behind it
	case inReference:
		from, to = rfKind, rfName+1
	}
	for i := from; i < to; i++ {
		p.m[i].kind = absent
	}
}

// slot says where a member goes, and which object it is when its own members
// are wanted; at is negative for a member that is not read.
func slot(in object, name []byte) (at int, inner object) {
	switch in {
	case inLine:
		switch string(name) {
		case "schema_version":
			return lnSchema, nowhere
		case "id":
			return lnID, nowhere
		case "stream":
			return lnStream, inStream
		case "sequence":
			return lnSequence, nowhere
		case "recorded_at":
			return lnRecordedAt, nowhere
		case "record_type":
			return lnRecordType, nowhere
		case "durability":
			return lnDurability, nowhere
		case "causation_id":
			return lnCausation, nowhere
		case "payload_type":
			return lnPayloadType, nowhere
		case "payload_schema_version":
			return lnPayloadSchema, nowhere
		case "payload":
			return lnPayload, inPayload
		}
	case inStream:
		switch string(name) {
		case "kind":
			return stKind, nowhere
		case "id":
			return stID, nowhere
		}
	case inPayload:
		switch string(name) {
		case "command_id":
			return plCommandID, nowhere
		case "client_id":
			return plClientID, nowhere
		case "command_kind":
			return plCommandKind, nowhere
		case "provider_id":
			return plProviderID, nowhere
		case "profile_id":
			return plProfileID, nowhere
		case "model_id":
			return plModelID, nowhere
		case "display_label":
			return plLabel, nowhere
		case "source":
			return plSource, nowhere
		case "prompt":
			return plPrompt, nowhere
		case "text":
			return plText, nowhere
		case "call_id":
			return plCallID, nowhere
		case "terminal":
			return plTerminal, nowhere
		case "reason":
			return plReason, nowhere
		case "task_id":
			return plTaskID, nowhere
		case "run_stream":
			return plRunStream, inRunStream
		case "event":
			return plEvent, inEvent
		case "correlation_facts":
			return plFacts, inFacts
		case "edit_facts":
			return plEdit, inEdit
		case "record":
			return plRecord, inRecord
		}
	case inRunStream:
		switch string(name) {
		case "id":
			return rsID, nowhere
		}
	case inFacts:
		switch string(name) {
		case "tool_name":
			return cfTool, nowhere
		case "outcome":
			return cfOutcome, nowhere
		}
	case inEdit:
		switch string(name) {
		case "tool_name":
			return efTool, nowhere
		case "path":
			return efPath, nowhere
		case "added":
			return efAdded, nowhere
		}
	case inEvent:
		switch string(name) {
		case "kind":
			return evKind, nowhere
		case "task_id":
			return evTaskID, nowhere
		case "task_kind":
			return evTaskKind, nowhere
		case "idempotency_key":
			return evKey, nowhere
		case "operation":
			return evOperation, nowhere
		case "policy_decision":
			return evPolicy, nowhere
		case "parent_task_id":
			return evParent, nowhere
		case "span_id":
			return evSpan, nowhere
		case "message":
			return evMessage, nowhere
		case "details":
			return evDetails, nowhere
		case "chunk":
			return evChunk, nowhere
		case "final_result":
			return evFinal, nowhere
		case "reason":
			return evReason, nowhere
		}
	case inRecord:
		switch string(name) {
		case "workspace_root":
			return rcRoot, nowhere
		case "vcs":
			return rcVCS, nowhere
		case "commit":
			return rcCommit, nowhere
		case "dirty":
			return rcDirty, nowhere
		case "reference":
			return rcReference, inReference
		}
	case inReference:
		switch string(name) {
		case "kind":
			return rfKind, nowhere
		case "name":
			return rfName, nowhere
		}
	}
	return -1, nowhere
}

// payloadTypeOf guesses the payload type of a line that was too long to read
// from the part that was: the envelope's keys come before the payload.
func payloadTypeOf(prefix []byte) string {
	const key = `"payload_type":"`
	_, rest, ok := strings.Cut(string(prefix[:min(len(prefix), 4096)]), key)
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, `"`)
	if !ok {
		return ""
	}
	return name
}
