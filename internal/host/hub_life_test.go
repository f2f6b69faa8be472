package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/egress"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/journal"
)

func TestAnIdleSessionIsUnloaded(t *testing.T) {
	s := newStage(t)
	s.close()
	closed := make(chan string, 4)
	s.opts = func(o *host.HubOptions) {
		o.IdleUnload = time.Minute
		o.Closed = func(id, reason string, head int64) {
			if head == 0 {
				t.Error("closed without a head")
			}
			closed <- reason
		}
	}
	s.open()
	l, w := s.start()
	id := l.Facts().SessionID
	s.talk(l, w, "one", "uno")
	w.stop()
	if err := <-w.end; !errors.Is(err, context.Canceled) {
		t.Errorf("the watching ended with %v", err)
	}
	for gone := false; !gone; {
		select {
		case s.timers <- time.Now(): // one of those that were armed is the last
		case reason := <-closed:
			if gone = reason == "idle"; !gone {
				t.Errorf("closed because of %s", reason)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it stays loaded")
		}
	}
	_, err := s.hub.Loaded(id)
	refusal(t, err, host.SessionNotLoaded, "")
	if _, err := l.Submit(t.Context(), s.cmd("turn/start"), host.TurnRequest{Text: "x"}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a closed session answers %v", err)
	}
	again, err := s.hub.Resume(t.Context(), s.cmd("session/resume"), id)
	if err != nil || again == l {
		t.Error(again, err)
	}
}

func TestASlowWatcherLosesNothingThatIsKept(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	hold := make(chan struct{})
	var mu sync.Mutex
	var got []int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = l.Watch(t.Context(), 0, func(r event.Recorded) error {
			<-hold
			mu.Lock()
			defer mu.Unlock()
			if r.Sequence != 0 {
				got = append(got, r.Sequence)
			}
			if b, ok := r.Body.(event.AssistantMessage); ok && b.Text == "last" {
				return errors.New("enough")
			}
			return nil
		})
	}()
	for range 60 { // far more events than may wait
		s.talk(l, w, "one", "uno")
	}
	s.talk(l, w, "two", "last")
	close(hold)
	<-done
	var want []int64
	w.mu.Lock()
	for _, r := range w.all {
		if r.Sequence != 0 {
			want = append(want, r.Sequence)
		}
	}
	w.mu.Unlock()
	last := got[len(got)-1]
	i := 0
	for _, n := range want {
		if n > last {
			break
		}
		if i >= len(got) || got[i] != n {
			t.Fatalf("event %d of %d is %d, want %d", i, len(got), got[min(i, len(got)-1)], n)
		}
		i++
	}
}

