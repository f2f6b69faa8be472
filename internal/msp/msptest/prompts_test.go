package msptest_test

import (
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// asking starts a turn whose model asks two questions and returns them.
func asking(c *client, session string) (msp.TurnStartResult, int, *msp.UserInputRequestParams) {
	c.t.Helper()
	ack, mark := c.submit(session, "ask me")
	asked := await[msp.UserInputRequestParams](c, mark, msp.NoteUserInputRequested, nil)
	await(c, mark, msp.ServerRequestUserInputRequest, func(p *msp.UserInputRequestParams) bool { return p.UserInputID == asked.UserInputID })
	if len(asked.Questions) != 2 || asked.TurnID != ack.TurnID || asked.ToolName != "request_user_input" {
		c.t.Fatalf("asked %+v", asked)
	}
	return ack, mark, asked
}

func TestUserInputs(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id := c.start().Session.SessionID
	settled := func(mark int, asked *msp.UserInputRequestParams) *msp.UserInputSettledParams {
		t.Helper()
		return await(c, mark, msp.NoteUserInputSettled, func(p *msp.UserInputSettledParams) bool { return p.UserInputID == asked.UserInputID })
	}
	toolStatus := func(mark int, asked *msp.UserInputRequestParams) msp.ItemStatus {
		t.Helper()
		return await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.ItemID == asked.ItemID }).Item.Status
	}
	answers := []msp.UserInputAnswer{
		{QuestionID: "db", SelectedLabel: new("SQLite"), Note: new("for now")},
		{QuestionID: "when", FreeText: new("tomorrow")},
	}

	t.Run("answer", func(t *testing.T) {
		ack, mark, asked := asking(c, id)
		try := func(change func(*msp.UserInputAnswerParams)) *msp.Error {
			t.Helper()
			p := msp.UserInputAnswerParams{SessionID: id, CommandID: msptest.CommandID(), UserInputID: asked.UserInputID, Answers: append([]msp.UserInputAnswer(nil), answers...)}
			change(&p)
			return refused(c, msp.ErrorKindUserInputAnswerInvalid, msp.MethodUserInputAnswer, p)
		}
		for name, change := range map[string]func(*msp.UserInputAnswerParams){
			"one missing":      func(p *msp.UserInputAnswerParams) { p.Answers = p.Answers[:1] },
			"unknown question": func(p *msp.UserInputAnswerParams) { p.Answers[1].QuestionID = "moon" },
			"twice":            func(p *msp.UserInputAnswerParams) { p.Answers[1].QuestionID = "db" },
			"unknown label":    func(p *msp.UserInputAnswerParams) { p.Answers[0].SelectedLabel = new("Oracle") },
			"two ways":         func(p *msp.UserInputAnswerParams) { p.Answers[0].FreeText = new("x") },
			"no way":           func(p *msp.UserInputAnswerParams) { p.Answers[1].FreeText = nil },
			"long text":        func(p *msp.UserInputAnswerParams) { p.Answers[1].FreeText = new(strings.Repeat("x", 501)) },
			"long note":        func(p *msp.UserInputAnswerParams) { p.Answers[0].Note = new(strings.Repeat("x", 501)) },
		} {
			if e := try(change); e.Data.UserInputID != asked.UserInputID {
				t.Errorf("%s: refusal %+v", name, e.Data)
			}
		}
		pending := must[msp.ApprovalListPendingResult](c, msp.MethodApprovalListPending, msp.ApprovalListPendingParams{SessionID: id})
		if len(pending.UserInputs) != 1 || pending.UserInputs[0].UserInputID != asked.UserInputID {
			t.Errorf("pending %+v", pending)
		}
		params := msp.UserInputAnswerParams{SessionID: id, CommandID: msptest.CommandID(), UserInputID: asked.UserInputID, Answers: answers}
		must[msp.UserInputAnswerResult](c, msp.MethodUserInputAnswer, params)
		end := settled(mark, asked)
		if end.Outcome != msp.UserInputOutcomeAnswered || len(end.Answers) != 2 || end.DecidedByCommandID == nil || *end.DecidedByCommandID != params.CommandID || end.DecidedAt == nil {
			t.Errorf("settled %+v", end)
		}
		if got := toolStatus(mark, asked); got != msp.ItemStatusCompleted {
			t.Errorf("the call is %s", got)
		}
		if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
			t.Errorf("end %+v", end)
		}
		params.CommandID = msptest.CommandID()
		if e := refused(c, msp.ErrorKindUserInputAlreadySettled, msp.MethodUserInputAnswer, params); e.Data.Settlement == nil || e.Data.Settlement.Outcome != string(msp.UserInputOutcomeAnswered) {
			t.Errorf("refusal %+v", e.Data)
		}
		params.CommandID, params.UserInputID = msptest.CommandID(), msptest.CommandID()
		refused(c, msp.ErrorKindUserInputNotFound, msp.MethodUserInputAnswer, params)
	})
	t.Run("cancel", func(t *testing.T) {
		ack, mark, asked := asking(c, id)
		must[msp.UserInputCancelResult](c, msp.MethodUserInputCancel, msp.UserInputCancelParams{SessionID: id, CommandID: msptest.CommandID(), UserInputID: asked.UserInputID, Reason: new("not now")})
		if end := settled(mark, asked); end.Outcome != msp.UserInputOutcomeCancelled || end.Reason == nil || *end.Reason != "not now" {
			t.Errorf("settled %+v", end)
		}
		if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
			t.Errorf("end %+v", end)
		}
	})
	t.Run("clarify", func(t *testing.T) {
		ack, mark, asked := asking(c, id)
		must[msp.UserInputClarifyResult](c, msp.MethodUserInputClarify, msp.UserInputClarifyParams{
			SessionID: id, CommandID: msptest.CommandID(), UserInputID: asked.UserInputID,
			Clarification: msp.UserInputClarification{Format: "text", Content: "which service?"},
		})
		if end := settled(mark, asked); end.Outcome != msp.UserInputOutcomeClarified || end.Clarification == nil || end.Clarification.Content != "which service?" {
			t.Errorf("settled %+v", end)
		}
		if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
			t.Errorf("end %+v", end)
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		ack, mark, asked := asking(c, id)
		must[msp.UserInputInterruptResult](c, msp.MethodUserInputInterrupt, msp.UserInputInterruptParams{
			SessionID: id, CommandID: msptest.CommandID(), UserInputID: asked.UserInputID, Answers: answers[:1],
		})
		if end := settled(mark, asked); end.Outcome != msp.UserInputOutcomeInterrupted || len(end.Answers) != 1 {
			t.Errorf("settled %+v", end)
		}
		if got := toolStatus(mark, asked); got != msp.ItemStatusCancelled {
			t.Errorf("the call is %s", got)
		}
		if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCancelled {
			t.Errorf("end %+v", end)
		}
	})
	c.leave()
}

