package msptest_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// told is a durable event as it was told: by a push or in a page.
type told struct {
	cursor, method, params string
}

// durable picks the events of a session that come from its log.
func durable(t *testing.T, session string, events []msptest.Event) []told {
	t.Helper()
	var out []told
	for _, e := range events {
		view, ok := e.Params.(msp.View)
		if !ok || e.Request || view.At().SessionID != session || !hasRange(e.Params) {
			continue
		}
		out = append(out, toldOf(t, e.Method, view))
	}
	return out
}

func hasRange(params any) bool {
	switch p := params.(type) {
	case *msp.ItemDeltaParams:
		return false
	case *msp.ItemStartedParams:
		return p.SourceRange != nil
	case *msp.UserInputRequestParams:
		return p.SourceRange != nil
	}
	return true
}

func toldOf(t *testing.T, method string, v msp.View) told {
	t.Helper()
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return told{v.At().ViewCursor, method, string(text)}
}

// pages reads a whole view in steps of limit, forward or backward, in the order
// of the log.
func (c *client) pages(session string, limit int64, direction msp.ViewPageDirection) []told {
	c.t.Helper()
	var out []told
	var cursor *string
	for {
		page := must[msp.ViewPageResult](c, msp.MethodViewPage, msp.ViewPageParams{SessionID: session, Limit: limit, Cursor: cursor, Direction: direction})
		if int64(len(page.Events)) > limit {
			c.t.Fatalf("%d events in a page of %d", len(page.Events), limit)
		}
		var part []told
		for _, e := range page.Events {
			part = append(part, toldOf(c.t, e.Method, e.Params))
		}
		if direction == msp.ViewPageDirectionBackward {
			out = append(part, out...)
		} else {
			out = append(out, part...)
		}
		if page.NextCursor == nil {
			return out
		}
		cursor = page.NextCursor
	}
}

func sameTold(t *testing.T, what string, got, want []told) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d events, want %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: event %d\n%s %s\nwant\n%s %s", what, i, got[i].method, got[i].params, want[i].method, want[i].params)
			return
		}
	}
}

// busySession makes a session with text, a tool call behind an approval, a
// cancelled turn and changed settings, and returns what was pushed of it.
func busySession(t *testing.T, s *service, c *client) (session string, pushed []told) {
	t.Helper()
	mark := c.Mark()
	session = c.start().Session.SessionID
	ack, from := c.submit(session, "say hello")
	c.finished(from, ack.TurnID)
	ack, from = c.submit(session, "run a command")
	asked := await[msp.ApprovalRequestParams](c, from, msp.NoteApprovalRequested, nil)
	must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(session, asked, "allow_once"))
	c.finished(from, ack.TurnID)
	must[msp.SessionRenameResult](c, msp.MethodSessionRename, msp.SessionRenameParams{SessionID: session, CommandID: msptest.CommandID(), Name: "busy"})
	must[msp.SessionSetReasoningEffortResult](c, msp.MethodSessionSetReasoningEffort, msp.SessionSetReasoningEffortParams{
		SessionID: session, CommandID: msptest.CommandID(), ReasoningEffort: msp.ReasoningEffortHigh,
	})
	ack, from = c.submit(session, "wait for me")
	await(c, from, msp.NoteItemDelta, func(p *msp.ItemDeltaParams) bool { return p.SessionID == session })
	must[msp.TurnInterruptResult](c, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: session, CommandID: msptest.CommandID()})
	if end := c.finished(from, ack.TurnID); end.Terminal != msp.TurnTerminalCancelled {
		t.Errorf("end %+v", end)
	}
	// What comes behind the end of the turn: a last command settles the order.
	must[msp.SessionRenameResult](c, msp.MethodSessionRename, msp.SessionRenameParams{SessionID: session, CommandID: msptest.CommandID(), Name: "done"})
	await(c, from, msp.NoteSessionNameChanged, func(p *msp.SessionNameChangedParams) bool { return p.Name == "done" })
	return session, durable(t, session, c.Events(mark))
}

func TestPagesTellWhatWasPushed(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id, pushed := busySession(t, s, c)
	sameTold(t, "one page", c.pages(id, 1000, ""), pushed)
	sameTold(t, "steps of one", c.pages(id, 1, msp.ViewPageDirectionForward), pushed)
	sameTold(t, "steps of three backward", c.pages(id, 3, msp.ViewPageDirectionBackward), pushed)
	c.leave()

	// The same from the log, by a host that loaded it and by one that did not.
	again := h.open(t)
	mark := again.Mark()
	resumed := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: id, CommandID: msptest.CommandID(), Cursor: new(""),
	})
	after := again.pages(id, 1000, "")
	if len(after) < len(pushed) {
		t.Fatalf("%d events after a restart, %d before", len(after), len(pushed))
	}
	sameTold(t, "after a restart", after[:len(pushed)], pushed)
	if last := after[len(after)-1].cursor; last != resumed.ViewCursor {
		t.Errorf("resumed at %s, the last event is at %s", resumed.ViewCursor, last)
	}
	last := after[len(after)-1]
	if _, err := again.Await(again.ctx, mark, "the last event of the suffix", func(e msptest.Event) bool {
		v, ok := e.Params.(msp.View)
		return ok && v.At().ViewCursor == last.cursor
	}); err != nil {
		t.Fatal(err)
	}
	sameTold(t, "pushed behind the empty cursor", durable(t, id, again.Events(mark)), after)

	// From a cursor in the middle.
	must[msp.ViewUnsubscribeResult](again, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id})
	mark = again.Mark()
	middle := after[len(after)/2]
	must[msp.ViewSubscribeResult](again, msp.MethodViewSubscribe, msp.ViewSubscribeParams{SessionID: id, After: &middle.cursor})
	if _, err := again.Await(again.ctx, mark, "the last event of the rest", func(e msptest.Event) bool {
		v, ok := e.Params.(msp.View)
		return ok && v.At().ViewCursor == last.cursor
	}); err != nil {
		t.Fatal(err)
	}
	sameTold(t, "pushed behind a cursor in the middle", durable(t, id, again.Events(mark)), after[len(after)/2+1:])
	again.leave()
}
