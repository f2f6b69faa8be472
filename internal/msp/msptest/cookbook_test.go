package msptest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// The recipes of the published cookbook that need a live host (MSP.md 12.2).

func TestResumeAndVerify(t *testing.T) {
	h := newHome(t, echoSettings, "")
	c := h.open(t)
	models := must[msp.ModelListResult](c, msp.MethodModelList, nil).Models
	if len(models) == 0 || models[0].ModelID == "" || models[0].ProviderID == "" {
		t.Fatalf("models %+v", models)
	}
	started := must[msp.SessionStartResult](c, msp.MethodSessionStart, msp.SessionStartParams{
		CommandID: msptest.CommandID(), WorkspaceRoot: &h.workspace, ModelID: &models[0].ModelID, ProviderID: &models[0].ProviderID,
	})
	id := started.Session.SessionID
	if m, p := started.Session.ModelID, started.Session.ProviderID; m == nil || *m != models[0].ModelID || p == nil || *p != models[0].ProviderID {
		t.Errorf("started with %v of %v, want %+v", m, p, models[0])
	}
	mark := c.Mark()
	set := must[msp.SessionSetApprovalModeResult](c, msp.MethodSessionSetApprovalMode, msp.SessionSetApprovalModeParams{
		SessionID: id, CommandID: msptest.CommandID(), Mode: msp.ApprovalModeDenyUnmatched,
	})
	if set.ApplyOutcome != msp.ApprovalModeApplyOutcomeCompleted || set.EffectiveMode.Mode != msp.ApprovalModeDenyUnmatched {
		t.Errorf("set %+v", set)
	}
	changed := await[msp.SessionApprovalModeChangedParams](c, mark, msp.NoteSessionApprovalModeChanged, nil)
	if changed.Mode != msp.ApprovalModeDenyUnmatched || changed.CommandID != set.CommandID {
		t.Errorf("changed %+v", changed)
	}
	c.leave()

	again := h.open(t)
	resume := func(cursor *string) msp.SessionResumeResult {
		return must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{
			SessionID: id, CommandID: msptest.CommandID(), Cursor: cursor, ExcludeItems: new(false),
		})
	}
	first := resume(nil)
	if hist := first.History; hist.Mode != msp.HistoryModeInline || hist.Items == nil || len(*hist.Items) != 0 || hist.NoneReason != "" {
		t.Errorf("history %+v", hist)
	}
	if len(first.PendingRequests) != 0 || first.ViewCursor == "" {
		t.Errorf("resumed %+v", first)
	}
	second := resume(&first.ViewCursor)
	if hist := second.History; hist.Mode != msp.HistoryModeNone || hist.NoneReason != msp.HistoryNoneReasonCursorSuffix || hist.Items != nil || hist.Snapshot != nil {
		t.Errorf("history behind a cursor %+v", hist)
	}
	e := refused(again, msp.ErrorKindNotFound, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: id, CommandID: msptest.CommandID(), Cursor: new("v:00000000-0000-7000-8000-000000000000:1"),
	})
	if e.Code != -32011 {
		t.Errorf("code %d", e.Code)
	}
	again.leave()
}

func TestSurviveTheHostDying(t *testing.T) {
	h := newHome(t, echoSettings, "")
	c := h.open(t)
	if c.welcome.SessionDurability != msp.SessionDurabilityDurable {
		t.Errorf("durability %q", c.welcome.SessionDurability)
	}
	id := c.start().Session.SessionID
	if exit, err := c.Kill(); err != nil || exit.Signal == "" && exit.Code == 0 {
		t.Fatalf("killed: %+v, %v", exit, err)
	}
	again := h.open(t)
	resumed := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	if root := resumed.Session.WorkspaceRoot; resumed.Session.SessionID != id || root == nil || *root != h.workspace {
		t.Errorf("resumed %+v", resumed.Session)
	}
	again.leave()
}

