package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/permission"
)

func TestItemOfACall(t *testing.T) {
	s := newScript().turn("t1", "hello").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "call_1", Name: "bash", Args: `{"command":"ls"}`}}}).
		start("call_1", "task-1", "bash").
		add(event.TaskOutput{TaskID: "task-1", Final: true, Chunk: `{"chunk_id":"c-1","exit_code":0,"output":"a\nb\n","truncated":true}`},
			event.TaskOutputRef{TaskID: "task-1", Availability: "available", Ref: event.OutputRef{ID: "ref-1", Kind: "tool_output", ByteLen: 90, URI: "tool-output://local/task-1/x", Path: "tool-outputs/task-1/x"}},
			event.TaskCompleted{TaskID: "task-1"},
			event.EffectTerminal{CallID: "call_1", TaskID: "task-1", Outcome: event.EffectOutcome{Kind: "completed"}})
	notes := fold(t, New(testSession), s.events)
	p := find[msp.ItemCompletedParams](t, notes)
	i := p.Item
	if i.ItemID != "task-1" || i.Tool != "bash" || i.CallID != "call_1" || i.Args != `{"command":"ls"}` || i.Revision != 2 {
		t.Errorf("item %+v", i)
	}
	if deref(i.VisibleOutput) != "a\nb\n" || !i.Truncated || i.OutputRef == nil || i.OutputRef.ID != "ref-1" {
		t.Errorf("output %q, truncated %v, ref %+v", deref(i.VisibleOutput), i.Truncated, i.OutputRef)
	}
	if r := p.SourceRange; r.First.Sequence >= r.Last.Sequence || r.Last.Sequence != s.seq || r.Stream.Kind != "session" || r.Stream.ID != testSession {
		t.Errorf("range %+v", r)
	}
}

func TestApprovalAsClientsSeeIt(t *testing.T) {
	s := newScript().begin(false).turn("t1", "hello").
		add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "call_9f21", Name: "bash", Args: `{"command":"cargo bump && git push"}`}}}, approvalOf(requested))
	f := New(testSession)
	p := find[msp.ApprovalRequestParams](t, fold(t, f, s.events))
	if p.ItemID != "task-1" || p.TaskID != "task-1" || p.TurnID != "t1" || p.RawArgs != `{"command":"cargo bump && git push"}` {
		t.Errorf("request %+v", p)
	}
	if p.Subject.Kind != "shell" || p.Subject.Command != "cargo bump && git push" || len(p.Subject.Stages) != 2 || p.Subject.WorkspaceRoot != "/home/me/src/proj" {
		t.Fatalf("subject %+v", p.Subject)
	}
	if st := p.Subject.Stages[1]; st.SuggestedPrefix == nil || st.SuggestedPrefix.Label != "git push" || st.Resolution.Kind != "held" || st.RequirementID.SourceIndex != 1 {
		t.Errorf("stage %+v", st)
	}
	if len(p.AvailableChoices) != 2 || !p.AvailableChoices[1].AcceptsFeedback {
		t.Errorf("choices %+v", p.AvailableChoices)
	}
	if got := f.Attention(); len(got) != 1 || got[0] != msp.AttentionFlagApprovalPending {
		t.Errorf("attention %v", got)
	}
	if got := f.Pending(); len(got) != 1 || got[0].ViewCursor != p.ViewCursor || got[0].ApprovalID != "appr-1" {
		t.Errorf("pending %+v, opened at %s", got, p.ViewCursor)
	}

	review := approvalOf(`{"kind":"automated_review_completed","review_id":"r","assessment":{"outcome":"escalate","rationale":"pushes"},"status":"completed"}`)
	stage := approvalOf(`{"kind":"requirement_decided","pending_action_id":"appr-1","openmuse_source_index":1,"openmuse_choice_id":"allow_once","decision":"approved"}`)
	n := len(s.events)
	s.add(review, stage, approvalOf(decidedAllow))
	notes := fold(t, f, s.events[n:])
	if diff := cmp.Diff([]string{"approval/updated", "approval/updated", "approval/requested", "approval/resolved"}, words(notes)); diff != "" {
		t.Fatal(diff)
	}
	first, second := notes[0].Params.(*msp.ApprovalUpdatedParams), notes[1].Params.(*msp.ApprovalUpdatedParams)
	if first.Change.Kind != "judgeEscalated" || first.Change.Reason != "pushes" || second.CurrentRequirementID.SourceIndex != 1 {
		t.Errorf("updates %+v, %+v", first.Change, second)
	}
	if again := notes[2].Params.(*msp.ApprovalRequestParams); again.CurrentRequirementID.SourceIndex != 1 || again.ViewCursor == p.ViewCursor || again.ItemID != p.ItemID {
		t.Errorf("asked again %+v", again)
	}
	r := notes[3].Params.(*msp.ApprovalResolvedParams)
	for _, e := range r.StageEvidence {
		if e.Resolution.Kind == "held" {
			t.Errorf("stage %d is still held", e.Position)
		}
	}
	if r.ResolvedBy != msp.ApprovalResolvedByUser || r.DecidedByCommandID != "cmd-9" || r.PolicyResult != "allow" || len(r.StageEvidence) != 2 {
		t.Errorf("resolved %+v", r)
	}
	if r.Amendment == nil || r.Amendment.RulePreview != "git push" || len(f.Pending()) != 0 || len(f.Approvals()) != 0 {
		t.Errorf("amendment %+v, pending %v", r.Amendment, f.Pending())
	}
}

