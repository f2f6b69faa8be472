package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/store/registry"
)

// announcer makes the sessions that a program has open known to the other
// sessions of this user, and their changes to the index. Announcing is done
// beside the work of the program: a session is open whether or not others know
// of it.
type announcer struct {
	registry *registry.Registry
	index    *index.Index
	program  string // "muse serve"
	now      func() time.Time
	note     func(format string, args ...any) // says what could not be announced

	mu     sync.Mutex
	ended  bool
	open   map[string]*registry.Announcement // nil while it is being announced
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
}

// presence implements host.Presence.
type presence struct{ announcer *announcer }

// Opened implements host.Presence.
func (p presence) Opened(facts func() host.Facts) {
	f := facts()
	p.announcer.opened(openedSession{id: f.SessionID, workspace: f.Workspace, name: func() string { return facts().Name }})
}

// Changed implements host.Presence.
func (p presence) Changed(f host.Facts) { p.announcer.changed(f.SessionID, f.Name) }

// Closed implements host.Presence.
func (p presence) Closed(id string) { p.announcer.closed(id) }

// openedSession is what others are told of a session.
type openedSession struct {
	id, workspace string
	// name is the session's name as it is when it is asked for.
	name func() string
}

func newAnnouncer(env *Env, s *sessionStore, program string, note func(string, ...any)) *announcer {
	a := &announcer{
		registry: registry.New(s.root, env.Getenv), index: s.index, program: program, now: env.Now, note: note,
		open: map[string]*registry.Announcement{},
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// opened announces a session, once.
func (a *announcer) opened(s openedSession) {
	a.index.Touch(s.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.open[s.id]; known || a.ended {
		return
	}
	a.open[s.id] = nil
	started := a.now()
	a.work.Go(func() { a.announce(s, started) })
}

func (a *announcer) announce(s openedSession, started time.Time) {
	n, err := a.registry.Announce(a.ctx, registry.Entry{
		SessionID: s.id, Program: a.program, Started: started.UTC(), Workspace: s.workspace, Name: s.name(),
	}, s.answer)
	if err != nil {
		if a.ctx.Err() == nil {
			a.note("other sessions do not see this one: %v", err)
		}
		return
	}
	a.mu.Lock()
	_, wanted := a.open[s.id]
	if wanted = wanted && !a.ended; wanted {
		a.open[s.id] = n
	}
	a.mu.Unlock()
	if !wanted { // it was closed meanwhile
		a.takeBack(n)
	}
}

// answer answers other sessions of this user.
func (s openedSession) answer(_ context.Context, method string, _ jsontext.Value) (any, error) {
	if method != "describe" {
		return nil, fmt.Errorf("unknown method %q", method)
	}
	return struct {
		SessionID string `json:"session_id"`
		Name      string `json:"name,omitzero"`
		Workspace string `json:"workspace_root,omitzero"`
	}{s.id, s.name(), s.workspace}, nil
}

// closed takes a session's announcement back.
func (a *announcer) closed(id string) {
	a.index.Touch(id)
	a.mu.Lock()
	n := a.open[id]
	delete(a.open, id)
	a.mu.Unlock()
	if n != nil {
		a.takeBack(n)
	}
}

// changed tells others of a session's name, if it is a new one, and the index
// of what was added to its log.
func (a *announcer) changed(id, name string) {
	a.index.Touch(id)
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.open[id]
	if n == nil || a.ended || n.Entry().Name == name {
		return
	}
	a.work.Go(func() {
		if err := n.Rename(name); err != nil {
			a.note("other sessions see the old name: %v", err)
		}
	})
}

func (a *announcer) takeBack(n *registry.Announcement) {
	if err := n.Close(); err != nil {
		a.note("%v", err)
	}
}

// close takes everything back.
func (a *announcer) close() {
	a.mu.Lock()
	a.ended = true
	open := a.open
	a.open = map[string]*registry.Announcement{}
	a.mu.Unlock()
	a.cancel()
	a.work.Wait()
	for _, n := range open {
		if n != nil {
			a.takeBack(n)
		}
	}
}

// openJSON says which process has a session open.
type openJSON struct {
	PID     int       `json:"pid"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
	Asked   bool      `json:"answers"` // it answered just now
}

// openNow is the sessions that are open, by id, and their ids.
func (s *sessionStore) openNow(ctx context.Context, env *Env) (map[string]openJSON, []string, error) {
	entries, err := registry.New(s.root, env.Getenv).List(ctx)
	if err != nil {
		return nil, nil, err
	}
	open := map[string]openJSON{}
	ids := []string{}
	for _, e := range entries {
		var answer struct {
			SessionID string `json:"session_id"`
		}
		err := registry.Ask(ctx, e, "describe", nil, &answer)
		if err != nil && ctx.Err() != nil {
			return nil, nil, errors.Join(ctx.Err(), err)
		}
		open[e.SessionID] = openJSON{PID: e.PID, Program: e.Program, Since: e.Started, Asked: err == nil && answer.SessionID == e.SessionID}
		ids = append(ids, e.SessionID)
	}
	return open, ids, nil
}
