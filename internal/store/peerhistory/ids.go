package peerhistory

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// facts are the members that hold an id, of all records that have one.
type facts struct {
	CommandID string `json:"command_id"`
	Kind      string `json:"kind"`
	RunID     string `json:"run_id"`
	Record    struct {
		CommandID string `json:"command_id"`
	} `json:"record"`
	Event struct {
		Kind            string `json:"kind"`
		InstallID       string `json:"install_id"`
		ApprovalID      string `json:"approval_id"`
		PendingActionID string `json:"pending_action_id"`
		ToolCalls       []struct {
			CallID string `json:"call_id"`
		} `json:"tool_calls"`
		Results []struct {
			CallID string `json:"tool_call_id"`
		} `json:"results"`
	} `json:"event"`
}

// idsOf are the ids by which a record can be asked for.
func idsOf(v *record.View, h record.LogHead) []stableID {
	kind := string(v.PayloadType)
	switch h.EventKind {
	case "":
		if kind != "openmuse.command.received" && kind != "openmuse.command.settled" {
			return nil
		}
	case "started", "terminal", "context_compaction_installed", "requested", "assistant_tool_calls_committed", "tool_result_batch_committed":
		if h.Kind == "task" {
			return nil
		}
	default:
		return nil
	}
	var f facts
	if json.Unmarshal(v.Payload, &f, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return nil // a record of another shape has no id that is known
	}
	var ids []stableID
	add := func(kind string, values ...string) {
		for _, id := range values {
			if id != "" {
				ids = append(ids, stableID{kind, id})
				return
			}
		}
	}
	switch {
	case kind == "openmuse.command.received":
		add(Command, f.Record.CommandID, f.CommandID)
	case kind == "openmuse.command.settled":
		add(Settled, f.Record.CommandID, f.CommandID)
	case f.Kind == "run" && f.Event.Kind == "started":
		add(Turn, f.RunID)
	case f.Kind == "run" && f.Event.Kind == "terminal":
		add(TurnEnd, f.RunID)
	case f.Kind == "run" && f.Event.Kind == "context_compaction_installed":
		add(Compaction, f.Event.InstallID)
	case f.Kind == "approval" && f.Event.Kind == "requested":
		add(Approval, f.Event.ApprovalID, f.Event.PendingActionID)
	case f.Event.Kind == "assistant_tool_calls_committed":
		for _, c := range f.Event.ToolCalls {
			add(Call, c.CallID)
		}
	case f.Event.Kind == "tool_result_batch_committed":
		for _, r := range f.Event.Results {
			add(Result, r.CallID)
		}
	}
	return ids
}
