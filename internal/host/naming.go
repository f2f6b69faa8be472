package host

import (
	"context"
	"time"

	"github.com/openmuse/muse/internal/event"
)

// nameTime bounds the search for a name: a session does without one rather
// than hold up its end.
const nameTime = 2 * time.Second

// nameBeside gives a session that nobody named a name once its first turn has
// ended (CLI.md 13, /name). A name that a person gives meanwhile counts more.
// The lock is held.
func (l *Live) nameBeside() {
	if o := &l.hub.opts; o.Names == nil || !o.NameSessions || o.Ephemeral || l.naming || l.closing || l.broken != nil || l.nameNow() != "" {
		return
	}
	l.naming = true
	l.beside.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), nameTime)
		defer cancel()
		name, written, err := l.hub.opts.Names.Automatic(ctx, l.s.id)
		if err != nil {
			l.s.note("the session was given no name", err)
			return // a later turn does not try again: something is wrong with the names
		}
		if !l.takeName(name) {
			return // the claim lapses by itself
		}
		if err := written(ctx); err != nil {
			l.s.note("the session's name is not settled", err)
		}
	})
}

func (l *Live) nameNow() string {
	l.s.state.mu.Lock()
	defer l.s.state.mu.Unlock()
	return l.s.state.name
}

// takeName records an automatic name unless the session has one by now.
func (l *Live) takeName(n AutomaticName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.nameNow() != "" {
		return false
	}
	if l.fact(event.NameChanged{
		AuthorityID: n.AuthorityID, NewName: n.Name, OperationID: n.OperationID, SessionID: l.s.id, Source: "automatic",
	}) != nil {
		return false
	}
	l.keep()
	l.changed()
	return true
}

// changed tells others what is new of the session. The lock is held.
func (l *Live) changed() {
	if p := l.hub.opts.Presence; p != nil {
		p.Changed(l.Facts())
	}
}
