package record

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
)

// EncodeStream spells e in the flat dialect of `muse exec --json` (STREAM.md
// (a), Payloads). One event can be several records there, or none. extended
// adds the openmuse.* records, which Muse Code does not have.
func EncodeStream(e event.Event, extended bool) ([]Body, error) {
	s := streamEncoder{run: e.Run}
	switch b := e.Body.(type) {
	case event.IntentAccepted:
		s.run = b.IntentID
		s.accepted()
	case event.IntentMaterialized:
		s.run = b.IntentID
		s.fact("session.run.linked", "session_run_linked", struct{}{})
	case event.ModelConfigured:
		// The echo provider configures no model (STREAM.md (d)).
		if b.ProviderID != "echo" {
			s.fact("run.model.configured", "run_model_configured", streamModel{
				b.DisplayLabel, b.ModelID, b.ProfileID, b.ProviderID, b.Source})
		}
	case event.WorkspaceBranch:
		s.run = b.CommandID
		s.branch(b)
	case event.RunStarted:
		s.status("turn.input.user", "turn_input_user", streamPrompt{b.Prompt})
		s.fact("run.lifecycle.started", "run_started", streamPrompt{b.Prompt})
	case event.TaskLinked:
		s.fact("task.stream.linked", "task_stream_linked", streamTask{b.TaskID, b.TaskStream})
	case event.OutputDelta:
		s.status("run.output.delta", "run_output_delta", streamText{b.Text})
	case event.TaskProgress:
		s.lifecycle(b.TaskID, "output", event.TaskOutput{TaskID: b.TaskID, Chunk: b.Chunk})
	case event.TaskOutput:
		b.Images = nil
		s.lifecycle(b.TaskID, "output", b)
	case event.TaskOutputRef:
		// The stream has no record of spilled files; the result's text names them.
	case event.EffectTerminal:
		if b.Facts != nil {
			s.result(b.CallID, b.Facts)
		}
	case event.ToolResults:
		for _, r := range b.Results {
			if r.Refused != "" {
				s.result(r.CallID, &event.CallFacts{ToolName: r.Refused, Text: r.Text, Failed: true})
			}
		}
	case event.RunTerminal:
		s.fact("run.terminal."+b.Terminal, "run_terminal", streamTerminal{b.Reason, b.Terminal, b.Text})
	default:
		if kind, ok := logDialect().taskKinds[reflect.TypeOf(e.Body)]; ok {
			s.lifecycle(e.Task, kind, e.Body)
		}
	}
	if extended {
		s.extension(e)
	}
	return s.out, s.err
}

type streamEncoder struct {
	run string
	out []Body
	err error
}

type (
	streamModel struct {
		DisplayLabel string  `json:"display_label"`
		ModelID      string  `json:"model_id"`
		ProfileID    *string `json:"profile_id"`
		ProviderID   string  `json:"provider_id"`
		Source       string  `json:"source"`
	}
	streamPrompt struct {
		Prompt string `json:"prompt"`
	}
	streamText struct {
		Text string `json:"text"`
	}
	streamTask struct {
		TaskID     string          `json:"task_id"`
		TaskStream event.StreamRef `json:"task_stream"`
	}
	streamLifecycle struct {
		Event      withKind        `json:"event"`
		TaskID     string          `json:"task_id"`
		TaskStream event.StreamRef `json:"task_stream"`
	}
	streamResult struct {
		CallID      string            `json:"call_id"`
		Correlation streamCorrelation `json:"correlation_facts"`
		Edit        *event.EditFacts  `json:"edit_facts,omitzero"`
		Text        string            `json:"text"`
	}
	streamCorrelation struct {
		Outcome  string `json:"outcome"`
		ToolName string `json:"tool_name"`
	}
	streamTerminal struct {
		Reason   *string `json:"reason"`
		Terminal string  `json:"terminal"`
		Text     string  `json:"text"`
	}
	streamExtension struct {
		Record any `json:"record"`
	}
)

// ofRun puts what every record of a run carries before the members of body.
type ofRun struct {
	kind, run string
	body      any
}

