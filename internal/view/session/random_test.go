package session

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
)

// writer makes up whole sessions: what a host records, with everything that
// may happen while a turn runs.
type writer struct {
	*script
	t      *rapid.T
	n      int
	shells []string
	queued []string
	behind []behind // calls in the background
}

type behind struct{ call, task, shown string }

func (w *writer) name(prefix string) string {
	w.n++
	return fmt.Sprintf("%s-%d", prefix, w.n)
}

func (w *writer) chance(percent int) bool { return rapid.IntRange(0, 99).Draw(w.t, "chance") < percent }

func (w *writer) pick(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "pick") }

func (w *writer) text() string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab \n\t{é…\"")), 0, 12, -1).Draw(w.t, "text")
}

// session draws a session of some turns.
func session(t *rapid.T) *script {
	w := &writer{script: newScript(), t: t}
	w.begin(false)
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			w.setting()
		case 1:
			w.shell()
		case 2:
			w.begin(true)
			w.shells, w.behind = nil, nil
		default:
			w.wholeTurn()
		}
	}
	// A process in good order ends what it began.
	for _, id := range w.shells {
		w.add(event.UserShellResult{CommandID: id, TerminalState: "cancelled"})
	}
	for _, b := range w.behind {
		w.finish(b.call, b.task, b.shown+"done", false)
	}
	return w.script
}

func (w *writer) wholeTurn() {
	id := w.name("turn")
	if len(w.queued) > 0 && w.chance(60) {
		id, w.queued = w.queued[0], w.queued[1:]
		if w.chance(20) {
			w.add(event.TurnLaunchFailed{TurnID: id, CommandID: id, Reason: "no provider"})
			return
		}
		w.run = id
		w.add(event.RunStarted{Prompt: "queued"})
	} else {
		w.turn(id, w.text())
	}
	crashed := false
	for range rapid.IntRange(0, 4).Draw(w.t, "calls") {
		switch rapid.IntRange(0, 9).Draw(w.t, "act") {
		case 0:
			w.queue()
		case 1:
			w.add(event.Notice{Source: event.NoticeSource{Source: w.pick("user_steer", "step_budget")}, Body: w.text()})
		case 2:
			w.compact()
		case 3:
			w.setting()
		case 4:
			w.reply(true)
		case 5:
			if w.chance(30) {
				crashed = true
			}
			w.batch(crashed)
		default:
			w.batch(false)
		}
		if crashed {
			break
		}
	}
	if crashed {
		reason := "interrupted: the process ended before the run did"
		w.add(event.RunTerminal{Terminal: "cancelled", Reason: &reason})
		w.run = ""
		w.begin(true)
		w.shells, w.behind = nil, nil
		return
	}
	w.reply(w.chance(30))
	terminal := w.pick("completed", "completed", "failed", "cancelled")
	if terminal == "failed" {
		reason := "the model's service is down"
		w.add(event.FatalError{Class: "server_error", Reason: reason}, event.RunTerminal{Terminal: terminal, Reason: &reason})
	} else {
		w.add(event.RunTerminal{Terminal: terminal, DurationMS: 5})
	}
	if terminal == "cancelled" && w.chance(50) {
		w.add(event.RunRetracted{})
	}
	w.run = ""
}

// reply streams an answer: some fragments may not come, attempts may fail, and
// the message may be committed without having been streamed.
func (w *writer) reply(fails bool) {
	message, whole := w.name("msg"), ""
	for range rapid.IntRange(0, 4).Draw(w.t, "fragments") {
		piece := w.text()
		if !w.chance(15) {
			w.live(event.OutputDelta{MessageID: message, Offset: int64(len(whole)), Text: piece})
		}
		whole += piece
	}
	switch {
	case fails && w.chance(50):
		w.add(event.RetryScheduled{Attempt: 1, MaxAttempts: 2, Reason: "stream cut"})
	case fails && whole != "":
		w.add(event.AssistantMessage{MessageID: message, Phase: "incomplete", Text: whole})
	case strings.TrimSpace(whole) != "":
		w.add(event.ModelCompleted{Model: "m", Usage: event.Usage{InputTokens: int64(w.n), OutputTokens: 3}},
			event.SummaryCommitted{MessageID: w.name("sum"), Text: "one\n\ntwo"},
			event.AssistantMessage{MessageID: message, Text: whole + w.pick("", "more")})
	}
}

