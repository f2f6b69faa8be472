package record

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
)

// Body is an event in a dialect, before it is given an envelope.
type Body struct {
	PayloadType   string
	SchemaVersion int
	RecordType    string
	Durability    string
	CausationID   string
	Payload       jsontext.Value
}

// RunPosition is the place of a run event in the run's own stream, which the
// log keeps beside the place in the session (source_run_record_id and
// source_run_record_sequence).
type RunPosition struct {
	ID       string
	Sequence int64
}

// factShape says how a session fact is spelled in the log.
type factShape struct {
	payloadType string
	version     int
	kind        string // "" = the payload is the record itself
	withRun     bool   // payload carries run_id beside kind and record
	caused      bool   // causation_id is the run id
	// loose types are known by name and members only: a log may hold them under
	// another kind, or without one.
	loose bool
}

// dialect is the vocabulary of the log: which payload type or event kind each
// body has. Run, task and approval events are wrapped in runtime.session,
// facts in {kind, record} (seed 000, Payload families).
type dialect struct {
	facts     map[reflect.Type]factShape
	runKinds  map[reflect.Type]string
	taskKinds map[reflect.Type]string

	factTypes  map[string]reflect.Type // by payload type and kind
	looseTypes map[string]reflect.Type // by payload type
	// guessed are the types whose members other builds may spell otherwise: a
	// record that does not fit is not ours, and no error.
	guessed   map[reflect.Type]bool
	runTypes  map[string]reflect.Type
	taskTypes map[string]reflect.Type
}

