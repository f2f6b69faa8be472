package session

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/event"
)

func typeOf(p any) reflect.Type { return reflect.TypeOf(p).Elem() }

const requested = `{"kind":"requested","pending_action_id":"appr-1","tool_call_id":"call_9f21","tool_name":"bash","raw_args":"","task_id":"task-1",
"approval_subject":{"kind":"tool_action","tool_name":"bash","command":"cargo bump && git push","stages":[
{"argv":["cargo","bump"],"argv_complete":true,"position":0,"total_stages":2,"resolution":{"kind":"allowed"}},
{"argv":["git","push"],"argv_complete":true,"position":1,"total_stages":2,"resolution":{"kind":"held","diagnostic":"not known"}}],
"suggested_prefix":{"argv_prefix":["git","push"],"label":"git push"}},
"available_choices":[{"choice_id":"allow_once","label":"Allow once","decision":"approved","scope":"once"},
{"choice_id":"abort","label":"Reject","decision":"abort","scope":"once","accepts_feedback":true}],"presentation_phase":"initial"}`

const decidedAllow = `{"kind":"decision_applied","pending_action_id":"appr-1","decision":"approvedForSession","decision_source":{"kind":"user","openmuse_command_id":"cmd-9"},"policy_result":"allow",
"amendment":{"durability":"session","rule_preview":"git push"}}`

const decidedAbort = `{"kind":"decision_applied","pending_action_id":"appr-1","decision":"abort","decision_source":{"kind":"user"},"policy_result":"deny","amendment":null}`

func approvalOf(fields string) event.Approval {
	v := jsontext.Value(fields)
	if v.Compact() != nil {
		panic("a fixture of this test is no JSON")
	}
	kind := "decision_applied"
	for _, k := range []string{"requested", "automated_review_completed", "requirement_decided"} {
		if strings.Contains(fields, `"kind":"`+k+`"`) {
			kind = k
		}
	}
	return event.Approval{Kind: kind, Fields: v}
}

