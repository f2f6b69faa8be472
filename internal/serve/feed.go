package serve

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	fold "github.com/openmuse/muse/internal/view/session"
)

// feed follows one loaded session: it folds every event as it comes and pushes
// what the fold says, when the client has subscribed.
type feed struct {
	conn    *conn
	session Session

	// gate is held while an event is folded and pushed, and by a command from
	// before the host is asked until its reply stands in the order. It guards
	// the fields below.
	gate     sync.Mutex
	view     *view
	attached bool
	status   msp.SessionStatus
	flags    []msp.AttentionFlag
	moved    *sync.Cond // on gate: the fold went on, or ended
	ended    bool

	kept   int64 // sequence at which the view was to be saved last
	listed int64 // sequence at which the session was listed last

	stop context.CancelFunc
}

// open folds the session up to a sequence, from the view that was kept when
// there is one.
func (f *feed) open(ctx context.Context, until int64) error {
	v, err := f.conn.opts.Views.Read(f.view.id(), f.view.facts.Path, pastOf(ctx, f.session, until), fold.DefaultLimits())
	if err != nil {
		return err
	}
	f.view.View, f.kept = v, v.Saved()
	f.keep(keepEvery)
	return nil
}

// A view is worth keeping after so many records: folding fewer takes less time
// than anybody notices. At the end of a session, when nobody waits, fewer do.
const (
	keepEvery = 4096
	keepAtEnd = 256
)

// keep saves the view when much was folded since it was saved last, be it in
// the middle of a turn: the process may be killed at any time.
func (f *feed) keep(every int64) { f.kept = f.conn.keep(f.view, f.kept, every) }

// keep saves a view that was saved last at a sequence, when it has gone on by
// so many records, and returns where it is saved now. It is derived: failing
// costs time, later.
func (c *conn) keep(v *view, last, every int64) int64 {
	at := v.Fold().Sequence()
	if at-last < every || c.opts.Ephemeral {
		return last
	}
	if err := c.opts.Views.Keep(v.View, v.facts.Path); err != nil {
		c.opts.Note("%v", err)
	}
	return at
}

// rest ends the feed of a session that nobody follows and that does nothing:
// the host may unload it. Whoever asks for it again gets another feed.
func (f *feed) rest() {
	if f.attached || f.ended || f.status != msp.SessionStatusIdle || len(f.flags) > 0 {
		return
	}
	f.ended = true
	f.conn.feeds.forget(f)
	f.stop()
}

// catchUp waits until the feed has folded up to a sequence, or its session is
// gone.
func (f *feed) catchUp(until int64) error {
	f.gate.Lock()
	defer f.gate.Unlock()
	for f.view.Fold().Sequence() < until && !f.ended {
		f.moved.Wait()
	}
	if f.ended && f.view.Fold().Sequence() < until {
		return host.ErrClosed
	}
	return nil
}

// show folds one event and pushes what it says.
func (f *feed) show(e event.Recorded) error {
	f.gate.Lock()
	defer f.gate.Unlock()
	notes, err := f.view.Apply(e)
	if err != nil {
		return err
	}
	row := false
	for _, n := range notes {
		f.deliver(n.UnframedViewNotification)
		row = row || inRow(n.Method)
	}
	if !f.flip() && row {
		f.conn.rowChanged(f.view.row(true))
	}
	f.keep(keepEvery)
	f.moved.Broadcast()
	return nil
}

// end notes that the session was unloaded.
func (f *feed) end(err error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	f.ended = true
	f.keep(keepAtEnd)
	f.moved.Broadcast()
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if errors.Is(err, host.ErrClosed) {
		f.closed()
		return
	}
	f.conn.opts.Note("the view of session %s is lost: %v", f.view.id(), err)
	f.conn.broadcast(msp.NoteSessionViewHealthChanged, msp.SessionViewHealthChangedParams{
		SessionID: f.view.id(), Health: msp.SessionViewHealthUnavailable,
	})
}