var logDialect = sync.OnceValue(func() *dialect {
	d := &dialect{
		facts: map[reflect.Type]factShape{
			typeOf[event.Metadata]():           {payloadType: "runtime.session.metadata", version: 1, kind: "metadata"},
			typeOf[event.RouteFacts]():         {payloadType: "runtime.session.route_facts", version: 2, kind: "route_facts"},
			typeOf[event.SessionOpened]():      {payloadType: "session.opened.observed", version: 1, kind: "session_opened"},
			typeOf[event.AgentTree]():          {payloadType: sessionType, version: 2, kind: "agent_tree_initialized"},
			typeOf[event.WorkspaceBranch]():    {payloadType: "session.workspace_branch.observed", version: 1, kind: "workspace_branch"},
			typeOf[event.ModelConfigured]():    {payloadType: "run.model.configured", version: 1, kind: "run_model", caused: true},
			typeOf[event.IntentAccepted]():     {payloadType: "runtime.user_intent.accepted", version: 1},
			typeOf[event.IntentMaterialized](): {payloadType: "runtime.user_intent.materialized", version: 1},
			typeOf[event.SessionEnd]():         {payloadType: "session.end", version: 1, kind: "session_end"},
			typeOf[event.EffectStarted]():      {payloadType: "tool_batch.effect.started", version: 1, kind: "tool_batch_effect", withRun: true},
			typeOf[event.EffectTerminal]():     {payloadType: "tool_batch.effect.terminal", version: 1, kind: "tool_batch_effect", withRun: true},
			typeOf[event.RetryScheduled]():     {payloadType: "openmuse.retry.scheduled", version: 1, kind: "retry_scheduled", withRun: true},
			typeOf[event.StepBudget]():         {payloadType: "openmuse.budget.changed", version: 1, kind: "budget_changed", withRun: true},
			typeOf[event.RunUsage]():           {payloadType: "openmuse.run.usage", version: 1, kind: "run_usage", withRun: true},

			typeOf[event.NameChanged]():       {payloadType: "session.name.changed", version: 1},
			typeOf[event.SessionResumed]():    {payloadType: "session.resumed", version: 1, kind: "session_resumed", loose: true},
			typeOf[event.SessionForked]():     {payloadType: "session.fork.created", version: 1, kind: "session_fork", loose: true},
			typeOf[event.ModelReconfigured](): {payloadType: "runtime.model_reconfigure.completed", version: 1, kind: "model_reconfigure", loose: true},
			typeOf[event.UserShellCommand]():  {payloadType: "user_shell.command", version: 1, kind: "user_shell_command", loose: true},
			typeOf[event.UserShellResult]():   {payloadType: "user_shell.result", version: 1, kind: "user_shell_result", loose: true},
			typeOf[event.UserShellRejected](): {payloadType: "user_shell.rejected", version: 1, kind: "user_shell_rejected", loose: true},

			typeOf[event.SessionCreated]():      {payloadType: "openmuse.session.created", version: 1, kind: "session_created"},
			typeOf[event.CommandReceived]():     {payloadType: "openmuse.command.received", version: 1, kind: "command_received"},
			typeOf[event.CommandSettled]():      {payloadType: "openmuse.command.settled", version: 1, kind: "command_settled"},
			typeOf[event.TurnQueued]():          {payloadType: "openmuse.turn.queued", version: 1, kind: "turn_queued"},
			typeOf[event.TurnUnqueued]():        {payloadType: "openmuse.turn.unqueued", version: 1, kind: "turn_unqueued"},
			typeOf[event.TurnLaunchFailed]():    {payloadType: "openmuse.turn.launch_failed", version: 1, kind: "turn_launch_failed"},
			typeOf[event.TaskBackgrounded]():    {payloadType: "openmuse.task.backgrounded", version: 1, kind: "task_backgrounded", withRun: true},
			typeOf[event.ApprovalModeChanged](): {payloadType: "openmuse.approval_mode.changed", version: 1, kind: "approval_mode_changed"},
			typeOf[event.ModelRouteUnserved]():  {payloadType: "openmuse.model.route_unserved", version: 1, kind: "model_route_unserved"},
			typeOf[event.EffortChanged]():       {payloadType: "openmuse.effort.changed", version: 1, kind: "effort_changed"},
			typeOf[event.GoalChanged]():         {payloadType: "openmuse.goal.changed", version: 1, kind: "goal_changed"},
			typeOf[event.SideStarted]():         {payloadType: "openmuse.side.started", version: 1, kind: "side_started"},
			typeOf[event.SideOpened]():          {payloadType: "openmuse.side.opened", version: 1, kind: "side_opened"},
			typeOf[event.SessionRewound]():      {payloadType: "openmuse.session.rewound", version: 1, kind: "session_rewound"},
			typeOf[event.FileSnapshot]():        {payloadType: "openmuse.file.snapshot", version: 1, kind: "file_snapshot", withRun: true},
			typeOf[event.FilesRestored]():       {payloadType: "openmuse.files.restored", version: 1, kind: "files_restored"},
			typeOf[event.CompactionStarted]():   {payloadType: "openmuse.compaction.started", version: 1, kind: "compaction_started", withRun: true},
			typeOf[event.CompactionSettled]():   {payloadType: "openmuse.compaction.settled", version: 1, kind: "compaction_settled", withRun: true},
		},
		runKinds: map[reflect.Type]string{
			typeOf[event.RunStarted]():          "started",
			typeOf[event.RequestConfigured]():   "model_request_configured",
			typeOf[event.TaskLinked]():          "task_stream_linked",
			typeOf[event.ResponseCreated]():     "model_response_created",
			typeOf[event.SummaryParagraph]():    "reasoning_summary_delta",
			typeOf[event.SummaryCommitted]():    "reasoning_summary_committed",
			typeOf[event.ReasoningCommitted]():  "reasoning_committed",
			typeOf[event.ModelCompleted]():      "model_completed",
			typeOf[event.AssistantMessage]():    "assistant_message_committed",
			typeOf[event.ToolCalls]():           "assistant_tool_calls_committed",
			typeOf[event.ToolResults]():         "tool_result_batch_committed",
			typeOf[event.Notice]():              "inbox_item_queued",
			typeOf[event.TodoSnapshot]():        "todo_snapshot_updated",
			typeOf[event.FatalError]():          "run_fatal_error_classified",
			typeOf[event.RunTerminal]():         "terminal",
			typeOf[event.CompactionCandidate](): "context_compaction_candidate",
			typeOf[event.CompactionInstalled](): "context_compaction_installed",
			typeOf[event.CompactionFallback]():  "context_compaction_fallback",
			typeOf[event.ResultsCleared]():      "tool_results_cleared",
			typeOf[event.RunRetracted]():        "run_retracted",
			typeOf[event.UserInputRequested]():  "user_input_prompt_requested",
			typeOf[event.UserInputSettled]():    "user_input_prompt_settled",
		},
		taskKinds: map[reflect.Type]string{
			typeOf[event.TaskProposed]():  "proposed",
			typeOf[event.TaskAccepted]():  "accepted",
			typeOf[event.TaskScheduled](): "scheduled",
			typeOf[event.TaskIntent]():    "side_effect_intent",
			typeOf[event.TaskStarted]():   "started",
			typeOf[event.TaskStatus]():    "status",
			typeOf[event.TaskOutput]():    "output",
			typeOf[event.TaskOutputRef](): "tool_output_ref",
			typeOf[event.TaskCompleted](): "completed",
			typeOf[event.TaskFailed]():    "failed",
			typeOf[event.TaskCancelled](): "cancelled",
		},
		factTypes: map[string]reflect.Type{}, looseTypes: map[string]reflect.Type{},
		guessed: map[reflect.Type]bool{
			typeOf[event.RunRetracted](): true, typeOf[event.UserInputRequested](): true, typeOf[event.UserInputSettled](): true,
			typeOf[event.NameChanged](): true,
		},
		runTypes:  map[string]reflect.Type{},
		taskTypes: map[string]reflect.Type{},
	}
	for t, s := range d.facts {
		d.factTypes[s.payloadType+"\x00"+s.kind] = t
		if s.loose {
			d.looseTypes[s.payloadType], d.guessed[t] = t, true
		}
	}
	for t, k := range d.runKinds {
		d.runTypes[k] = t
	}
	for t, k := range d.taskKinds {
		d.taskTypes[k] = t
	}
	return d
})

