package muse

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Statuses of a tool call.
const (
	CallSuccess    = "success"
	CallFailure    = "failure"
	CallUnfinished = "unfinished" // the stream ended before its result
	CallUnknown    = "unknown"    // a result whose outcome was not stated
)

// Where the target of a tool call came from, best first (seed 001, tool-call
// capture). Arguments are not on the stream and are never made up.
const (
	TargetEditPath    = "edit_facts.path"
	TargetCommand     = "result.command"
	TargetDescription = "result.description"
	TargetPreview     = "result_preview"
	TargetNone        = "" // no result was seen
)

// Limits of a tool-call record, in runes.
const (
	previewRunes = 200
	summaryRunes = 500
)

// maxPending bounds calls without a result; beyond it the oldest is closed as
// unfinished, so a stream that never answers cannot grow memory.
const maxPending = 4096

// ToolCall is one tool call as the stream told it.
type ToolCall struct {
	Runtime string `json:"runtime"` // "muse"
	Source  string `json:"source"`  // "stream"
	RunID   string `json:"run_id,omitempty"`
	TaskID  string `json:"task_id,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Tool    string `json:"tool"`    // as named on the stream: bash, shell, edit_file, …
	Display string `json:"display"` // what to show: both shells read "Bash"

	Target       string `json:"target"`
	TargetSource string `json:"target_source"`
	Command      string `json:"command,omitempty"`     // only when the result carries it
	Description  string `json:"description,omitempty"` // only when the result carries it

	Status  string  `json:"status"`           // success, failure, unfinished, unknown
	Outcome *string `json:"outcome"`          // correlation_facts.outcome verbatim; null when absent
	Reason  string  `json:"reason,omitempty"` // of a failed, rejected or cancelled task

	Operation      string `json:"operation,omitempty"`
	PolicyDecision string `json:"policy_decision,omitempty"`

	Summary     string `json:"response_summary"` // of the result text, cut to 500 runes
	ResultBytes int    `json:"result_bytes"`
	OutputBytes int64  `json:"output_bytes"` // streamed as task.lifecycle.output
	ExitCode    *int   `json:"exit_code,omitempty"`
	Added       *int64 `json:"lines_added,omitempty"`

	FirstLine int64     `json:"first_line"` // stream lines that opened and closed it
	LastLine  int64     `json:"last_line"`
	OpenedAt  time.Time `json:"opened_at"` // observed here: the stream's own clock is synthetic
	ClosedAt  time.Time `json:"closed_at"`
}

// ToolTracker binds tasks to calls and derives [ToolCall] records. The zero
// value is ready for use; it is not safe for concurrent use.
type ToolTracker struct {
	byTask map[string]*ToolCall
	byCall map[string]*ToolCall
	order  []*ToolCall // open calls, oldest first; closed ones are dropped lazily
	closed map[*ToolCall]struct{}
	done   map[string]struct{} // call ids answered, to tell a second answer
	diags  *DiagnosticLog
}

func (t *ToolTracker) init() {
	if t.byTask == nil {
		t.byTask, t.byCall = map[string]*ToolCall{}, map[string]*ToolCall{}
		t.closed, t.done = map[*ToolCall]struct{}{}, map[string]struct{}{}
	}
	if t.diags == nil {
		t.diags = &DiagnosticLog{}
	}
}

// Observe takes one event and returns the records it closed: at most one,
// except when the bound on open calls forces old ones out.
func (t *ToolTracker) Observe(e *Event, at time.Time) []ToolCall {
	t.init()
	switch p := e.Payload.(type) {
	case *TaskEvent:
		return t.task(e, p, at)
	case *ToolResult:
		return t.result(e, p, at)
	}
	return nil
}

// Finish closes the calls that never got a result, oldest first.
func (t *ToolTracker) Finish(at time.Time) []ToolCall {
	t.init()
	var left []ToolCall
	for _, c := range t.order {
		if _, ok := t.closed[c]; !ok {
			left = append(left, finalize(c, at))
		}
	}
	*t = ToolTracker{diags: t.diags}
	return left
}

func (t *ToolTracker) task(e *Event, p *TaskEvent, at time.Time) []ToolCall {
	if p.Kind == "proposed" {
		tool, ok := strings.CutPrefix(p.TaskKind, toolTaskPrefix)
		if !ok || p.TaskID == "" {
			return nil
		}
		if _, again := t.byTask[p.TaskID]; again {
			t.diags.Add(DiagToolCall, e.Line, "task proposed twice")
			return nil
		}
		c := &ToolCall{Runtime: "muse", Source: "stream", RunID: e.RunKey(), TaskID: p.TaskID, FirstLine: e.Line, OpenedAt: at}
		c.name(tool)
		t.byTask[p.TaskID] = c
		t.order = append(t.order, c)
		return t.evict(at)
	}
	c := t.byTask[p.TaskID]
	if c == nil {
		return nil // a model or reminder task
	}
	c.LastLine = e.Line
	switch p.Kind {
	case "scheduled", "side_effect_intent":
		t.bind(e, c, p)
	case "output":
		c.OutputBytes += int64(len(p.Chunk))
	case "failed", "rejected", "cancelled":
		c.Status, c.Reason = CallFailure, p.Reason
		if c.Reason == "" {
			c.Reason = p.Kind
		}
	}
	return nil
}

func (t *ToolTracker) bind(e *Event, c *ToolCall, p *TaskEvent) {
	if p.Operation != "" {
		c.Operation = p.Operation
	}
	if p.PolicyDecision != "" {
		c.PolicyDecision = p.PolicyDecision
	}
	call, ok := strings.CutPrefix(p.IdempotencyKey, toolKeyPrefix)
	if !ok || call == "" {
		t.diags.Add(DiagToolCall, e.Line, "tool task with idempotency key %q", clip(p.IdempotencyKey, 60))
		return
	}
	switch other := t.byCall[call]; {
	case c.CallID != "" && c.CallID != call:
		t.diags.Add(DiagToolCall, e.Line, "task bound to a second call")
	case other != nil && other != c:
		t.diags.Add(DiagToolCall, e.Line, "call bound to a second task")
	default:
		c.CallID = call
		t.byCall[call] = c
	}
}

func (t *ToolTracker) result(e *Event, p *ToolResult, at time.Time) []ToolCall {
	c := t.byCall[p.CallID]
	if c == nil {
		if _, again := t.done[p.CallID]; again {
			t.diags.Add(DiagToolCall, e.Line, "second result for one call")
			return nil
		}
		// A call that was refused before execution has no task.
		c = &ToolCall{Runtime: "muse", Source: "stream", RunID: e.RunKey(), CallID: p.CallID, FirstLine: e.Line, OpenedAt: at}
	}
	c.LastLine, c.ClosedAt = e.Line, at
	if p.ToolName != "" {
		c.name(p.ToolName)
	}
	c.close(p)
	delete(t.byTask, c.TaskID)
	delete(t.byCall, p.CallID)
	if c.TaskID != "" {
		t.closed[c] = struct{}{}
	}
	if len(t.done) < maxPending {
		t.done[p.CallID] = struct{}{}
	}
	t.compact()
	return []ToolCall{*c}
}

// compact drops closed calls from the front of the order.
func (t *ToolTracker) compact() {
	for len(t.order) > 0 {
		if _, ok := t.closed[t.order[0]]; !ok {
			break
		}
		delete(t.closed, t.order[0])
		t.order[0] = nil
		t.order = t.order[1:]
	}
}

func (t *ToolTracker) evict(at time.Time) []ToolCall {
	if len(t.order) <= maxPending {
		return nil
	}
	c := t.order[0]
	t.order = t.order[1:]
	if _, ok := t.closed[c]; ok {
		delete(t.closed, c)
		t.compact()
		return nil
	}
	t.diags.Add(DiagToolCall, c.FirstLine, "more than %d open calls: the oldest was closed as unfinished", maxPending)
	delete(t.byTask, c.TaskID)
	delete(t.byCall, c.CallID)
	t.compact()
	return []ToolCall{finalize(c, at)}
}

// finalize closes a call without a result. A task that failed, was rejected or
// cancelled keeps that; anything else is unfinished.
func finalize(c *ToolCall, at time.Time) ToolCall {
	c.ClosedAt = at
	if c.Status == "" {
		c.Status = CallUnfinished
	}
	return *c
}

// name sets the tool's name and how it is shown. Both shells show as "Bash"
// (seed 001, shell tool); the other names are those of CLI.md 5.
func (c *ToolCall) name(tool string) {
	c.Tool, c.Display = tool, tool
	switch tool {
	case "bash", "shell":
		c.Display = "Bash"
	case "read_file":
		c.Display = "Read"
	case "write_file":
		c.Display = "Write"
	case "edit_file":
		c.Display = "Edit"
	}
}

// shellBody is the result of bash, and of shell when its body carries the
// fields (STREAM.md (a), text forms).
type shellBody struct {
	Command        *string `json:"command"`
	Description    *string `json:"description"`
	ExitCode       *int    `json:"exit_code"`
	TerminalStatus string  `json:"terminal_status"`
}

func (c *ToolCall) close(p *ToolResult) {
	c.ResultBytes = len(p.Text)
	c.Summary = clipLines(p.Text, summaryRunes)
	if p.Outcome != "" {
		outcome := p.Outcome
		c.Outcome = &outcome
	}
	var body shellBody
	shell := c.Tool == "bash" || c.Tool == "shell"
	if shell && strings.HasPrefix(strings.TrimLeft(p.Text, " \t\r\n"), "{") {
		// A body that is no JSON object is plain output: the preview serves.
		if err := json.Unmarshal([]byte(p.Text), &body); err != nil {
			body = shellBody{}
		}
	}
	c.ExitCode = body.ExitCode
	if body.Command != nil {
		c.Command = *body.Command
	}
	if body.Description != nil {
		c.Description = *body.Description
	}
	c.Status = status(c, p, shell, body)
	switch {
	case p.Edit != nil && p.Edit.Path != "":
		c.Target, c.TargetSource = p.Edit.Path, TargetEditPath
	case c.Command != "":
		c.Target, c.TargetSource = clip(c.Command, summaryRunes), TargetCommand
	case c.Description != "":
		c.Target, c.TargetSource = clip(c.Description, summaryRunes), TargetDescription
	default:
		c.Target, c.TargetSource = clipLines(p.Text, previewRunes), TargetPreview
	}
	if p.Edit != nil {
		added := p.Edit.Added
		c.Added = &added
	}
}

func status(c *ToolCall, p *ToolResult, shell bool, body shellBody) string {
	text := strings.TrimSpace(p.Text)
	switch {
	case shell && (strings.EqualFold(text, "tool timed out") || timedOut(body.TerminalStatus)), timedOut(p.Outcome):
		// A timed-out shell call is a failure whatever else is said of it.
		return CallFailure
	case p.Outcome == "success":
		return CallSuccess
	case p.Outcome == "failure", p.Outcome == "error", p.Outcome == "rejected", p.Outcome == "denied", p.Outcome == "cancelled":
		return CallFailure
	case p.Outcome == "" && c.Status != "":
		return c.Status // the task said so
	case p.Outcome == "" && (strings.HasPrefix(text, "tool failed:") || strings.HasPrefix(text, "tool blocked by hook")):
		return CallFailure
	default:
		return CallUnknown
	}
}

func timedOut(word string) bool {
	return word == "timeout" || word == "timed_out" || word == "timed out"
}

// clipLines is clip on one line: runs of white space become one blank.
func clipLines(text string, n int) string {
	// Only the part that can be shown is split, however long the text is.
	head := text[:min(len(text), 8*n)]
	short := clip(strings.Join(strings.Fields(head), " "), n)
	if len(head) < len(text) && !strings.HasSuffix(short, "…") {
		short += "…"
	}
	return strings.ToValidUTF8(short, "")
}
