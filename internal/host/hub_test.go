package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
)

func refusal(t *testing.T, err error, kind, reason string) *host.Refusal {
	t.Helper()
	var r *host.Refusal
	if !errors.As(err, &r) || r.Kind != kind || r.Reason != reason {
		t.Fatalf("got %v (%+v), want a refusal %s %s", err, r, kind, reason)
	}
	return r
}

func TestTurnsQueueAndRunInOrder(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	first := s.submit(l, "one", "")
	if first.Disposition != host.Started {
		t.Fatalf("got %+v", first)
	}
	s.asked()
	second, third := s.submit(l, "two", host.Queue), s.submit(l, "three", "")
	if second.Disposition != host.Queued || third.Disposition != host.Queued {
		t.Fatalf("got %+v %+v", second, third)
	}
	if err := l.Unqueue(t.Context(), s.cmd("turn/unqueue"), second.TurnID); err != nil {
		t.Fatal(err)
	}
	refusal(t, l.Unqueue(t.Context(), s.cmd("turn/unqueue"), second.TurnID), host.RefusedCommand, host.ReasonInvalidTarget)
	refusal(t, l.Unqueue(t.Context(), s.cmd("turn/unqueue"), first.TurnID), host.RefusedCommand, host.ReasonInvalidTarget)
	s.model.replies <- say{text: "done one"}
	until(w, terminalOf(first.TurnID))
	s.model.replies <- say{text: "done three"}
	until(w, saying("done three"))
	end := until(w, terminalOf(third.TurnID))
	if end.Terminal != "completed" {
		t.Errorf("got %+v", end)
	}
	var prompts []string
	for _, r := range shown[event.RunStarted](w) {
		prompts = append(prompts, r.Prompt)
	}
	if got := strings.Join(prompts, " "); got != "one three" {
		t.Errorf("started %s", got)
	}
}

func TestSteeredWordsReachTheRunningTurn(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	turn := s.submit(l, "one", "")
	s.asked()
	ack := s.submit(l, "and this", host.Steer)
	if ack.Disposition != host.Steered || ack.TurnID != turn.TurnID {
		t.Fatalf("got %+v", ack)
	}
	if _, err := l.Steer(t.Context(), s.cmd("turn/steer"), turn.TurnID, host.TurnRequest{Text: "and that"}); err != nil {
		t.Fatal(err)
	}
	_, err := l.Steer(t.Context(), s.cmd("turn/steer"), "0198f0aa-1111-7000-8000-0000000000aa", host.TurnRequest{Text: "no"})
	refusal(t, err, host.RefusedCommand, host.ReasonInvalidTarget)
	s.model.replies <- say{text: "first"}
	s.asked() // the turn went on for the words
	items := s.model.last().Items
	if n := len(items); n < 3 || items[n-1].User == nil || items[n-1].User.Text != "and that" || items[n-2].User.Text != "and this" {
		t.Errorf("the model was told %+v", items)
	}
	s.model.replies <- say{text: "second"}
	until(w, saying("second"))
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "completed" {
		t.Errorf("got %+v", end)
	}
	_, err = l.Steer(t.Context(), s.cmd("turn/steer"), turn.TurnID, host.TurnRequest{Text: "late"})
	refusal(t, err, host.RefusedCommand, host.ReasonMissingRun)
}

func TestReplaceStopsTheRunningTurn(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	first := s.submit(l, "one", "")
	s.asked()
	s.submit(l, "waits", "")
	urgent := s.submit(l, "instead", host.Replace)
	if end := until(w, terminalOf(first.TurnID)); end.Terminal != "cancelled" {
		t.Errorf("got %+v", end)
	}
	if started := until[event.RunStarted](w, nil); started.Prompt != "instead" {
		t.Errorf("then %q started", started.Prompt)
	}
	s.model.replies <- say{text: "ok"}
	until(w, terminalOf(urgent.TurnID))
}