// batch is a reply with calls. crash leaves it in the middle.
func (w *writer) batch(crash bool) {
	type one struct {
		call, task, tool string
		refused          bool
		text             string
		failed, started  bool
		background       bool
	}
	calls := event.ToolCalls{MessageID: w.name("batch")}
	var all []*one
	for range rapid.IntRange(1, 3).Draw(w.t, "batch") {
		c := &one{call: w.name("call"), task: w.name("task"), tool: w.pick("bash", "write_file", "request_user_input", "report_progress")}
		all = append(all, c)
		calls.Calls = append(calls.Calls, event.ToolCall{CallID: c.call, Name: c.tool, Args: `{"command":"x"}`})
	}
	w.add(calls)
	for _, c := range all {
		if w.chance(15) {
			c.refused, c.failed, c.text = true, true, "no such tool"
			continue
		}
		if c.tool == "bash" && w.chance(40) && w.approval(c.call, c.task) {
			c.refused, c.failed, c.text = true, true, "permission denied: approval aborted"
		}
	}
	for _, c := range all {
		if !c.refused {
			w.add(event.TaskScheduled{TaskID: c.task, IdempotencyKey: "tool:" + c.call}, event.EffectStarted{CallID: c.call, TaskID: c.task, ToolName: c.tool})
		}
	}
	for i, c := range all {
		if c.refused {
			continue
		}
		if crash && i == len(all)-1 {
			break
		}
		c.started = true
		w.runCall(c.call, c.task, c.tool, &c.text, &c.failed, &c.background)
	}
	if crash {
		results := event.ToolResults{BatchID: calls.MessageID}
		last := all[len(all)-1]
		if !last.refused {
			w.add(event.TaskCancelled{TaskID: last.task, Reason: "interrupted"})
		}
		for _, c := range all {
			results.Results = append(results.Results, event.ToolResult{CallID: c.call, Text: "tool failed: interrupted", Failed: true})
		}
		w.add(results)
		return
	}
	results := event.ToolResults{BatchID: calls.MessageID}
	for _, c := range all {
		text := c.text
		if c.failed {
			text = failedPrefix + text
		}
		results.Results = append(results.Results, event.ToolResult{CallID: c.call, Text: text, Failed: c.failed})
	}
	w.add(results)
}

func (w *writer) runCall(call, task, tool string, text *string, failed, background *bool) {
	if tool == "write_file" && w.chance(40) && w.approval(call, task) {
		*text, *failed = "approval aborted", true
	}
	if tool == "request_user_input" {
		id := w.name("input")
		w.add(event.UserInputRequested{ID: id, CallID: call, ToolName: tool, Questions: []event.UserQuestion{{ID: "q", Mode: "single"}}})
		if w.chance(80) {
			w.add(event.UserInputSettled{ID: id, Outcome: w.pick("answered", "timedOut", "cancelled"), Answers: []event.UserAnswer{}})
		}
	}
	shown := w.output(task)
	if tool == "bash" && w.chance(20) {
		w.add(event.TaskBackgrounded{CallID: call, TaskID: task, Initiator: w.pick("user", "timeout")})
		*background, *text = true, "runs on"
		w.behind = append(w.behind, behind{call, task, shown})
		return
	}
	if *failed = *failed || w.chance(20); *failed {
		if *text == "" {
			*text = "it broke"
		}
		w.finish(call, task, *text, true)
		return
	}
	*text = shown
	if tool == "bash" {
		quoted, err := jsontext.AppendQuote(nil, shown)
		if err != nil {
			w.t.Fatal(err)
		}
		*text = fmt.Sprintf(`{"chunk_id":"c-1","command":"x","exit_code":0,"output":%s,"truncated":false}`, quoted)
	}
	if w.chance(15) { // tools without output of their own: the batch has the text
		w.add(event.TaskCompleted{TaskID: task}, event.EffectTerminal{CallID: call, TaskID: task, Outcome: event.EffectOutcome{Kind: "completed"}})
		return
	}
	w.finish(call, task, *text, false)
}