func TestPromptsThatWaitEndWithTheSession(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	s.submit(l, "one", "")
	s.asked()
	c := s.cmd("turn/start")
	ack, err := l.Submit(t.Context(), c, host.TurnRequest{Text: "two"})
	if err != nil || ack.Disposition != host.Queued {
		t.Fatal(ack, err)
	}
	s.again()
	if err := <-w.end; !errors.Is(err, host.ErrClosed) {
		t.Errorf("the watching ended with %v", err)
	}
	until(w, func(b event.RunTerminal, _ event.Recorded) bool { return b.Terminal == "cancelled" })
	if f := until[event.TurnLaunchFailed](w, nil); f.TurnID != ack.TurnID {
		t.Errorf("got %+v", f)
	}
	if end := until[event.SessionEnd](w, nil); end.ExitReason != "interrupted" {
		t.Errorf("got %+v", end)
	}
	again, err := s.hub.Resume(t.Context(), s.cmd("session/resume"), l.Facts().SessionID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = again.Submit(t.Context(), c, host.TurnRequest{Text: "two"})
	refusal(t, err, host.RefusedCommand, host.ReasonDeferredStart)
}

// TestALogThatFails ends a session's work with an error, not with an answer
// that is not kept. The session is unloaded, so that nobody waits for more of
// it, and goes on in the same host once the disk has room.
func TestALogThatFails(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	s.close()
	var full atomic.Bool
	s.opts = func(o *host.HubOptions) {
		o.OpenLog = func(path string, flag int, perm os.FileMode) (journal.File, error) {
			f, err := os.OpenFile(path, flag, perm)
			return fillingDisk{f, &full}, err
		}
	}
	s.open()
	l, w := s.start()
	s.talk(l, w, "one", "uno")
	full.Store(true)
	_, err := l.Submit(t.Context(), s.cmd("turn/start"), host.TurnRequest{Text: "x"})
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("got %v", err)
	}
	select {
	case err := <-w.end:
		if !errors.Is(err, host.ErrClosed) {
			t.Fatalf("who watches is told %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("who watches is told nothing")
	}
	if _, err := l.Submit(t.Context(), s.cmd("turn/start"), host.TurnRequest{Text: "x"}); err == nil {
		t.Fatal("a prompt is taken that nobody can keep")
	}
	full.Store(false)
	again, err := s.hub.Resume(t.Context(), s.cmd("session/resume"), l.Facts().SessionID)
	if err != nil {
		t.Fatal(err)
	}
	s.talk(again, watch(t, again, 0), "two", "dos")
	if err := s.hub.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("closing says %v", err)
	}
	s.hub = nil
	s.open()
	if again, err = s.hub.Resume(t.Context(), s.cmd("session/resume"), l.Facts().SessionID); err != nil {
		t.Fatal(err)
	}
	s.talk(again, watch(t, again, 0), "three", "tres")
}

type fillingDisk struct {
	journal.File
	full *atomic.Bool
}

func (f fillingDisk) WriteAt(p []byte, off int64) (int, error) {
	if f.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

func TestACallGoesToTheBackground(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	if _, err := l.SetApprovalMode(t.Context(), s.cmd("session/setApprovalMode"), "allowAll"); err != nil {
		t.Fatal(err)
	}
	turn := s.submit(l, "run it", "")
	s.asked()
	s.model.replies <- say{call: "bash", args: map[string]any{"command": "echo up; sleep 600", "yield_time_ms": 300000}}
	started := until(w, func(b event.TaskScheduled, _ event.Recorded) bool {
		return strings.HasPrefix(b.IdempotencyKey, "tool:")
	})
	until(w, func(b event.TaskStarted, _ event.Recorded) bool { return b.TaskID == started.TaskID })
	refusal(t, l.Background(t.Context(), s.cmd("task/background"), "x"), host.RefusedCommand, host.ReasonInvalidTarget)
	until[event.TaskProgress](w, nil) // it prints: it waits
	if err := l.Background(t.Context(), s.cmd("task/background"), started.TaskID); err != nil {
		t.Fatal(err)
	}
	if b := until[event.TaskBackgrounded](w, nil); b.TaskID != started.TaskID || b.Initiator != "user" {
		t.Errorf("got %+v", b)
	}
	s.asked()
	s.model.replies <- say{text: "it runs"}
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "completed" {
		t.Errorf("got %+v", end)
	}
}

func TestOneCallIsStopped(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	if _, err := l.SetApprovalMode(t.Context(), s.cmd("session/setApprovalMode"), "allowAll"); err != nil {
		t.Fatal(err)
	}
	turn := s.submit(l, "run it", "")
	s.asked()
	s.model.replies <- say{call: "bash", args: map[string]any{"command": "echo up; sleep 600", "yield_time_ms": 300000}}
	task := until[event.TaskProgress](w, nil).TaskID
	c := s.cmd("task/stop")
	for range 2 {
		if err := l.Stop(t.Context(), c, task); err != nil {
			t.Fatal(err)
		}
	}
	until(w, func(b event.ToolResults, _ event.Recorded) bool {
		return strings.Contains(b.Results[0].Text, "cancelled")
	})
	s.asked()
	s.model.replies <- say{text: "stopped"}
	if end := until(w, terminalOf(turn.TurnID)); end.Terminal != "completed" {
		t.Errorf("got %+v", end)
	}
}

// TestAQuestionOutlivesItsTurn is a connection of a command in the background.
func TestAQuestionOutlivesItsTurn(t *testing.T) {
	s := newStage(t)
	l, w := s.start()
	turn := s.submit(l, "one", "")
	s.asked()
	answers := make(chan egress.Answer, 1)
	go func() {
		answers <- s.guard.Connect(t.Context(), egress.Request{
			Key: egress.Key{Host: "registry.example.org", Port: 443, Protocol: "https"}, Origin: egress.Origin{CallID: "call_1", Tool: "bash"},
		})
	}()
	asked := until(w, func(a event.Approval, _ event.Recorded) bool { return a.Kind == "requested" })
	s.model.replies <- say{text: "uno"}
	until(w, terminalOf(turn.TurnID))
	s.talk(l, w, "two", "dos") // the end of the first turn is long over
	if n := len(shown[event.Approval](w)); n != 1 {
		t.Fatalf("%d approval events", n)
	}
	var f struct {
		ID string `json:"pending_action_id"`
	}
	if err := json.Unmarshal(asked.Fields, &f); err != nil {
		t.Fatal(err)
	}
	terminal, err := l.Decide(t.Context(), s.cmd("approval/decide"), host.Decision{ApprovalID: f.ID, RequirementID: f.ID, ChoiceID: "allow_once"})
	if err != nil || !terminal {
		t.Fatal(terminal, err)
	}
	if a := <-answers; !a.Allow {
		t.Errorf("got %+v", a)
	}
}