func TestNetworkAndFileSubjects(t *testing.T) {
	for fields, want := range map[string]msp.ApprovalSubject{
		`{"kind":"tool_action","tool_name":"web_fetch","network":{"host":"example.org","port":443,"protocol":"https"},"origin":{"kind":"url","url":"https://example.org/"}}`: {
			Kind: "network", ToolName: "web_fetch", Host: "example.org", Port: number(&[]int{443}[0]), Protocol: "https",
			Origin: &msp.ApprovalOrigin{Kind: "url", URL: "https://example.org/"},
		},
		`{"kind":"tool_action","tool_name":"write_file","path":"/w/a","access":"write"}`: {Kind: "fileAccess", ToolName: "write_file", Path: "/w/a", Access: "write"},
		`{"kind":"tool_action","tool_name":"mcp__x"}`:                                    {Kind: "tool", ToolName: "mcp__x"},
	} {
		s := newScript().turn("t1", "x").add(approvalOf(`{"kind":"requested","pending_action_id":"a","tool_call_id":"c","approval_subject":` + fields + `,"available_choices":[]}`))
		p := find[msp.ApprovalRequestParams](t, fold(t, New(testSession), s.events))
		if diff := cmp.Diff(want, p.Subject); diff != "" {
			t.Errorf("%s:\n%s", fields, diff)
		}
	}
}

// TestProtectedWritesAreSaid reads what the permission engine writes.
func TestProtectedWritesAreSaid(t *testing.T) {
	fields, err := permission.ApprovalFields(&permission.ApprovalRequested{
		Kind: "requested", PendingActionID: "a", ToolCallID: "c", ToolName: "write_file", Protected: true,
		ApprovalSubject: permission.ApprovalSubject{Kind: "tool_action", ToolName: "write_file", Path: "/w/.git/config", Access: "write"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newScript().turn("t1", "x").add(event.Approval{Kind: "requested", Fields: fields})
	if p := find[msp.ApprovalRequestParams](t, fold(t, New(testSession), s.events)); !p.ProtectedWrite || p.Subject.Kind != "fileAccess" {
		t.Errorf("request %+v", p)
	}
}

// TestApprovalAfterItsCall: a command that goes on in the background asks for a
// connection when its call and its turn have ended.
func TestApprovalAfterItsCall(t *testing.T) {
	s := newScript().turn("t1", "x").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "c", Name: "bash", Args: "{}"}}}).start("c", "task-1", "bash").
		finish("c", "task-1", "runs on", false).add(event.ToolResults{Results: []event.ToolResult{{CallID: "c", Text: "runs on"}}}).end("completed").of("t1")
	n := len(s.events)
	s.add(approvalOf(`{"kind":"requested","pending_action_id":"a","tool_call_id":"c","task_id":"task-1","tool_name":"bash","approval_subject":{"kind":"tool_action","network":{"host":"h","port":1,"protocol":"tcp"}},"available_choices":[]}`),
		approvalOf(`{"kind":"decision_applied","pending_action_id":"a","decision":"approved","decision_source":{"kind":"user"},"policy_result":"allow"}`))
	want := []string{"item/started toolCall", "approval/requested", "approval/resolved", "item/completed toolCall completed"}
	got := words(fold(t, New(testSession), s.events))
	if diff := cmp.Diff(want, got[len(got)-4:]); diff != "" {
		t.Errorf("%d events before\n%s", n, diff)
	}
}

