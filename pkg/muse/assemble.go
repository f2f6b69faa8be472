package muse

import (
	"bytes"
	"strings"
)

// interner keeps the last few values of fields that repeat on every line (run
// id, task id, record type), so that they are not allocated again.
type interner struct {
	ring [8]string
	next int
}

func (n *interner) text(v value) string {
	if v.kind != kindString {
		return v.text()
	}
	for i := range n.ring {
		if string(v.raw) == n.ring[i] {
			return n.ring[i]
		}
	}
	s := string(v.raw)
	if len(s) <= 64 { // do not keep a long value alive
		n.ring[n.next] = s
		n.next = (n.next + 1) % len(n.ring)
	}
	return s
}

// assembler turns a parsed line into an Event and notes what does not fit.
type assembler struct {
	parser
	ids, words, tasks interner
	types             interner
	diags             *DiagnosticLog
	line              int64
	typeName          string
}

// event builds the event of the line that was just parsed; nil when it is not
// a record.
func (a *assembler) event(line int64, raw []byte) *Event {
	a.line = line
	m := &a.m
	if !m[lnPayloadType].isString() || m[lnPayload].kind != kindObject {
		if a.diags.full(DiagNotEnvelope) {
			a.diags.count(DiagNotEnvelope)
		} else {
			a.diags.Add(DiagNotEnvelope, line, "JSON without a payload_type and a payload: %s", excerpt(raw))
		}
		return nil
	}
	e := &Event{Line: line, Raw: raw}
	a.typeName = a.types.text(m[lnPayloadType])
	e.Envelope = Envelope{
		SchemaVersion:        int(a.version(lnSchema, "schema_version")),
		ID:                   m[lnID].text(),
		StreamKind:           a.words.text(m[stKind]),
		StreamID:             a.ids.text(m[stID]),
		RecordType:           a.words.text(m[lnRecordType]),
		Durability:           a.words.text(m[lnDurability]),
		CausationID:          a.ids.text(m[lnCausation]),
		PayloadType:          a.typeName,
		PayloadSchemaVersion: int(a.version(lnPayloadSchema, "payload_schema_version")),
	}
	e.Sequence, _ = m[lnSequence].integer()     // zero: not numbered
	e.RecordedAt, _ = m[lnRecordedAt].integer() // zero: no clock
	e.CommandID = a.ids.text(m[plCommandID])
	e.RunID = a.ids.text(m[rsID])
	if a.duplicate != "" {
		a.diags.Add(DiagDuplicateKey, line, "key %q stands twice in one object of %s", a.duplicate, a.typeName)
	}
	if e.SchemaVersion > schemaVersion {
		a.diags.Add(DiagNewerSchema, line, "schema_version %d, known is %d", e.SchemaVersion, schemaVersion)
	}
	e.Payload = a.payload()
	if _, unknown := e.Payload.(*Unknown); unknown {
		a.diags.Add(DiagUnknownType, line, "payload_type %q, payload_schema_version %d", clip(a.typeName, 80), e.PayloadSchemaVersion)
	} else if e.PayloadSchemaVersion > schemaVersion && !strings.HasPrefix(a.typeName, ExtensionPrefix) {
		a.diags.Add(DiagNewerPayload, line, "%s has payload_schema_version %d, known is %d", a.typeName, e.PayloadSchemaVersion, schemaVersion)
	}
	return e
}

// version reads a version number; a missing or odd one is reported and read
// as the known version.
func (a *assembler) version(slot int, name string) int64 {
	n, ok := a.m[slot].integer()
	if !ok || n < 1 {
		a.wrong(name, "a positive integer")
		return schemaVersion
	}
	return min(n, 1<<30)
}

func (a *assembler) wrong(field, want string) {
	if a.diags.full(DiagField) {
		a.diags.count(DiagField)
		return
	}
	a.diags.Add(DiagField, a.line, "%s: %s is not %s", a.typeName, field, want)
}

// need returns a string field that must be there.
func (a *assembler) need(v value, field string) string {
	if !v.isString() {
		a.wrong(field, "a string")
	}
	return v.text()
}

// may returns a string field that may be absent or null.
func (a *assembler) may(v value, field string) string {
	if !v.isString() && v.kind != absent && v.kind != kindNull {
		a.wrong(field, "a string or null")
	}
	return v.text()
}

func (a *assembler) optional(v value, field string) *string {
	text := a.may(v, field)
	if !v.isString() {
		return nil
	}
	return &text
}

