package muse

import (
	"slices"
	"strings"
	"time"
)

// Limits of what a Collector keeps.
const (
	defaultMaxReply  = 16 << 20
	maxTaskNotes     = 100
	maxRunsRemember  = 64
	maxToolsRemember = 1000
)

// ReplySource says where a reply came from.
type ReplySource string

// Sources of a reply, in order of preference (seed 001, rule 2).
const (
	ReplyTerminal ReplySource = "terminal" // the terminal event's text
	ReplyDeltas   ReplySource = "deltas"   // no terminal, or one without text
	ReplyNone     ReplySource = "none"
)

// ModelIdentity is the model that was really configured.
type ModelIdentity struct {
	ProviderID   string `json:"provider_id"`
	ModelID      string `json:"model_id"`
	DisplayLabel string `json:"display_label,omitempty"`
	Source       string `json:"source,omitempty"`
}

// TaskNote is a task that did not complete. It is a note, never a failure of
// the run (seed 001, rule 3).
type TaskNote struct {
	Line     int64  `json:"line"`
	TaskKind string `json:"task_kind,omitempty"`
	Kind     string `json:"kind"` // failed, rejected, cancelled
	Reason   string `json:"reason,omitempty"`
}

// Outcome is a whole stream folded together.
type Outcome struct {
	Reply       string      `json:"reply"`
	ReplySource ReplySource `json:"reply_source"`

	// Terminal is the last run's terminal word (completed, failed, cancelled),
	// empty when the stream ended without one; Reason its detail.
	Terminal string  `json:"terminal"`
	Reason   *string `json:"reason"`
	// Settled is true for completed, false for another terminal and nil when
	// there was none (seed 002, parseOutput).
	Settled *bool `json:"settled"`

	SessionID string         `json:"session_id"`
	RunIDs    []string       `json:"run_ids"`
	Model     *ModelIdentity `json:"model"`
	Quota     QuotaFacts     `json:"quota"`

	Records   int64 `json:"records"`
	Lost      int64 `json:"lost_lines"`
	LastLine  int64 `json:"last_line"`
	ToolCalls int   `json:"tool_calls"`
	ToolFails int   `json:"tool_failures"`
	// Tools are the first calls, at most 1000; every call goes to OnToolCall.
	Tools     []ToolCall   `json:"-"`
	TaskNotes []TaskNote   `json:"task_notes,omitempty"`
	Findings  []Diagnostic `json:"diagnostics,omitempty"`

	SchemaVersions  []int `json:"schema_versions"`
	PayloadVersions []int `json:"payload_schema_versions"`

	// LastType is the payload type of the last record of the stream.
	LastType string `json:"last_payload_type"`
}

// CollectorOptions are the sinks and limits of a [Collector].
type CollectorOptions struct {
	// SessionID, when set, is the id the stream must carry.
	SessionID string
	// MaxReply bounds the streamed text kept for the case that no terminal
	// text arrives, in bytes; 0 means 16 MiB.
	MaxReply int
	// OnDelta is called with each fragment and the key of its run stream.
	OnDelta func(runKey, text string)
	// OnRunEnd is called when a run's terminal arrives.
	OnRunEnd func(runKey string, t *Terminal)
	// OnToolCall is called with each finished record.
	OnToolCall func(ToolCall)
}

// runState is what is remembered of one run stream.
type runState struct {
	key      string
	deltas   strings.Builder
	cut      bool
	terminal *Terminal
}

// Collector folds events into an [Outcome]. It is not safe for concurrent use.
type Collector struct {
	opts  CollectorOptions
	diags *DiagnosticLog
	tools ToolTracker
	runs  []*runState
	tasks map[string]string // open tasks that are not tools: id → kind
	out   Outcome
	seq   int64
	kept  int
}

// NewCollector returns a collector that writes its findings to diags, usually
// the reader's log.
func NewCollector(diags *DiagnosticLog, opts CollectorOptions) *Collector {
	if diags == nil {
		diags = &DiagnosticLog{}
	}
	if opts.MaxReply <= 0 {
		opts.MaxReply = defaultMaxReply
	}
	return &Collector{opts: opts, diags: diags, tools: ToolTracker{diags: diags}, tasks: map[string]string{}}
}

// Observe takes one event seen at the given time.
func (c *Collector) Observe(e *Event, at time.Time) {
	c.out.Records++
	c.out.LastLine, c.out.LastType = e.Line, e.PayloadType
	c.session(e)
	switch p := e.Payload.(type) {
	case *OutputDelta:
		c.delta(e, p)
	case *Terminal:
		c.terminal(e, p)
	case *ModelConfigured:
		c.out.Model = &ModelIdentity{ProviderID: p.ProviderID, ModelID: p.ModelID, DisplayLabel: p.DisplayLabel, Source: p.Source}
	case *TaskEvent:
		c.task(e, p)
		c.calls(c.tools.Observe(e, at))
	case *ToolResult:
		c.calls(c.tools.Observe(e, at))
	case *RunLinked, *RunStarted:
		c.run(e.RunKey())
	}
}

func (c *Collector) session(e *Event) {
	if e.StreamKind == "session" && e.StreamID != "" {
		want := c.opts.SessionID
		if want == "" {
			want = c.out.SessionID
		}
		if want != "" && e.StreamID != want {
			c.diags.Add(DiagSession, e.Line, "record of session %s, expected %s", clip(e.StreamID, 60), clip(want, 60))
		}
		if c.out.SessionID == "" {
			c.out.SessionID = e.StreamID
		}
	}
	if e.Sequence > 0 {
		if c.seq > 0 && e.Sequence != c.seq+1 && !c.diags.full(DiagSequence) {
			c.diags.Add(DiagSequence, e.Line, "sequence %d after %d", e.Sequence, c.seq)
		}
		c.seq = e.Sequence
	}
}