// TestApprovalWithoutACall: what nobody's call asks for is an item by itself
// and ends with its decision.
func TestApprovalWithoutACall(t *testing.T) {
	s := newScript().add(approvalOf(`{"kind":"requested","pending_action_id":"a","approval_subject":{"kind":"tool_action","tool_name":"x"},"available_choices":[]}`),
		approvalOf(`{"kind":"decision_applied","pending_action_id":"a","decision":"denied","decision_source":{"kind":"policy"},"policy_result":"deny"}`))
	want := []string{"item/started toolCall", "approval/requested", "approval/resolved", "item/completed toolCall rejected"}
	if diff := cmp.Diff(want, words(fold(t, New(testSession), s.events))); diff != "" {
		t.Error(diff)
	}
}

func TestUsageAndPressure(t *testing.T) {
	cost := int64(1_500_000)
	s := newScript().turn("t1", "x").add(
		event.RequestConfigured{ContextLimit: 1000, SoftThreshold: 200, HardThreshold: 400},
		event.ModelCompleted{Model: "m", Finish: "tool_calls", DurationMS: 7, CostMicros: &cost, Usage: event.Usage{InputTokens: 100, OutputTokens: 10, CachedTokens: 40, CacheReadTokens: 40}},
		event.ModelCompleted{Model: "m", Usage: event.Usage{InputTokens: 390, OutputTokens: 10, ReasoningTokens: 5}},
	).end("completed")
	f := New(testSession)
	notes := fold(t, f, s.events)
	u := find[msp.SessionTokenUsageParams](t, notes)
	if u.PromptTokens != 390 || u.TotalTokens != 400 || u.Cumulative.PromptTokens != 490 || u.Cumulative.TotalTokens != 510 {
		t.Errorf("usage %+v", u)
	}
	if c := u.Cumulative.Cost; c == nil || c.USD != 1.5 || !c.Partial {
		t.Errorf("cost %+v", c)
	}
	if c := find[msp.SessionContextUsageParams](t, notes); c.Pressure != msp.ContextPressureLevelBlocked || c.UsedTokens != 400 || value(c.WindowTokens) != 1000 {
		t.Errorf("pressure %+v", c)
	}
	if p := find[msp.TurnCompletedParams](t, notes); p.Usage == nil || p.Usage.InputTokens != 490 || p.Usage.CachedTokens != 40 || value(p.DurationMs) != 1300 {
		t.Errorf("turn usage %+v", p.Usage)
	}
	if st := f.State(); st.TokenUsage.TotalTokens != 510 || st.ContextUsage == nil || st.TurnCount != 1 {
		t.Errorf("state %+v", st)
	}
}

