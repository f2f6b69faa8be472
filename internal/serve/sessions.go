package serve

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	fold "github.com/openmuse/muse/internal/view/session"
)

// startSession opens a new session and subscribes the client to it.
func startSession(k *call, p msp.SessionStartParams) (msp.SessionStartResult, error) {
	var none msp.SessionStartResult
	r, err := k.startRequest(p)
	if err != nil {
		return none, err
	}
	c, err := k.command(p.CommandID)
	if err != nil {
		return none, err
	}
	opened, err := k.opening(func(ctx context.Context) (Session, error) { return k.opts.Host.Start(ctx, c, r) }, c)
	if err != nil {
		return none, err
	}
	return msp.SessionStartResult{Session: opened.row, ViewCursor: opened.cursor}, nil
}

// startRequest checks what a new session is to be.
func (k *call) startRequest(p msp.SessionStartParams) (host.StartRequest, error) {
	var r host.StartRequest
	if p.Config != nil && len(p.Config.MCPServers) > 0 && !k.has(msp.CapabilityNameSessionMcp) {
		return r, msp.CapabilityRequired(msp.CapabilityNameSessionMcp)
	}
	if p.SessionID != nil {
		if r.SessionID = *p.SessionID; !ident.Valid(r.SessionID) {
			return r, msp.InvalidParams("sessionId", "is not a UUID")
		}
	}
	roots := p.WorkspaceRoots
	if p.WorkspaceRoot != nil {
		if roots == nil {
			roots = []string{*p.WorkspaceRoot}
		}
		if !slices.Contains(roots, *p.WorkspaceRoot) {
			return r, msp.InvalidParams("workspaceRoots", "does not hold workspaceRoot")
		}
	}
	switch {
	case p.WorkspaceRoots != nil && len(roots) == 0:
		return r, msp.InvalidParams("workspaceRoots", "is empty")
	case len(roots) > 1:
		return r, msp.InvalidParams("workspaceRoots", "names more than one root, and a session has one")
	case len(roots) == 1:
		r.Workspace = roots[0]
		if !filepath.IsAbs(r.Workspace) {
			name := "workspaceRoot"
			if p.WorkspaceRoot == nil {
				name = "workspaceRoots[0]"
			}
			return r, msp.InvalidParams(name, "is not an absolute path")
		}
	}
	if p.ProviderID != nil {
		r.Provider = *p.ProviderID
	}
	if p.ModelID != nil {
		r.Model = *p.ModelID
	}
	if p.ApprovalMode != nil {
		r.ApprovalMode = string(*p.ApprovalMode)
	}
	return r, nil
}

// forkSession copies a session.
func forkSession(k *call, p msp.SessionForkParams) (msp.SessionForkResult, error) {
	var none msp.SessionForkResult
	c, err := k.command(p.CommandID)
	if err != nil {
		return none, err
	}
	last := ""
	if p.CutPoint != nil {
		if last = p.CutPoint.LastTurnID; last == "" {
			return none, msp.InvalidParams("cutPoint.lastTurnId", "is empty")
		}
	}
	opened, err := k.opening(func(ctx context.Context) (Session, error) { return k.opts.Host.Fork(ctx, c, p.SessionID, last) }, c)
	if err != nil {
		return none, err
	}
	history, err := opened.view.History(fold.HistoryRequest{Exclude: p.ExcludeItems != nil && *p.ExcludeItems})
	return msp.SessionForkResult{
		History: history, PendingRequests: opened.view.Fold().Pending(), Session: opened.row, ViewCursor: opened.cursor,
	}, err
}

// sideChat opens a side session.
func sideChat(k *call, p msp.SessionSideChatParams) (msp.SessionSideChatResult, error) {
	var none msp.SessionSideChatResult
	c, err := k.command(p.CommandID)
	if err != nil {
		return none, err
	}
	opened, err := k.opening(func(ctx context.Context) (Session, error) { return k.opts.Host.SideChat(ctx, c, p.SessionID) }, c)
	if err != nil {
		return none, err
	}
	history, err := opened.view.History(fold.HistoryRequest{})
	return msp.SessionSideChatResult{
		History: history, PendingRequests: opened.view.Fold().Pending(), Session: opened.row, ViewCursor: opened.cursor,
	}, err
}

// opened is a session as it was when its opening was answered.
type opened struct {
	view   *view
	row    msp.Session
	cursor string
}

