package msptest_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// The scenarios of the published acceptance driver (MSP.md 12.3), by their
// names there.

func TestS01ListAndModels(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t)
	list := must[msp.SessionListResult](c, msp.MethodSessionList, nil)
	if list.NextCursor != nil || len(list.Sessions) != 0 || list.AppliedFilter != nil {
		t.Errorf("list %+v", list)
	}
	if models := must[msp.ModelListResult](c, msp.MethodModelList, nil); len(models.Models) == 0 {
		t.Errorf("models %+v", models)
	}
	c.leave()
}

// An ephemeral host lists what other hosts keep, and never itself.
func TestEphemeralHostListsWhatIsKept(t *testing.T) {
	s := newService(t)
	h := newHome(t, s.settings(), serviceAuth)
	c := h.open(t)
	kept := c.start().Session.SessionID
	turn, mark := c.submit(kept, "say hello")
	c.finished(mark, turn.TurnID)
	c.leave()
	before := files(t, h.dir)
	c = h.open(t, "--no-session-log")
	own := c.start().Session.SessionID
	turn, mark = c.submit(own, "say hello")
	c.finished(mark, turn.TurnID)
	list := must[msp.SessionListResult](c, msp.MethodSessionList, msp.SessionListParams{})
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != kept || list.Sessions[0].Status != msp.SessionStatusNotLoaded {
		t.Errorf("listed %+v", list.Sessions)
	}
	c.leave()
	if after := files(t, h.dir); after != before {
		t.Errorf("an ephemeral host left %s; before %s", after, before)
	}
}

// files are the names of all files of a directory.
func files(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func TestS02EphemeralHost(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t, "--no-session-log")
	if c.welcome.SessionDurability != msp.SessionDurabilityEphemeral {
		t.Errorf("durability %q", c.welcome.SessionDurability)
	}
	started := c.start()
	if started.Session.Path != "" {
		t.Errorf("path %q", started.Session.Path)
	}
	id := started.Session.SessionID
	for method, params := range map[string]any{
		msp.MethodSessionRead:   msp.SessionReadParams{SessionID: id},
		msp.MethodSessionResume: msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()},
		msp.MethodSessionFork:   msp.SessionForkParams{SessionID: id, CommandID: msptest.CommandID()},
		msp.MethodSessionRename: msp.SessionRenameParams{SessionID: id, CommandID: msptest.CommandID(), Name: "n"},
	} {
		refused(c, msp.ErrorKindMethodNotFound, method, params)
	}
	if list := must[msp.SessionListResult](c, msp.MethodSessionList, nil); len(list.Sessions) != 0 {
		t.Errorf("an ephemeral host lists itself: %+v", list.Sessions)
	}
	ack, mark := c.submit(id, "hello")
	if end := c.finished(mark, ack.TurnID); end.Terminal != msp.TurnTerminalCompleted {
		t.Errorf("end %+v", end)
	}
	c.leave()
}

func TestS03RelativeRoot(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t)
	for _, root := range []string{"project", "./project", "../x", ""} {
		refused(c, msp.ErrorKindInvalidParams, msp.MethodSessionStart, msp.SessionStartParams{CommandID: msptest.CommandID(), WorkspaceRoot: &root})
	}
	c.leave()
}

func TestD19649CursorFromRead(t *testing.T) {
	h := newHome(t, echoSettings, "")
	c := h.open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "hello")
	c.finished(mark, ack.TurnID)
	c.leave()

	again := h.open(t)
	cursor := again.read(id, false).ViewCursor
	if cursor == "" {
		t.Error("the cursor is empty after a turn")
	}
	for _, after := range []string{cursor, ""} {
		resumed := must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{
			SessionID: id, CommandID: msptest.CommandID(), Cursor: &after,
		})
		if resumed.History.Mode != msp.HistoryModeNone || resumed.History.NoneReason != msp.HistoryNoneReasonCursorSuffix {
			t.Errorf("history behind %q: %+v", after, resumed.History)
		}
	}
	refused(again, msp.ErrorKindNotFound, msp.MethodSessionResume, msp.SessionResumeParams{
		SessionID: id, CommandID: msptest.CommandID(), Cursor: new("bogus"),
	})
	again.leave()
}

func TestD18945CursorAfterRestart(t *testing.T) {
	h := newHome(t, echoSettings, "")
	c := h.open(t)
	id := c.start().Session.SessionID
	c.leave()
	again := h.open(t)
	must[msp.SessionResumeResult](again, msp.MethodSessionResume, msp.SessionResumeParams{SessionID: id, CommandID: msptest.CommandID()})
	if read := again.read(id, true); read.ViewCursor == "" {
		t.Error("the cursor is empty after a restart")
	}
	again.leave()
}

func TestD19535EchoTurn(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "anybody there?")
	end := c.finished(mark, ack.TurnID)
	if end.Terminal != msp.TurnTerminalCompleted || strings.Contains(strings.ToLower(end.Reason), "not logged in") {
		t.Errorf("end %+v", end)
	}
	c.leave()
}

func TestD19778CompactFreshSession(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t)
	id := c.start().Session.SessionID
	ack := must[msp.SessionCompactResult](c, msp.MethodSessionCompact, msp.SessionCompactParams{SessionID: id, CommandID: msptest.CommandID()})
	if ack.Status != msp.CompactStatusNoop && ack.Status != msp.CompactStatusAccepted {
		t.Errorf("ack %+v", ack)
	}
	e := refused(c, msp.ErrorKindCommandRejected, msp.MethodSessionCompact, msp.SessionCompactParams{
		SessionID: id, CommandID: msptest.CommandID(), TurnID: new(msptest.CommandID()),
	})
	if e.Data.Reason != msp.ReasonInvalidTarget {
		t.Errorf("reason %q", e.Data.Reason)
	}
	c.leave()
}

