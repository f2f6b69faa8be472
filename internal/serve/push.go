package serve

import (
	"github.com/openmuse/muse/internal/msp"
	fold "github.com/openmuse/muse/internal/view/session"
)

// broadcast pushes a notification that hangs on no subscription.
func (c *conn) broadcast(name string, params any) {
	if !c.wants(name) {
		return
	}
	frame, err := c.noteFrame(name, params)
	if err != nil {
		c.opts.Note("%v", err)
		return
	}
	c.push(func() { c.out.send(frame) })
}

// rowChanged tells a client that follows the list of a new state of a row.
func (c *conn) rowChanged(row msp.Session) {
	if c.has(msp.CapabilityNameSessionListStream) {
		c.broadcast(msp.NoteSessionListChanged, msp.SessionListChangedParams{Session: row})
	}
}

// pushView pushes one event of a session's view.
func (c *conn) pushView(n msp.UnframedViewNotification) {
	if !c.wants(n.Method) {
		return
	}
	frame, err := c.noteFrame(n.Method, n.Params)
	if err != nil {
		// Too large for a frame: the client is told of a hole by the next event.
		c.opts.Note("%v", err)
		return
	}
	at := n.Params.At()
	f := viewFrame{session: at.SessionID, cursor: at.ViewCursor, data: frame, protected: msp.Protected(n.Method)}
	c.push(func() { c.out.view(f) })
}

// pushKept pushes an event of a session's view that was said before.
func (c *conn) pushKept(sessionID string, n fold.Kept) {
	if !c.wants(n.Method) {
		return
	}
	frame, err := c.noteFrame(n.Method, n.Params)
	if err != nil {
		c.opts.Note("%v", err)
		return
	}
	f := viewFrame{session: sessionID, cursor: fold.Cursor(sessionID, n.Number), data: frame, protected: msp.Protected(n.Method)}
	c.push(func() { c.out.view(f) })
}