func (a *assembler) payload() Payload {
	m := &a.m
	switch a.typeName {
	case TypeOutputDelta:
		return &OutputDelta{Text: a.need(m[plText], "text")}
	case TypeToolResult:
		return a.toolResult()
	case TypeTaskLinked:
		return &TaskLinked{TaskID: a.tasks.text(m[plTaskID])}
	case TypeModelConfigured:
		return &ModelConfigured{
			ProviderID: a.may(m[plProviderID], "provider_id"), ProfileID: a.may(m[plProfileID], "profile_id"),
			ModelID: a.need(m[plModelID], "model_id"), DisplayLabel: a.may(m[plLabel], "display_label"), Source: a.may(m[plSource], "source"),
		}
	case TypeCommandAccepted:
		return &CommandAccepted{ClientID: a.may(m[plClientID], "client_id"), CommandKind: a.may(m[plCommandKind], "command_kind")}
	case TypeRunLinked:
		return &RunLinked{}
	case TypeUserInput:
		return &UserInput{Prompt: a.may(m[plPrompt], "prompt")}
	case TypeRunStarted:
		return &RunStarted{Prompt: a.may(m[plPrompt], "prompt")}
	case TypeWorkspaceBranch:
		return a.branch()
	}
	switch {
	case strings.HasPrefix(a.typeName, TaskPrefix):
		return a.task()
	case strings.HasPrefix(a.typeName, TerminalPrefix):
		return a.terminal()
	case strings.HasPrefix(a.typeName, ExtensionPrefix):
		return &Extension{}
	default:
		return &Unknown{}
	}
}

func (a *assembler) task() Payload {
	m, kind := &a.m, a.typeName[len(TaskPrefix):]
	switch kind {
	case "proposed", "accepted", "scheduled", "side_effect_intent", "started", "status", "output", "completed", "failed", "rejected", "cancelled":
	default:
		return &Unknown{}
	}
	if m[plEvent].kind != kindObject {
		a.wrong("event", "an object")
	}
	t := &TaskEvent{Kind: kind, TaskID: a.tasks.text(m[evTaskID])}
	if t.TaskID == "" {
		t.TaskID = a.tasks.text(m[plTaskID])
	}
	if t.TaskID == "" {
		a.wrong("task_id", "a string")
	}
	switch kind {
	case "proposed":
		t.TaskKind = a.need(m[evTaskKind], "task_kind")
	case "scheduled":
		t.IdempotencyKey = a.need(m[evKey], "idempotency_key")
	case "side_effect_intent":
		t.IdempotencyKey = a.need(m[evKey], "idempotency_key")
		t.Operation = a.may(m[evOperation], "operation")
		t.PolicyDecision = a.may(m[evPolicy], "policy_decision")
		t.ParentTaskID = a.may(m[evParent], "parent_task_id")
	case "started":
		t.SpanID = a.may(m[evSpan], "span_id")
	case "status":
		t.Message = a.may(m[evMessage], "message")
		t.Details = m[evDetails].raw
		if m[evDetails].isString() {
			t.Details = nil // details are an object; a bare string has no facts
		}
	case "output":
		t.Chunk = a.need(m[evChunk], "chunk")
		t.FinalResult = m[evFinal].kind == kindTrue
	case "failed", "rejected", "cancelled":
		t.Reason = a.may(m[evReason], "reason")
	}
	return t
}

func (a *assembler) toolResult() Payload {
	m := &a.m
	r := &ToolResult{
		CallID: a.need(m[plCallID], "call_id"), Text: a.need(m[plText], "text"),
		ToolName: a.may(m[cfTool], "correlation_facts.tool_name"), Outcome: a.may(m[cfOutcome], "correlation_facts.outcome"),
	}
	if m[plEdit].kind == kindObject {
		r.Edit = &EditFacts{ToolName: a.may(m[efTool], "edit_facts.tool_name"), Path: a.may(m[efPath], "edit_facts.path")}
		r.Edit.Added, _ = m[efAdded].integer() // not every edit counts lines
	}
	return r
}

func (a *assembler) branch() Payload {
	m := &a.m
	b := &WorkspaceBranch{
		Root: a.may(m[rcRoot], "workspace_root"), VCS: a.may(m[rcVCS], "vcs"), RefKind: a.may(m[rfKind], "reference.kind"),
		RefName: a.may(m[rfName], "reference.name"), Commit: a.may(m[rcCommit], "commit"),
	}
	if m[rcDirty].kind == kindTrue || m[rcDirty].kind == kindFalse {
		dirty := m[rcDirty].kind == kindTrue
		b.Dirty = &dirty
	}
	return b
}

// terminal reads payload.terminal as the outcome. A record whose name says
// more than this package knows (another word after the prefix) is still a
// terminal: ignoring it would turn an ended run into an endless one.
func (a *assembler) terminal() Payload {
	m := &a.m
	t := &Terminal{Terminal: a.need(m[plTerminal], "terminal"), Text: a.optional(m[plText], "text"), Reason: a.optional(m[plReason], "reason")}
	if t.Terminal == "" {
		t.Terminal = a.typeName[len(TerminalPrefix):]
	}
	if t.Terminal != TerminalCompleted {
		t.Quota.addJSON(a.m[lnPayload].raw)
	}
	return t
}

// excerpt is the beginning of a line, fit for a message.
func excerpt(line []byte) string {
	return clip(string(bytes.ToValidUTF8(line[:min(len(line), 200)], []byte("\uFFFD"))), 80)
}

// clip shortens text to n runes, replaces control characters and marks the cut.
func clip(text string, n int) string {
	var b strings.Builder
	count := 0
	for _, r := range text {
		if count == n {
			b.WriteString("…")
			break
		}
		if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 {
			r = ' '
		}
		b.WriteRune(r)
		count++
	}
	return b.String()
}