// opening opens a session that did not exist, announces it, and subscribes the
// client. A command that is sent again gets the answer it got the first time.
func (k *call) opening(open func(context.Context) (Session, error), c host.Command) (opened, error) {
	began := k.opts.Now().Truncate(time.Millisecond)
	session, err := open(k.ctx)
	if err != nil {
		return opened{}, k.rejected(err, c)
	}
	known := k.feeds.of(session.Facts().SessionID) != nil
	at := session.OpenedAt(c)
	f, err := k.claim(session, at)
	if err != nil {
		return opened{}, err
	}
	v := f.view
	if at > 0 && v.Fold().Sequence() > at {
		v = viewOf(session)
		if err := readTo(k.ctx, session, v, at); err != nil {
			return opened{}, err
		}
	}
	o := opened{view: v, row: v.row(true), cursor: v.Fold().Cursor()}
	if !known && !session.Facts().CreatedAt.Before(began) {
		k.broadcast(msp.NoteSessionStarted, msp.SessionStartedParams{Session: o.row})
		k.rowChanged(o.row)
	}
	if !f.attached {
		f.attach()
	}
	return o, nil
}

// resumeSession loads a stored session, or joins one that is loaded, and
// subscribes the client.
func resumeSession(k *call, p msp.SessionResumeParams) (msp.SessionResumeResult, error) {
	var none msp.SessionResumeResult
	if p.Config != nil && len(p.Config.MCPServers) > 0 && !k.has(msp.CapabilityNameSessionMcp) {
		return none, msp.CapabilityRequired(msp.CapabilityNameSessionMcp)
	}
	c, err := k.command(p.CommandID)
	if err != nil {
		return none, err
	}
	session, err := k.opts.Host.Resume(k.ctx, c, p.SessionID)
	if err != nil {
		return none, k.rejected(err, c)
	}
	f, err := k.claim(session, session.Head())
	if err != nil {
		return none, err
	}
	v := f.view
	out := msp.SessionResumeResult{
		PendingRequests: v.Fold().Pending(), Session: v.row(true), ViewCursor: v.Fold().Cursor(), LastTurn: v.Fold().LastTurn(),
	}
	q := fold.HistoryRequest{
		Exclude: p.ExcludeItems != nil && *p.ExcludeItems, Suffix: p.Cursor != nil, Preference: p.History,
	}
	if out.History, err = v.History(q); err != nil {
		return none, err
	}
	if p.Cursor != nil {
		return out, k.catchUpFrom(f, *p.Cursor, f.askAll)
	}
	f.attach()
	k.then(f.askAll)
	return out, nil
}

// catchUpFrom subscribes the client from a cursor on: what it has not seen is
// pushed after the reply, then done is called.
func (k *call) catchUpFrom(f *feed, cursor string, done func()) error {
	number, err := f.view.place(cursor)
	if err != nil {
		return err
	}
	k.then(func() {
		f.attached = true
		k.out.attach(f.view.id(), cursor)
		err := f.view.suffix(k.ctx, number, func(n fold.Kept) { k.pushKept(f.view.id(), n) })
		if err != nil {
			k.opts.Note("read the view of %s again: %v", f.view.id(), err)
		}
		done()
	})
	return nil
}

// readSession shows a session without loading it.
func readSession(k *call, p msp.SessionReadParams) (msp.SessionReadResult, error) {
	var out msp.SessionReadResult
	err := k.seeing(p.SessionID, func(v *view, loaded bool) (err error) {
		out = msp.SessionReadResult{
			PendingRequests: v.Fold().Pending(), Session: v.row(loaded), ViewCursor: v.Fold().Cursor(), LastTurn: v.Fold().LastTurn(),
		}
		out.History, err = v.History(fold.HistoryRequest{Exclude: p.ExcludeItems == nil || *p.ExcludeItems})
		return err
	})
	return out, err
}

// seeing shows the view of a session as it is now: that of a loaded one, or
// one read from its log without a lease.
func (k *call) seeing(sessionID string, look func(v *view, loaded bool) error) error {
	session, err := k.opts.Host.Loaded(sessionID)
	if err == nil {
		f, err := k.claim(session, session.Head())
		if err != nil {
			return err
		}
		defer f.rest()
		return look(f.view, true)
	}
	if no, ok := asRefusal(err); !ok || no.Kind != host.SessionNotLoaded || k.opts.Ephemeral {
		return err
	}
	v := &view{}
	if v.facts, err = k.opts.Host.Stored(sessionID); err != nil {
		return err
	}
	v.replay = func(ctx context.Context, from int64, show func(event.Recorded) error) error {
		return k.opts.Host.Replay(ctx, sessionID, from, show)
	}
	log := func(from int64, yield func(event.Recorded) error) error { return v.replay(k.ctx, from, yield) }
	if v.View, err = k.opts.Views.Read(sessionID, v.facts.Path, log, fold.DefaultLimits()); err != nil {
		return err
	}
	k.keep(v, v.Saved(), keepEvery)
	return look(v, false)
}