func TestServeExits(t *testing.T) {
	t.Run("switched off", func(t *testing.T) {
		h := newHome(t, echoSettings, "")
		h.env = []string{"MUSE_EXPERIMENTAL_SDK_ENABLED=off"} // the later one counts
		wantExit(t, h.launch(t, "--no-such-flag"), 5)
	})
	t.Run("usage", func(t *testing.T) {
		wantExit(t, newHome(t, echoSettings, "").launch(t, "--no-such-flag"), 2)
	})
	t.Run("configuration", func(t *testing.T) {
		wantExit(t, newHome(t, `{"schema_version":1,"provider":`, "").launch(t), 3)
	})
	t.Run("nothing asked", func(t *testing.T) {
		p := newHome(t, echoSettings, "").launch(t)
		p.CloseInput()
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
		defer stop()
		if exit, err := p.AwaitExit(ctx); err != nil || exit.Code != 0 {
			t.Errorf("exit %+v, %v", exit, err)
		}
	})
	t.Run("logged out", func(t *testing.T) {
		c := newHome(t, "", "").open(t)
		id := c.start().Session.SessionID
		ack, mark := c.submit(id, "hello")
		await(c, mark, msp.NoteTurnStarted, func(p *msp.TurnStartedParams) bool { return p.TurnID == ack.TurnID })
		end := c.finished(mark, ack.TurnID)
		if end.Terminal != msp.TurnTerminalFailed || end.Error == nil || end.Error.Kind != msp.TurnErrorKindModelError {
			t.Fatalf("end %+v", end)
		}
		if !strings.Contains(strings.ToLower(end.Error.Message+end.Reason), "not logged in") {
			t.Errorf("message %q, reason %q", end.Error.Message, end.Reason)
		}
		read := c.read(id, true)
		if read.LastTurn == nil || read.LastTurn.TurnID != ack.TurnID || read.LastTurn.Terminal != msp.TurnTerminalFailed {
			t.Errorf("last turn %+v", read.LastTurn)
		}
		c.leave()
	})
}

// wantExit waits for a host that ends by itself, saying why on stderr.
func wantExit(t *testing.T, p *msptest.Process, code int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	exit, err := p.AwaitExit(ctx)
	if err != nil || exit.Code != code {
		t.Errorf("exit %+v, %v; want %d", exit, err, code)
	}
	if strings.TrimSpace(p.Stderr()) == "" {
		t.Error("stderr is empty")
	}
}

func TestListModelsAndSwitchMidSession(t *testing.T) {
	c := newHome(t, "", "").open(t) // logged out
	started := c.start()
	id := started.Session.SessionID
	list := func() msp.ModelListResult {
		return must[msp.ModelListResult](c, msp.MethodModelList, msp.ModelListParams{SessionID: &id})
	}
	active := func(models []msp.ModelCatalogEntry) []string {
		var out []string
		for _, m := range models {
			if m.IsActive {
				out = append(out, m.ModelID)
			}
		}
		return out
	}
	before := list()
	current := started.Session.ModelID
	if current == nil {
		t.Fatal("the session names no model") // the recipe bears it, we always know one
	}
	if got := active(before.Models); len(got) != 1 || got[0] != *current {
		t.Errorf("active %v, want %s", got, *current)
	}
	var target *msp.ModelCatalogEntry
	for _, m := range before.Models {
		if m.ModelID != *current {
			target = &m
			break
		}
	}
	if target == nil {
		t.Fatalf("no other model in %+v", before.Models)
	}
	mark := c.Mark()
	must[msp.SessionSetModelResult](c, msp.MethodSessionSetModel, msp.SessionSetModelParams{
		SessionID: id, CommandID: msptest.CommandID(), Model: msp.ModelSelection{ModelID: target.ModelID, ProviderID: target.ProviderID},
	})
	changed := await[msp.SessionModelChangedParams](c, mark, msp.NoteSessionModelChanged, nil)
	if changed.Source != msp.ModelChangeSourceUser || changed.ModelID != target.ModelID || changed.ProviderID == nil || *changed.ProviderID != target.ProviderID {
		t.Errorf("changed %+v", changed)
	}
	if m := c.read(id, false).Session.ModelID; m == nil || *m != target.ModelID {
		t.Errorf("read model %v", m)
	}
	if got := active(list().Models); len(got) != 1 || got[0] != target.ModelID {
		t.Errorf("active %v, want %s", got, target.ModelID)
	}
	c.leave()
}