func TestInterruptAndRetract(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	_, err := l.Interrupt(t.Context(), s.cmd("turn/interrupt"), "", false)
	refusal(t, err, host.RefusedCommand, host.ReasonMissingRun)
	turn := s.submit(l, "take me back", "")
	s.asked()
	c := s.cmd("turn/interrupt")
	for range 2 { // the second is the same command again
		id, err := l.Interrupt(t.Context(), c, "", true)
		if err != nil || id != turn.TurnID {
			t.Fatalf("got %s, %v", id, err)
		}
	}
	until(w, terminalOf(turn.TurnID))
	until[event.RunRetracted](w, nil)
	next := s.submit(l, "another", "")
	s.asked()
	if items := s.model.last().Items; len(items) != 1 || items[0].User.Text != "another" {
		t.Errorf("the model was told %+v", items)
	}
	s.model.replies <- say{text: "ok"}
	until(w, terminalOf(next.TurnID))
	other := c
	other.Digest = "another"
	_, err = l.Interrupt(t.Context(), other, "", true)
	refusal(t, err, host.RefusedCommand, host.ReasonConflict)
}

func TestCommandsAreAnsweredTheSameAfterARestart(t *testing.T) {
	s := newStage(t)
	start := s.cmd("session/start")
	l, err := s.hub.Start(t.Context(), start, host.StartRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, l, 0)
	turn := s.cmd("turn/start")
	ack, err := l.Submit(t.Context(), turn, host.TurnRequest{Text: "one"})
	if err != nil {
		t.Fatal(err)
	}
	s.model.replies <- say{text: "done"}
	until(w, terminalOf(ack.TurnID))
	bad := s.cmd("turn/steer")
	_, refused := l.Steer(t.Context(), bad, ack.TurnID, host.TurnRequest{Text: "late"})
	opened := l.OpenedAt(start)
	id := l.Facts().SessionID
	s.again()

	again, err := s.hub.Start(t.Context(), start, host.StartRequest{})
	if err != nil || again.Facts().SessionID != id || again.OpenedAt(start) != opened {
		t.Fatalf("got %v, %v", again, err)
	}
	other := start
	other.Digest = "another"
	_, err = s.hub.Start(t.Context(), other, host.StartRequest{})
	refusal(t, err, host.RefusedCommand, host.ReasonConflict)
	_, err = s.hub.Start(t.Context(), s.cmd("session/start"), host.StartRequest{SessionID: id})
	refusal(t, err, host.RefusedCommand, host.ReasonSessionConflict)
	got, err := again.Submit(t.Context(), turn, host.TurnRequest{Text: "one"})
	if err != nil || got != ack {
		t.Errorf("got %+v, %v, want %+v", got, err, ack)
	}
	_, err = again.Steer(t.Context(), bad, ack.TurnID, host.TurnRequest{Text: "late"})
	if err == nil || err.Error() != refused.Error() {
		t.Errorf("got %v, want %v", err, refused)
	}
	turn.Digest = "another"
	_, err = again.Submit(t.Context(), turn, host.TurnRequest{Text: "two"})
	refusal(t, err, host.RefusedCommand, host.ReasonConflict)
}

