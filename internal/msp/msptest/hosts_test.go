package msptest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

func TestTwoHostsOnOneHome(t *testing.T) {
	h := newHome(t, echoSettings, "")
	first, second := h.open(t), h.open(t)
	id := first.start().Session.SessionID
	resume := msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()}
	e := refused(second, msp.ErrorKindSessionInUse, msp.MethodSessionResume, resume)
	if e.Data.SessionID != id || !strings.Contains(e.Message, fmt.Sprint(first.PID())) {
		t.Errorf("the refusal names %q and says %q, the holder is process %d", e.Data.SessionID, e.Message, first.PID())
	}
	if read := second.read(id, true); read.Session.SessionID != id || read.Session.Status != msp.SessionStatusNotLoaded {
		t.Errorf("read %+v", read.Session)
	}
	if _, err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	resume.CommandID = msptest.CommandID()
	must[msp.SessionResumeResult](second, msp.MethodSessionResume, resume)
	second.leave()
}

func TestForkAndSideChat(t *testing.T) {
	h := newHome(t, echoSettings, "")
	c := h.open(t)
	id := c.start().Session.SessionID
	var turns []string
	for _, text := range []string{"one", "two", "three"} {
		ack, mark := c.submit(id, text)
		c.finished(mark, ack.TurnID)
		turns = append(turns, ack.TurnID)
	}
	users := func(r msp.SessionHistory) (out []string) {
		if r.Items == nil {
			return nil
		}
		for _, item := range *r.Items {
			if item.Kind == msp.ItemKindUserMessage && item.Text != nil {
				out = append(out, *item.Text)
			}
		}
		return out
	}
	mark := c.Mark()
	fork := must[msp.SessionForkResult](c, msp.MethodSessionFork, msp.SessionForkParams{
		SessionID: id, CommandID: msptest.CommandID(), CutPoint: &msp.ForkCutPoint{LastTurnID: turns[1]}, ExcludeItems: new(false),
	})
	from := fork.Session.ForkedFrom
	if fork.Session.SessionID == id || from == nil || from.SessionID != id || !from.CutExplicit {
		t.Errorf("forked %+v from %+v", fork.Session, from)
	}
	if got := strings.Join(users(fork.History), " "); got != "one two" {
		t.Errorf("the fork holds %q", got)
	}
	await(c, mark, msp.NoteSessionStarted, func(p *msp.SessionStartedParams) bool { return p.Session.SessionID == fork.Session.SessionID })
	whole := must[msp.SessionForkResult](c, msp.MethodSessionFork, msp.SessionForkParams{SessionID: id, CommandID: msptest.CommandID(), ExcludeItems: new(false)})
	if got := strings.Join(users(whole.History), " "); got != "one two three" || whole.Session.ForkedFrom == nil || whole.Session.ForkedFrom.CutExplicit {
		t.Errorf("the whole fork holds %q, %+v", got, whole.Session.ForkedFrom)
	}
	bogus := msptest.CommandID()
	if e := refused(c, msp.ErrorKindForkBoundaryInvalid, msp.MethodSessionFork, msp.SessionForkParams{
		SessionID: id, CommandID: msptest.CommandID(), CutPoint: &msp.ForkCutPoint{LastTurnID: bogus},
	}); e.Data.LastTurnID != bogus {
		t.Errorf("refusal %+v", e.Data)
	}
	ack, at := c.submit(fork.Session.SessionID, "four")
	if end := c.finished(at, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	if got := strings.Join(users(c.read(id, true).History), " "); got != "one two three" {
		t.Errorf("the source holds %q after a turn of the fork", got)
	}
	side := must[msp.SessionSideChatResult](c, msp.MethodSessionSideChat, msp.SessionSideChatParams{SessionID: id, CommandID: msptest.CommandID()})
	if s := side.Session.SideFrom; s == nil || s.SessionID != id || side.Session.SessionID == id {
		t.Errorf("side chat %+v", side.Session)
	}
	ack, at = c.submit(side.Session.SessionID, "aside")
	if end := c.finished(at, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	c.leave()
}