// closed tells everybody that the session was unloaded in order.
func (f *feed) closed() {
	p := msp.SessionClosedParams{SessionID: f.view.id(), Reason: msp.SessionClosedReasonIdle}
	if f.conn.closing.Load() {
		p.Reason = msp.SessionClosedReasonHostShutdown
	}
	if cursor := f.view.Fold().Cursor(); cursor != "" {
		p.ViewCursor = &cursor
	}
	f.conn.feeds.mu.Lock()
	f.conn.feeds.told[p.SessionID] = true
	f.conn.feeds.mu.Unlock()
	f.conn.broadcast(msp.NoteSessionClosed, p)
	f.conn.rowChanged(f.view.row(false))
}

// Unloaded is told by the host that it unloaded a session in order; head is
// the session's newest record. The client hears of it from the session's feed,
// or from here when nobody followed the session.
func (s *Server) Unloaded(sessionID, reason string, head int64) {
	c := s.client.Load()
	if c == nil {
		return
	}
	c.feeds.mu.Lock()
	told := c.feeds.open[sessionID] != nil || c.feeds.told[sessionID]
	c.feeds.mu.Unlock()
	if told {
		return
	}
	cursor := fold.Cursor(sessionID, fold.LastOf(head))
	c.broadcast(msp.NoteSessionClosed, msp.SessionClosedParams{
		SessionID: sessionID, Reason: msp.SessionClosedReason(reason), ViewCursor: &cursor,
	})
}

// deliver pushes one event of the view to a client that has subscribed, and
// the question that goes with it.
func (f *feed) deliver(n msp.UnframedViewNotification) {
	if !f.attached {
		return
	}
	f.conn.pushView(n)
	switch p := n.Params.(type) {
	case *msp.ApprovalRequestParams:
		f.ask(msp.ServerRequestApprovalRequest, p)
	case *msp.UserInputRequestParams:
		f.ask(msp.ServerRequestUserInputRequest, p)
	}
}

// ask puts an open question to the client, with an id of its own.
func (f *feed) ask(method string, params any) {
	if method == msp.ServerRequestUserInputRequest && !f.conn.dialogs() {
		return
	}
	f.conn.push(func() {
		frame, err := f.conn.askFrame(method, params)
		if err != nil {
			f.conn.opts.Note("encode %s: %v", method, err)
			return
		}
		f.conn.out.send(frame)
	})
}

// askAll puts every open question to the client again, oldest first.
func (f *feed) askAll() {
	approvals, inputs := f.view.Fold().Approvals(), f.view.Fold().UserInputs()
	for _, p := range f.view.Fold().Pending() {
		switch p.Kind {
		case msp.PendingRequestKindApproval:
			for _, a := range approvals {
				if a.ApprovalID == p.ApprovalID {
					f.ask(msp.ServerRequestApprovalRequest, &a)
				}
			}
		case msp.PendingRequestKindUserInput:
			for _, u := range inputs {
				if u.UserInputID == p.UserInputID {
					f.ask(msp.ServerRequestUserInputRequest, &u)
				}
			}
		}
	}
}

// attach subscribes the client from the present place of the view on.
func (f *feed) attach() {
	f.attached = true
	f.conn.out.attach(f.view.id(), f.view.Fold().Cursor())
}

func (f *feed) detach() {
	f.attached = false
	f.conn.out.detach(f.view.id())
}

// flip tells everybody when the session starts or ends running, or waits for
// something else than before (MSP.md 8, session/statusChanged).
// It reports whether it told.
func (f *feed) flip() bool {
	status, flags := f.view.status(), f.view.Fold().Attention()
	if status == f.status && slices.Equal(flags, f.flags) {
		return false
	}
	f.status, f.flags = status, flags
	if status == msp.SessionStatusIdle {
		defer f.rest()
	}
	p := msp.SessionStatusChangedParams{SessionID: f.view.id(), Status: status, Attention: flags}
	if cursor := f.view.Fold().Cursor(); cursor != "" {
		p.ViewCursor = &cursor
	}
	f.conn.broadcast(msp.NoteSessionStatusChanged, p)
	f.conn.rowChanged(f.view.row(true))
	return true
}

// inRow reports whether a notification changes what a list shows.
func inRow(method string) bool {
	switch method {
	case msp.NoteSessionNameChanged, msp.NoteSessionModelChanged, msp.NoteSessionBranchChanged, msp.NoteSessionApprovalModeChanged:
		return true
	}
	return false
}
