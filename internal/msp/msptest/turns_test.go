package msptest_test

import (
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// waiting starts a turn that streams its first words and then waits.
func waiting(c *client, session string) (msp.TurnStartResult, int) {
	c.t.Helper()
	ack, mark := c.submit(session, "wait for me")
	await(c, mark, msp.NoteItemDelta, func(p *msp.ItemDeltaParams) bool { return p.SessionID == session })
	return ack, mark
}

func TestSteer(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	running, mark := waiting(c, id)
	steer := func(turn string) msp.TurnSteerParams {
		return msp.TurnSteerParams{SessionID: id, CommandID: msptest.CommandID(), ExpectedTurnID: turn, Input: textInput("by the way")}
	}
	refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnSteer, steer(msptest.CommandID()))
	refused(c, msp.ErrorKindInvalidParams, msp.MethodTurnSteer, steer("not an id"))
	wanted := steer(running.TurnID)
	if ack := must[msp.TurnSteerResult](c, msp.MethodTurnSteer, wanted); ack.TurnID != running.TurnID {
		t.Errorf("steered %+v", ack)
	}
	refused(c, msp.ErrorKindInvalidParams, msp.MethodTurnStart, msp.TurnStartParams{
		SessionID: id, CommandID: msptest.CommandID(), Input: textInput("x"), IfBusy: msp.IfBusySteer, WorkspaceRoots: []string{c.home.workspace},
	})
	close(s.hold)
	await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool {
		return p.Item.Kind == msp.ItemKindUserMessage && p.Item.Steered && p.Item.CommandID == wanted.CommandID
	})
	if end := c.finished(mark, running.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnSteer, steer(running.TurnID))
	c.leave()
}

func TestReplace(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	running, mark := waiting(c, id)
	next := must[msp.TurnStartResult](c, msp.MethodTurnStart, msp.TurnStartParams{
		SessionID: id, CommandID: msptest.CommandID(), Input: textInput("say hello"), IfBusy: msp.IfBusyReplace,
	})
	if end := c.finished(mark, running.TurnID); end.Terminal != msp.TurnTerminalCancelled {
		t.Errorf("end of the replaced turn %+v", end)
	}
	if end := c.finished(mark, next.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	var order []string
	for _, e := range c.Events(mark) {
		switch p := e.Params.(type) {
		case *msp.TurnStartedParams:
			order = append(order, "+"+p.TurnID)
		case *msp.TurnCompletedParams:
			order = append(order, "-"+p.TurnID)
		}
	}
	want := []string{"+" + running.TurnID, "-" + running.TurnID, "+" + next.TurnID, "-" + next.TurnID}
	if len(order) != len(want) {
		t.Fatalf("turns %v, want %v", order, want)
	}
	for i := range want {
		if order[i] != want[i] {
			t.Fatalf("turns %v, want %v", order, want)
		}
	}
	c.leave()
}

func TestInterruptKeepsTheQueue(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	running, mark := waiting(c, id)
	queued, _ := c.submit(id, "say hello")
	must[msp.TurnInterruptResult](c, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: msptest.CommandID()})
	if end := c.finished(mark, running.TurnID); end.Terminal != msp.TurnTerminalCancelled {
		t.Errorf("end %+v", end)
	}
	if end := c.finished(mark, queued.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end of the queued turn %+v", end)
	}
	c.leave()
}

// A prompt is taken back when nothing of the answer was kept (MSP.md 7.2,
// turn/interrupt).
func TestRetract(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	running, mark := c.submit(id, "say nothing")
	prompt := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindUserMessage }).Item
	command := msptest.CommandID()
	must[msp.TurnInterruptResult](c, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: command, Retract: new(true)})
	gone := await[msp.TurnRetractedParams](c, mark, msp.NoteTurnRetracted, nil)
	if gone.TurnID != running.TurnID {
		t.Errorf("retracted %+v", gone)
	}
	after := await(c, mark, msp.NoteItemUpdated, func(p *msp.ItemUpdatedParams) bool { return p.Item.ItemID == prompt.ItemID }).Item
	if !after.Retracted || after.Revision <= prompt.Revision {
		t.Errorf("the prompt is %+v", after)
	}
	if end := c.finished(mark, running.TurnID); end.Terminal != msp.TurnTerminalCancelled {
		t.Errorf("end %+v", end)
	}
	c.leave()
}

// A model call that fails and may succeed is tried again, and the client is told
// when.
func TestRetryIsAnnounced(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "fail once")
	retry := await[msp.TurnRetryScheduledParams](c, mark, msp.NoteTurnRetryScheduled, nil)
	if retry.TurnID != ack.TurnID || retry.NextAttempt != retry.Attempt+1 || retry.NextAttempt > retry.MaxAttempts || retry.Reason == "" {
		t.Errorf("retry %+v", retry)
	}
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	c.leave()
}

func TestProviderFailureEndsTheTurn(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "fail for good")
	end := c.finished(mark, ack.TurnID)
	if end.Terminal != msp.TurnTerminalFailed || end.Error == nil || end.Error.Kind != msp.TurnErrorKindModelError || end.Error.Message == "" {
		t.Errorf("end %+v", end)
	}
	ack, mark = c.submit(id, "say hello")
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end of the next turn %+v", end)
	}
	c.leave()
}