const sessionType = "runtime.session"

func typeOf[T event.Body]() reflect.Type { return reflect.TypeFor[T]() }

// EncodeLog spells e in the log's dialect. pos is the place of a run event in
// its run's stream; it is ignored for every other family. PermissionProfile
// and live-only bodies have no record of their own (a frame and a marker stand
// for them) and are an error here.
func EncodeLog(e event.Event, pos RunPosition) (Body, error) {
	d := logDialect()
	t := reflect.TypeOf(e.Body)
	b := Body{SchemaVersion: 1, RecordType: TypeEvent, Durability: Durable}

	if shape, ok := d.facts[t]; ok {
		b.PayloadType, b.SchemaVersion = shape.payloadType, shape.version
		if shape.caused {
			b.CausationID = e.Run
		}
		return b.fill(factPayload(e, shape))
	}
	b.PayloadType = sessionType
	if kind, ok := d.runKinds[t]; ok {
		return b.fill(wrapped{Event: withKind{kind, e.Body}, Kind: "run", Run: e.Run, SourceID: pos.ID, SourceSequence: pos.Sequence})
	}
	if kind, ok := d.taskKinds[t]; ok {
		return b.fill(wrapped{Event: withKind{kind, e.Body}, Kind: "task", Run: e.Run, Task: e.Task})
	}
	switch body := e.Body.(type) {
	case event.SecurityMode:
		return b.fill(wrapped{Event: body, Kind: "security_mode"})
	case event.Approval:
		b.SchemaVersion = 3
		return b.fill(wrapped{Event: withKind{body.Kind, body.Fields}, Kind: "approval", Run: e.Run})
	}
	return b, fmt.Errorf("encode %T for the log: no record stands for it", e.Body)
}

// wrapped is the payload of runtime.session.
type wrapped struct {
	Event          any    `json:"event"`
	Kind           string `json:"kind"`
	Run            string `json:"run_id,omitzero"`
	SourceID       string `json:"source_run_record_id,omitzero"`
	SourceSequence int64  `json:"source_run_record_sequence,omitzero"`
	Task           string `json:"task_id,omitzero"`
}

type fact struct {
	Kind   string `json:"kind"`
	Record any    `json:"record"`
	Run    string `json:"run_id,omitzero"`
}

func factPayload(e event.Event, shape factShape) any {
	if shape.kind == "" {
		return e.Body
	}
	f := fact{Kind: shape.kind, Record: e.Body}
	if shape.withRun {
		f.Run = e.Run
	}
	return f
}

// withKind puts a kind member before the members of body, unless body is a
// JSON value that has one.
type withKind struct {
	kind string
	body any
}

// MarshalJSONTo implements json.MarshalerTo.
func (k withKind) MarshalJSONTo(enc *jsontext.Encoder) error {
	raw, ok := k.body.(jsontext.Value)
	if !ok {
		var err error
		if raw, err = json.Marshal(k.body); err != nil {
			return err
		}
	}
	if ok && hasKind(raw) {
		return enc.WriteValue(raw)
	}
	out := make(jsontext.Value, 0, len(raw)+len(k.kind)+12)
	out = append(out, `{"kind":"`...)
	out = append(out, k.kind...)
	out = append(out, '"')
	if len(raw) > 2 {
		out = append(out, ',')
	}
	return enc.WriteValue(append(out, raw[1:]...))
}

