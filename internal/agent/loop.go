// Package agent is the loop: model call, tool batch, model call, until the
// model has nothing left to call. It turns what a provider streams and what
// tools return into events, and decides from events alone; it reads no view
// and knows no wire, no file format and no screen.
//
// Every fact is recorded before it is acted on or shown. The intent of a tool
// with effects is durable before the tool runs.
package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tool"
)

// Recorder keeps events. Its methods are safe for concurrent use.
type Recorder interface {
	// Record gives e its identity, writes it and shows it, in this order.
	// After an error nothing more can be recorded.
	Record(e event.Event) (event.Recorded, error)
	// Live shows e without keeping it.
	Live(e event.Event)
	// Commit makes everything recorded so far durable.
	Commit() error
}

// Tools is what the loop asks of a set of tools.
type Tools interface {
	Specs() []tool.Spec
	// Prepare finds the tool that a model named and checks the arguments it
	// wrote. A refusal is a result in words for the model; otherwise the
	// arguments are valid JSON that fits the tool's schema.
	Prepare(name, args string) (tool.Tool, jsontext.Value, *tool.Result)
}

// Waiter decides how long to wait after a failed attempt.
type Waiter interface {
	// Attempts is the number of tries of one model call, at least 1.
	Attempts() int
	// Delay is the wait after attempt failed, counted from 1.
	Delay(attempt int, err *provider.Error) time.Duration
}

// Model is what the loop knows of the model it talks to.
type Model struct {
	ID           string
	ContextLimit int64 // tokens; 0 = unknown, no compaction by size
	Images       bool  // takes pictures
	// Cost is the price of a call in millionths of a US dollar, false when the
	// price is not known. A nil Cost means never known.
	Cost func(provider.Usage) (int64, bool)
}

