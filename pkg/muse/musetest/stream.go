package musetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Stream writes records of `muse exec --json` to an io.Writer, in the order
// and shape of STREAM.md (a). Ids and clocks are fixed, so the bytes are the
// same each time.
type Stream struct {
	w        io.Writer
	Session  string
	Run      string
	sequence int
	tasks    int
	err      error
}

// NewStream returns a stream of one run.
func NewStream(w io.Writer, session, run string) *Stream {
	return &Stream{w: w, Session: session, Run: run}
}

// Err is the first write error.
func (s *Stream) Err() error { return s.err }

// Record writes one record; extra members are put into the payload beside
// kind, command_id and run_stream.
func (s *Stream) Record(payloadType, kind string, extra map[string]any) {
	payload := map[string]any{"kind": kind, "command_id": s.Run, "run_stream": map[string]any{"id": s.Run, "kind": "run"}}
	for k, v := range extra {
		payload[k] = v
	}
	s.sequence++
	recordType, durability := "event", "durable"
	switch payloadType {
	case "runtime.command.accepted":
		recordType = "reconciliation"
	case "turn.input.user", "run.output.delta":
		recordType, durability = "status", "ephemeral"
	}
	s.Raw(fmt.Sprintf(`{"schema_version":1,"id":"018f0000-0000-7000-8000-%012x","stream":{"kind":"session","id":%s},"sequence":%d,"recorded_at":%d,"record_type":%q,"durability":%q,"causation_id":%s,"payload_type":%q,"payload_schema_version":1,"payload":%s}`,
		50000+s.sequence-1, compact(s.Session), s.sequence, 1780531400000000+s.sequence-1, recordType, durability, compact(s.Run), payloadType, compact(payload)) + "\n")
}

// Raw writes text as it is.
func (s *Stream) Raw(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.w, text)
	}
}

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only strings, numbers, booleans and maps are written
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

// Open writes the records up to run.lifecycle.started. An empty model leaves
// run.model.configured out, as the echo provider does.
func (s *Stream) Open(prompt, model string) {
	s.Record("runtime.command.accepted", "command_accepted", map[string]any{"client_id": nil, "command_kind": "turn.submit"})
	s.Record("session.run.linked", "session_run_linked", nil)
	if model != "" {
		s.Record("run.model.configured", "run_model_configured", map[string]any{
			"provider_id": "meta", "profile_id": nil, "model_id": model, "display_label": model, "source": "startup",
		})
	}
	s.Record("turn.input.user", "turn_input_user", map[string]any{"prompt": prompt})
	s.Record("run.lifecycle.started", "run_started", map[string]any{"prompt": prompt})
}

// Task opens a task and returns its id.
func (s *Stream) Task(kind string) string {
	s.tasks++
	id := fmt.Sprintf("01a00000-0000-7000-8000-%012d", s.tasks)
	s.Record("task.stream.linked", "task_stream_linked", taskFields(id, nil))
	s.Lifecycle(id, "proposed", map[string]any{"task_kind": kind})
	return id
}

// Lifecycle writes one task.lifecycle record.
func (s *Stream) Lifecycle(id, event string, extra map[string]any) {
	body := map[string]any{"kind": event, "task_id": id}
	for k, v := range extra {
		body[k] = v
	}
	s.Record("task.lifecycle."+event, "task_lifecycle", taskFields(id, map[string]any{"event": body}))
}

func taskFields(id string, extra map[string]any) map[string]any {
	fields := map[string]any{"task_id": id, "task_stream": map[string]any{"id": id, "kind": "task"}}
	for k, v := range extra {
		fields[k] = v
	}
	return fields
}

// Tool is one tool call to play.
type Tool struct {
	Name     string         `json:"name"`
	CallID   string         `json:"call_id"`
	Text     string         `json:"text"`
	Outcome  string         `json:"outcome"` // success when empty
	EditPath string         `json:"edit_path,omitempty"`
	Added    int            `json:"added,omitempty"`
	Extra    map[string]any `json:"extra,omitempty"` // further payload members of tool.result
}

// Tool writes a whole tool round.
func (s *Stream) Tool(t Tool) {
	outcome := t.Outcome
	if outcome == "" {
		outcome = "success"
	}
	id, key := s.Task("tool."+t.Name), "tool:"+t.CallID
	s.Lifecycle(id, "accepted", nil)
	s.Lifecycle(id, "scheduled", map[string]any{"idempotency_key": key})
	s.Lifecycle(id, "side_effect_intent", map[string]any{
		"operation": "tool:" + t.Name, "idempotency_key": key, "policy_decision": "allow:policy", "cancellation_handle": nil, "parent_task_id": nil,
	})
	s.Lifecycle(id, "started", map[string]any{"span_id": "00f067aa0ba902b7"})
	s.Lifecycle(id, "output", map[string]any{"chunk": t.Text})
	if outcome == "success" {
		s.Lifecycle(id, "completed", nil)
	} else {
		s.Lifecycle(id, "failed", map[string]any{"reason": "exit status: 1"})
	}
	fields := map[string]any{"call_id": t.CallID, "text": t.Text, "correlation_facts": map[string]any{"tool_name": t.Name, "outcome": outcome}}
	if t.EditPath != "" {
		fields["edit_facts"] = map[string]any{"tool_name": t.Name, "path": t.EditPath, "added": t.Added}
	}
	for k, v := range t.Extra {
		fields[k] = v
	}
	s.Record("tool.result", "tool_result", fields)
}

// Delta writes a fragment of the reply.
func (s *Stream) Delta(text string) {
	s.Record("run.output.delta", "run_output_delta", map[string]any{"text": text})
}

// Terminal ends the run. An empty reason is written as null; extra are further
// payload members.
func (s *Stream) Terminal(terminal string, text *string, reason string, extra map[string]any) {
	fields := map[string]any{"terminal": terminal, "text": text, "reason": nil}
	if reason != "" {
		fields["reason"] = reason
	}
	for k, v := range extra {
		fields[k] = v
	}
	s.Record("run.terminal."+terminal, "run_terminal", fields)
}