func hasKind(raw jsontext.Value) bool {
	var head struct {
		Kind *string `json:"kind"`
	}
	return json.Unmarshal(raw, &head) == nil && head.Kind != nil
}

// fill encodes payload with its keys sorted at every level, as the recorded
// Linux builds print it (STREAM.md (a), Key order inside payload).
func (b Body) fill(payload any) (Body, error) {
	raw, err := json.Marshal(payload)
	if err != nil {
		return b, fmt.Errorf("encode %s: %w", b.PayloadType, err)
	}
	v := jsontext.Value(raw)
	if err := v.Format(jsontext.ReorderRawObjects(true), jsontext.AllowInvalidUTF8(false)); err != nil {
		return b, fmt.Errorf("encode %s: %w", b.PayloadType, err)
	}
	b.Payload = v
	return b, nil
}

// LogHead is what tells the records of a log apart, read without decoding
// them. Kind is payload.kind, EventKind payload.event.kind; either may be
// empty.
type LogHead struct {
	Kind, EventKind string
	Run, Task       string
	event, record   jsontext.Value
}

// ReadLogHead reads the head of a record whose line is valid JSON.
func ReadLogHead(env *Envelope) (LogHead, error) {
	var h LogHead
	err := Members(env.Payload, func(key, val []byte) bool {
		switch string(key) {
		case "kind":
			h.Kind = memberText(val)
		case "run_id":
			h.Run = memberText(val)
		case "task_id":
			h.Task = memberText(val)
		case "event":
			h.event = val
		case "record":
			h.record = val
		}
		return true
	})
	if err == nil && len(h.event) > 0 && h.event[0] == '{' {
		err = Members(h.event, func(key, val []byte) bool {
			if string(key) == "kind" {
				h.EventKind = memberText(val)
				return false
			}
			return true
		})
	}
	if err != nil {
		return h, fmt.Errorf("decode %s: %w", env.PayloadType, err)
	}
	return h, nil
}

// memberText is a JSON string's text, "" for any other value.
func memberText(val []byte) string {
	if len(val) < 2 || val[0] != '"' {
		return ""
	}
	return Text(val[1 : len(val)-1])
}

// DecodeLog reads a record of the log. known is false for a payload type or
// event kind that this build has no type for: the record is not an error, it
// is simply not ours to act on. Members that the type does not name are
// ignored here and stay in the line.
func DecodeLog(env *Envelope) (e event.Event, known bool, err error) {
	h, err := ReadLogHead(env)
	if err != nil {
		return e, false, err
	}
	return h.Decode(env)
}

// Decode reads the record that h is the head of.
func (h LogHead) Decode(env *Envelope) (e event.Event, known bool, err error) {
	d := logDialect()
	e.Run, e.Task = h.Run, h.Task
	raw := h.record
	t, ok := d.factTypes[env.PayloadType+"\x00"]
	if ok {
		raw = env.Payload
	} else {
		t, ok = d.factTypes[env.PayloadType+"\x00"+h.Kind]
	}
	if !ok {
		if t, ok = d.looseTypes[env.PayloadType]; ok && raw == nil {
			raw = env.Payload
		}
	}
	if !ok && env.PayloadType == sessionType {
		raw = h.event
		switch h.Kind {
		case "run":
			t, ok = d.runTypes[h.EventKind]
		case "task":
			t, ok = d.taskTypes[h.EventKind]
		case "security_mode":
			t, ok = typeOf[event.SecurityMode](), true
		case "approval":
			e.Body = event.Approval{Kind: h.EventKind, Fields: raw}
			return e, true, nil
		}
	}
	if !ok || raw == nil {
		return e, false, nil
	}
	body := reflect.New(t)
	if err := json.Unmarshal(raw, body.Interface()); err != nil {
		if d.guessed[t] {
			return e, false, nil
		}
		return e, false, fmt.Errorf("decode %s: %w", env.PayloadType, err)
	}
	e.Body = body.Elem().Interface().(event.Body)
	if m, ok := e.Body.(event.ModelConfigured); ok {
		e.Run = m.RunStream.ID
	}
	return e, true, nil
}
