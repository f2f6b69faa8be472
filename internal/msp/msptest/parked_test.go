package msptest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// A line with two held stages is one approval with two decisions, and both
// outlive a host that is killed: the old approval is closed, a fresh one is
// open in the answer to session/resume and is put to the client again, and the
// turn goes on (MSP.md 6, Approval state machine).
func TestApprovalOutlivesItsHost(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id := c.start().Session.SessionID
	turn, mark := c.submit(id, "run stages")
	asked := await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	await(c, mark, msp.ServerRequestApprovalRequest, func(p *msp.ApprovalRequestParams) bool { return p.ApprovalID == asked.ApprovalID })
	if len(asked.Subject.Stages) != 2 || asked.CurrentRequirementID.SourceIndex != 0 {
		t.Fatalf("asked %+v", asked)
	}
	first := decide(id, asked, "allow_once")
	if got := must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, first); got.Terminal {
		t.Errorf("decided %+v", got)
	}
	updated := await[msp.ApprovalUpdatedParams](c, mark, msp.NoteApprovalUpdated, nil)
	if updated.Change.Kind != "requirementDecided" || updated.CurrentRequirementID.SourceIndex != 1 {
		t.Errorf("updated %+v", updated)
	}
	second := func(p *msp.ApprovalRequestParams) bool {
		return p.ApprovalID == asked.ApprovalID && p.CurrentRequirementID.SourceIndex == 1
	}
	again := await(c, mark, msp.ServerRequestApprovalRequest, second)
	if twin := await(c, mark, msp.NoteApprovalRequested, second); twin.ViewCursor != again.ViewCursor {
		t.Errorf("the request is at %s and its event at %s", again.ViewCursor, twin.ViewCursor)
	}
	stale := decide(id, asked, "allow_once")
	if e := refused(c, msp.ErrorKindApprovalRequirementStale, msp.MethodApprovalDecide, stale); e.Data.CurrentRequirementID == nil || *e.Data.CurrentRequirementID != again.CurrentRequirementID {
		t.Errorf("stale %+v", e.Data)
	}
	if _, err := c.Kill(); err != nil {
		t.Fatal(err)
	}

	c = h.open(t)
	mark = c.Mark()
	resumed := must[msp.SessionResumeResult](c, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	if len(resumed.PendingRequests) != 1 || resumed.PendingRequests[0].ApprovalID == asked.ApprovalID || resumed.Session.Status != msp.SessionStatusRunning ||
		resumed.Session.ActiveTurnID == nil || *resumed.Session.ActiveTurnID != turn.TurnID {
		t.Fatalf("resumed %+v with %+v", resumed.Session, resumed.PendingRequests)
	}
	fresh := await[msp.ApprovalRequestParams](c, mark, msp.ServerRequestApprovalRequest, nil)
	if fresh.ApprovalID != resumed.PendingRequests[0].ApprovalID || fresh.ItemID != asked.ItemID || fresh.TurnID != turn.TurnID ||
		fresh.RawArgs != asked.RawArgs || fresh.CurrentRequirementID.SourceIndex != 0 {
		t.Errorf("asked anew %+v", fresh)
	}
	// What was decided before stays decided; the old approval takes nothing more.
	if got := must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, first); got.Terminal {
		t.Errorf("replayed %+v", got)
	}
	refused(c, msp.ErrorKindApprovalAlreadyResolved, msp.MethodApprovalDecide, decide(id, again, "allow_once"))
	if got := must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(id, fresh, "allow_once")); got.Terminal {
		t.Errorf("decided %+v", got)
	}
	last := await(c, mark, msp.ServerRequestApprovalRequest, func(p *msp.ApprovalRequestParams) bool { return p.CurrentRequirementID.SourceIndex == 1 })
	if got := must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(id, last, "allow_once")); !got.Terminal {
		t.Errorf("decided %+v", got)
	}
	resolved := await(c, mark, msp.NoteApprovalResolved, func(p *msp.ApprovalResolvedParams) bool { return p.ApprovalID == fresh.ApprovalID })
	if len(resolved.StageEvidence) != 2 || resolved.StageEvidence[0].Resolution.Kind != "approved" || resolved.StageEvidence[1].Resolution.Kind != "approved" {
		t.Errorf("evidence %+v", resolved.StageEvidence)
	}
	ran := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.ItemID == asked.ItemID })
	if ran.Item.Status != msp.ItemStatusCompleted {
		t.Errorf("ran %+v", ran.Item)
	}
	if data, err := os.ReadFile(filepath.Join(h.workspace, "two")); err != nil || string(data) != "staged\n" {
		t.Errorf("%q, %v", data, err)
	}
	if end := c.finished(mark, turn.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("ended %+v", end)
	}
	c.leave()
}
