package host_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/permission"
)

// approvalOf waits for an approval event of a kind.
func approvalOf[T any](w *watcher, kind string) T {
	w.t.Helper()
	var out T
	until(w, func(b event.Approval, _ event.Recorded) bool {
		if b.Kind != kind {
			return false
		}
		if err := json.Unmarshal(b.Fields, &out); err != nil {
			w.t.Fatal(err)
		}
		return true
	})
	return out
}

// TestStagesOfALine: a line with two held stages is one approval that is
// decided twice; the second decision is the one that ends it.
func TestStagesOfALine(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	turn := s.submit(l, "go", "")
	s.asked()
	s.model.replies <- say{call: "bash", args: map[string]any{"command": "true && touch one && touch two && touch three"}}
	asked := approvalOf[permission.ApprovalRequested](w, "requested")
	id := asked.PendingActionID
	if asked.SourceIndex != 1 {
		t.Errorf("asked about stage %d", asked.SourceIndex)
	}
	refusedStage := func(index int) {
		t.Helper()
		_, err := l.Decide(t.Context(), s.cmd("approval/decide"), host.Decision{ApprovalID: id, RequirementID: id, SourceIndex: index, ChoiceID: "allow_once"})
		r := refusal(t, err, host.StaleRequirement, "")
		if r.Requirement == nil || r.Requirement.ApprovalID != id {
			t.Errorf("requirement %+v", r.Requirement)
		}
	}
	refusedStage(2)
	// The first question may be called 0; it is the one before everything.
	first := s.cmd("approval/decide")
	d := host.Decision{ApprovalID: id, RequirementID: id, ChoiceID: "allow_once"}
	for range 2 { // the same again
		if terminal, err := l.Decide(t.Context(), first, d); err != nil || terminal {
			t.Fatal(terminal, err)
		}
	}
	next := approvalOf[permission.RequirementDecided](w, "requirement_decided")
	if next.SourceIndex != 2 || next.PendingActionID != id || next.DecisionSource.CommandID != first.ID {
		t.Errorf("decided %+v", next)
	}
	// A change of the mode decides nothing that is pending.
	if _, err := l.SetApprovalMode(t.Context(), s.cmd("session/setApprovalMode"), "denyUnmatched"); err != nil {
		t.Fatal(err)
	}
	refusedStage(0)
	refusedStage(1)
	d.SourceIndex = 2
	if terminal, err := l.Decide(t.Context(), s.cmd("approval/decide"), d); err != nil || terminal {
		t.Fatal(terminal, err)
	}
	d.SourceIndex = 3
	if terminal, err := l.Decide(t.Context(), s.cmd("approval/decide"), d); err != nil || !terminal {
		t.Fatal(terminal, err)
	}
	applied := approvalOf[permission.DecisionApplied](w, "decision_applied")
	if applied.PendingActionID != id || applied.PolicyResult != "allow" {
		t.Errorf("applied %+v", applied)
	}
	_, err := l.Decide(t.Context(), s.cmd("approval/decide"), d)
	refusal(t, err, host.ApprovalResolved, "")
	s.asked()
	s.model.replies <- say{text: "done"}
	until(w, terminalOf(turn.TurnID))
	if n := len(slices.DeleteFunc(shown[event.Approval](w), func(a event.Approval) bool { return a.Kind != "requested" })); n != 1 {
		t.Errorf("%d requests", n)
	}
}
