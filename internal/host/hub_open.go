package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/workspace"
)

// admit waits until nobody else opens or closes the session and keeps others
// out until leave is called.
func (h *Hub) admit(ctx context.Context, id string) (leave func(), err error) {
	for {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return nil, ErrClosed
		}
		other := h.opening[id]
		if other == nil {
			mine := make(chan struct{})
			h.opening[id] = mine
			h.mu.Unlock()
			return func() {
				h.mu.Lock()
				delete(h.opening, id)
				h.mu.Unlock()
				close(mine)
			}, nil
		}
		h.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (h *Hub) loaded(id string) *Live {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live[id]
}

// Start opens a new session. A repeated command finds the session it opened,
// also after a restart.
func (h *Hub) Start(ctx context.Context, c Command, r StartRequest) (*Live, error) {
	w, err := h.wanted(r)
	if err != nil {
		return nil, err
	}
	id := r.SessionID
	if id == "" {
		id = derivedID(c)
	}
	leave, err := h.admit(ctx, id)
	if err != nil {
		return nil, err
	}
	defer leave()
	if l, err := h.startedBefore(ctx, c, id); l != nil || err != nil {
		return l, err
	}
	return h.open(ctx, id, w, opening{command: c, started: func(l *Live) []event.Body {
		return []event.Body{
			event.SessionCreated{CommandID: c.ID, Client: client(c)},
			event.ApprovalModeChanged{ClientName: c.Client, CommandID: c.ID, Mode: l.mode, Source: "startup"},
		}
	}})
}

func client(c Command) *event.Client {
	if c.Client == "" {
		return nil
	}
	return &event.Client{Name: c.Client, Title: c.ClientTitle, Version: c.ClientVersion}
}

// wanted checks a request for a session.
func (h *Hub) wanted(r StartRequest) (Wanted, error) {
	if r.SessionID != "" && !ident.Valid(r.SessionID) {
		return Wanted{}, badParams("sessionId: %q is not a UUID", oneLine(r.SessionID, 64))
	}
	dir := r.Workspace
	if dir == "" {
		dir = h.opts.Workspace
	}
	if !filepath.IsAbs(dir) {
		return Wanted{}, badParams("workspaceRoot: %s is not an absolute path", oneLine(dir, 200))
	}
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(root); err == nil && !info.IsDir() {
			err = errors.New("it is not a directory")
		}
	}
	if err != nil {
		return Wanted{}, badParams("workspaceRoot: %v", err)
	}
	w := Wanted{Workspace: root, Provider: r.Provider, Model: r.Model}
	if r.ApprovalMode != "" {
		if w.Mode, err = permission.ParseMode(r.ApprovalMode); err != nil || w.Mode.WireName() != r.ApprovalMode {
			return Wanted{}, badParams("approvalMode: %q is no approval mode", oneLine(r.ApprovalMode, 40))
		}
	}
	return w, nil
}