// Config is everything a loop needs; it does not change between turns.
type Config struct {
	SessionID    string
	Provider     provider.Provider
	Model        Model
	Effort       provider.Effort
	Parallel     bool
	MaxParallel  int // calls at once; 0 = 8
	Instructions string
	Context      []event.ContextMessage
	Tools        Tools
	Recorder     Recorder
	Retry        Waiter
	Budget       Budget
	Output       *OutputSchema // nil = any answer will do
	Compaction   Compaction
	Assets       Assets
	// Authorize decides whether a call may run, before its intent is recorded.
	// policy is what allowed it, as intents say it ("allow:policy"); refused,
	// when not empty, is why it may not run, in words for the model. An error
	// ends the run. Nil allows every call; tools still ask for what they find
	// out while they run.
	Authorize func(ctx context.Context, c tool.Call) (policy, refused string, err error)
	// Tasks, when not nil, gives each call a context of its own, so that one
	// can be stopped while the turn goes on. done is called when it has ended.
	Tasks func(ctx context.Context, task string) (_ context.Context, done func())
	// Inbox is how the outside reaches a turn that runs; nil for none.
	Inbox Inbox
	// Branch observes the workspace's version control after a run; nil or a
	// false ok leaves the record out.
	Branch func(run string) (event.WorkspaceBranch, bool)
	Now    func() time.Time
	// Sleep waits for d or for ctx's end, whichever is first.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Assets keeps what is too big for the log beside it.
type Assets interface {
	// KeepResult writes the whole text of a result to a file and returns its
	// path relative to the session directory and its absolute path.
	KeepResult(callID, text string) (rel, abs string, err error)
	// KeepImage writes a picture and returns the block that names it.
	KeepImage(mediaType string, data []byte) (event.ContentBlock, error)
	// LoadImage reads a picture that was kept.
	LoadImage(event.ContentBlock) ([]byte, error)
}

// Loop runs turns of one session, one at a time.
type Loop struct {
	Config
	conv *Conversation
	mu   sync.Mutex // guards conv while a batch records concurrently

	bytesPerToken float64 // calibrated from the newest usage
	overhead      int64   // bytes of instructions, context and tools
	compaction    *compactionJob
	spent         spent
}

// New is a loop over conv, which holds what the session said before.
func New(cfg Config, conv *Conversation) *Loop {
	if cfg.MaxParallel == 0 {
		cfg.MaxParallel = 8
	}
	l := &Loop{Config: cfg, conv: conv, bytesPerToken: assumedBytesPerToken}
	l.overhead = int64(len(cfg.Instructions))
	for _, c := range cfg.Context {
		l.overhead += int64(len(c.Text))
	}
	for _, s := range cfg.Tools.Specs() {
		l.overhead += int64(len(s.Name) + len(s.Description) + len(s.Schema))
	}
	return l
}

// Outcome is how a turn ended.
type Outcome struct {
	Run      string
	Terminal string // "completed", "failed", "cancelled"
	Text     string
	Reason   string // why it failed; "" otherwise
	// Model says that the reason is a failure of the model or its service.
	Model bool
}

// Prompt is what a turn starts from.
type Prompt struct {
	Run    string // run id, UUIDv4
	Text   string
	Images []event.ContentBlock
}

// Turn carries one prompt to its end and records all of it, the terminal
// included. The error is only for failures of the recorder: after one of them
// nothing of the turn can be trusted to be kept, and no terminal was shown.
func (l *Loop) Turn(ctx context.Context, p Prompt) (Outcome, error) {
	t := &turn{Loop: l, run: p.Run, began: l.Now()}
	l.spent = spent{}
	ctx, cancel := l.Budget.deadline(ctx, l.Now())
	defer cancel()

	if err := t.open(p); err != nil {
		return Outcome{}, err
	}
	out, err := t.steps(ctx)
	l.dropCompaction()
	if err != nil {
		return Outcome{}, err
	}
	return out, t.close(out)
}

// turn is the state of one run.
type turn struct {
	*Loop
	run        string
	began      time.Time
	step       int
	firstToken *int64
	retryable  *bool
	notices    noticesGiven
	// corrections counts the notices that sent an answer back, by kind.
	corrections map[string]int
	callIDs     map[string]bool // every call id of the session
	standalone  bool            // a compaction between turns
}

func (t *turn) open(p Prompt) error {
	specs := t.Tools.Specs()
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Name
	}
	soft, hard := t.thresholds()
	for _, body := range []event.Body{
		event.RunStarted{Prompt: p.Text, Images: p.Images},
		event.RequestConfigured{
			ContextLimit: t.Model.ContextLimit, SoftThreshold: soft, HardThreshold: hard,
			BaseInstructions: t.Instructions, BaseSource: "built_in", Context: orEmpty(t.Context),
			Effort: string(t.Effort), Reminders: []string{},
			Toolset: event.Toolset{ActiveTools: names, Mode: "explicit", Source: "run"},
		},
	} {
		if _, err := t.record(event.Event{Run: t.run, Body: body}); err != nil {
			return err
		}
	}
	return t.Recorder.Commit()
}

// steps alternates model calls and tool batches until the run has an outcome.
func (t *turn) steps(ctx context.Context) (Outcome, error) {
	for {
		if out, over, err := t.before(ctx); over || err != nil {
			return out, err
		}
		t.step++
		reply, err := t.call(ctx)
		if err != nil {
			return t.failed(ctx, err)
		}
		if len(reply.calls) > 0 {
			if out, over, err := t.batch(ctx, reply); over || err != nil {
				return out, err
			}
			continue
		}
		correction, out, err := t.answer(reply)
		if err != nil {
			return out, err
		}
		if correction == nil {
			more, err := t.takeWords(true)
			if more && err == nil {
				continue
			}
			return out, err
		}
		if _, err := t.record(event.Event{Run: t.run, Body: *correction}); err != nil {
			return Outcome{}, err
		}
	}
}

