package msptest_test

import (
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// goal waits for a goal with a status.
func (c *client) goal(mark int, status string) *msp.Goal {
	c.t.Helper()
	return await(c, mark, msp.NoteSessionGoalChanged, func(p *msp.SessionGoalChangedParams) bool {
		return p.Goal != nil && p.Goal.Status == status
	}).Goal
}

// The life of a goal as the recorded dialogues of the published host have it:
// which command wakes a turn, names the running one or does neither.
func TestGoals(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	for method, params := range map[string]any{
		msp.MethodGoalEdit:   msp.GoalEditParams{SessionID: id, CommandID: msptest.CommandID(), Objective: "other"},
		msp.MethodGoalPause:  msp.GoalPauseParams{SessionID: id, CommandID: msptest.CommandID()},
		msp.MethodGoalResume: msp.GoalResumeParams{SessionID: id, CommandID: msptest.CommandID()},
	} {
		if e := refused(c, msp.ErrorKindCommandRejected, method, params); e.Data.Reason != msp.ReasonMissingGoal {
			t.Errorf("%s: reason %q", method, e.Data.Reason)
		}
	}
	refused(c, msp.ErrorKindInvalidParams, msp.MethodGoalSet, msp.GoalSetParams{SessionID: id, CommandID: msptest.CommandID(), Objective: "  \n"})

	// Setting wakes an idle session; the turn belongs to the command.
	mark := c.Mark()
	set := msp.GoalSetParams{SessionID: id, CommandID: msptest.CommandID(), Objective: "wait for me"}
	woken := must[msp.GoalCommandResult](c, msp.MethodGoalSet, set)
	if g := c.goal(mark, "active"); g.Objective != "wait for me" || g.PercentComplete != 0 {
		t.Errorf("goal %+v", g)
	}
	if woken.TurnID == "" {
		t.Fatal("an idle session was not woken by its goal")
	}
	await(c, mark, msp.NoteTurnStarted, func(p *msp.TurnStartedParams) bool { return p.TurnID == woken.TurnID && p.CommandID == set.CommandID })

	// Editing while it runs names the running turn.
	edited := must[msp.GoalCommandResult](c, msp.MethodGoalEdit, msp.GoalEditParams{SessionID: id, CommandID: msptest.CommandID(), Objective: "wait for me longer"})
	if edited.TurnID != woken.TurnID {
		t.Errorf("edited in turn %q, want %s", edited.TurnID, woken.TurnID)
	}
	await(c, mark, msp.NoteSessionGoalChanged, func(p *msp.SessionGoalChangedParams) bool {
		return p.Goal != nil && p.Goal.Objective == "wait for me longer"
	})

	// Interrupting the turn pauses the goal, before the turn is over.
	must[msp.TurnInterruptResult](c, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: &woken.TurnID})
	if end := c.finished(mark, woken.TurnID); end.Terminal != msp.TurnTerminalCancelled {
		t.Errorf("end %+v", end)
	}
	paused := false
	for _, e := range c.Events(mark) {
		if p, ok := e.Params.(*msp.SessionGoalChangedParams); ok && p.Goal != nil && p.Goal.Status == "paused" {
			paused = true
		}
		if _, ok := e.Params.(*msp.TurnCompletedParams); ok && !paused {
			t.Error("the turn was over before the goal was paused")
		}
	}

	// A paused goal is edited without waking anything, and resuming wakes.
	if ack := must[msp.GoalCommandResult](c, msp.MethodGoalEdit, msp.GoalEditParams{SessionID: id, CommandID: msptest.CommandID(), Objective: "say hello"}); ack.TurnID != "" {
		t.Errorf("editing a paused goal named turn %s", ack.TurnID)
	}
	mark = c.Mark()
	resumed := must[msp.GoalCommandResult](c, msp.MethodGoalResume, msp.GoalResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	if resumed.TurnID == "" {
		t.Fatal("resuming a goal woke nothing")
	}
	c.goal(mark, "active")
	c.finished(mark, resumed.TurnID)

	mark = c.Mark()
	if ack := must[msp.GoalCommandResult](c, msp.MethodGoalClear, msp.GoalClearParams{SessionID: id, CommandID: msptest.CommandID()}); ack.TurnID != "" {
		t.Errorf("clearing named turn %s", ack.TurnID)
	}
	await(c, mark, msp.NoteSessionGoalChanged, func(p *msp.SessionGoalChangedParams) bool { return p.Goal == nil })
	exit, err := c.End(c.ctx)
	if err != nil || exit.Code != 0 {
		t.Errorf("exit %+v, %v", exit, err)
	}
}
