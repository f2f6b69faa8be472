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
	t := &a.top
	if !t[topPayloadType].isString() || t[topPayload].kind != kindObject {
		if a.diags.full(DiagNotEnvelope) {
			a.diags.count(DiagNotEnvelope)
		} else {
			a.diags.Add(DiagNotEnvelope, line, "JSON without a payload_type and a payload: %s", excerpt(raw))
		}
		return nil
	}
	e := &Event{Line: line, Raw: raw}
	a.typeName = a.types.text(t[topPayloadType])
	e.Envelope = Envelope{
		SchemaVersion:        int(a.version(topSchema, "schema_version")),
		ID:                   t[topID].text(),
		StreamKind:           a.words.text(a.stream[0]),
		StreamID:             a.ids.text(a.stream[1]),
		RecordType:           a.words.text(t[topRecordType]),
		Durability:           a.words.text(t[topDurability]),
		CausationID:          a.ids.text(t[topCausation]),
		PayloadType:          a.typeName,
		PayloadSchemaVersion: int(a.version(topPayloadSchema, "payload_schema_version")),
	}
	e.Sequence, _ = t[topSequence].integer()     // zero: not numbered
	e.RecordedAt, _ = t[topRecordedAt].integer() // zero: no clock
	e.CommandID = a.ids.text(a.f.commandID)
	e.RunID = a.ids.text(a.f.runStreamID)
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
	n, ok := a.top[slot].integer()
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
	f := &a.f
	switch a.typeName {
	case TypeOutputDelta:
		return &OutputDelta{Text: a.need(f.text, "text")}
	case TypeToolResult:
		return a.toolResult()
	case TypeTaskLinked:
		return &TaskLinked{TaskID: a.tasks.text(f.taskID)}
	case TypeModelConfigured:
		return &ModelConfigured{
			ProviderID: a.may(f.providerID, "provider_id"), ProfileID: a.may(f.profileID, "profile_id"),
			ModelID: a.need(f.modelID, "model_id"), DisplayLabel: a.may(f.label, "display_label"), Source: a.may(f.source, "source"),
		}
	case TypeCommandAccepted:
		return &CommandAccepted{ClientID: a.may(f.clientID, "client_id"), CommandKind: a.may(f.commandKind, "command_kind")}
	case TypeRunLinked:
		return &RunLinked{}
	case TypeUserInput:
		return &UserInput{Prompt: a.may(f.prompt, "prompt")}
	case TypeRunStarted:
		return &RunStarted{Prompt: a.may(f.prompt, "prompt")}
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
	f, kind := &a.f, a.typeName[len(TaskPrefix):]
	switch kind {
	case "proposed", "accepted", "scheduled", "side_effect_intent", "started", "status", "output", "completed", "failed", "rejected", "cancelled":
	default:
		return &Unknown{}
	}
	if f.event.kind != kindObject {
		a.wrong("event", "an object")
	}
	t := &TaskEvent{Kind: kind, TaskID: a.tasks.text(f.evTask)}
	if t.TaskID == "" {
		t.TaskID = a.tasks.text(f.taskID)
	}
	if t.TaskID == "" {
		a.wrong("task_id", "a string")
	}
	switch kind {
	case "proposed":
		t.TaskKind = a.need(f.evTaskKind, "task_kind")
	case "scheduled":
		t.IdempotencyKey = a.need(f.evKey, "idempotency_key")
	case "side_effect_intent":
		t.IdempotencyKey = a.need(f.evKey, "idempotency_key")
		t.Operation = a.may(f.evOp, "operation")
		t.PolicyDecision = a.may(f.evPolicy, "policy_decision")
		t.ParentTaskID = a.may(f.evParent, "parent_task_id")
	case "started":
		t.SpanID = a.may(f.evSpan, "span_id")
	case "status":
		t.Message = a.may(f.evMessage, "message")
		t.Details = f.evDetails.raw
		if f.evDetails.isString() {
			t.Details = nil // details are an object; a bare string has no facts
		}
	case "output":
		t.Chunk = a.need(f.evChunk, "chunk")
		t.FinalResult = f.evFinal.kind == kindTrue
	case "failed", "rejected", "cancelled":
		t.Reason = a.may(f.evReason, "reason")
	}
	return t
}

func (a *assembler) toolResult() Payload {
	f := &a.f
	r := &ToolResult{
		CallID: a.need(f.callID, "call_id"), Text: a.need(f.text, "text"),
		ToolName: a.may(f.factTool, "correlation_facts.tool_name"), Outcome: a.may(f.factOutcome, "correlation_facts.outcome"),
	}
	if f.edit.kind == kindObject {
		r.Edit = &EditFacts{ToolName: a.may(f.editTool, "edit_facts.tool_name"), Path: a.may(f.editPath, "edit_facts.path")}
		r.Edit.Added, _ = f.editAdded.integer() // not every edit counts lines
	}
	return r
}

func (a *assembler) branch() Payload {
	f := &a.f
	b := &WorkspaceBranch{
		Root: a.may(f.recRoot, "workspace_root"), VCS: a.may(f.recVCS, "vcs"), RefKind: a.may(f.refKind, "reference.kind"),
		RefName: a.may(f.refName, "reference.name"), Commit: a.may(f.recCommit, "commit"),
	}
	if f.recDirty.kind == kindTrue || f.recDirty.kind == kindFalse {
		dirty := f.recDirty.kind == kindTrue
		b.Dirty = &dirty
	}
	return b
}

// terminal reads payload.terminal as the outcome. A record whose name says
// more than this package knows (another word after the prefix) is still a
// terminal: ignoring it would turn an ended run into an endless one.
func (a *assembler) terminal() Payload {
	f := &a.f
	t := &Terminal{Terminal: a.need(f.terminal, "terminal"), Text: a.optional(f.text, "text"), Reason: a.optional(f.reason, "reason")}
	if t.Terminal == "" {
		t.Terminal = a.typeName[len(TerminalPrefix):]
	}
	if t.Terminal != TerminalCompleted {
		t.Quota.addJSON(a.top[topPayload].raw)
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
