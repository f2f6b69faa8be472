package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/view/session"
)

// longSession is a session with a long past, which is read from its beginning
// only when whole is closed.
type longSession struct {
	*fakeSession
	whole chan struct{}
	path  string
	// late is what a reading of the whole finds beside what the end says.
	late func(event.Recorded) event.Recorded
}

func (s *longSession) Facts() host.Facts { return host.Facts{SessionID: sessionID, Path: s.path} }
func (s *longSession) Head() int64       { return s.events[len(s.events)-1].Sequence }

func (s *longSession) Watch(ctx context.Context, from int64, show func(event.Recorded) error) error {
	if from == 0 {
		<-s.whole
	}
	for _, e := range s.events {
		if e.Sequence <= from {
			continue
		}
		if s.late != nil && from == 0 {
			e = s.late(e)
		}
		if err := show(e); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// longPast is a session of so many turns.
func longPast(t *testing.T, turns int) *longSession {
	s := &longSession{fakeSession: &fakeSession{}, whole: make(chan struct{}), path: filepath.Join(t.TempDir(), "session.jsonl")}
	say := func(run string, body event.Body) {
		n := int64(len(s.events) + 1)
		s.events = append(s.events, event.Recorded{Event: event.Event{Run: run, Body: body}, ID: fmt.Sprintf("r%d", n), Sequence: n, At: n})
	}
	for n := range turns {
		run := fmt.Sprintf("turn-%d", n)
		say("", event.IntentAccepted{IntentID: run, SemanticKind: event.Kinded{Kind: "chat"}})
		say(run, event.RunStarted{Prompt: fmt.Sprintf("question %d.", n)})
		say(run, event.AssistantMessage{MessageID: "m" + run, Text: fmt.Sprintf("answer %d.", n)})
		say(run, event.RunTerminal{Terminal: "completed"})
	}
	return s
}

// TestTheEndOfALongSessionIsShownFirst: the last page of a long session is there
// before its log was read from the beginning, and is not shown again after that.
func TestTheEndOfALongSessionIsShownFirst(t *testing.T) {
	b := newBench(t, 80, 24)
	s := longPast(t, 5000)
	b.u.session = s
	b.u.load(s)
	b.answered() // the end
	b.shows("answer 4999.")
	b.shows("what came before this is in the log")
	if b.u.view.turns != 0 {
		t.Errorf("%d turns are known already", b.u.view.turns)
	}
	close(s.whole)
	b.answered() // the whole
	if b.u.view.turns != 5000 {
		t.Errorf("%d turns of 5000", b.u.view.turns)
	}
	for _, once := range []string{"answer 4999.", "question 4999.", "answer 4990.", "what came before this"} {
		if n := strings.Count(b.vt.Text(), once); n != 1 {
			t.Errorf("%q is shown %d times:\n%s", once, n, b.vt.Text())
		}
	}
}

// TestTheWholeHasTheLastWord: should the whole log say something else than its
// end alone, that is shown, too.
func TestTheWholeHasTheLastWord(t *testing.T) {
	b := newBench(t, 80, 24)
	s := longPast(t, 5000)
	s.late = func(r event.Recorded) event.Recorded {
		if m, ok := r.Body.(event.AssistantMessage); ok && m.Text == "answer 4999." {
			m.Text = "another answer."
			r.Body = m
		}
		return r
	}
	b.u.session = s
	b.u.load(s)
	b.answered()
	b.shows("answer 4999.")
	close(s.whole)
	b.answered()
	b.shows("the session went on differently")
	b.shows("another answer.")
}

// TestAKeptViewNeedsNoPeek: with a kept view the end is read once.
func TestAKeptViewNeedsNoPeek(t *testing.T) {
	b := newBench(t, 80, 24)
	s := longPast(t, 5000)
	writeLog(t, s.path)
	close(s.whole)
	b.u.Views = session.Cache{Dir: t.TempDir()}
	if _, err := b.u.read(t.Context(), s, s.Head()); err != nil {
		t.Fatal(err)
	}
	if at := b.u.Views.Reach(sessionID); at != s.Head() {
		t.Errorf("the view was kept at %d of %d", at, s.Head())
	}
	b.u.session = s
	b.u.load(s)
	b.answered() // all there is
	if b.u.view.turns != 5000 {
		t.Errorf("%d turns of 5000", b.u.view.turns)
	}
	b.shows("answer 4999.")
}

func writeLog(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
