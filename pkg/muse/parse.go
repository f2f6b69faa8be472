package muse

import "strings"

// fields are the members of a payload this package reads, as views of the
// line. One flat set serves every payload type, so a line is parsed in a
// single pass whatever the order of its keys; reset by assignment of the zero
// value for each line.
type fields struct {
	commandID, clientID, commandKind               value
	runStreamID                                    value
	providerID, profileID, modelID, label, source  value
	prompt, text, callID, terminal, reason, taskID value

	factTool, factOutcome         value
	edit                          value
	editTool, editPath, editAdded value

	event                                         value
	evKind, evTask, evTaskKind, evKey, evOp       value
	evPolicy, evParent, evSpan, evMessage         value
	evDetails, evChunk, evFinal, evReason         value
	recRoot, recVCS, recCommit, recDirty, refKind value
	refName                                       value
}

// parser decodes one line at a time into the envelope's and the payload's
// members.
type parser struct {
	scan      scanner
	top       [12]value // by the top-level constants below
	stream    [2]value  // kind, id
	f         fields
	duplicate string // a known key that stood twice in this line
}

// Positions in parser.top.
const (
	topSchema = iota
	topID
	topStream
	topSequence
	topRecordedAt
	topRecordType
	topDurability
	topCausation
	topPayloadType
	topPayloadSchema
	topPayload
)

// parse scans a whole line. It fails only when the line is not one JSON
// object.
func (p *parser) parse(line []byte) error {
	p.scan = scanner{data: line}
	p.top, p.stream, p.f, p.duplicate = [12]value{}, [2]value{}, fields{}, ""
	s := &p.scan
	if !s.open() {
		if _, err := s.value(0); err != nil {
			return err
		}
		return errNotObject
	}
	for first := true; ; first = false {
		name, more, err := s.key(first)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		slot := topSlot(name.raw)
		if slot < 0 {
			if _, err := s.value(1); err != nil {
				return err
			}
			continue
		}
		if p.top[slot].kind != absent {
			p.duplicate = string(name.raw)
		}
		switch slot {
		case topStream:
			p.top[slot], err = p.object(p.streamMember)
		case topPayload:
			p.f = fields{}
			p.top[slot], err = p.object(p.payloadMember)
		default:
			p.top[slot], err = s.value(1)
		}
		if err != nil {
			return err
		}
	}
	if !s.atEnd() {
		return errSyntax
	}
	return nil
}

func topSlot(name []byte) int {
	switch string(name) {
	case "schema_version":
		return topSchema
	case "id":
		return topID
	case "stream":
		return topStream
	case "sequence":
		return topSequence
	case "recorded_at":
		return topRecordedAt
	case "record_type":
		return topRecordType
	case "durability":
		return topDurability
	case "causation_id":
		return topCausation
	case "payload_type":
		return topPayloadType
	case "payload_schema_version":
		return topPayloadSchema
	case "payload":
		return topPayload
	default:
		return -1
	}
}

// object scans a value; when it is an object, member is asked for each key
// where its value goes and may scan the value itself (handled true).
func (p *parser) object(member func(name []byte) (slot *value, handled bool, err error)) (value, error) {
	s := &p.scan
	s.space()
	start := s.pos
	if !s.open() {
		return s.value(1)
	}
	for first := true; ; first = false {
		name, more, err := s.key(first)
		if err != nil {
			return value{}, err
		}
		if !more {
			return value{s.data[start:s.pos], kindObject}, nil
		}
		slot, handled, err := member(name.raw)
		if err != nil {
			return value{}, err
		}
		if handled {
			continue
		}
		v, err := s.value(2)
		if err != nil {
			return value{}, err
		}
		if slot != nil {
			if slot.kind != absent {
				p.duplicate = string(name.raw)
			}
			*slot = v
		}
	}
}

