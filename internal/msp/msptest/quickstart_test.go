package msptest_test

import (
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// The journey of the published quickstart, segment by segment (MSP.md 12.1).
func TestQuickstart(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)

	// initialize: the pinned fingerprint and what the quickstart looks at.
	w := c.welcome
	if w.Schema.Fingerprint != msp.PinnedFingerprint || w.Schema.Version != msp.EnvelopeVersion {
		t.Errorf("schema %+v", w.Schema)
	}
	if w.ServerInfo.Name == "" || w.ServerInfo.Version == "" || w.MuseHome == "" || w.SessionDurability != msp.SessionDurabilityDurable {
		t.Errorf("welcome %+v", w)
	}

	// session/start: idle, same root, the cursor before everything, and the
	// broadcast.
	mark := c.Mark()
	started := c.start()
	id := started.Session.SessionID
	if started.Session.Status != msp.SessionStatusIdle || started.ViewCursor != "" {
		t.Errorf("started %+v", started)
	}
	if root := started.Session.WorkspaceRoot; root == nil || *root != h.workspace {
		t.Errorf("root %v, want %s", root, h.workspace)
	}
	await(c, mark, msp.NoteSessionStarted, func(p *msp.SessionStartedParams) bool { return p.Session.SessionID == id })

	// session/read: the effective provider and model.
	read := c.read(id, false)
	if p, m := read.Session.ProviderID, read.Session.ModelID; p == nil || *p == "" || m == nil || *m == "" {
		t.Errorf("provider %v, model %v", p, m)
	}

	// A turn: started, streamed, not empty, completed.
	ack, mark := c.submit(id, "say hello")
	if ack.Disposition != msp.TurnStartDispositionStarted || !ack.StartedNewTurn {
		t.Errorf("ack %+v", ack)
	}
	await(c, mark, msp.NoteTurnStarted, func(p *msp.TurnStartedParams) bool { return p.TurnID == ack.TurnID && p.CommandID == ack.CommandID })
	await(c, mark, msp.NoteItemDelta, func(p *msp.ItemDeltaParams) bool { return p.SessionID == id })
	message := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindAgentMessage })
	if message.Item.Text == nil || *message.Item.Text != "hello there" {
		t.Errorf("message %+v", message.Item)
	}
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	if bodies := s.requests(); len(bodies) == 0 || !strings.Contains(bodies[0], "say hello") || !strings.Contains(bodies[0], `"bash"`) {
		t.Errorf("the model was asked %q", bodies)
	}

	// An approval: asked on both ways, decided once, the command runs.
	ack, mark = c.submit(id, "run a command")
	asked := await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	await(c, mark, msp.ServerRequestApprovalRequest, func(p *msp.ApprovalRequestParams) bool { return p.ApprovalID == asked.ApprovalID })
	if asked.CurrentRequirementID.SourceIndex != 0 || asked.ToolName != "bash" || asked.TurnID != ack.TurnID {
		t.Errorf("asked %+v", asked)
	}
	decided := must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(id, asked, "allow_once"))
	if !decided.Terminal || decided.ApprovalID != asked.ApprovalID {
		t.Errorf("decided %+v", decided)
	}
	resolved := await(c, mark, msp.NoteApprovalResolved, func(p *msp.ApprovalResolvedParams) bool { return p.ApprovalID == asked.ApprovalID })
	if resolved.Decision != msp.ApprovalDecisionApproved || resolved.PolicyResult != msp.ApprovalPolicyResultAllow || resolved.ResolvedBy != msp.ApprovalResolvedByUser {
		t.Errorf("resolved %+v", resolved)
	}
	ran := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindToolCall })
	if ran.Item.Status != msp.ItemStatusCompleted || ran.Item.VisibleOutput == nil || !strings.Contains(*ran.Item.VisibleOutput, "from-bash") {
		t.Errorf("tool call %+v", ran.Item)
	}

	// A turn behind the running one, cancelled.
	next, mark2 := c.submit(id, "wait for me")
	await(c, mark2, msp.NoteTurnStarted, func(p *msp.TurnStartedParams) bool { return p.TurnID == next.TurnID })
	must[msp.TurnCancelResult](c, msp.MethodTurnCancel, msp.TurnCancelParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: &next.TurnID})
	if end := c.finished(mark2, next.TurnID); end.Terminal != msp.TurnTerminalCancelled {
		t.Errorf("end %+v", end)
	}
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	c.leave()

	// A second process: the history inline, nothing pending, same root and model.
	again := h.open(t)
	resumed := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: id, CommandID: msptest.CommandID(), ExcludeItems: new(false),
	})
	if resumed.History.Mode != msp.HistoryModeInline || resumed.History.Items == nil {
		t.Fatalf("history %+v", resumed.History)
	}
	kinds := map[msp.ItemKind]bool{}
	for _, item := range *resumed.History.Items {
		kinds[item.Kind] = true
	}
	if !kinds[msp.ItemKindUserMessage] || !kinds[msp.ItemKindAgentMessage] {
		t.Errorf("history holds %v", kinds)
	}
	if resumed.ViewCursor == "" || len(resumed.PendingRequests) != 0 {
		t.Errorf("resumed at %q with %v", resumed.ViewCursor, resumed.PendingRequests)
	}
	if root := resumed.Session.WorkspaceRoot; root == nil || *root != h.workspace {
		t.Errorf("root %v", root)
	}
	if m := resumed.Session.ModelID; m == nil || *m != *read.Session.ModelID {
		t.Errorf("model %v, before %v", m, *read.Session.ModelID)
	}
	e := refused(again, msp.ErrorKindNotFound, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: id, CommandID: msptest.CommandID(), Cursor: new("v:" + id + ":999999"),
	})
	if e.Data.Reason != msp.ReasonMissingAnchor {
		t.Errorf("reason %q", e.Data.Reason)
	}
	again.leave()
}

// decide answers the current requirement of an approval.
func decide(session string, asked *msp.ApprovalRequestParams, choice string) msp.ApprovalDecideParams {
	return msp.ApprovalDecideParams{
		SessionID: session, CommandID: msptest.CommandID(), ApprovalID: asked.ApprovalID,
		ChoiceID: choice, RequirementID: asked.CurrentRequirementID,
	}
}
