package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
)

// nameGiver gives one name.
type nameGiver struct {
	fail    error
	hold    chan struct{} // waited for before the name is given, nil for nothing
	mu      sync.Mutex
	asked   int
	written int
}

func (*nameGiver) Claim(context.Context, string, string) error { return nil }

func (n *nameGiver) Automatic(ctx context.Context, _ string) (host.AutomaticName, func(context.Context) error, error) {
	n.mu.Lock()
	n.asked++
	n.mu.Unlock()
	if n.hold != nil {
		<-n.hold
	}
	return host.AutomaticName{Name: "quiet-lyra", OperationID: "op", AuthorityID: "authority"}, func(context.Context) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.written++
		return nil
	}, n.fail
}

func (n *nameGiver) counts() (asked, written int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked, n.written
}

// crowd notes what others are told.
type crowd struct {
	mu   sync.Mutex
	said []string
}

func (c *crowd) add(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, s)
}

func (c *crowd) Opened(facts func() host.Facts) { c.add("opened " + facts().SessionID[:4]) }
func (c *crowd) Changed(f host.Facts)           { c.add("changed " + f.Name) }
func (c *crowd) Closed(id string)               { c.add("closed " + id[:4]) }

func TestAutomaticNames(t *testing.T) {
	names, others := &nameGiver{}, &crowd{}
	s := newStage(t)
	s.opts = func(o *host.HubOptions) { o.Names, o.NameSessions, o.Presence = names, true, others }
	s.again()
	l, w := s.start()
	if asked, _ := names.counts(); asked != 0 {
		t.Error("a session is named before anything was said in it")
	}
	s.talk(l, w, "hello", "hi")
	got := until[event.NameChanged](w, nil)
	if got.NewName != "quiet-lyra" || got.Source != "automatic" || got.AuthorityID != "authority" || got.OperationID != "op" || got.SessionID != l.Facts().SessionID {
		t.Errorf("named %+v", got)
	}
	s.talk(l, w, "again", "hi")
	if _, err := l.Rename(t.Context(), s.cmd("session/rename"), "my own"); err != nil {
		t.Fatal(err)
	}
	s.close()
	if asked, written := names.counts(); asked != 1 || written != 1 {
		t.Errorf("asked %d times, settled %d times", asked, written)
	}
	for _, want := range []string{"opened " + l.Facts().SessionID[:4], "changed ", "changed quiet-lyra", "changed my own", "closed " + l.Facts().SessionID[:4]} {
		found := false
		for _, s := range others.said {
			found = found || s == want
		}
		if !found {
			t.Errorf("others were not told %q: %q", want, others.said)
		}
	}
}

// TestAPersonsNameCounts: a name that a person gives while an automatic one is
// found stays, and a session that cannot be named works on.
func TestAPersonsNameCounts(t *testing.T) {
	names := &nameGiver{hold: make(chan struct{})}
	s := newStage(t)
	s.opts = func(o *host.HubOptions) { o.Names, o.NameSessions = names, true }
	s.again()
	l, w := s.start()
	s.talk(l, w, "hello", "hi")
	if _, err := l.Rename(t.Context(), s.cmd("session/rename"), "my own"); err != nil {
		t.Fatal(err)
	}
	close(names.hold)
	s.talk(l, w, "again", "hi")
	s.close()
	if got := l.Facts().Name; got != "my own" {
		t.Errorf("the name is %q", got)
	}
	if _, written := names.counts(); written != 0 {
		t.Error("a name was settled that no log has")
	}

	names = &nameGiver{fail: errors.New("no disk")}
	s.again()
	l, w = s.start()
	s.talk(l, w, "hello", "hi")
	s.talk(l, w, "hello", "hi")
	s.close()
	if asked, _ := names.counts(); asked != 1 || l.Facts().Name != "" {
		t.Errorf("asked %d times, named %q", asked, l.Facts().Name)
	}
}

// TestRewindInAFork: a fork has the files as they were before its turns, also
// when its source is gone.
func TestRewindInAFork(t *testing.T) {
	onUnix(t)
	s := newStage(t)
	l, w := s.start()
	file := filepath.Join(s.work, "notes")
	if err := os.WriteFile(file, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	turn := s.submit(l, "write", "")
	s.asked()
	s.model.replies <- say{call: "write_file", args: map[string]any{"path": "notes", "content": "after\n"}}
	asked := until(w, func(a event.Approval, _ event.Recorded) bool { return a.Kind == "requested" })
	allow(l, asked)
	s.asked()
	s.model.replies <- say{text: "written"}
	until(w, terminalOf(turn.TurnID))
	fork, err := s.hub.Fork(t.Context(), s.cmd("session/fork"), l.Facts().SessionID, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(l.Facts().Path), "file-snapshots")); err != nil {
		t.Fatal(err)
	}
	report, err := fork.Rewind(t.Context(), s.cmd("rewind"), turn.TurnID, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Files) != 1 || report.Files[0].Action != "restore" || report.Files[0].Path != file {
		t.Errorf("rewound %+v", report)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "before\n" {
		t.Errorf("%q, %v", data, err)
	}
}