func (p *parser) streamMember(name []byte) (*value, bool, error) {
	switch string(name) {
	case "kind":
		return &p.stream[0], false, nil
	case "id":
		return &p.stream[1], false, nil
	}
	return nil, false, nil
}

func (p *parser) payloadMember(name []byte) (*value, bool, error) {
	f := &p.f
	switch string(name) {
	case "command_id":
		return &f.commandID, false, nil
	case "client_id":
		return &f.clientID, false, nil
	case "command_kind":
		return &f.commandKind, false, nil
	case "provider_id":
		return &f.providerID, false, nil
	case "profile_id":
		return &f.profileID, false, nil
	case "model_id":
		return &f.modelID, false, nil
	case "display_label":
		return &f.label, false, nil
	case "source":
		return &f.source, false, nil
	case "prompt":
		return &f.prompt, false, nil
	case "text":
		return &f.text, false, nil
	case "call_id":
		return &f.callID, false, nil
	case "terminal":
		return &f.terminal, false, nil
	case "reason":
		return &f.reason, false, nil
	case "task_id":
		return &f.taskID, false, nil
	case "run_stream":
		_, err := p.object(p.runStreamMember)
		return nil, true, err
	case "event":
		v, err := p.object(p.eventMember)
		f.event = v
		return nil, true, err
	case "correlation_facts":
		_, err := p.object(p.factsMember)
		return nil, true, err
	case "edit_facts":
		v, err := p.object(p.editMember)
		f.edit = v
		return nil, true, err
	case "record":
		_, err := p.object(p.recordMember)
		return nil, true, err
	}
	return nil, false, nil
}

func (p *parser) runStreamMember(name []byte) (*value, bool, error) {
	if string(name) == "id" {
		return &p.f.runStreamID, false, nil
	}
	return nil, false, nil
}

func (p *parser) factsMember(name []byte) (*value, bool, error) {
	switch string(name) {
	case "tool_name":
		return &p.f.factTool, false, nil
	case "outcome":
		return &p.f.factOutcome, false, nil
	}
	return nil, false, nil
}

func (p *parser) editMember(name []byte) (*value, bool, error) {
	switch string(name) {
	case "tool_name":
		return &p.f.editTool, false, nil
	case "path":
		return &p.f.editPath, false, nil
	case "added":
		return &p.f.editAdded, false, nil
	}
	return nil, false, nil
}

func (p *parser) eventMember(name []byte) (*value, bool, error) {
	f := &p.f
	switch string(name) {
	case "kind":
		return &f.evKind, false, nil
	case "task_id":
		return &f.evTask, false, nil
	case "task_kind":
		return &f.evTaskKind, false, nil
	case "idempotency_key":
		return &f.evKey, false, nil
	case "operation":
		return &f.evOp, false, nil
	case "policy_decision":
		return &f.evPolicy, false, nil
	case "parent_task_id":
		return &f.evParent, false, nil
	case "span_id":
		return &f.evSpan, false, nil
	case "message":
		return &f.evMessage, false, nil
	case "details":
		return &f.evDetails, false, nil
	case "chunk":
		return &f.evChunk, false, nil
	case "final_result":
		return &f.evFinal, false, nil
	case "reason":
		return &f.evReason, false, nil
	}
	return nil, false, nil
}

func (p *parser) recordMember(name []byte) (*value, bool, error) {
	f := &p.f
	switch string(name) {
	case "workspace_root":
		return &f.recRoot, false, nil
	case "vcs":
		return &f.recVCS, false, nil
	case "commit":
		return &f.recCommit, false, nil
	case "dirty":
		return &f.recDirty, false, nil
	case "reference":
		_, err := p.object(p.referenceMember)
		return nil, true, err
	}
	return nil, false, nil
}

func (p *parser) referenceMember(name []byte) (*value, bool, error) {
	switch string(name) {
	case "kind":
		return &p.f.refKind, false, nil
	case "name":
		return &p.f.refName, false, nil
	}
	return nil, false, nil
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