func TestApprovalsTakeTheFirstDecision(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	file := filepath.Join(s.work, "made")
	turn := s.submit(l, "make it", "")
	s.model.replies <- say{call: "bash", args: map[string]any{"command": "touch made"}}
	asked := until(w, func(a event.Approval, _ event.Recorded) bool { return a.Kind == "requested" })
	var f struct {
		ID string `json:"pending_action_id"`
	}
	if err := json.Unmarshal(asked.Fields, &f); err != nil {
		t.Fatal(err)
	}
	d := host.Decision{ApprovalID: f.ID, RequirementID: f.ID, ChoiceID: "allow_once"}
	bad := d
	bad.ChoiceID = "nonsense"
	_, err := l.Decide(t.Context(), s.cmd("approval/decide"), bad)
	refusal(t, err, host.BadChoice, "")
	bad = d
	bad.SourceIndex = 3
	_, err = l.Decide(t.Context(), s.cmd("approval/decide"), bad)
	if r := refusal(t, err, host.StaleRequirement, ""); r.Requirement == nil || r.Requirement.ApprovalID != f.ID {
		t.Errorf("got %+v", r)
	}
	_, err = l.Decide(t.Context(), s.cmd("approval/decide"), host.Decision{ApprovalID: "x", RequirementID: "x", ChoiceID: "abort"})
	refusal(t, err, host.NoSuchApproval, "")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("it ran before it was allowed")
	}
	// A change of mode decides nothing that is pending.
	if changed, err := l.SetApprovalMode(t.Context(), s.cmd("session/setApprovalMode"), "denyUnmatched"); err != nil || !changed {
		t.Fatal(changed, err)
	}
	c := s.cmd("approval/decide")
	for range 2 {
		terminal, err := l.Decide(t.Context(), c, d)
		if err != nil || !terminal {
			t.Fatal(terminal, err)
		}
	}
	_, err = l.Decide(t.Context(), s.cmd("approval/decide"), d)
	if r := refusal(t, err, host.ApprovalResolved, ""); r.Settled == nil || r.Settled.Outcome != "approved" || r.Settled.By != "user" || r.Settled.Sequence == 0 {
		t.Errorf("got %+v", r.Settled)
	}
	s.model.replies <- say{text: "made"}
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "completed" {
		t.Errorf("got %+v", end)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("it did not run: %v", err)
	}
}

func TestAPendingApprovalEndsWithItsTurn(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	turn := s.submit(l, "make it", "")
	s.model.replies <- say{call: "bash", args: map[string]any{"command": "touch made"}}
	until(w, func(a event.Approval, _ event.Recorded) bool { return a.Kind == "requested" })
	if _, err := l.Cancel(t.Context(), s.cmd("turn/cancel"), ""); err != nil {
		t.Fatal(err)
	}
	until(w, func(a event.Approval, _ event.Recorded) bool { return a.Kind == "decision_applied" })
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "cancelled" {
		t.Errorf("got %+v", end)
	}
	if _, err := os.Stat(filepath.Join(s.work, "made")); err == nil {
		t.Error("it ran")
	}
}

var question = map[string]any{"questions": []any{map[string]any{
	"id": "db", "header": "DB", "question": "Which?", "options": []any{map[string]any{"label": "Postgres"}, map[string]any{"label": "SQLite"}},
}}, "auto_resolution_ms": 60000}

func TestQuestionsToAPerson(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	ask := func() (host.TurnAck, string) {
		turn := s.submit(l, "ask", "")
		s.asked()
		s.model.replies <- say{call: "request_user_input", args: question}
		return turn, until[event.UserInputRequested](w, nil).ID
	}
	turn, id := ask()
	for name, a := range map[string][]host.Answer{
		"none":      {},
		"unknown":   {{QuestionID: "x", SelectedLabels: []string{"SQLite"}}},
		"bad label": {{QuestionID: "db", SelectedLabels: []string{"Oracle"}}},
		"both":      {{QuestionID: "db", SelectedLabels: []string{"SQLite"}, FreeText: "x"}},
		"long":      {{QuestionID: "db", FreeText: strings.Repeat("x", 501)}},
		"two":       {{QuestionID: "db", SelectedLabels: []string{"SQLite", "Postgres"}, Many: true}},
	} {
		err := l.Settle(t.Context(), s.cmd("userInput/answer"), host.Settlement{UserInputID: id, Outcome: host.Answered, Answers: a})
		t.Run(name, func(t *testing.T) { refusal(t, err, host.BadUserInputAnswer, "") })
	}
	good := host.Settlement{UserInputID: id, Outcome: host.Answered, Answers: []host.Answer{{QuestionID: "db", SelectedLabels: []string{"SQLite"}}}}
	if err := l.Settle(t.Context(), s.cmd("userInput/answer"), good); err != nil {
		t.Fatal(err)
	}
	settled := until[event.UserInputSettled](w, nil)
	if settled.Outcome != host.Answered || *settled.Answers[0].SelectedLabel != "SQLite" || settled.CommandID == nil {
		t.Errorf("got %+v", settled)
	}
	err := l.Settle(t.Context(), s.cmd("userInput/cancel"), host.Settlement{UserInputID: id, Outcome: host.Cancelled})
	if r := refusal(t, err, host.UserInputSettled, ""); r.Settled.Outcome != host.Answered {
		t.Errorf("got %+v", r.Settled)
	}
	s.asked()
	s.model.replies <- say{text: "SQLite then"}
	until(w, terminalOf(turn.TurnID))
	if items := s.model.last().Items; !strings.Contains(items[len(items)-1].ToolResult.Text, `"selected":["SQLite"]`) {
		t.Errorf("the model read %+v", items[len(items)-1].ToolResult)
	}

	// Nobody answers.
	turn, _ = ask()
	s.timers <- s.now()
	if settled := until[event.UserInputSettled](w, nil); settled.Outcome != host.TimedOut {
		t.Errorf("got %+v", settled)
	}
	s.asked()
	s.model.replies <- say{text: "ok"}
	until(w, terminalOf(turn.TurnID))

	// The client interrupts.
	turn, id = ask()
	l.Engaged(id)
	if err := l.Settle(t.Context(), s.cmd("userInput/interrupt"), host.Settlement{UserInputID: id, Outcome: host.Interrupted}); err != nil {
		t.Fatal(err)
	}
	if settled := until[event.UserInputSettled](w, nil); settled.Outcome != host.Interrupted {
		t.Errorf("got %+v", settled)
	}
	end := until(w, terminalOf(turn.TurnID))
	if end.Terminal != "cancelled" || end.Reason == nil || *end.Reason != "interrupted by the client" {
		t.Errorf("got %+v", end)
	}
}

