package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
)

// talk runs one turn to its end.
func (s *stage) talk(l *host.Live, w *watcher, text, answer string) string {
	s.t.Helper()
	ack := s.submit(l, text, "")
	s.asked()
	s.model.replies <- say{text: answer}
	until(w, terminalOf(ack.TurnID))
	return ack.TurnID
}

func TestAPersonsShell(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	if err := l.UserShell(t.Context(), s.cmd("session/userShell"), "echo hello; exit 3"); err != nil {
		t.Fatal(err)
	}
	res := until[event.UserShellResult](w, nil)
	if res.TerminalState != "failed" || res.ExitCode == nil || *res.ExitCode != 3 || res.VisibleOutput != "hello\n" {
		t.Errorf("got %+v", res)
	}
	s.submit(l, "what did I run?", "")
	s.asked()
	items := s.model.last().Items
	if len(items) != 2 || !strings.Contains(items[0].User.Text, "$ echo hello; exit 3\nhello\n[exit 3]") {
		t.Errorf("the model was told %+v", items)
	}
	// Beside a turn, and stopped.
	c := s.cmd("session/userShell")
	if err := l.UserShell(t.Context(), c, "sleep 60"); err != nil {
		t.Fatal(err)
	}
	until[event.UserShellCommand](w, nil)
	if err := l.Stop(t.Context(), s.cmd("task/stop"), c.ID); err != nil {
		t.Fatal(err)
	}
	if res := until[event.UserShellResult](w, nil); res.TerminalState != "cancelled" {
		t.Errorf("got %+v", res)
	}
	refusal(t, l.Stop(t.Context(), s.cmd("task/stop"), c.ID), host.RefusedCommand, host.ReasonInvalidTarget)
	if err := l.StopAll(t.Context(), s.cmd("task/stopAll")); err != nil {
		t.Error(err)
	}
}

func TestGoals(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	ctx := t.Context()
	_, err := l.Goal(ctx, s.cmd("goal/edit"), "edit", "x")
	refusal(t, err, host.RefusedCommand, host.ReasonMissingGoal)
	_, err = l.Goal(ctx, s.cmd("goal/set"), "set", "  ")
	refusal(t, err, host.BadParams, "")
	c := s.cmd("goal/set")
	turn, err := l.Goal(ctx, c, "set", " green tests ")
	if err != nil || turn == "" || turn == c.ID {
		t.Fatal(turn, err)
	}
	if again, err := l.Goal(ctx, c, "set", " green tests "); err != nil || again != turn {
		t.Error(again, err)
	}
	if g := until[event.GoalChanged](w, nil); g.Goal.Objective != "green tests" || g.Goal.Status != "active" {
		t.Errorf("got %+v", g.Goal)
	}
	s.asked()
	if busy, err := l.Goal(ctx, s.cmd("goal/edit"), "edit", "green and fast"); err != nil || busy != turn {
		t.Error(busy, err)
	}
	s.model.replies <- say{text: "on it"}
	s.asked() // the running turn is told
	s.model.replies <- say{text: "done"}
	until(w, terminalOf(turn))
	woke, err := l.Goal(ctx, s.cmd("goal/resume"), "resume", "")
	if err != nil || woke == "" {
		t.Error(woke, err)
	}
	s.asked()
	if _, err := l.Interrupt(ctx, s.cmd("turn/interrupt"), woke, false); err != nil {
		t.Error(err)
	}
	until(w, func(g event.GoalChanged, _ event.Recorded) bool { return g.Goal.Status == "paused" })
	until(w, terminalOf(woke))
	if turn, err := l.Goal(ctx, s.cmd("goal/edit"), "edit", "later"); err != nil || turn != "" {
		t.Error("a paused goal woke", turn, err)
	}
	for _, verb := range []string{"pause", "clear"} {
		if woke, err := l.Goal(ctx, s.cmd("goal/"+verb), verb, ""); err != nil || woke != "" {
			t.Error(verb, woke, err)
		}
	}
	if g := until(w, func(g event.GoalChanged, _ event.Recorded) bool { return g.Action == "clear" }); g.Goal != nil {
		t.Errorf("got %+v", g.Goal)
	}
}