// output shows pieces of a tool's output and returns all of it.
func (w *writer) output(task string) string {
	whole := ""
	for range rapid.IntRange(0, 3).Draw(w.t, "chunks") {
		chunk := w.text()
		switch {
		case w.chance(10):
			w.live(event.TaskProgress{TaskID: task, Offset: int64(len(whole)), Chunk: "[5 bytes not shown]\n" + chunk})
		case !w.chance(15):
			w.live(event.TaskProgress{TaskID: task, Offset: int64(len(whole)), Chunk: chunk})
		}
		whole += chunk
	}
	return whole
}

// approval asks and answers; true when the answer is no.
func (w *writer) approval(call, task string) bool {
	id := w.name("approval")
	w.add(event.Approval{Kind: "requested", Fields: jsontext.Value(`{"kind":"requested","pending_action_id":"` + id + `","tool_call_id":"` + call + `","tool_name":"bash","task_id":"` + task +
		`","approval_subject":{"kind":"tool_action","tool_name":"bash","command":"x"},"available_choices":[]}`)})
	if w.chance(30) {
		w.add(event.Approval{Kind: "automated_review_completed", Fields: jsontext.Value(`{"kind":"automated_review_completed","status":"failed","assessment":null}`)})
	}
	no := w.chance(40)
	decision, result := "approved", "allow"
	if no {
		decision, result = "abort", "deny"
	}
	w.add(event.Approval{Kind: "decision_applied", Fields: jsontext.Value(`{"kind":"decision_applied","pending_action_id":"` + id + `","decision":"` + decision +
		`","decision_source":{"kind":"user"},"policy_result":"` + result + `","amendment":null}`)})
	return no
}

func (w *writer) queue() {
	id := w.name("queued")
	w.add(intentOf(id, w.text()), event.TurnQueued{CommandID: id, TurnID: id})
	if w.chance(40) {
		w.add(event.TurnUnqueued{CommandID: w.name("cmd"), TurnID: id})
		return
	}
	w.queued = append(w.queued, id)
}

func (w *writer) compact() {
	id := w.name("compaction")
	asked := w.chance(50)
	if asked {
		w.add(event.CompactionStarted{CompactionID: id, Trigger: "manual"})
		if w.chance(30) {
			w.add(event.CompactionSettled{CompactionID: id, Outcome: w.pick("noop", "failed", "cancelled"), Reason: "r"})
			return
		}
	}
	w.add(event.CompactionInstalled{InstallID: id, StrategyID: "s/v1", Through: event.Cursor{Sequence: w.seq - 1}, BudgetAfter: event.PromptBudget{Tokens: int64(w.n)}})
	if asked {
		w.add(event.CompactionSettled{CompactionID: id, Outcome: "compacted"})
	}
}

func (w *writer) setting() {
	run := w.run
	w.run = ""
	defer func() { w.run = run }()
	switch rapid.IntRange(0, 6).Draw(w.t, "setting") {
	case 0:
		w.add(event.ModelReconfigured{CommandID: w.name("cmd"), Effective: event.ModelRoute{ModelID: w.pick("m1", "m2"), ProviderID: "p"}})
	case 1:
		w.add(event.EffortChanged{Effort: w.pick("low", "high"), Source: "user"})
	case 2:
		w.add(event.ApprovalModeChanged{Mode: w.pick("allowAll", "onRequest"), Source: w.pick("approvalReconfigure", "replay"), CommandID: w.name("cmd")})
	case 3:
		w.add(event.GoalChanged{Action: "set", Goal: &event.Goal{Objective: w.text(), Status: "active"}})
	case 4:
		w.add(event.NameChanged{NewName: w.name("name"), Source: "user"})
	case 5:
		w.add(event.WorkspaceBranch{Reference: event.Reference{Kind: w.pick("branch", "detached"), Name: w.pick("main", "dev")}, VCS: "git", WorkspaceRoot: "/w"})
	case 6:
		w.add(event.SideOpened{CommandID: w.name("cmd"), SideSessionID: w.name("side")})
	}
}

// shell is a command of the person's own that may still run when others begin.
func (w *writer) shell() {
	id := w.name("shell")
	w.add(event.UserShellCommand{CommandID: id, CommandText: "ls"})
	chunk := w.text()
	w.live(event.UserShellOutput{CommandID: id, Chunk: chunk})
	if w.chance(20) {
		w.shells = append(w.shells, id)
		return
	}
	w.add(event.UserShellResult{CommandID: id, TerminalState: w.pick("completed", "failed", "timed_out"), VisibleOutput: chunk + "rest"})
}