func TestModelEffortModeAndName(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	ctx := t.Context()
	if err := l.SetModel(ctx, s.cmd("session/setModel"), "", "big"); err != nil {
		t.Fatal(err)
	}
	if m := until[event.ModelReconfigured](w, nil); m.Effective.ModelID != "big" || m.Previous.ModelID != "m" || m.ApplyOutcome != "completed" {
		t.Errorf("got %+v", m)
	}
	refusal(t, l.SetModel(ctx, s.cmd("session/setModel"), "", "none"), host.RefusedCommand, host.ReasonModelRefused)
	until[event.ModelRouteUnserved](w, nil)
	if err := l.SetEffort(ctx, s.cmd("session/setReasoningEffort"), "high"); err != nil {
		t.Fatal(err)
	}
	if changed, err := l.SetApprovalMode(ctx, s.cmd("session/setApprovalMode"), "promptUnmatched"); err != nil || changed {
		t.Error(changed, err)
	}
	if name, err := l.Rename(ctx, s.cmd("session/rename"), "  a   good name "); err != nil || name != "a good name" {
		t.Error(name, err)
	}
	_, err := l.Rename(ctx, s.cmd("session/rename"), "x")
	refusal(t, err, host.BadParams, "")
	turn := s.submit(l, "go", "")
	s.asked()
	if req := s.model.last(); req.Model != "big" || req.Effort != "high" {
		t.Errorf("asked %s with effort %s", req.Model, req.Effort)
	}
	// In the middle of a turn it holds from the next call on.
	if err := l.SetModel(ctx, s.cmd("session/setModel"), "", "small"); err != nil {
		t.Fatal(err)
	}
	s.model.replies <- say{call: "report_progress", args: map[string]any{"message": "half"}}
	s.asked()
	if req := s.model.last(); req.Model != "small" {
		t.Errorf("asked %s", req.Model)
	}
	s.model.replies <- say{text: "ok"}
	until(w, terminalOf(turn.TurnID))
	s.again()
	l, err = s.hub.Resume(ctx, s.cmd("session/resume"), l.Facts().SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if l.Facts().Name != "a good name" {
		t.Errorf("the name is %q", l.Facts().Name)
	}
	s.submit(l, "more", "")
	s.asked()
	if req := s.model.last(); req.Model != "small" || req.Effort != "high" {
		t.Errorf("after a restart: asked %s with effort %s", req.Model, req.Effort)
	}
}