// run returns the state of a run stream, the newest one last. Old ended runs
// are forgotten beyond a bound.
func (c *Collector) run(key string) *runState {
	for _, r := range slices.Backward(c.runs) {
		if r.key == key {
			return r
		}
	}
	if key != "" && len(c.out.RunIDs) < maxRunsRemember {
		c.out.RunIDs = append(c.out.RunIDs, key)
	}
	if len(c.runs) >= maxRunsRemember {
		c.kept -= c.runs[0].deltas.Len()
		c.runs = slices.Delete(c.runs, 0, 1)
	}
	r := &runState{key: key}
	c.runs = append(c.runs, r)
	return r
}

func (c *Collector) delta(e *Event, p *OutputDelta) {
	r := c.run(e.RunKey())
	if c.opts.OnDelta != nil {
		c.opts.OnDelta(r.key, p.Text)
	}
	if r.cut || c.kept+len(p.Text) > c.opts.MaxReply {
		if !r.cut {
			r.cut = true
			c.diags.Add(DiagReplyCut, e.Line, "streamed text beyond %d bytes was not kept", c.opts.MaxReply)
		}
		return
	}
	r.deltas.WriteString(p.Text)
	c.kept += len(p.Text)
}

func (c *Collector) terminal(e *Event, p *Terminal) {
	r := c.run(e.RunKey())
	if r.terminal != nil {
		c.diags.Add(DiagSecondTerminal, e.Line, "run ended again (%s after %s)", clip(p.Terminal, 40), r.terminal.Terminal)
		return
	}
	r.terminal = p
	if p.Terminal != TerminalCompleted {
		c.out.Quota.merge(p.Quota)
		if p.Reason != nil {
			c.out.Quota.AddReason(*p.Reason)
		}
	}
	if p.Text != nil && *p.Text != "" {
		// The terminal's text is the reply; its fragments are not needed.
		c.kept -= r.deltas.Len()
		r.deltas = strings.Builder{}
	}
	if c.opts.OnRunEnd != nil {
		c.opts.OnRunEnd(r.key, p)
	}
}

func (c *Collector) task(e *Event, p *TaskEvent) {
	switch p.Kind {
	case "proposed":
		if len(c.tasks) < maxPending {
			c.tasks[p.TaskID] = p.TaskKind
		}
	case "completed":
		delete(c.tasks, p.TaskID)
	case "status":
		// A model call that is being retried tells of its limits here.
		if strings.HasPrefix(c.tasks[p.TaskID], modelTaskPrefix) && len(p.Details) > 0 {
			var q QuotaFacts
			q.addJSON(p.Details)
			q.AddReason(p.Message)
			c.out.Quota.merge(q)
		}
	case "failed", "rejected", "cancelled":
		kind := c.tasks[p.TaskID]
		delete(c.tasks, p.TaskID)
		if strings.HasPrefix(kind, modelTaskPrefix) {
			c.out.Quota.AddReason(p.Reason)
		}
		if len(c.out.TaskNotes) < maxTaskNotes {
			c.out.TaskNotes = append(c.out.TaskNotes, TaskNote{Line: e.Line, TaskKind: kind, Kind: p.Kind, Reason: clip(p.Reason, summaryRunes)})
		}
	}
}

func (c *Collector) calls(closed []ToolCall) {
	for _, call := range closed {
		c.out.ToolCalls++
		if call.Status == CallFailure {
			c.out.ToolFails++
		}
		if len(c.out.Tools) < maxToolsRemember {
			c.out.Tools = append(c.out.Tools, call)
		}
		if c.opts.OnToolCall != nil {
			c.opts.OnToolCall(call)
		}
	}
}

// Partial returns the text streamed so far, runs separated by a blank line.
func (c *Collector) Partial() string {
	var parts []string
	for _, r := range c.runs {
		text := r.deltas.String()
		if r.terminal != nil && r.terminal.Text != nil && *r.terminal.Text != "" {
			text = *r.terminal.Text
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// Finish ends the stream and returns its outcome. reader may be nil; when it
// is given its losses and versions are part of the outcome.
func (c *Collector) Finish(reader *Reader, at time.Time) *Outcome {
	c.calls(c.tools.Finish(at))
	o := &c.out
	var last *runState
	for _, r := range c.runs {
		if r.terminal != nil {
			last = r
		}
	}
	switch {
	case last == nil:
		c.diags.Add(DiagMissingTerminal, 0, "the stream ended without run.terminal.*")
		o.Reply, o.ReplySource = c.Partial(), ReplyDeltas
	default:
		o.Terminal, o.Reason = last.terminal.Terminal, last.terminal.Reason
		settled := o.Terminal == TerminalCompleted
		o.Settled = &settled
		if last.terminal.Text != nil && *last.terminal.Text != "" {
			o.Reply, o.ReplySource = *last.terminal.Text, ReplyTerminal
		} else {
			o.Reply, o.ReplySource = last.deltas.String(), ReplyDeltas
		}
	}
	if o.Reply == "" {
		o.ReplySource = ReplyNone
	}
	if reader != nil {
		o.Lost = reader.Lost()
		o.SchemaVersions, o.PayloadVersions = reader.SchemaVersions(), reader.PayloadVersions()
		if o.Lost > 0 {
			c.diags.Add(DiagStdoutDecode, 0, "%d lines of stdout could not be read; schema versions seen: %v, payload schema versions seen: %v", o.Lost, o.SchemaVersions, o.PayloadVersions)
		}
	}
	o.Findings = c.diags.List()
	return o
}