func TestDenyKeepsTheTurnGoing(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "run a command")
	asked := await[msp.ApprovalRequestParams](c, mark, msp.NoteApprovalRequested, nil)
	var abort string
	for _, choice := range asked.AvailableChoices {
		if choice.Decision == msp.ApprovalDecisionAbort || choice.Decision == msp.ApprovalDecisionDenied {
			abort = choice.ChoiceID
		}
	}
	if abort == "" {
		t.Fatalf("no way to say no among %+v", asked.AvailableChoices)
	}
	refused(c, msp.ErrorKindApprovalChoiceInvalid, msp.MethodApprovalDecide, decide(id, asked, "allow_forever"))
	stale := decide(id, asked, abort)
	stale.RequirementID.SourceIndex += 7
	if e := refused(c, msp.ErrorKindApprovalRequirementStale, msp.MethodApprovalDecide, stale); e.Data.CurrentRequirementID == nil || *e.Data.CurrentRequirementID != asked.CurrentRequirementID {
		t.Errorf("current requirement %+v", e.Data.CurrentRequirementID)
	}
	pending := must[msp.ApprovalListPendingResult](c, msp.MethodApprovalListPending, msp.ApprovalListPendingParams{SessionID: id})
	if len(pending.Approvals) != 1 || pending.Approvals[0].ApprovalID != asked.ApprovalID || len(pending.UserInputs) != 0 {
		t.Errorf("pending %+v", pending)
	}
	must[msp.ApprovalDecideResult](c, msp.MethodApprovalDecide, decide(id, asked, abort))
	item := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindToolCall })
	if item.Item.Status != msp.ItemStatusRejected || item.Item.FailureReason == "" {
		t.Errorf("tool call %+v", item.Item)
	}
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	again := refused(c, msp.ErrorKindApprovalAlreadyResolved, msp.MethodApprovalDecide, decide(id, asked, abort))
	if again.Data.Resolution == nil || again.Data.Resolution.ViewCursor == "" {
		t.Errorf("resolution %+v", again.Data.Resolution)
	}
	if _, err := os.Stat(filepath.Join(h.workspace, "made-by-bash")); err == nil {
		t.Error("the refused command ran")
	}
	c.leave()
}

func TestQueueSteerReclaim(t *testing.T) {
	s := newService(t)
	c := newHome(t, s.settings(), serviceAuth).open(t)
	id := c.start().Session.SessionID
	running, mark := c.submit(id, "wait for me")
	await(c, mark, msp.NoteItemDelta, func(p *msp.ItemDeltaParams) bool { return p.SessionID == id })

	queued, _ := c.submit(id, "second")
	reclaimed, _ := c.submit(id, "third")
	for _, ack := range []msp.TurnStartResult{queued, reclaimed} {
		if ack.Disposition != msp.TurnStartDispositionQueued || ack.StartedNewTurn {
			t.Errorf("ack %+v", ack)
		}
	}
	steerID := msptest.CommandID()
	steered := must[msp.TurnStartResult](c, msp.MethodTurnStart, msp.TurnStartParams{
		SessionID: id, CommandID: steerID, Input: textInput("by the way"), IfBusy: msp.IfBusySteer,
	})
	if steered.Disposition != msp.TurnStartDispositionSteered || steered.TurnID != running.TurnID || steered.StartedNewTurn {
		t.Errorf("steered %+v", steered)
	}
	must[msp.TurnUnqueueResult](c, msp.MethodTurnUnqueue, msp.TurnUnqueueParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: reclaimed.TurnID})
	gone := await[msp.TurnUnqueuedParams](c, mark, msp.NoteTurnUnqueued, nil)
	if gone.TurnID != reclaimed.TurnID || gone.CommandID != reclaimed.CommandID {
		t.Errorf("unqueued %+v", gone)
	}
	refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnUnqueue, msp.TurnUnqueueParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: running.TurnID})
	close(s.hold)
	if end := c.finished(mark, running.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool {
		return p.Item.Kind == msp.ItemKindUserMessage && p.Item.Steered && p.Item.CommandID == steerID
	})
	if end := c.finished(mark, queued.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnUnqueue, msp.TurnUnqueueParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: queued.TurnID})
	for _, e := range c.Events(mark) {
		if p, ok := e.Params.(*msp.TurnStartedParams); ok && (p.TurnID == reclaimed.TurnID || p.TurnID == steered.CommandID) {
			t.Errorf("turn %s began", p.TurnID)
		}
	}
	c.leave()
}

func TestRetryWithoutDoubleSubmitting(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	id := c.start().Session.SessionID
	params := msp.TurnStartParams{SessionID: id, CommandID: msptest.CommandID(), Input: textInput("once")}
	mark := c.Mark()
	first, err := c.Request(c.ctx, msp.MethodTurnStart, params)
	if err != nil {
		t.Fatal(err)
	}
	c.finished(mark, params.CommandID)
	repeat := func(c *client) {
		t.Helper()
		second, err := c.Request(c.ctx, msp.MethodTurnStart, params)
		if err != nil || string(second) != string(first) {
			t.Errorf("repeated: %s, %v; first %s", second, err, first)
		}
		other := params
		other.Input = textInput("twice")
		if e := refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnStart, other); e.Data.Reason != msp.ReasonCommandIDConflict {
			t.Errorf("reason %q", e.Data.Reason)
		}
	}
	repeat(c)
	c.leave()
	again := h.open(t)
	must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	repeat(again)
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d model calls, want 1", n)
	}
	again.leave()
}
