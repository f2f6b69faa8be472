package agent

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tool"
)

// pending is one call on its way to a result.
type pending struct {
	call    provider.ToolCall
	index   int
	tool    tool.Tool // nil when refused
	spec    tool.Spec
	args    jsontext.Value
	task    string
	policy  string // what allowed it, for the intent
	refusal string
	result  event.ToolResult

	// Of a call that another process began: its intent is recorded, its start
	// is, it has its result.
	announced, started, done bool
}

// batch runs the calls of one reply and records their results in call order.
func (t *turn) batch(ctx context.Context, r *reply) (out Outcome, over bool, err error) {
	t.uniqueCallIDs(r)
	message := newID()
	calls := event.ToolCalls{MessageID: message, ResponseID: r.responseID}
	for _, c := range r.calls {
		calls.Calls = append(calls.Calls, event.ToolCall{Args: c.Args, CallID: c.CallID, ID: c.ItemID, Name: c.Name})
	}
	if _, err := t.record(event.Event{Run: t.run, Body: calls}); err != nil {
		return out, true, err
	}
	t.spent.toolCalls += len(r.calls)

	batch := make([]*pending, len(r.calls))
	for i, c := range r.calls {
		batch[i] = t.prepare(c, i)
	}
	return t.carry(ctx, message, batch)
}

// carry asks for the calls of a batch, runs them and records their results.
func (t *turn) carry(ctx context.Context, message string, batch []*pending) (out Outcome, over bool, err error) {
	halt := t.authorize(ctx, batch)
	if err := t.announce(batch); err != nil {
		return out, true, err
	}
	if err := t.runAll(ctx, batch); err != nil {
		return out, true, err
	}
	results := event.ToolResults{BatchID: message}
	for _, p := range batch {
		results.Results = append(results.Results, p.result)
	}
	if _, err := t.record(event.Event{Run: t.run, Body: results}); err != nil {
		return out, true, err
	}
	if err := t.Recorder.Commit(); err != nil {
		return out, true, &recordError{err}
	}
	if halt == nil {
		halt = ctx.Err()
	}
	if halt != nil {
		out, err = t.failed(ctx, halt)
		return out, true, err
	}
	return out, false, nil
}

// authorize asks, in call order, whether each call may run. A call that may
// not is refused, like one that nobody could read afterwards because the step
// budget is used up. An error ends the run: nothing of the batch runs then.
func (t *turn) authorize(ctx context.Context, batch []*pending) error {
	exhausted := t.Budget.Steps > 0 && t.step >= t.Budget.Steps
	for _, p := range batch {
		switch {
		case p.refusal != "", p.done:
		case exhausted:
			p.refusal = "not run: " + stepLimitReason(t.Budget.Steps)
		case t.Authorize != nil:
			policy, refused, err := t.Authorize(ctx, tool.Call{ID: p.call.CallID, TaskID: p.task, Name: p.call.Name, Args: p.args})
			if err != nil {
				for _, other := range batch {
					if other.refusal == "" && !other.done {
						other.refusal = "not run: " + err.Error()
					}
				}
				return err
			}
			p.policy, p.refusal = policy, refused
		}
	}
	return nil
}

// uniqueCallIDs gives a call a new id when its own is empty or was used
// before, because results and files are joined on it.
func (t *turn) uniqueCallIDs(r *reply) {
	if t.callIDs == nil {
		t.callIDs = map[string]bool{}
		for _, e := range t.conv.entries {
			if c := e.item.ToolCall; c != nil {
				t.callIDs[c.CallID] = true
			}
		}
	}
	for i := range r.calls {
		c := &r.calls[i]
		if c.CallID == "" || t.callIDs[c.CallID] || !plainID(c.CallID) {
			c.CallID = ident.Call(t.Now())
		}
		t.callIDs[c.CallID] = true
	}
}