func TestCompactionOnRequest(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	ctx := t.Context()
	if ok, why, err := l.Compact(ctx, s.cmd("session/compact"), ""); err != nil || ok || why != "no_compactable_history" {
		t.Error(ok, why, err)
	}
	s.talk(l, w, "one "+strings.Repeat("word ", 2000), "answer "+strings.Repeat("word ", 2000))
	last := s.talk(l, w, "two", "short")
	_, _, err := l.Compact(ctx, s.cmd("session/compact"), "0198f0aa-1111-7000-8000-0000000000aa")
	refusal(t, err, host.RefusedCommand, host.ReasonInvalidTarget)
	if ok, why, err := l.Compact(ctx, s.cmd("session/compact"), last); err != nil || !ok {
		t.Fatal(ok, why, err)
	}
	until[event.CompactionStarted](w, nil)
	inst := until[event.CompactionInstalled](w, nil)
	if set := until[event.CompactionSettled](w, nil); set.Outcome != "compacted" || set.InstallID != inst.InstallID {
		t.Errorf("got %+v", set)
	}
	// During a turn it is done before the next model call.
	s.submit(l, "three", "")
	s.asked()
	if ok, _, err := l.Compact(ctx, s.cmd("session/compact"), ""); err != nil || !ok {
		t.Fatal(ok, err)
	}
	s.model.replies <- say{call: "report_progress", args: map[string]any{"message": "half"}}
	until[event.CompactionSettled](w, nil)
	s.asked()
	s.model.replies <- say{text: "ok"}
	until[event.RunTerminal](w, nil)
}

func TestForkGoesOnFromATurn(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	first := s.talk(l, w, "one", "uno")
	s.talk(l, w, "two", "dos")
	id := l.Facts().SessionID
	_, err := s.hub.Fork(t.Context(), s.cmd("session/fork"), id, "0198f0aa-1111-7000-8000-0000000000aa")
	refusal(t, err, host.BadForkBoundary, "")
	_, err = s.hub.Fork(t.Context(), s.cmd("session/fork"), "0198f0aa-1111-7000-8000-0000000000aa", "")
	refusal(t, err, host.NoSuchSession, "")
	c := s.cmd("session/fork")
	fork, err := s.hub.Fork(t.Context(), c, id, first)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := s.hub.Fork(t.Context(), c, id, first); err != nil || same != fork {
		t.Error(same, err)
	}
	fw := watch(t, fork, 0)
	if f := until[event.SessionForked](fw, nil); f.SourceSessionID != id || f.LastTurnID != first || !f.CutExplicit {
		t.Errorf("got %+v", f)
	}
	if b := until[event.AssistantMessage](fw, nil); b.Text != "uno" {
		t.Errorf("got %+v", b)
	}
	s.submit(fork, "three", "")
	s.asked()
	items := s.model.last().Items
	if len(items) != 3 || items[0].User.Text != "one" || items[1].Assistant.Text != "uno" || items[2].User.Text != "three" {
		t.Errorf("the model was told %+v", items)
	}
	s.model.replies <- say{text: "tres"}
	until[event.RunTerminal](fw, func(b event.RunTerminal, _ event.Recorded) bool { return b.Text == "tres" })

	// A fork of a stored session, after a restart.
	s.again()
	all, err := s.hub.Fork(t.Context(), s.cmd("session/fork"), id, "")
	if err != nil {
		t.Fatal(err)
	}
	s.submit(all, "four", "")
	s.asked()
	if items := s.model.last().Items; len(items) != 5 {
		t.Errorf("the model was told %d items", len(items))
	}
}