// A client that shows no dialogs gets no server request, and the view event all
// the same.
func TestWithoutUserInputDialogs(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).openAs(t, msp.InitializeParams{
		ClientInfo: msp.ClientInfo{Name: "flows", Version: "1"}, Capabilities: &msp.ClientCapabilities{UserInputDialogs: new(false)},
	})
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "ask me")
	await[msp.UserInputRequestParams](c, mark, msp.NoteUserInputRequested, nil)
	must[msp.TurnInterruptResult](c, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: msptest.CommandID()})
	c.finished(mark, ack.TurnID)
	for _, e := range c.Events(mark) {
		if e.Method == msp.ServerRequestUserInputRequest {
			t.Error("asked a client that shows no dialogs")
		}
	}
	c.leave()
}

// Prompts of a host that died: the old identity is closed, the turn is over,
// nothing waits (MSP.md 6, Approval state machine).
func TestPromptsOfADeadHost(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	for name, open := range map[string]func(*client, string) (turn, prompt string){
		"approval": func(c *client, id string) (string, string) {
			ack, mark := c.submit(id, "run a command")
			return ack.TurnID, await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil).ApprovalID
		},
		"questions": func(c *client, id string) (string, string) {
			ack, _, asked := asking(c, id)
			return ack.TurnID, asked.UserInputID
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := h.open(t)
			id := c.start().Session.SessionID
			turn, prompt := open(c, id)
			if _, err := c.Kill(); err != nil {
				t.Fatal(err)
			}
			again := h.open(t)
			mark := again.Mark()
			resumed := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
			for _, p := range resumed.PendingRequests {
				if p.ApprovalID == prompt || p.UserInputID == prompt {
					t.Errorf("the old prompt still waits: %+v", p)
				}
			}
			if resumed.LastTurn == nil && resumed.Session.ActiveTurnID == nil {
				t.Errorf("what became of turn %s? %+v", turn, resumed)
			}
			if last := resumed.LastTurn; last != nil && (last.TurnID != turn || last.Terminal == msp.TurnTerminalCompleted) {
				t.Errorf("last turn %+v", last)
			}
			// What waits now is asked again, and only that.
			for _, p := range resumed.PendingRequests {
				if _, err := again.Await(again.ctx, mark, "the prompt that waits", func(e msptest.Event) bool {
					a, isApproval := e.Params.(*msp.ApprovalRequestParams)
					u, isInput := e.Params.(*msp.UserInputRequestParams)
					return e.Request && (isApproval && a.ApprovalID == p.ApprovalID || isInput && u.UserInputID == p.UserInputID)
				}); err != nil {
					t.Error(err)
				}
			}
			ack, from := again.submit(id, "say hello")
			if len(resumed.PendingRequests) == 0 {
				if end := again.finished(from, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
					t.Errorf("end %+v", end)
				}
			}
			exit, err := again.End(again.ctx)
			if err != nil || exit.Code != 0 {
				t.Errorf("exit %+v, %v", exit, err)
			}
		})
	}
}