func TestTurnErrors(t *testing.T) {
	retry := true
	for _, c := range []struct {
		before []event.Body
		reason string
		want   msp.TurnErrorKind
	}{
		{[]event.Body{event.FatalError{Class: "authentication", Reason: "not logged in"}}, "not logged in", msp.TurnErrorKindModelError},
		{[]event.Body{event.StepBudget{Kind: "steps", State: "exhausted"}}, "over", msp.TurnErrorKindStepLimit},
		{nil, "model did not reach a terminal state within 2 step(s)", msp.TurnErrorKindStepLimit},
		{nil, "context compaction replacement still exceeds the hard threshold (5 >= 4 tokens)", msp.TurnErrorKindProjectionError},
		{nil, "the model gave an empty answer", msp.TurnErrorKindModelError},
	} {
		s := newScript().turn("t1", "x").add(c.before...).add(event.RunTerminal{Terminal: "failed", Reason: &c.reason, FailureRetryable: &retry})
		f := New(testSession)
		p := find[msp.TurnCompletedParams](t, fold(t, f, s.events))
		if p.Error == nil || p.Error.Kind != c.want || p.Error.Message != c.reason || !p.Error.Retryable || p.Reason != c.reason {
			t.Errorf("%s: %+v", c.reason, p.Error)
		}
		if last := f.LastTurn(); last == nil || last.TurnID != "t1" || last.Error.Kind != c.want {
			t.Errorf("last turn %+v", last)
		}
	}
}

func TestApprovalModeAcrossProcesses(t *testing.T) {
	f := New(testSession)
	s := newScript().begin(false).add(event.ApprovalModeChanged{Mode: "denyUnmatched", Source: "approvalReconfigure", CommandID: "c1"}).begin(true)
	fold(t, f, s.events)
	got := f.ApprovalMode()
	if got.Mode != msp.ApprovalModeDenyUnmatched || got.Source != msp.ApprovalModeSourceReplay || deref(got.LastCommandID) != "c1" {
		t.Errorf("mode %+v", got)
	}
	n := len(s.events)
	s.add(event.SessionResumed{CommandID: "c2", Client: &event.Client{Name: "sdk"}})
	said := find[msp.SessionApprovalModeChangedParams](t, fold(t, f, s.events[n:]))
	if said.Source != msp.ApprovalModeSourceReplay || said.CommandID != "c2" || said.ClientName != "sdk" || said.Mode != msp.ApprovalModeDenyUnmatched {
		t.Errorf("said %+v", said)
	}
	n = len(s.events)
	s.add(event.PermissionProfile{Snapshot: event.PermissionSnapshot{Approval: "never"}})
	if fold(t, f, s.events[n:]); f.ApprovalMode().Mode != msp.ApprovalModeAllowAll {
		t.Errorf("another profile leaves the mode %+v", f.ApprovalMode())
	}
}

// TestOrphansOfADeadProcess: what ran beside turns ends when another process
// opens the session.
func TestOrphansOfADeadProcess(t *testing.T) {
	s := newScript().turn("t1", "x").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "c", Name: "bash", Args: "{}"}}}).
		start("c", "task-1", "bash").add(event.TaskBackgrounded{CallID: "c", TaskID: "task-1", Initiator: "timeout"},
		event.ToolResults{Results: []event.ToolResult{{CallID: "c", Text: "runs on"}}}).end("completed").
		add(event.UserShellCommand{CommandID: "sh", CommandText: "sleep 9"}).begin(true)
	f := New(testSession)
	got := words(fold(t, f, s.events))
	want := []string{
		"turn/started", "item/completed userMessage completed", "item/started toolCall", "item/updated toolCall", "turn/completed completed",
		"item/started userShell", "item/completed toolCall cancelled", "item/completed userShell cancelled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(f.Tasks()) != 0 {
		t.Errorf("tasks %+v", f.Tasks())
	}
}