func TestSideChatLeavesItsParentAlone(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	s.talk(l, w, "one", "uno")
	side, err := s.hub.SideChat(t.Context(), s.cmd("session/sideChat"), l.Facts().SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if o := until[event.SideOpened](w, nil); o.SideSessionID != side.Facts().SessionID {
		t.Errorf("got %+v", o)
	}
	sw := watch(t, side, 0)
	until[event.SideStarted](sw, nil)
	s.talk(side, sw, "aside", "sure")
	s.submit(l, "two", "")
	s.asked()
	if items := s.model.last().Items; len(items) != 3 {
		t.Errorf("the parent was told %+v", items)
	}
	_, err = s.hub.SideChat(t.Context(), s.cmd("session/sideChat"), "0198f0aa-1111-7000-8000-0000000000aa")
	refusal(t, err, host.NoSuchSession, "")
}

func TestRewindRestoresFiles(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	ctx := t.Context()
	if _, err := l.SetApprovalMode(ctx, s.cmd("session/setApprovalMode"), "onRequest"); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(s.work, "old.txt")
	if err := os.WriteFile(old, []byte("before\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	s.talk(l, w, "one", "uno")
	turn := s.submit(l, "write", "")
	for _, f := range []string{"new.txt", "old.txt"} {
		s.asked()
		s.model.replies <- say{call: "write_file", args: map[string]any{"path": f, "content": "after\n"}}
		if snap := until[event.FileSnapshot](w, nil); filepath.Base(snap.Path) != f {
			t.Errorf("got %+v", snap)
		}
	}
	s.asked()
	s.model.replies <- say{text: "written"}
	until(w, terminalOf(turn.TurnID))
	s.again()
	l, err := s.hub.Resume(ctx, s.cmd("session/resume"), l.Facts().SessionID)
	if err != nil {
		t.Fatal(err)
	}
	w = watch(t, l, 0)
	plan, err := l.PreviewRewind(ctx, turn.TurnID)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range plan.Files {
		got[filepath.Base(f.Path)] = f.Action
	}
	if got["new.txt"] != "remove" || got["old.txt"] != "restore" || len(got) != 2 {
		t.Errorf("got %v", got)
	}
	if data, _ := os.ReadFile(old); string(data) != "after\n" {
		t.Errorf("the preview changed a file: %q", data)
	}
	if _, err := l.Rewind(ctx, s.cmd("openmuse/rewind"), turn.TurnID, true); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(old)
	info, _ := os.Stat(old)
	if err != nil || string(data) != "before\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("got %q %v, %v", data, info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(s.work, "new.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("new.txt: %v", err)
	}
	until[event.SessionRewound](w, nil)
	_, err = l.Rewind(ctx, s.cmd("openmuse/rewind"), turn.TurnID, true)
	refusal(t, err, host.RefusedCommand, host.ReasonInvalidTarget)
	s.submit(l, "two", "")
	s.asked()
	if items := s.model.last().Items; len(items) != 3 {
		t.Errorf("the model was told %d items", len(items))
	}
}

func TestAnEphemeralHostKeepsNothing(t *testing.T) {
	s := newStage(t)
	s.close()
	s.opts = func(o *host.HubOptions) { o.Ephemeral = true }
	s.open()
	l, w := s.start()
	s.talk(l, w, "one", "uno")
	if l.Facts().Path != "" {
		t.Errorf("the log is %s", l.Facts().Path)
	}
	again := watch(t, l, 0)
	until[event.RunTerminal](again, nil)
	_, err := s.hub.Resume(t.Context(), s.cmd("session/resume"), l.Facts().SessionID)
	refusal(t, err, host.MethodNotAvailable, "")
	_, err = s.hub.Fork(t.Context(), s.cmd("session/fork"), l.Facts().SessionID, "")
	refusal(t, err, host.MethodNotAvailable, "")
	_, err = l.Rename(t.Context(), s.cmd("session/rename"), "a name")
	refusal(t, err, host.MethodNotAvailable, "")
	_, err = l.SetApprovalMode(t.Context(), s.cmd("session/setApprovalMode"), "allowAll")
	refusal(t, err, host.RefusedCommand, host.ReasonModeCeiling)
	if changed, err := l.SetApprovalMode(t.Context(), s.cmd("session/setApprovalMode"), "denyUnmatched"); err != nil || !changed {
		t.Error(changed, err)
	}
	entries, err := os.ReadDir(s.data)
	if err != nil || len(entries) != 0 {
		t.Errorf("the data root has %v, %v", entries, err)
	}
}

func TestLeases(t *testing.T) {
	s := newStage(t)
	l, _ := s.start()
	id := l.Facts().SessionID
	other := host.NewHub(host.HubOptions{DataRoot: s.data, Workspace: s.work, Program: "other", Factory: s, Now: s.now})
	_, err := other.Resume(t.Context(), s.cmd("session/resume"), id)
	r := refusal(t, err, host.SessionInUse, "")
	if !strings.Contains(r.Message, fmt.Sprintf("pid %d (test", os.Getpid())) {
		t.Errorf("the holder is not named: %s", r.Message)
	}
	_, err = other.Loaded(id)
	refusal(t, err, host.SessionNotLoaded, "")
	// Reading needs no lease.
	n := 0
	if err := other.Replay(t.Context(), id, 0, func(event.Recorded) error { n++; return nil }); err != nil || n == 0 {
		t.Errorf("%d events, %v", n, err)
	}
	s.close()
	again, err := other.Resume(t.Context(), s.cmd("session/resume"), id)
	if err != nil || again.Facts().SessionID != id {
		t.Fatal(again, err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