// plainID reports whether an id made by a model's service can be part of a
// file name as it is.
func plainID(s string) bool {
	if len(s) > 128 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// prepare looks the tool up and checks the arguments; what is wrong goes back
// to the model as the call's result.
func (t *turn) prepare(c provider.ToolCall, index int) *pending {
	p := &pending{call: c, index: index, task: ident.V7(t.Now()), policy: "allow:policy"}
	found, args, refused := t.Tools.Prepare(c.Name, c.Args)
	if refused != nil {
		p.refusal = refused.Reason
		return p
	}
	p.tool, p.spec, p.args = found, found.Spec(), args
	return p
}

// announce records the intents of a batch and makes them durable when one of
// them can change something.
func (t *turn) announce(batch []*pending) error {
	effects := false
	for _, p := range batch {
		if p.done || p.announced {
			continue
		}
		if p.refusal != "" {
			text := "tool failed: " + p.refusal
			p.result = event.ToolResult{CallID: p.call.CallID, Index: p.index, Text: text, Failed: true, Refused: p.call.Name}
			continue
		}
		effects = effects || p.spec.Effects
		key, profile := "tool:"+p.call.CallID, "ineligible"
		if p.spec.Parallel {
			profile = "eligible"
		}
		for _, body := range []event.Body{
			event.TaskLinked{ExecutionMode: "foreground", TaskID: p.task, TaskStream: event.TaskRef(p.task)},
			event.TaskProposed{TaskID: p.task, TaskKind: "tool." + p.call.Name},
			event.TaskAccepted{TaskID: p.task},
			event.TaskScheduled{TaskID: p.task, IdempotencyKey: key},
			event.TaskIntent{TaskID: p.task, IdempotencyKey: key, Operation: "tool:" + p.call.Name, PolicyDecision: p.policy},
			event.EffectStarted{
				CallID: p.call.CallID, EffectID: p.task, Kind: "started", ModelCallIndex: p.index,
				ParallelProfile: event.Kinded{Kind: profile}, TaskID: p.task, TaskStream: event.TaskRef(p.task), ToolName: p.call.Name,
			},
		} {
			if err := t.recordTask(p.task, body); err != nil {
				return err
			}
		}
	}
	if !effects {
		return nil
	}
	if err := t.Recorder.Commit(); err != nil {
		return &recordError{err}
	}
	return nil
}

// runAll runs neighbouring parallel calls at once, a bounded number at a time,
// and every other call alone, in order.
func (t *turn) runAll(ctx context.Context, batch []*pending) error {
	for i := 0; i < len(batch); {
		end := i + 1
		for t.Parallel && batch[i].spec.Parallel && end < len(batch) && batch[end].spec.Parallel {
			end++
		}
		if err := t.runGroup(ctx, batch[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}

func (t *turn) runGroup(ctx context.Context, group []*pending) error {
	if len(group) == 1 {
		return t.runOne(ctx, group[0])
	}
	errs := make([]error, len(group))
	slots := make(chan struct{}, t.MaxParallel)
	var wg sync.WaitGroup
	for i, p := range group {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = t.runOne(ctx, p)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *turn) runOne(ctx context.Context, p *pending) error {
	switch {
	case p.done, p.refusal != "" && !p.announced:
		return nil
	case p.refusal != "":
		// It was announced by another process, so it is to be ended.
		return t.finish(ctx, p, tool.Fail(p.refusal))
	case p.started:
	default:
		if err := t.recordTask(p.task, event.TaskStarted{TaskID: p.task, SpanID: ident.Span()}); err != nil {
			return err
		}
	}
	if t.Tasks != nil {
		own, done := t.Tasks(ctx, p.task)
		defer done()
		ctx = own
	}
	var res tool.Result
	var shown int64 // bytes; the tool reports from one goroutine at a time
	if ctx.Err() != nil {
		res = tool.Fail("interrupted before it started")
	} else {
		res = runTool(ctx, p.tool, tool.Call{
			ID: p.call.CallID, TaskID: p.task, Name: p.call.Name, Args: p.args,
			Progress: func(chunk string) {
				t.Recorder.Live(event.Event{Run: t.run, Task: p.task, Body: event.TaskProgress{TaskID: p.task, Chunk: chunk, Offset: shown}})
				shown += int64(len(chunk))
			},
		})
	}
	return t.finish(ctx, p, res)
}

// runTool turns a panic of a tool into a failed call: one faulty tool must not
// end a session.
func runTool(ctx context.Context, f tool.Tool, c tool.Call) (res tool.Result) {
	defer func() {
		if p := recover(); p != nil {
			res = tool.Fail(fmt.Sprintf("%s ended with an internal error: %v", c.Name, p))
		}
	}()
	return f.Run(ctx, c)
}

// finish records the end of one call.
func (t *turn) finish(ctx context.Context, p *pending, res tool.Result) error {
	// What a tool read may be in any encoding; records are UTF-8.
	res.Text, res.Reason = strings.ToValidUTF8(res.Text, "\uFFFD"), strings.ToValidUTF8(res.Reason, "\uFFFD")
	p.result = event.ToolResult{CallID: p.call.CallID, Index: p.index, Text: res.Text, Failed: res.Failed}
	for _, img := range res.Images {
		block, err := t.Assets.KeepImage(img.MediaType, img.Data)
		if err != nil {
			p.result.Text += fmt.Sprintf("\n[the picture could not be kept: %v]", err)
			continue
		}
		p.result.Images = append(p.result.Images, block)
	}
	var bodies []event.Body
	if !res.NoOutput {
		bodies = append(bodies, event.TaskOutput{TaskID: p.task, Chunk: p.result.Text, Final: true, Images: p.result.Images})
	}
	refs := 0
	if res.Spill != nil {
		bodies = append(bodies, outputRef(p.task, res.Spill))
		refs = 1
	}
	outcome := event.EffectOutcome{Kind: "completed", OutputRefCount: refs}
	var end event.Body = event.TaskCompleted{TaskID: p.task}
	terminal := "completed"
	switch {
	case ctx.Err() != nil && res.Failed:
		outcome.Kind, outcome.Reason, terminal = "failed", "interrupted", "cancelled"
		end = event.TaskCancelled{TaskID: p.task, Reason: "interrupted"}
	case res.Failed:
		outcome.Kind, outcome.Reason, terminal = "failed", res.Reason, "failed"
		end = event.TaskFailed{TaskID: p.task, Reason: res.Reason}
	}
	outcome.TaskCompletion = event.TaskCompletion{Kind: "terminal", Terminal: event.Kinded{Kind: terminal}}
	facts := &event.CallFacts{ToolName: p.call.Name, Text: p.result.Text, Failed: res.Failed}
	if res.Edit != nil {
		facts.Edit = &event.EditFacts{Added: res.Edit.Added, Path: strings.ToValidUTF8(res.Edit.Path, "\uFFFD"), ToolName: p.call.Name}
	}
	bodies = append(bodies, end, event.EffectTerminal{
		CallID: p.call.CallID, EffectID: p.task, Kind: "terminal", ModelCallIndex: p.index, Outcome: outcome,
		TaskID: p.task, TaskStream: event.TaskRef(p.task), Facts: facts,
	})
	if res.Todos != nil {
		bodies = append(bodies, t.todos(res.Todos))
	}
	for _, body := range bodies {
		if err := t.recordTask(p.task, body); err != nil {
			return err
		}
	}
	return nil
}

func outputRef(task string, s *tool.Spill) event.TaskOutputRef {
	return event.TaskOutputRef{TaskID: task, Availability: "available", Ref: event.OutputRef{
		ByteLen: s.Bytes, Digest: s.SHA, ID: newID(), Kind: s.Kind, MediaType: "text/plain", Path: s.Name,
		URI: "tool-output://local/" + task + "/" + path.Base(s.Name),
	}}
}

func (t *turn) todos(list []tool.Todo) event.TodoSnapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	snap := event.TodoSnapshot{Revision: t.conv.todos + 1, Items: []event.TodoItem{}}
	for _, item := range list {
		snap.Items = append(snap.Items, event.TodoItem{Status: item.Status, Text: item.Text})
	}
	return snap
}