// MarshalJSONTo implements json.MarshalerTo.
func (f ofRun) MarshalJSONTo(enc *jsontext.Encoder) error {
	body, err := json.Marshal(f.body)
	if err != nil {
		return err
	}
	run, err := jsontext.AppendQuote(nil, f.run)
	if err != nil {
		return err
	}
	out := jsontext.Value(`{"kind":"` + f.kind + `","command_id":` + string(run) + `,"run_stream":{"id":` + string(run) + `,"kind":"run"}`)
	if len(body) > 2 {
		out = append(out, ',')
	}
	return enc.WriteValue(append(out, body[1:]...))
}

func (s *streamEncoder) fact(payloadType, kind string, body any) {
	s.add(payloadType, TypeEvent, Durable, ofRun{kind, s.run, body})
}

func (s *streamEncoder) status(payloadType, kind string, body any) {
	s.add(payloadType, TypeStatus, Ephemeral, ofRun{kind, s.run, body})
}

// accepted is the one record without a run stream: the run is linked next.
func (s *streamEncoder) accepted() {
	s.add("runtime.command.accepted", TypeReconciliation, Durable, struct {
		ClientID    *string `json:"client_id"`
		CommandID   string  `json:"command_id"`
		CommandKind string  `json:"command_kind"`
		Kind        string  `json:"kind"`
	}{nil, s.run, "turn.submit", "command_accepted"})
}

func (s *streamEncoder) branch(b event.WorkspaceBranch) {
	s.add("session.workspace_branch.observed", TypeEvent, Durable, struct {
		CommandID string                `json:"command_id"`
		Kind      string                `json:"kind"`
		Record    event.WorkspaceBranch `json:"record"`
	}{s.run, "workspace_branch_observed", b})
}

func (s *streamEncoder) lifecycle(task, kind string, body any) {
	s.fact("task.lifecycle."+kind, "task_lifecycle", streamLifecycle{withKind{kind, body}, task, event.TaskRef(task)})
}

func (s *streamEncoder) result(callID string, f *event.CallFacts) {
	outcome := "success"
	if f.Failed {
		outcome = "failure"
	}
	s.fact("tool.result", "tool_result", streamResult{callID, streamCorrelation{outcome, f.ToolName}, f.Edit, f.Text})
}

func (s *streamEncoder) add(payloadType, recordType, durability string, payload any) {
	if s.err != nil {
		return
	}
	var b Body
	b, s.err = Body{
		PayloadType: payloadType, SchemaVersion: 1, RecordType: recordType, Durability: durability, CausationID: s.run,
	}.fill(payload)
	s.out = append(s.out, b)
}

// extension adds what Muse Code's stream lacks: usage and cost, tool
// arguments, retries, budgets, compaction and approvals.
func (s *streamEncoder) extension(e event.Event) {
	var kind string
	var body any = e.Body
	switch b := e.Body.(type) {
	case event.ModelCompleted:
		kind = "model.usage"
	case event.RunUsage:
		kind = "run.usage"
	case event.ToolCalls:
		kind = "tool.calls"
	case event.AssistantMessage:
		if b.Phase == "" {
			return
		}
		kind = "assistant.message"
	case event.SummaryCommitted:
		kind = "reasoning.summary"
	case event.RetryScheduled:
		kind = "retry.scheduled"
	case event.StepBudget:
		kind = "budget.changed"
	case event.FatalError:
		kind = "run.error"
	case event.TodoSnapshot:
		kind = "todos.changed"
	case event.Notice:
		kind = "notice"
	case event.CompactionInstalled:
		kind = "compaction.installed"
	case event.CompactionFallback:
		kind = "compaction.fallback"
	case event.ResultsCleared:
		kind = "results.cleared"
	case event.RunRetracted:
		kind = "run.retracted"
	case event.TaskBackgrounded:
		kind = "task.backgrounded"
	case event.UserInputRequested:
		kind = "user_input.requested"
	case event.UserInputSettled:
		kind = "user_input.settled"
	case event.CompactionStarted:
		kind = "compaction.started"
	case event.CompactionSettled:
		kind = "compaction.settled"
	case event.Approval:
		kind, body = "approval."+b.Kind, b.Fields
	default:
		return
	}
	s.fact("openmuse."+kind, "openmuse_"+strings.ReplaceAll(kind, ".", "_"), streamExtension{body})
}
