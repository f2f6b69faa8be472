package host

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/workspace"
)

// Resume loads a stored session, or returns the one that is loaded.
func (h *Hub) Resume(ctx context.Context, c Command, id string) (*Live, error) {
	if h.opts.Ephemeral {
		return nil, notOnEphemeral("session/resume")
	}
	if !ident.Valid(id) {
		return nil, noSuchSession(oneLine(id, 64))
	}
	leave, err := h.admit(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	if l := h.loaded(id); l != nil {
		return l, nil
	}
	return h.load(ctx, id, c)
}

// load opens a stored session as its log left it. The caller has admitted
// itself.
func (h *Hub) load(ctx context.Context, id string, c Command) (*Live, error) {
	place, err := store.Find(h.opts.DataRoot, id)
	if err == nil {
		var started bool
		if started, err = place.Started(); err == nil && !started {
			err = store.ErrNotFound
		}
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil, noSuchSession(id)
	}
	if err != nil {
		return nil, err
	}
	l, err := h.session(id, h.opts.Workspace)
	if err != nil {
		return nil, err
	}
	if err := l.otherCommand(c); err != nil {
		return nil, errors.Join(err, l.s.Abandon())
	}
	w := l.remembered()
	plan, err := h.planAgain(ctx, w)
	if err != nil {
		return nil, errors.Join(err, l.s.Abandon())
	}
	l.s.opts.Workspace = w.Workspace
	_, l.s.opts.Git = workspace.VCSRoot(w.Workspace)
	if err := h.outfit(l, plan, opening{started: func(l *Live) []event.Body {
		bodies := []event.Body{event.SessionResumed{CommandID: c.ID, Client: client(c)}}
		if c.ID == "" {
			bodies = nil
		}
		return append(bodies, event.ApprovalModeChanged{Mode: l.mode, Source: "replay"})
	}}); err != nil {
		return nil, err
	}
	return l, nil
}

// otherCommand refuses a command whose id the session knows for something else.
func (l *Live) otherCommand(c Command) error {
	l.s.state.mu.Lock()
	defer l.s.state.mu.Unlock()
	if i := l.s.state.commands[c.ID]; i != nil && (i.digest != c.Digest || i.method != c.Method) {
		return conflict(c)
	}
	return nil
}

// remembered is what the log says the session runs with.
func (l *Live) remembered() Wanted {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	w := Wanted{Workspace: st.workspace, Provider: st.provider, Model: st.model}
	if w.Workspace == "" {
		w.Workspace = l.hub.opts.Workspace
	}
	if mode, err := permission.ParseMode(st.mode); err == nil {
		w.Mode = mode
	}
	return w
}

// planAgain plans a stored session. What it ran with may not be there any
// more: then the settings say what it runs with now.
func (h *Hub) planAgain(ctx context.Context, w Wanted) (Plan, error) {
	plan, err := h.opts.Factory.Plan(ctx, w)
	if err == nil {
		return plan, nil
	}
	for _, less := range []Wanted{
		{Workspace: w.Workspace, Provider: w.Provider, Model: w.Model},
		{Workspace: w.Workspace},
	} {
		if plan, again := h.opts.Factory.Plan(ctx, less); again == nil {
			return plan, nil
		}
	}
	return nil, err
}

// Loaded is the session that this hub has open; a Refusal of kind
// SessionNotLoaded or NoSuchSession otherwise.
func (h *Hub) Loaded(id string) (*Live, error) {
	if l := h.loaded(id); l != nil {
		return l, nil
	}
	if !h.opts.Ephemeral && ident.Valid(id) {
		place, err := store.Find(h.opts.DataRoot, id)
		if err == nil {
			if started, err := place.Started(); err == nil && started {
				return nil, &Refusal{Kind: SessionNotLoaded, SessionID: id, Message: "session " + id + " is not loaded"}
			}
		}
	}
	return nil, noSuchSession(oneLine(id, 64))
}

// Sessions are the ids of the loaded sessions, sorted.
func (h *Hub) Sessions() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.live))
}

// Stored is what can be said of a stored session without reading it: its id and
// the path of its log.
func (h *Hub) Stored(id string) (Facts, error) {
	if h.opts.Ephemeral || !ident.Valid(id) {
		return Facts{}, noSuchSession(oneLine(id, 64))
	}
	place, err := store.Find(h.opts.DataRoot, id)
	if errors.Is(err, store.ErrNotFound) {
		return Facts{}, noSuchSession(id)
	}
	if err != nil {
		return Facts{}, err
	}
	if started, err := place.Started(); err != nil || !started {
		return Facts{}, errors.Join(err, noSuchSession(id))
	}
	return Facts{SessionID: id, Path: place.LogPath()}, nil
}

// Replay shows the events of a session after the sequence from in log order,
// without a lease and without loading it.
func (h *Hub) Replay(ctx context.Context, id string, from int64, yield func(event.Recorded) error) error {
	if l := h.loaded(id); l != nil {
		return l.s.rec.past(l.s.LogPath(), from, l.Head(), yield)
	}
	f, err := h.Stored(id)
	if err != nil {
		return err
	}
	return readEvents(f.Path, from, all, func(r event.Recorded) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return yield(r)
	})
}
