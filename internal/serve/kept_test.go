package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
	fold "github.com/openmuse/muse/internal/view/session"
)

// TestAStoredSessionIsReadFromItsKeptView: reading, paging and resuming a long
// session fold what came after the view that was kept, say the same as without
// one, and do without one that is of no use.
func TestAStoredSessionIsReadFromItsKeptView(t *testing.T) {
	dir := t.TempDir()
	views := fold.Cache{Dir: filepath.Join(dir, "views")}
	c := connect(t, func(o *Options) { o.Views = views })
	c.hello(nil)
	started, s := c.start()
	id := started.Session.SessionID
	must[msp.ViewUnsubscribeResult](c, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id}) // nobody follows what is said now
	s.mu.Lock()
	s.dir = filepath.Join(dir, "session.jsonl")
	s.mu.Unlock()
	c.host.mu.Lock()
	c.host.unloaded[id] = true
	c.host.mu.Unlock()
	if err := os.WriteFile(s.dir, []byte("a log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := func(n int) {
		run := fmt.Sprintf("turn-%d", n)
		s.say(run, event.RunStarted{Prompt: run})
		s.say(run, event.AssistantMessage{MessageID: "m" + run, Text: "answer"})
		s.say(run, event.RunTerminal{Terminal: "completed"})
	}
	turns := keepEvery/3 + 1 // of three records each: enough to be kept
	for n := range turns {
		turn(n)
	}
	whole := false
	read := func(events int64) msp.SessionReadResult {
		t.Helper()
		c.host.replayed.Store(0)
		out := must[msp.SessionReadResult](c, msp.MethodSessionRead, msp.SessionReadParams{SessionID: id, ExcludeItems: &whole})
		if got := c.host.replayed.Load(); got != events {
			t.Errorf("%d events were read, want %d", got, events)
		}
		return out
	}
	head := s.Head()
	first := read(head)
	if diff := cmp.Diff(first, read(1)); diff != "" {
		t.Errorf("from the kept view (-whole +kept):\n%s", diff)
	}
	turn(turns)
	later := read(4)
	if later.Session.TurnCount != int64(turns)+1 {
		t.Errorf("%d turns", later.Session.TurnCount)
	}
	c.host.replayed.Store(0)
	page := must[msp.ViewPageResult](c, msp.MethodViewPage, msp.ViewPageParams{SessionID: id, Direction: msp.ViewPageDirectionBackward, Limit: 2})
	if got := c.host.replayed.Load(); got != 4 || len(page.Events) != 2 {
		t.Errorf("a page of %d events took %d of the log", len(page.Events), got)
	}

	// The kept view is damaged: everything is read, and it is kept again.
	file := filepath.Join(views.Dir, id, "view")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(later, read(s.Head())); diff != "" {
		t.Errorf("with a damaged view (-before +now):\n%s", diff)
	}
	read(1)

	// Another log lies in its place.
	if err := os.WriteFile(s.dir, []byte("b log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read(s.Head())

	resumed := must[msp.SessionResumeResult](c, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	if resumed.ViewCursor != later.ViewCursor || resumed.Session.TurnCount != later.Session.TurnCount {
		t.Errorf("resumed at %s with %d turns, read at %s with %d", resumed.ViewCursor, resumed.Session.TurnCount, later.ViewCursor, later.Session.TurnCount)
	}
}