// Several connections cannot watch one host, but a session outlives its
// watchers: a prompt that opened while nobody was subscribed is found again.
func TestPromptFoundAfterReattaching(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "run a command")
	asked := await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	must[msp.ViewUnsubscribeResult](c, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id})
	must[msp.ViewUnsubscribeResult](c, msp.MethodViewUnsubscribe, msp.ViewUnsubscribeParams{SessionID: id}) // idempotent
	read := c.read(id, false)
	if len(read.PendingRequests) != 1 || read.PendingRequests[0].ApprovalID != asked.ApprovalID || read.PendingRequests[0].Kind != msp.PendingRequestKindApproval {
		t.Errorf("pending %+v", read.PendingRequests)
	}
	if a := read.Session.Attention; len(a) != 1 || a[0] != msp.AttentionFlagApprovalPending {
		t.Errorf("attention %v", a)
	}
	mark = c.Mark()
	resumed := must[msp.SessionResumeResult](c, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID(), History: msp.HistoryPreferenceSnapshot})
	if len(resumed.PendingRequests) != 1 || resumed.Session.Status != msp.SessionStatusRunning {
		t.Errorf("resumed %+v", resumed)
	}
	if snap := resumed.History.Snapshot; resumed.History.Mode != msp.HistoryModeSnapshot || snap == nil || len(snap.State.PendingApprovals) != 1 || snap.State.ActiveTurn == nil || snap.State.ActiveTurn.TurnID != ack.TurnID {
		t.Errorf("history %+v", resumed.History)
	}
	await(c, mark, msp.ServerRequestApprovalRequest, func(p *msp.ApprovalRequestParams) bool { return p.ApprovalID == asked.ApprovalID })
	must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(id, asked, "allow_once"))
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	c.leave()
}