func TestRowAndState(t *testing.T) {
	f := New(testSession)
	s := newScript().add(event.SessionCreated{CommandID: "c0", Client: &event.Client{Name: "sdk", Version: "1.4.4"}}).begin(false).
		add(event.SessionForked{SourceSessionID: "src", CommandID: "c", CutCursor: "v:src:9", CutExplicit: true}).
		turn("t1", "  first prompt\nsecond line").add(intentOf("t2", strings.Repeat("long ", 2000)), event.TurnQueued{CommandID: "t2", TurnID: "t2"})
	fold(t, f, s.events)
	row := f.Row("/log", true)
	if row.Status != msp.SessionStatusRunning || deref(row.ActiveTurnID) != "t1" || deref(row.ModelID) != "muse-large-2" || row.Title != "first prompt" ||
		row.ForkedFrom == nil || !row.ForkedFrom.CutExplicit || row.CreatedByClient == nil || row.TurnCount != 0 {
		t.Errorf("row %+v", row)
	}
	if row := f.Row("/log", false); row.Status != msp.SessionStatusNotLoaded || row.ActiveTurnID != nil {
		t.Errorf("stored row %+v", row)
	}
	st := f.State()
	if len(st.QueuedTurns) != 1 || !st.QueuedTurns[0].Truncated || st.QueuedTurns[0].TurnID != "t2" || st.ActiveTurn == nil {
		t.Errorf("turns %+v, %+v", st.QueuedTurns, st.ActiveTurn)
	}
	for _, v := range []any{row, st} {
		if err := msp.CheckType([]byte(encoded(t, v)), typeOf2(v)); err != nil {
			t.Errorf("%T: %v", v, err)
		}
	}
}

// TestARunWhoseProcessEnded: recovery's records bring the turn to an end that
// clients can tell from one that somebody stopped.
func TestARunWhoseProcessEnded(t *testing.T) {
	s := newScript().begin(false).turn("t1", "x").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "c", Name: "bash", Args: "{}"}}}).start("c", "task-1", "bash")
	conv := agent.NewConversation()
	for _, r := range s.events {
		conv.Apply(r)
	}
	left := conv.Interrupted()
	s.begin(true)
	for _, e := range left {
		s.run = e.Run
		s.add(e.Body)
	}
	f := New(testSession)
	notes := fold(t, f, s.events)
	if i := find[msp.ItemCompletedParams](t, notes).Item; i.Status != msp.ItemStatusCancelled || !strings.Contains(deref(i.VisibleOutput), "interrupted") {
		t.Errorf("call %+v", i)
	}
	p := find[msp.TurnCompletedParams](t, notes)
	if p.Terminal != msp.TurnTerminalFailed || p.Error != nil || p.Reason != crashInferred {
		t.Errorf("turn %+v", p)
	}
	if f.ActiveTurn() != nil || f.LastTurn().Reason != crashInferred {
		t.Errorf("active %+v, last %+v", f.ActiveTurn(), f.LastTurn())
	}
}

// TestTextsAreBounded: a surface that is full shows no more, and what was shown
// is a beginning of what is committed, whole characters only.
func TestTextsAreBounded(t *testing.T) {
	piece := strings.Repeat("x", maxText/4) + "é"
	s := newScript().turn("t1", "x").add(event.ToolCalls{Calls: []event.ToolCall{{CallID: "c", Name: "bash", Args: "{}"}}}).start("c", "task-1", "bash")
	whole := strings.Repeat(piece, 5)
	for i := range 5 {
		s.live(event.OutputDelta{MessageID: "m", Offset: int64(i * len(piece)), Text: piece})
	}
	out := ""
	for range 5 {
		chunk := strings.Repeat("y", maxOutput/3) + "…"
		s.live(event.TaskProgress{TaskID: "task-1", Offset: int64(len(out)), Chunk: chunk})
		out += chunk
	}
	s.finish("c", "task-1", out, false).add(event.AssistantMessage{MessageID: "m", Text: whole}).end("completed")
	notes := fold(t, New(testSession), s.events)
	shown := map[string]string{}
	for _, n := range notes {
		switch p := n.Params.(type) {
		case *msp.ItemDeltaParams:
			shown[p.ItemID] += p.Delta
		case *msp.ItemCompletedParams:
			if p.Item.Kind == msp.ItemKindUserMessage {
				continue
			}
			text := deref(p.Item.Text) + deref(p.Item.VisibleOutput)
			if !p.Item.Truncated || len(text) > maxText || shown[p.Item.ItemID] != text {
				t.Errorf("%s: %d bytes shown, %d committed, truncated %v", p.Item.Kind, len(shown[p.Item.ItemID]), len(text), p.Item.Truncated)
			}
		}
	}
}
