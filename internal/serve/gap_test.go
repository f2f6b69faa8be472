package serve

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// tap is the way to a client that can stop reading.
type tap struct {
	w    io.Writer
	mu   sync.Mutex
	cond *sync.Cond
	shut bool
}

func newTap() *tap {
	t := &tap{}
	t.cond = sync.NewCond(&t.mu)
	return t
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	for t.shut {
		t.cond.Wait()
	}
	t.mu.Unlock()
	return t.w.Write(p)
}

func (t *tap) turn(shut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shut = shut
	t.cond.Broadcast()
}

// flood lets a session say more than waits for a client that does not read,
// and returns the gap that the client is told of then.
func flood(t *testing.T, end func(s *fakeSession)) (*connected, *fakeSession, *msp.ViewGapParams) {
	t.Helper()
	way := newTap()
	c := connect(t, func(o *Options) { o.room = testRoom }, func(w io.Writer) io.Writer { way.w = w; return way })
	c.hello(nil)
	_, s := c.start()
	folded := make(chan struct{})
	s.onGoal = func() { close(folded) }
	way.turn(true)
	big := strings.Repeat("word ", 400)
	for n := range 60 {
		s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: fmt.Sprintf("%d %s", n, big)})
	}
	end(s)
	for _, method := range []string{msp.MethodSessionRead, msp.MethodGoalPause} { // the first one waits until all is folded
		params := with()(s.id)
		if _, err := c.Send(method, params); err != nil {
			t.Fatal(err)
		}
	}
	<-folded
	way.turn(false)
	gap, err := msptest.AwaitParams[msp.ViewGapParams](c.ctx, c.Client, 0, msp.NoteViewGap, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, s, gap
}

// TestGapIsFilled is the recorded dialogue gap-recovery-splice-fill: pages from
// one side of a hole to the other hold everything that was not pushed.
func TestGapIsFilled(t *testing.T) {
	c, s, gap := flood(t, func(*fakeSession) {})
	if _, err := c.Await(c.ctx, 0, "the event behind the hole", func(e msptest.Event) bool {
		v, ok := e.Params.(msp.View)
		return ok && v.At().ViewCursor == gap.Next
	}); err != nil {
		t.Fatal(err)
	}
	pushed := map[string]bool{}
	for _, e := range c.Events(0) {
		if v, ok := e.Params.(msp.View); ok {
			pushed[v.At().ViewCursor] = true
		}
	}
	all := pages(c, s.id, nil)
	hole := pages(c, s.id, &gap.After)
	missing := 0
	for _, at := range all {
		if !pushed[at] {
			missing++
		}
	}
	filled := 0
	for _, at := range hole {
		if at == gap.Next {
			break
		}
		if pushed[at] {
			t.Errorf("%s lies in the hole and was pushed", at)
		}
		filled++
	}
	if missing == 0 || filled != missing {
		t.Errorf("%d events were not pushed and the pages of the hole hold %d", missing, filled)
	}
}

// pages are the cursors of every event after a cursor.
func pages(c *connected, session string, after *string) []string {
	c.t.Helper()
	var out []string
	for {
		page := must[msp.ViewPageResult](c, msp.MethodViewPage, msp.ViewPageParams{SessionID: session, Cursor: after, Limit: 200})
		for _, e := range page.Events {
			out = append(out, e.Params.At().ViewCursor)
		}
		if after = page.NextCursor; after == nil {
			return out
		}
	}
}

// TestGapBeforeABoundary is the recorded dialogue gap-recovery-reanchor: a
// client that has lost the thread starts anew at the newest compaction.
func TestGapBeforeABoundary(t *testing.T) {
	c, s, _ := flood(t, func(s *fakeSession) {
		run := ident.V7(time.Now())
		s.say(run, event.RunStarted{Prompt: "short again"})
		s.say(run, event.CompactionInstalled{
			BudgetBefore: event.PromptBudget{Tokens: 1000}, BudgetAfter: event.PromptBudget{Tokens: 10},
		})
		s.say(run, event.AssistantMessage{MessageID: ident.V4(), Text: "behind the boundary"})
		s.say(run, event.RunTerminal{Terminal: "completed"})
	})
	page := must[msp.ViewPageResult](c, msp.MethodViewPage, msp.ViewPageParams{
		SessionID: s.id, Anchor: msp.ViewPageAnchorLatestCompaction, Direction: msp.ViewPageDirectionForward, Limit: 50,
	})
	if page.ResolvedAnchor == nil || page.ResolvedAnchor.BoundaryCursor == "" || page.NextCursor != nil {
		t.Fatalf("the page behind the boundary is %+v", page)
	}
	var methods []string
	for _, e := range page.Events {
		methods = append(methods, e.Method)
	}
	if got := strings.Join(methods, " "); !strings.Contains(got, "item/completed") || !strings.HasSuffix(got, "turn/completed") {
		t.Errorf("behind the boundary stand %s", got)
	}
	resumed := must[msp.SessionResumeResult](c, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: s.id, CommandID: msptest.CommandID(), History: msp.HistoryPreferenceAnchored,
	})
	if resumed.History.Mode != msp.HistoryModeAnchoredSnapshot || resumed.History.Snapshot.Anchor == nil ||
		resumed.History.Snapshot.Anchor.BoundaryCursor != page.ResolvedAnchor.BoundaryCursor {
		t.Errorf("resumed with %+v", resumed.History)
	}
}
