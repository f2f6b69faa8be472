package timeline

import (
	"bytes"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// envelope dispatches a record on its payload type, then on its kind, then on
// its event (seed 000, Parser plan). Types it does not know give nothing.
func (r *Reader) envelope(e *envelope) {
	lit, ok := jsonline.Literal(e.kind)
	if !ok {
		return
	}
	kind := string(lit)
	if kind == "runtime.session" {
		r.runtime(e)
		return
	}
	read := facts(kind)
	if read == nil {
		return
	}
	ev := r.event(e)
	record := e.record
	if len(record) == 0 || record[0] != '{' {
		record = e.payload // earlier builds wrote the fields there
	}
	read(r, ev, kind, record, e.payload)
}

// event starts an event of the record.
func (r *Reader) event(e *envelope) Event {
	ev := Event{Line: r.line, Offset: r.offset}
	ev.Stream = word(jsonline.Get(e.stream, "id"))
	ev.At, ev.Timed = jsonline.Int(e.at)
	if lit, ok := jsonline.Literal(e.at); ok { // a clock written as a string
		ev.At, ev.Timed = jsonline.Int(lit)
	}
	if ev.Timed && (ev.At < minTime || ev.At > maxTime) {
		ev.At, ev.Timed = 0, false
	}
	return ev
}

func (r *Reader) emit(ev Event) { r.out = append(r.out, ev) }

// runtime reads a runtime.session record: {kind, run_id, event{kind, …}}.
func (r *Reader) runtime(e *envelope) {
	var read func(*Reader, Event, []byte)
	scope, _ := jsonline.Literal(e.scope)
	kind, _ := jsonline.Literal(e.eventKind)
	switch string(scope) {
	case "run":
		read = r.runEvent(string(kind))
	case "approval":
		read = approvalEvent(string(kind))
	case "security_mode":
		if r.Extra {
			read = readRunSecurity
		}
	}
	if read == nil {
		return
	}
	event := e.event
	ev := r.event(e)
	ev.Run = word(e.run)
	read(r, ev, event)
}

// facts is the reader of a payload type other than runtime.session, or nil.
func facts(kind string) func(r *Reader, ev Event, kind string, record, payload []byte) {
	switch kind {
	case "runtime.session.metadata":
		return readMetadata
	case "runtime.session.route_facts":
		return readRoute
	case "session.workspace_branch.observed":
		return readBranch
	case "run.model.configured":
		return readRunModel
	case "runtime.model_reconfigure.completed":
		return readReconfigured
	case "session.name.changed":
		return readRenamed
	case "runtime.user_intent.accepted":
		return readIntent
	case "session.opened.observed":
		return readOpened
	case "runtime.session.permission_format_declared":
		return readFormat
	case "runtime.session.permission_profile_committed":
		return readProfile
	case "user_shell.command", "user_shell.result":
		return readUserShell
	case "subagent.control.spawn_accepted", "subagent.control.start_attested":
		return readSubagent
	case "session.end":
		return readSessionEnd
	}
	return nil
}

func readMetadata(r *Reader, ev Event, _ string, record, payload []byte) {
	ev.Kind = Metadata
	for f := jsonline.Members(record); f.Next(); {
		switch string(f.Key) {
		case "workspace_root":
			ev.Name = word(f.Val)
		case "model_id":
			ev.Model = word(f.Val)
		case "provider_id":
			ev.Second = word(f.Val)
		}
	}
	if len(ev.Name) == 0 {
		ev.Name = word(jsonline.Get(payload, "workspace_root"))
	}
	if r.Extra {
		ev.Raw = jsonline.Get(record, "build")
	}
	r.emit(ev)
}

func readRoute(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind, ev.Name = Route, word(jsonline.Get(record, "cwd"))
	r.emit(ev)
}

func readBranch(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind = Branch
	reference := jsonline.Get(record, "reference")
	if kind, _ := jsonline.Literal(jsonline.Get(reference, "kind")); string(kind) == "branch" {
		ev.Name = word(jsonline.Get(reference, "name"))
	}
	r.emit(ev)
}

func readRunModel(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind = RunModel
	ev.Run = word(jsonline.Get(jsonline.Get(record, "run_stream"), "id"))
	ev.Name = word(jsonline.Get(record, "model_id"))
	ev.Second = word(jsonline.Get(record, "provider_id"))
	r.emit(ev)
}

func readReconfigured(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind = Reconfigured
	ev.Name = word(jsonline.Get(jsonline.Get(record, "effective"), "model_id"))
	ev.Second = word(jsonline.Get(jsonline.Get(record, "previous"), "model_id"))
	ev.Text = textOf(jsonline.Get(record, "apply_outcome"))
	r.emit(ev)
}

func readRenamed(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind, ev.Text = Renamed, textOf(jsonline.Get(record, "new_name"))
	r.emit(ev)
}

func readIntent(r *Reader, ev Event, _ string, _, payload []byte) {
	ev.Kind, ev.ID = Intent, word(jsonline.Get(payload, "intent_id"))
	var text []byte
	for m := jsonline.Elements(jsonline.Get(payload, "model_messages")); m.Next(); {
		for c := jsonline.Elements(jsonline.Get(m.Val, "content")); c.Next(); {
			if lit, ok := jsonline.Literal(jsonline.Get(c.Val, "text")); ok {
				if text != nil {
					text = append(text, '\n')
				}
				text = append(text, jsonline.Text(lit)...)
			}
		}
	}
	ev.Text = Text{Plain: text}
	if text != nil {
		r.emit(ev)
	}
}

func readOpened(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind, ev.Name = SecurityMode, word(jsonline.Get(record, "security_mode"))
	if len(ev.Name) > 0 {
		r.emit(ev)
	}
}

func readFormat(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind, ev.Name = ProfileFormat, word(jsonline.Get(record, "format"))
	r.emit(ev)
}

func readProfile(r *Reader, ev Event, _ string, record, _ []byte) {
	ev.Kind = Profile
	snapshot := jsonline.Get(record, "resolved_snapshot")
	mode := append([]byte("approval="), dash(jsonline.Get(snapshot, "approval"))...)
	mode = append(append(mode, " reviewer="...), dash(jsonline.Get(snapshot, "reviewer"))...)
	mode = append(append(mode, " profile="...), dash(jsonline.Get(jsonline.Get(record, "source"), "id"))...)
	ev.Name, ev.Second = mode, word(jsonline.Get(record, "cause"))
	r.emit(ev)
}

// dash is a value for the texts of permission rows: "-" when it is missing or
// null (seed 000, coverage table).
func dash(val []byte) []byte {
	if w := word(val); len(w) > 0 {
		return w
	}
	return []byte("-")
}

func readUserShell(r *Reader, ev Event, kind string, record, _ []byte) {
	ev.ID, ev.Name = word(jsonline.Get(record, "command_id")), []byte(userShell)
	if kind == "user_shell.command" {
		ev.Kind, ev.Text = ToolCall, textOf(jsonline.Get(record, "command_text"))
	} else {
		ev.Kind, ev.Text = ToolResult, textOf(jsonline.Get(record, "visible_output"))
	}
	ev.Raw = record
	r.emit(ev)
}

const userShell = "user_shell"

// readSubagent shows the whole record, with its type in it: the shape is not
// verified (seed 000, coverage table).
func readSubagent(r *Reader, ev Event, kind string, record, _ []byte) {
	ev.Kind = Logged
	text := append([]byte(`{"payload_type":"`), kind...)
	text = append(text, '"')
	if body := jsonline.AppendCompact(nil, record); len(body) > 2 && body[0] == '{' {
		text = append(append(text, ','), body[1:]...)
	} else {
		text = append(text, '}')
	}
	ev.Text = Text{Plain: text}
	r.emit(ev)
	if id := word(jsonline.Get(record, "subagent_session_id")); r.Extra && len(id) > 0 {
		ev.Kind, ev.ID, ev.Text = ChildLinked, id, Text{}
		r.emit(ev)
	}
}

func readSessionEnd(r *Reader, ev Event, _ string, record, _ []byte) {
	if r.Extra {
		ev.Kind, ev.Name = SessionEnd, word(jsonline.Get(record, "exit_reason"))
		r.emit(ev)
	}
}

func readRunSecurity(r *Reader, ev Event, event []byte) {
	ev.Kind, ev.Name = RunSecurity, word(jsonline.Get(event, "effective_mode"))
	ev.Raw = event
	r.emit(ev)
}

// approvalEvent is the reader of an approval event, or nil.
func approvalEvent(kind string) func(*Reader, Event, []byte) {
	switch kind {
	case "requested":
		return func(r *Reader, ev Event, event []byte) {
			ev.Kind = Asked
			ev.ID, ev.Name = word(jsonline.Get(event, "tool_call_id")), word(jsonline.Get(event, "tool_name"))
			ev.Action = word(jsonline.Get(event, "pending_action_id"))
			ev.Text = textOf(jsonline.Get(event, "raw_args"))
			ev.Text.Prefix = "approval requested: "
			ev.Raw = event
			r.emit(ev)
		}
	case "automated_review_completed":
		return readReviewed
	case "decision_applied":
		return readDecided
	}
	return nil
}

func readReviewed(r *Reader, ev Event, event []byte) {
	ev.Kind = Reviewed
	assessment := jsonline.Get(event, "assessment")
	var b bytes.Buffer
	b.WriteString("permission decision: ")
	b.Write(dash(jsonline.Get(assessment, "outcome")))
	b.WriteString(" kind=automated_review_completed risk_level=")
	b.Write(dash(jsonline.Get(assessment, "risk_level")))
	b.WriteString(" user_authorization=")
	b.Write(dash(jsonline.Get(assessment, "user_authorization")))
	b.WriteString(" status=")
	b.Write(dash(jsonline.Get(event, "status")))
	b.WriteByte(' ')
	b.Write(dash(jsonline.Get(assessment, "rationale")))
	ev.Text, ev.Raw = Text{Plain: b.Bytes()}, event
	r.emit(ev)
}

func readDecided(r *Reader, ev Event, event []byte) {
	ev.Kind, ev.Action = Decided, word(jsonline.Get(event, "pending_action_id"))
	decision := jsonline.Get(event, "decision")
	var b bytes.Buffer
	b.WriteString("permission decision: ")
	b.Write(dash(decision))
	b.WriteString(" source=")
	b.Write(dash(jsonline.Get(jsonline.Get(event, "decision_source"), "kind")))
	b.WriteString(" policy_result=")
	b.Write(dash(jsonline.Get(event, "policy_result")))
	b.WriteString(" amendment=")
	b.Write(dash(jsonline.Get(event, "amendment")))
	ev.Text, ev.Name, ev.Raw = Text{Plain: b.Bytes()}, word(decision), event
	r.emit(ev)
}