// startedBefore is the session that a repeated command opened before, nil when
// id is free.
func (h *Hub) startedBefore(ctx context.Context, c Command, id string) (*Live, error) {
	taken := refuse(ReasonSessionConflict, "session %s exists already", id)
	l := h.loaded(id)
	if l == nil && !h.opts.Ephemeral {
		place, err := store.Find(h.opts.DataRoot, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if started, err := place.Started(); err != nil || !started {
			return nil, err
		}
		commands, err := commandsOf(place.LogPath())
		if err != nil {
			return nil, err
		}
		switch i := commands[c.ID]; {
		case i == nil && len(commands) == 0 && id == derivedID(c):
			// The host died while it opened the session for this command.
			return nil, nil
		case i == nil:
			return nil, taken
		case i.digest != c.Digest || i.method != c.Method:
			return nil, conflict(c)
		}
		if l, err = h.load(ctx, id, Command{}); err != nil {
			return nil, err
		}
	}
	if l == nil {
		return nil, nil
	}
	return l, l.openedBy(c, taken)
}

// openedBy reports nil when c opened the session, and otherwise refuses it.
func (l *Live) openedBy(c Command, other *Refusal) error {
	l.s.state.mu.Lock()
	defer l.s.state.mu.Unlock()
	i := l.s.state.commands[c.ID]
	switch {
	case i == nil:
		return other
	case i.digest != c.Digest || i.method != c.Method:
		return conflict(c)
	case i.refusal != nil:
		return i.refusal
	}
	return nil
}

// commandsOf reads the commands of a log without a lease.
func commandsOf(path string) (map[string]*intake, error) {
	st := newState()
	err := readEvents(path, 0, all, func(r event.Recorded) error {
		switch r.Body.(type) {
		case event.CommandReceived, event.CommandSettled:
			st.apply(r)
		}
		return nil
	})
	return st.commands, err
}

// opening is what is recorded when a session is opened.
type opening struct {
	command Command // "" for none
	started func(l *Live) []event.Body
	copied  func(l *Live) error // what a copy is filled with, nil for none
}

// open opens a session and makes it live. The caller has admitted itself.
func (h *Hub) open(ctx context.Context, id string, w Wanted, o opening) (*Live, error) {
	plan, err := h.opts.Factory.Plan(ctx, w)
	if err != nil {
		return nil, err
	}
	l, err := h.session(id, w.Workspace)
	if err != nil {
		plan.Discard()
		return nil, err
	}
	if err := h.outfit(l, plan, o); err != nil {
		return nil, err
	}
	return l, nil
}

// session opens the session itself: its lease and what its log says.
func (h *Hub) session(id, root string) (*Live, error) {
	_, git := workspace.VCSRoot(root)
	s, report, err := Open(Options{
		DataRoot: h.opts.DataRoot, Workspace: root, Git: git, SessionID: id,
		KeepNothing: h.opts.Ephemeral, KeepEvents: h.opts.Ephemeral, AllowWorkspaceSwitch: true,
		Build: h.opts.Build, Program: h.opts.Program, Now: h.opts.Now, OpenLog: h.opts.OpenLog,
	})
	var used *journal.InUseError
	if errors.As(err, &used) {
		return nil, &Refusal{Kind: SessionInUse, SessionID: id, Message: used.Error()}
	}
	if err != nil {
		return nil, err
	}
	l := newLive(h, s)
	l.notes = report.Notes
	return l, nil
}

// outfit builds what an open session runs with, records its opening and makes
// it live.
func (h *Hub) outfit(l *Live, plan Plan, o opening) error {
	plan.Fill(&l.s.opts)
	if err := l.equip(plan); err != nil {
		return errors.Join(err, l.s.Abandon())
	}
	err := l.s.Begin()
	if err == nil {
		err = l.opened(o)
	}
	if err != nil {
		return errors.Join(err, l.gear.Close(), l.s.Abandon())
	}
	h.mu.Lock()
	h.live[l.s.id] = l
	h.mu.Unlock()
	l.goOn()
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := h.opts.Presence; p != nil {
		p.Opened(l.Facts)
	}
	l.indexBeside()
	return nil
}

// opened records who opened the session, and then what was seen of its
// workspace, which is no part of the answer.
func (l *Live) opened(o opening) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.command.ID != "" {
		if err := l.receive(o.command, nil); err != nil {
			return err
		}
	}
	for _, b := range o.started(l) {
		if err := l.fact(b); err != nil {
			return err
		}
	}
	if o.copied != nil {
		if err := o.copied(l); err != nil {
			return err
		}
	}
	if o.command.ID != "" {
		if err := l.settle(o.command, none{}, nil); err != nil {
			return err
		}
	}
	if l.gear.Branch != nil {
		if b, ok := l.gear.Branch(""); ok {
			return l.fact(b)
		}
	}
	return nil
}
