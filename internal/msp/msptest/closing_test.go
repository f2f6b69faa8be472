package msptest_test

import (
	"context"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// The end of the input while a turn runs: the turn is cancelled durably, the
// session is closed in order, and the host ends with 0 and holds no lease
// (MSP.md 3).
func TestEndOfInputWhileATurnRuns(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id := c.start().Session.SessionID
	running, mark := waiting(c, id)
	queued, _ := c.submit(id, "say hello")
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if exit, err := c.End(ctx); err != nil || exit.Code != 0 {
		t.Fatalf("exit %+v, %v", exit, err)
	}
	ended, closed := false, false
	for _, e := range c.Events(mark) {
		switch p := e.Params.(type) {
		case *msp.TurnCompletedParams:
			if p.TurnID == running.TurnID {
				ended = p.Terminal == msp.TurnTerminalCancelled
			}
		case *msp.TurnStartedParams:
			if p.TurnID == queued.TurnID {
				t.Error("the queued turn began while the host ended")
			}
		case *msp.SessionClosedParams:
			closed = p.SessionID == id && p.Reason == msp.SessionClosedReasonHostShutdown
		}
	}
	if !ended || !closed {
		t.Errorf("turn cancelled: %v, session closed: %v", ended, closed)
	}
	next := h.open(t)
	resumed := must[msp.SessionResumeResult](next, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	if resumed.Session.Status != msp.SessionStatusIdle {
		t.Errorf("resumed %+v", resumed.Session)
	}
	ack, from := next.submit(id, "say hello")
	if end := next.finished(from, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	next.leave()
}

// The end of the input while an action waits for a decision.
func TestEndOfInputWhileAnApprovalWaits(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	_, mark := c.submit(id, "run a command")
	await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if exit, err := c.End(ctx); err != nil || exit.Code != 0 {
		t.Fatalf("exit %+v, %v", exit, err)
	}
}