// before is what is due ahead of each model call: stopping, budgets, room.
func (t *turn) before(ctx context.Context) (out Outcome, over bool, err error) {
	if ctx.Err() != nil {
		out, err = t.failed(ctx, ctx.Err())
		return out, true, err
	}
	reason, notice := t.spent.check(&t.Budget, t.step, t.Now().Sub(t.began), &t.notices)
	if notice != nil {
		if _, err := t.record(event.Event{Run: t.run, Body: *notice}); err != nil {
			return out, true, err
		}
	}
	if err := t.recordBudgets(); err != nil {
		return out, true, err
	}
	if reason != "" {
		return t.fail(reason), true, nil
	}
	if err := t.readInbox(ctx); err != nil {
		out, err := t.failed(ctx, err)
		return out, true, err
	}
	if err := t.makeRoom(ctx); err != nil {
		out, err := t.failed(ctx, err)
		return out, true, err
	}
	return out, false, nil
}

// failed turns an error of a step into the run's outcome. Errors of the
// recorder come back as errors.
func (t *turn) failed(ctx context.Context, err error) (Outcome, error) {
	var rec *recordError
	if errors.As(err, &rec) {
		return Outcome{}, rec.err
	}
	if cause := context.Cause(ctx); cause != nil {
		var budget *budgetError
		if errors.As(cause, &budget) {
			return t.fail(budget.Error()), nil
		}
		out := Outcome{Run: t.run, Terminal: "cancelled"}
		var stop *Stopped
		if errors.As(cause, &stop) {
			out.Reason = stop.Reason
		}
		return out, nil
	}
	var failure *provider.Error
	if errors.As(err, &failure) {
		out := t.fail(failure.Error())
		out.Model = true
		retryable := failure.Class.Retryable()
		t.retryable = &retryable
		_, err := t.record(event.Event{Run: t.run, Body: fatal(failure)})
		return out, err
	}
	return t.fail(err.Error()), nil
}

func (t *turn) fail(reason string) Outcome {
	return Outcome{Run: t.run, Terminal: "failed", Reason: reason}
}

// close records how the run ended and makes it durable. What the person said
// meanwhile is not lost with the run.
func (t *turn) close(out Outcome) error {
	for more := true; more; {
		var err error
		if more, err = t.takeWords(true); err != nil {
			return err
		}
	}
	if _, err := t.record(event.Event{Run: t.run, Body: t.spent.total(t.step)}); err != nil {
		return err
	}
	terminal := event.RunTerminal{
		Terminal: out.Terminal, Text: out.Text, FailureRetryable: t.retryable,
		FirstTokenMS: t.firstToken, DurationMS: t.Now().Sub(t.began).Milliseconds(),
	}
	if out.Reason != "" {
		terminal.Reason = &out.Reason
	}
	if _, err := t.record(event.Event{Run: t.run, Body: terminal}); err != nil {
		return err
	}
	if t.Branch != nil {
		if b, ok := t.Branch(t.run); ok {
			if _, err := t.record(event.Event{Run: t.run, Body: b}); err != nil {
				return err
			}
		}
	}
	return t.Recorder.Commit()
}

// record keeps e and folds it into the conversation.
func (l *Loop) record(e event.Event) (event.Recorded, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, err := l.Recorder.Record(e)
	if err != nil {
		return r, &recordError{err}
	}
	l.conv.Apply(r)
	return r, nil
}

// recordError marks a failure of the recorder among the failures of a step.
type recordError struct{ err error }

func (e *recordError) Error() string { return e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }

func fatal(e *provider.Error) event.FatalError {
	f := event.FatalError{Class: string(e.Class), Reason: e.Error(), Status: e.Status}
	if e.QuotaScope != "" {
		f.QuotaScope = &e.QuotaScope
	}
	if e.ResetAt != "" {
		f.ResetAt = &e.ResetAt
	}
	if e.RetryAfter > 0 {
		s := int64((e.RetryAfter + time.Second - 1) / time.Second)
		f.RetryAfterSeconds = &s
	}
	return f
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func newID() string { return ident.V4() }

// stepLimitReason is the text by which drivers tell a used-up step limit from
// a failure (STREAM.md (c), hcn and c3).
func stepLimitReason(n int) string {
	return fmt.Sprintf("model did not reach a terminal state within %d step(s) (max steps reached)", n)
}
