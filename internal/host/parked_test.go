package host_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/permission"
)

// died is a stage with the data as it is now, as a host finds it whose
// predecessor was killed. The workspace is the same.
func (s *stage) died() *stage {
	s.t.Helper()
	data := s.t.TempDir()
	if err := os.CopyFS(data, os.DirFS(s.data)); err != nil {
		s.t.Fatal(err)
	}
	next := &stage{t: s.t, data: data, work: s.work, model: newPuppet(), timers: make(chan time.Time), n: 1000}
	next.open()
	s.t.Cleanup(next.close)
	return next
}

func (s *stage) resume(id string) (*host.Live, *watcher) {
	s.t.Helper()
	l, err := s.hub.Resume(s.t.Context(), s.cmd("session/resume"), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return l, watch(s.t, l, 0)
}

// TestAnApprovalOutlivesItsHost: the old question is closed, a fresh one is
// open when the session is loaded, and the turn goes on with its answer.
func TestAnApprovalOutlivesItsHost(t *testing.T) {
	onUnix(t)
	for _, tt := range []struct {
		name string
		tool string
		args map[string]any
	}{
		{"a command", "bash", map[string]any{"command": "echo once >> made"}},
		{"a file", "write_file", map[string]any{"path": "made", "content": "once\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := newStage(t)
			l, w := first.start()
			turn := first.submit(l, "make it", "")
			first.asked()
			first.model.replies <- say{call: tt.tool, args: tt.args}
			old := approvalOf[permission.ApprovalRequested](w, "requested")
			late := first.cmd("approval/decide")

			s := first.died()
			l, w = s.resume(l.Facts().SessionID)
			closed := approvalOf[permission.DecisionApplied](w, "decision_applied")
			if closed.PendingActionID != old.PendingActionID || closed.PolicyResult != "deny" {
				t.Errorf("closed %+v", closed)
			}
			fresh := approvalOf[permission.ApprovalRequested](w, "requested")
			if fresh.PendingActionID == old.PendingActionID || fresh.RawArgs != old.RawArgs || fresh.ToolCallID != old.ToolCallID {
				t.Errorf("asked anew %+v", fresh)
			}
			_, err := l.Decide(t.Context(), late, host.Decision{ApprovalID: old.PendingActionID, RequirementID: old.PendingActionID, ChoiceID: "allow_once"})
			refusal(t, err, host.ApprovalResolved, "")

			// And once more: the id of the fresh question follows from the old one.
			s = s.died()
			l, w = s.resume(l.Facts().SessionID)
			again := approvalOf[permission.ApprovalRequested](w, "requested")
			for again.PendingActionID == old.PendingActionID || again.PendingActionID == fresh.PendingActionID {
				again = approvalOf[permission.ApprovalRequested](w, "requested")
			}
			if _, err := l.Decide(t.Context(), s.cmd("approval/decide"), host.Decision{
				ApprovalID: again.PendingActionID, RequirementID: again.PendingActionID, ChoiceID: "allow_once",
			}); err != nil {
				t.Fatal(err)
			}
			s.asked()
			s.model.replies <- say{text: "made"}
			until(w, saying("made"))
			if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "completed" {
				t.Errorf("ended %+v", end)
			}
			results := shown[event.ToolResults](w)
			if len(results) != 1 || len(results[0].Results) != 1 || results[0].Results[0].Failed {
				t.Errorf("results %+v", results)
			}
			if n := len(shown[event.RunTerminal](w)); n != 1 {
				t.Errorf("the turn ended %d times", n)
			}
			path := filepath.Join(s.work, "made")
			if p, ok := tt.args["path"].(string); ok {
				path = filepath.Join(s.work, p)
			}
			if data, err := os.ReadFile(path); err != nil || string(data) != "once\n" {
				t.Errorf("%q, %v", data, err)
			}
			// The next turn is an ordinary one.
			s.talk(l, w, "thanks", "welcome")
		})
	}
}

// TestAQuestionOutlivesItsHost is the same for a question to the person, with
// words that were put in meanwhile.
func TestAQuestionOutlivesItsHost(t *testing.T) {
	first := newStage(t)
	l, w := first.start()
	turn := first.submit(l, "ask", "")
	first.asked()
	first.model.replies <- say{call: "request_user_input", args: question}
	old := until[event.UserInputRequested](w, nil)
	if _, err := l.Steer(t.Context(), first.cmd("turn/steer"), turn.TurnID, host.TurnRequest{Text: "be quick"}); err != nil {
		t.Fatal(err)
	}
	queued := first.submit(l, "later", "")

	s := first.died()
	l, w = s.resume(l.Facts().SessionID)
	if closed := until[event.UserInputSettled](w, nil); closed.ID != old.ID || closed.Outcome != host.Aborted {
		t.Errorf("closed %+v", closed)
	}
	if failed := until[event.TurnLaunchFailed](w, nil); failed.TurnID != queued.TurnID {
		t.Errorf("failed %+v", failed)
	}
	fresh := until[event.UserInputRequested](w, nil)
	if fresh.ID == old.ID || fresh.CallID != old.CallID {
		t.Errorf("asked anew %+v", fresh)
	}
	if err := l.Settle(t.Context(), s.cmd("userInput/answer"), host.Settlement{
		UserInputID: fresh.ID, Outcome: host.Answered, Answers: []host.Answer{{QuestionID: "db", SelectedLabels: []string{"SQLite"}}},
	}); err != nil {
		t.Fatal(err)
	}
	s.asked()
	items := s.model.last().Items
	if last := items[len(items)-1]; last.User == nil || last.User.Text != "be quick" {
		t.Errorf("the model was told %+v", last)
	}
	if result := items[len(items)-2].ToolResult; result == nil || !strings.Contains(result.Text, "SQLite") {
		t.Errorf("the model was told %+v", items)
	}
	s.model.replies <- say{text: "SQLite it is"}
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "completed" {
		t.Errorf("ended %+v", end)
	}
}

// TestWhatRanIsNotRepeated: a command that was running when its host died is
// not begun again, whatever else is asked.
func TestWhatRanIsNotRepeated(t *testing.T) {
	onUnix(t)
	first := newStage(t)
	l, w := first.start()
	turn := first.submit(l, "run it", "")
	first.asked()
	first.model.replies <- say{call: "bash", args: map[string]any{"command": "touch began; sleep 5"}}
	id := approvalOf[permission.ApprovalRequested](w, "requested").PendingActionID
	if _, err := l.Decide(t.Context(), first.cmd("approval/decide"), host.Decision{ApprovalID: id, RequirementID: id, ChoiceID: "allow_once"}); err != nil {
		t.Fatal(err)
	}
	until[event.EffectStarted](w, nil)

	s := first.died()
	_, w = s.resume(l.Facts().SessionID)
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "cancelled" || end.Reason == nil || !strings.Contains(*end.Reason, "the process ended") {
		t.Errorf("ended %+v", end)
	}
	if n := len(slices.DeleteFunc(shown[event.Approval](w), func(a event.Approval) bool { return a.Kind != "requested" })); n != 1 {
		t.Errorf("%d questions", n)
	}
}