// Also D16620: the same acknowledgement after a restart, see
// TestRetryWithoutDoubleSubmitting.

func TestD20049StopWhileIdle(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t)
	id := c.start().Session.SessionID
	command := msptest.CommandID()
	first := refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: command})
	again := refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: command})
	if first.Data.Reason != msp.ReasonMissingRun || again.Data.Reason != first.Data.Reason || again.Message != first.Message {
		t.Errorf("refused %+v, again %+v", first, again)
	}
	if e := refused(c, msp.ErrorKindCommandRejected, msp.MethodTurnCancel, msp.TurnCancelParams{SessionID: id, CommandID: msptest.CommandID()}); e.Data.Reason != msp.ReasonMissingRun {
		t.Errorf("reason %q", e.Data.Reason)
	}
	c.leave()
}

func TestD21861EphemeralCeiling(t *testing.T) {
	c := newHome(t, echoSettings, "").open(t, "--no-session-log")
	id := c.start().Session.SessionID
	set := func(mode msp.ApprovalMode) msp.SessionSetApprovalModeParams {
		return msp.SessionSetApprovalModeParams{SessionID: id, CommandID: msptest.CommandID(), Mode: mode}
	}
	for _, above := range []msp.ApprovalMode{msp.ApprovalModeAllowAll, msp.ApprovalModeOnRequest} {
		e := refused(c, msp.ErrorKindCommandRejected, msp.MethodSessionSetApprovalMode, set(above))
		if !strings.Contains(strings.ToLower(e.Data.Reason+e.Message), "ceiling") {
			t.Errorf("%s: reason %q, message %q", above, e.Data.Reason, e.Message)
		}
	}
	must[msp.SessionSetApprovalModeResult](c, msp.MethodSessionSetApprovalMode, set(msp.ApprovalModeDenyUnmatched))
	c.leave()
}

func TestD19764UserShell(t *testing.T) {
	h := newHome(t, echoSettings, "")
	hello := msp.InitializeParams{
		ClientInfo:   msp.ClientInfo{Name: "flows", Version: "1"},
		Capabilities: &msp.ClientCapabilities{RequestedCapabilities: []string{"userShell", "moonWalk"}},
	}
	c := h.openAs(t, hello)
	if got := c.welcome.GrantedCapabilities; len(got) != 1 || got[0] != msp.CapabilityNameUserShell {
		t.Errorf("granted %v", got)
	}
	id := c.start().Session.SessionID
	mark := c.Mark()
	must[msp.SessionUserShellResult](c, msp.MethodSessionUserShell, msp.SessionUserShellParams{
		SessionID: id, CommandID: msptest.CommandID(), CommandText: "echo by hand",
	})
	shown := await(c, mark, msp.NoteItemCompleted, func(p *msp.ItemCompletedParams) bool { return p.Item.Kind == msp.ItemKindUserShell })
	if shown.Item.TurnID != nil || shown.Item.CommandText != "echo by hand" || shown.Item.VisibleOutput == nil || !strings.Contains(*shown.Item.VisibleOutput, "by hand") {
		t.Errorf("item %+v", shown.Item)
	}
	found := false
	if items := c.read(id, true).History.Items; items != nil {
		for _, item := range *items {
			found = found || item.ItemID == shown.Item.ItemID && item.Kind == msp.ItemKindUserShell
		}
	}
	if !found {
		t.Error("the item is not in session/read")
	}
	c.leave()

	without := h.open(t)
	plain := without.start().Session.SessionID
	e := refused(without, msp.ErrorKindCapabilityRequired, msp.MethodSessionUserShell, msp.SessionUserShellParams{
		SessionID: plain, CommandID: msptest.CommandID(), CommandText: "true",
	})
	if e.Data.Capability != msp.CapabilityNameUserShell {
		t.Errorf("capability %q", e.Data.Capability)
	}
	without.leave()
}

// B01 to B07 ask of a host that is logged out; it may answer by failing the
// turn, never by not knowing the request.
func TestLoggedOutHostKnowsEveryRequest(t *testing.T) {
	c := newHome(t, "", "").open(t)
	id := c.start().Session.SessionID
	ack, mark := c.submit(id, "hello")
	allowed := func(method string, params any) {
		t.Helper()
		_, err := c.Request(c.ctx, method, params)
		if err == nil {
			return
		}
		switch kind := msp.AsError(err).Kind(); kind {
		case msp.ErrorKindInvalidParams, msp.ErrorKindMethodNotFound, msp.ErrorKindInternal, msp.ErrorKindInvalidRequest:
			t.Errorf("%s: %s, %v", method, kind, err)
		}
	}
	allowed(msp.MethodTurnInterrupt, msp.TurnInterruptParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: &ack.TurnID})
	allowed(msp.MethodTurnCancel, msp.TurnCancelParams{SessionID: id, CommandID: msptest.CommandID(), TurnID: &ack.TurnID})
	allowed(msp.MethodTurnSteer, msp.TurnSteerParams{SessionID: id, CommandID: msptest.CommandID(), ExpectedTurnID: ack.TurnID, Input: textInput("more")})
	allowed(msp.MethodApprovalListPending, msp.ApprovalListPendingParams{SessionID: id})
	allowed(msp.MethodSessionRead, msp.SessionReadParams{SessionID: id})
	allowed(msp.MethodUserInputCancel, msp.UserInputCancelParams{SessionID: id, CommandID: msptest.CommandID(), UserInputID: msptest.CommandID(), Reason: new("over")})
	c.finished(mark, ack.TurnID)
	c.leave()
}