// TestDialogues: what each kind of session says, in order (the recorded
// dialogues of the protocol have the same orders).
func TestDialogues(t *testing.T) {
	one := func(name string) event.ToolCalls {
		return event.ToolCalls{MessageID: "m", Calls: []event.ToolCall{{CallID: "call_9f21", Name: name, Args: `{"command":"x"}`}}}
	}
	results := func(text string, failed bool) event.ToolResults {
		return event.ToolResults{BatchID: "m", Results: []event.ToolResult{{CallID: "call_9f21", Text: text, Failed: failed}}}
	}
	for name, c := range map[string]struct {
		script *script
		want   []string
	}{
		"an opening says nothing": {newScript().begin(false), []string{}},
		"a streamed answer": {
			newScript().begin(false).turn("t1", "hello").
				live(event.OutputDelta{MessageID: "msg", Text: "All 214 "}, event.OutputDelta{MessageID: "msg", Offset: 8, Text: "pass"}).
				add(event.AssistantMessage{MessageID: "msg", Text: "All 214 pass"}).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started agentMessage (live)", "item/delta (live)",
				"item/delta (live)", "item/completed agentMessage completed", "turn/completed completed",
			},
		},
		"white space alone is no answer": {
			newScript().turn("t1", "hello").live(event.OutputDelta{MessageID: "msg", Text: " \n"}).end("completed"),
			[]string{"turn/started", "item/completed userMessage completed", "turn/completed completed"},
		},
		"a fragment that was lost": {
			newScript().turn("t1", "hello").
				live(event.OutputDelta{MessageID: "msg", Text: "a"}, event.OutputDelta{MessageID: "msg", Offset: 5, Text: "c"}).
				add(event.AssistantMessage{MessageID: "msg", Text: "a bcdc"}).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started agentMessage (live)", "item/delta (live)",
				"item/delta (live)", "item/completed agentMessage completed", "turn/completed completed",
			},
		},
		"an attempt that broke off": {
			newScript().turn("t1", "hello").live(event.OutputDelta{MessageID: "m1", Text: "All"}).
				add(event.RetryScheduled{Attempt: 1, MaxAttempts: 3, DelayMS: 2000, Reason: "provider stream disconnected"}).
				live(event.OutputDelta{MessageID: "m2", Text: "All 214"}).
				add(event.AssistantMessage{MessageID: "m2", Text: "All 214"}).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started agentMessage (live)", "item/delta (live)",
				"item/completed agentMessage failed (live)", "turn/retryScheduled", "item/started agentMessage (live)", "item/delta (live)",
				"item/completed agentMessage completed", "turn/completed completed",
			},
		},
		"a call that needs no approval": {
			newScript().turn("t1", "hello").add(one("bash")).start("call_9f21", "task-1", "bash").
				live(event.TaskProgress{TaskID: "task-1", Chunk: "ok\n"}).
				finish("call_9f21", "task-1", `{"chunk_id":"c-1","exit_code":0,"output":"ok\n","truncated":false}`, false).add(results("…", false)).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started toolCall", "item/delta (live)",
				"item/completed toolCall completed", "turn/completed completed",
			},
		},
		"a call that is allowed": {
			newScript().turn("t1", "hello").add(one("bash"), approvalOf(requested), approvalOf(decidedAllow)).
				start("call_9f21", "task-1", "bash").finish("call_9f21", "task-1", "done", false).add(results("done", false)).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started toolCall", "approval/requested", "approval/resolved",
				"item/completed toolCall completed", "turn/completed completed",
			},
		},
		"a call that is refused": {
			newScript().turn("t1", "hello").add(one("bash"), approvalOf(requested), approvalOf(decidedAbort),
				results("tool failed: permission denied: approval aborted", true)).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started toolCall", "approval/requested", "approval/resolved",
				"item/completed toolCall rejected", "turn/completed completed",
			},
		},
		"a file is asked about while the tool runs": {
			newScript().turn("t1", "hello").add(one("write_file")).start("call_9f21", "task-1", "write_file").
				add(approvalOf(requested), approvalOf(decidedAbort)).finish("call_9f21", "task-1", "approval aborted", true).
				add(results("tool failed: approval aborted", true)).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started toolCall", "item/updated toolCall", "approval/requested",
				"approval/resolved", "item/completed toolCall rejected", "turn/completed completed",
			},
		},
		"a call with arguments that do not fit": {
			newScript().turn("t1", "hello").add(one("bash"), results("tool failed: no such tool", true)).end("completed"),
			[]string{"turn/started", "item/completed userMessage completed", "item/completed toolCall failed", "turn/completed completed"},
		},
		"a turn is stopped while it asks": {
			newScript().turn("t1", "hello").add(one("bash"), approvalOf(requested)).end("cancelled"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started toolCall", "approval/requested", "approval/resolved",
				"item/completed toolCall cancelled", "turn/completed cancelled",
			},
		},
		"a person is asked": {
			newScript().turn("t1", "hello").add(one("request_user_input")).start("call_9f21", "task-1", "request_user_input").
				add(event.UserInputRequested{ID: "ui", CallID: "call_9f21", ToolName: "request_user_input", Questions: []event.UserQuestion{
					{ID: "q", Mode: "single", Options: []event.UserOption{{Label: "Postgres"}}}}},
					event.UserInputSettled{ID: "ui", Outcome: "answered", Answers: []event.UserAnswer{{QuestionID: "q", SelectedLabel: named("Postgres")}}},
					event.UserInputSettled{ID: "ui", Outcome: "cancelled"}).
				finish("call_9f21", "task-1", "Postgres", false).add(results("Postgres", false)).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started toolCall", "userInput/requested", "userInput/settled",
				"item/completed toolCall completed", "turn/completed completed",
			},
		},
		"a queued turn is taken back": {
			newScript().turn("t1", "hello").add(intentOf("t2", "then"), event.TurnQueued{CommandID: "t2", TurnID: "t2"},
				event.TurnUnqueued{CommandID: "c5", TurnID: "t2"}).end("completed"),
			[]string{"turn/started", "item/completed userMessage completed", "turn/unqueued", "turn/completed completed"},
		},
		"a queued turn cannot start": {
			newScript().turn("t1", "hello").add(intentOf("t2", "then"), event.TurnQueued{CommandID: "t2", TurnID: "t2"}).end("completed").
				add(event.TurnLaunchFailed{CommandID: "t2", TurnID: "t2", Reason: "provider unavailable", Retryable: true}),
			[]string{"turn/started", "item/completed userMessage completed", "turn/completed completed", "turn/completed failed"},
		},
		"a prompt is steered in": {
			newScript().turn("t1", "hello").add(event.Notice{Source: event.NoticeSource{Source: "step_budget"}, Body: "hurry"},
				event.Notice{Source: event.NoticeSource{Source: event.UserSteer}, CommandID: "c7", Payload: &event.NoticePayload{Prompt: "stop that"}}).end("completed"),
			[]string{"turn/started", "item/completed userMessage completed", "item/completed userMessage completed", "turn/completed completed"},
		},
		"a prompt is taken back": {
			newScript().turn("t1", "hello").end("cancelled").of("t1").add(event.RunRetracted{PromptSequence: 2}),
			[]string{"turn/started", "item/completed userMessage completed", "turn/completed cancelled", "turn/retracted", "item/updated userMessage"},
		},
		"a goal wakes a turn": {
			func() *script {
				s := newScript().add(event.GoalChanged{Action: "set", CommandID: "g", Goal: &event.Goal{Objective: "green", Status: "active"}})
				i := intentOf("t1", "work on it")
				i.SemanticKind.Kind, i.CommandID = "goal", "g"
				s.run = "t1"
				return s.add(i, event.RunStarted{Prompt: "work on it"}).end("completed").
					add(event.GoalChanged{Action: "edit", Goal: &event.Goal{Objective: "green", Status: "active"}}, event.GoalChanged{Action: "clear"})
			}(),
			[]string{"session/goalChanged", "turn/started", "turn/completed completed", "session/goalChanged"},
		},
		"a person's own command": {
			newScript().add(event.UserShellCommand{CommandID: "sh", CommandText: "ls"}).live(event.UserShellOutput{CommandID: "sh", Chunk: "a\n"}).
				add(event.UserShellResult{CommandID: "sh", TerminalState: "completed", ExitCode: new(int), VisibleOutput: "a\nb\n"}),
			[]string{"item/started userShell", "item/delta (live)", "item/delta (live)", "item/completed userShell completed"},
		},
		"a compaction that is asked for": {
			newScript().turn("t1", "hello").add(event.CompactionStarted{CommandID: "c", CompactionID: "k", Trigger: "manual"},
				event.CompactionInstalled{StrategyID: "s/v1", InstallID: "i", BudgetBefore: event.PromptBudget{Tokens: 161000}, BudgetAfter: event.PromptBudget{Tokens: 31000}},
				event.CompactionSettled{CompactionID: "k", Outcome: "compacted", InstallID: "i"}).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started compaction", "item/completed compaction completed",
				"session/contextUsage", "turn/completed completed",
			},
		},
		"a compaction that finds nothing": {
			newScript().turn("t1", "hello").add(event.CompactionStarted{CompactionID: "k", Trigger: "manual"},
				event.CompactionSettled{CompactionID: "k", Outcome: "noop", Reason: "no_compactable_history"}).end("completed"),
			[]string{
				"turn/started", "item/completed userMessage completed", "item/started compaction", "item/completed compaction completed",
				"turn/completed completed",
			},
		},
		"what holds for the session": {
			newScript().begin(false).add(
				event.ApprovalModeChanged{Mode: "onRequest", Source: "startup"},
				event.ApprovalModeChanged{Mode: "denyUnmatched", Source: "approvalReconfigure", CommandID: "c", ClientName: "sdk"},
				event.ModelReconfigured{Effective: event.ModelRoute{ModelID: "m2", ProviderID: "p"}, CommandID: "c"},
				event.ModelRouteUnserved{CommandID: "c", InstalledProviderID: "p", ModelID: "m2"},
				event.EffortChanged{Effort: "high", Source: "user"},
				event.NameChanged{NewName: "amber-fox", Source: "automatic"},
				event.WorkspaceBranch{Reference: event.Reference{Kind: "branch", Name: "main"}, VCS: "git", WorkspaceRoot: "/w"},
				event.WorkspaceBranch{Reference: event.Reference{Kind: "branch", Name: "main"}, VCS: "git", WorkspaceRoot: "/w"},
				event.WorkspaceBranch{Reference: event.Reference{Kind: "detached", Name: "abc"}, VCS: "git", WorkspaceRoot: "/w"},
				event.SideOpened{CommandID: "c", SideSessionID: "side"},
			).turn("t1", "x").add(event.TodoSnapshot{Revision: 1, Items: []event.TodoItem{{Status: "in_progress", Text: "do"}}},
				event.RequestConfigured{ContextLimit: 100, SoftThreshold: 20, HardThreshold: 40},
				event.ModelCompleted{Model: "m2", Usage: event.Usage{InputTokens: 20, OutputTokens: 5}}).end("completed"),
			[]string{
				"session/approvalModeChanged", "session/modelChanged", "session/modelRouteUnserved", "session/reasoningEffortChanged",
				"session/nameChanged", "session/branchChanged", "session/branchChanged", "item/completed sideChat completed", "turn/started",
				"item/completed userMessage completed", "session/todoListChanged", "session/tokenUsage", "session/contextUsage", "turn/completed completed",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			notes := fold(t, New(testSession), c.script.events)
			if diff := cmp.Diff(c.want, words(notes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
