package serve

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// fakeList remembers what it was asked.
type fakeList struct {
	mu        sync.Mutex
	rows      []msp.Session
	asked     []msp.SessionListParams
	refreshed [][]string
	changed   func(msp.Session)
	watched   chan struct{}
}

func (l *fakeList) Start() {}

func (l *fakeList) Refresh(_ context.Context, ids []string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refreshed = append(l.refreshed, ids)
	return nil
}

func (l *fakeList) List(_ context.Context, p msp.SessionListParams) (msp.SessionListResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, p)
	return msp.SessionListResult{Sessions: slices.Clone(l.rows)}, nil
}

func (l *fakeList) Watch(changed func(msp.Session)) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = changed
	close(l.watched)
	return func() {}
}

func rowOf(id string) msp.Session {
	return msp.Session{SessionID: id, Status: msp.SessionStatusNotLoaded, CreatedAt: "2026-01-01T00:00:00Z", UpdatedAt: "2026-01-01T00:00:00Z"}
}

func TestList(t *testing.T) {
	list := &fakeList{watched: make(chan struct{})}
	c := connect(t, func(o *Options) { o.List = list })
	c.hello(nil)
	started, s := c.start()
	other := ident.V7(time.Now())
	list.rows = []msp.Session{rowOf(started.Session.SessionID), rowOf(other)}
	r := must[msp.SessionListResult](c, msp.MethodSessionList, msp.SessionListParams{})
	if len(r.Sessions) != 2 || r.Sessions[0].Status != msp.SessionStatusIdle || r.Sessions[1].Status != msp.SessionStatusNotLoaded || r.AppliedFilter != nil {
		t.Errorf("listed are %+v", r)
	}
	if *list.asked[0].Limit != 50 {
		t.Errorf("asked for %d rows by default", *list.asked[0].Limit)
	}
	if !slices.Equal(list.refreshed[0], []string{s.id}) {
		t.Errorf("made fresh are %v, want the session that was written to", list.refreshed[0])
	}
	must[msp.SessionListResult](c, msp.MethodSessionList, msp.SessionListParams{})
	if len(list.refreshed[1]) != 0 {
		t.Errorf("made fresh are %v although nothing was written", list.refreshed[1])
	}

	main, empty := "main", "  "
	r = must[msp.SessionListResult](c, msp.MethodSessionList, msp.SessionListParams{Filter: &msp.SessionListFilter{
		SessionID: &msp.SessionListSessionIdFilter{AnyOf: []string{"b", "a", "b"}},
		Branch:    &msp.SessionListBranchFilter{AnyOf: []*string{&main, nil, &main}},
		Text: &msp.SessionListTextFilter{
			Fields: []msp.SessionListTextField{"title", "name", "title"}, AllOf: []string{" Two ", "one", empty, "ONE"},
		},
	}})
	f := r.AppliedFilter
	if f == nil || !slices.Equal(f.SessionID.AnyOf, []string{"a", "b"}) || len(f.Branch.AnyOf) != 2 || f.Branch.AnyOf[0] != nil ||
		!slices.Equal(f.Text.AllOf, []string{"one", "two"}) || !slices.Equal(f.Text.Fields, []msp.SessionListTextField{"name", "title"}) {
		t.Errorf("applied is %+v", f)
	}
	for name, p := range map[string]any{
		"no limit at all":      map[string]any{"limit": 0},
		"a day without a time": map[string]any{"updatedAfter": "2026-01-01"},
		"text in no field":     map[string]any{"filter": map[string]any{"text": map[string]any{"fields": []string{}, "anyOf": []string{"x"}}}},
		"text without words":   map[string]any{"filter": map[string]any{"text": map[string]any{"fields": []string{"name"}}}},
	} {
		t.Run(name, func(*testing.T) { c.refusedAs(msp.ErrorKindInvalidParams, msp.MethodSessionList, p) })
	}
}

func TestListStream(t *testing.T) {
	list := &fakeList{watched: make(chan struct{})}
	c := connect(t, func(o *Options) { o.List = list })
	c.hello(&msp.ClientCapabilities{RequestedCapabilities: []string{"sessionListStream"}})
	_, s := c.start()
	<-list.watched
	row := func(id string, status msp.SessionStatus) {
		t.Helper()
		mark := 0
		if _, err := c.Await(c.ctx, mark, "a row", func(e msptest.Event) bool {
			p, ok := e.Params.(*msp.SessionListChangedParams)
			return ok && p.Session.SessionID == id && p.Session.Status == status
		}); err != nil {
			t.Fatal(err)
		}
	}
	row(s.id, msp.SessionStatusIdle)
	s.say(ident.V7(time.Now()), event.RunStarted{Prompt: "work"})
	row(s.id, msp.SessionStatusRunning)
	other := ident.V7(time.Now())
	list.changed(rowOf(other))
	row(other, msp.SessionStatusNotLoaded)
	list.changed(rowOf(s.id)) // what another process says of it is no news
	s.echo(host.Command{ID: ident.V7(time.Now())}, host.TurnRequest{Text: "x"})
	row(s.id, msp.SessionStatusIdle)
	for _, e := range c.Events(0) {
		if p, ok := e.Params.(*msp.SessionListChangedParams); ok && p.Session.SessionID == s.id && p.Session.Status == msp.SessionStatusNotLoaded {
			t.Error("a loaded session was told of as another process sees it")
		}
	}
}
