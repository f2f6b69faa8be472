package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

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
	err := readEvents(path, 0, 0, all, func(r event.Recorded) error {
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
	l.mu.Lock()
	defer l.mu.Unlock()
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

// Replay shows every event of a session in log order, without a lease and
// without loading it.
func (h *Hub) Replay(ctx context.Context, id string, yield func(event.Recorded) error) (Facts, error) {
	f := Facts{SessionID: id}
	if l := h.loaded(id); l != nil {
		err := l.s.rec.past(l.s.LogPath(), 0, l.Head(), yield)
		return l.Facts(), err
	}
	if h.opts.Ephemeral || !ident.Valid(id) {
		return f, noSuchSession(oneLine(id, 64))
	}
	place, err := store.Find(h.opts.DataRoot, id)
	if errors.Is(err, store.ErrNotFound) {
		return f, noSuchSession(id)
	}
	if err != nil {
		return f, err
	}
	if started, err := place.Started(); err != nil || !started {
		return f, errors.Join(err, noSuchSession(id))
	}
	f.Path = place.LogPath()
	err = readEvents(f.Path, 0, 0, all, func(r event.Recorded) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.CreatedAt.IsZero() {
			f.CreatedAt = time.UnixMicro(r.At)
		}
		switch b := r.Body.(type) {
		case event.Metadata:
			if b.WorkspaceRoot != "" {
				f.Workspace = b.WorkspaceRoot
			}
		case event.NameChanged:
			f.Name = b.NewName
		}
		return yield(r)
	})
	return f, err
}

// Close cancels what runs, records the end of every session and gives the
// leases back. Prompts that wait are not started; the next host says so.
func (h *Hub) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	opening := slices.Collect(maps.Values(h.opening))
	h.mu.Unlock()
	for _, o := range opening {
		select {
		case <-o:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h.mu.Lock()
	live := h.live
	h.live = map[string]*Live{}
	h.mu.Unlock()
	errs := make(chan error, len(live))
	for _, l := range live {
		go func() { errs <- l.close(ctx, "hostShutdown") }()
	}
	var all []error
	for range live {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// close ends the session: what runs is stopped, its end is recorded, the lease
// is given back.
func (l *Live) close(ctx context.Context, reason string) error {
	l.mu.Lock()
	l.closing = true
	t := l.turn
	if t != nil {
		t.cancel(context.Canceled)
	}
	for _, cancel := range l.shells {
		cancel()
	}
	if l.indexing != nil {
		l.indexing()
	}
	l.mu.Unlock()
	if t != nil {
		select {
		case <-t.done:
		case <-ctx.Done():
			return fmt.Errorf("close session %s: %w", l.s.id, ctx.Err())
		}
	}
	l.beside.Wait()
	exit := "clean"
	if t != nil {
		exit = "interrupted"
	}
	l.mu.Lock()
	l.giveUp()
	broken := l.broken
	l.mu.Unlock()
	err := l.gear.Close()
	if broken != nil {
		err = errors.Join(broken, err, l.s.Abandon())
	} else {
		err = errors.Join(err, l.s.Close(exit))
	}
	head := l.Head()
	l.s.rec.end()
	if told := l.hub.opts.Closed; told != nil && err == nil {
		told(l.s.id, reason, head)
	}
	return err
}

// giveUp records that the prompts which wait will not be started. The lock is
// held and nothing runs.
func (l *Live) giveUp() {
	for _, e := range l.s.state.leftWaiting() {
		if l.fact(e.Body) != nil {
			return // the log failed, and that is what is reported
		}
	}
}

// watching counts those who watch.
func (l *Live) watching(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watchers += n
	l.watchIdle()
}

// watchIdle unloads a session that nobody needs any more, after a while. The
// lock is held.
func (l *Live) watchIdle() {
	if l.hub.opts.IdleUnload <= 0 || l.closing || !l.unused() {
		return
	}
	go func() {
		<-l.hub.opts.After(l.hub.opts.IdleUnload)
		l.hub.unload(l)
	}()
}

// unused reports whether nothing keeps the session loaded.
func (l *Live) unused() bool {
	return l.watchers == 0 && l.turn == nil && len(l.shells) == 0 && len(l.inFlight) == 0
}

// unload closes a session that is unused.
func (h *Hub) unload(l *Live) {
	leave, err := h.admit(context.Background(), l.s.id)
	if err != nil {
		return // the hub closes it
	}
	defer leave()
	l.mu.Lock()
	unused := l.unused() && !l.closing
	if unused {
		l.closing = true
	}
	l.mu.Unlock()
	if !unused || h.loaded(l.s.id) != l {
		return
	}
	h.mu.Lock()
	delete(h.live, l.s.id)
	h.mu.Unlock()
	// Nobody is there to be told; the next opening repairs what is left.
	_ = l.close(context.Background(), "idle")
}
