package msptest_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// Commands that succeed are answered with the same bytes when they come again,
// now and from the next host: the published client refuses a replay that differs
// in any member (MSP.md 5).
func TestCommandsAreReplayed(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	type said struct {
		method string
		params any
		result jsontext.Value
	}
	var log []said
	run := func(method string, params any) {
		t.Helper()
		result, err := c.Request(c.ctx, method, params)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		log = append(log, said{method, params, result})
	}
	start := msp.SessionStartParams{CommandID: msptest.CommandID(), SessionID: new(msptest.CommandID()), WorkspaceRoot: &h.workspace}
	run(msp.MethodSessionStart, start)
	id := *start.SessionID
	run(msp.MethodSessionRename, msp.SessionRenameParams{SessionID: id, CommandID: msptest.CommandID(), Name: " a  name "})
	run(msp.MethodSessionSetReasoningEffort, msp.SessionSetReasoningEffortParams{SessionID: id, CommandID: msptest.CommandID(), ReasoningEffort: msp.ReasoningEffortLow})
	run(msp.MethodSessionSetApprovalMode, msp.SessionSetApprovalModeParams{SessionID: id, CommandID: msptest.CommandID(), Mode: msp.ApprovalModeOnRequest})
	run(msp.MethodSessionSetApprovalMode, msp.SessionSetApprovalModeParams{SessionID: id, CommandID: msptest.CommandID(), Mode: msp.ApprovalModePromptUnmatched})
	run(msp.MethodSessionSetModel, msp.SessionSetModelParams{SessionID: id, CommandID: msptest.CommandID(), Model: msp.ModelSelection{ModelID: "muse-spark-test"}})
	run(msp.MethodSessionCompact, msp.SessionCompactParams{SessionID: id, CommandID: msptest.CommandID()})

	mark := c.Mark()
	turn := msp.TurnStartParams{SessionID: id, CommandID: msptest.CommandID(), Input: textInput("run a command")}
	run(msp.MethodTurnStart, turn)
	asked := await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	run(msp.MethodApprovalDecide, decide(id, asked, "allow_once"))
	c.finished(mark, turn.CommandID)

	mark = c.Mark()
	turn = msp.TurnStartParams{SessionID: id, CommandID: msptest.CommandID(), Input: textInput("ask me")}
	run(msp.MethodTurnStart, turn)
	questions := await[msp.UserInputRequestParams](c, mark, msp.NoteUserInputRequested, nil)
	run(msp.MethodUserInputCancel, msp.UserInputCancelParams{SessionID: id, CommandID: msptest.CommandID(), UserInputID: questions.UserInputID})
	c.finished(mark, turn.CommandID)

	running, _ := waiting(c, id)
	queued, _ := c.submit(id, "say hello")
	run(msp.MethodTurnSteer, msp.TurnSteerParams{SessionID: id, CommandID: msptest.CommandID(), ExpectedTurnID: running.TurnID, Input: textInput("more")})
	run(msp.MethodTurnUnqueue, msp.TurnUnqueueParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: queued.TurnID})
	close(s.hold)
	c.finished(0, running.TurnID)

	run(msp.MethodGoalSet, msp.GoalSetParams{SessionID: id, CommandID: msptest.CommandID(), Objective: "say hello"})
	run(msp.MethodGoalPause, msp.GoalPauseParams{SessionID: id, CommandID: msptest.CommandID()})
	run(msp.MethodGoalClear, msp.GoalClearParams{SessionID: id, CommandID: msptest.CommandID()})
	run(msp.MethodSessionFork, msp.SessionForkParams{SessionID: id, CommandID: msptest.CommandID(), ExcludeItems: new(true)})
	run(msp.MethodSessionSideChat, msp.SessionSideChatParams{SessionID: id, CommandID: msptest.CommandID()})
	run(msp.MethodTaskStopAll, msp.TaskStopAllParams{SessionID: id, CommandID: msptest.CommandID()})

	calls := len(s.requests())
	again := func(c *client, when string, skip map[string]bool) {
		t.Helper()
		for _, one := range log {
			if skip[one.method] {
				continue
			}
			result, err := c.Request(c.ctx, one.method, one.params)
			if err != nil || string(result) != string(one.result) {
				t.Errorf("%s, %s was answered\n%s\nand then\n%s %v", when, one.method, one.result, result, err)
			}
		}
	}
	again(c, "at once", nil)
	if exit, err := c.End(c.ctx); err != nil || exit.Code != 0 {
		t.Fatalf("exit %+v, %v", exit, err)
	}
	next := h.open(t)
	must[msp.SessionResumeResult](next, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	// The memory of a task's stop ends with its host (MSP.md 5).
	again(next, "after a restart", map[string]bool{msp.MethodTaskStopAll: true})
	if n := len(s.requests()); n > calls+1 { // the woken goal may have been at its call
		t.Errorf("replaying made %d model calls", n-calls)
	}
	if exit, err := next.End(next.ctx); err != nil || exit.Code != 0 {
		t.Errorf("exit %+v, %v", exit, err)
	}
}
