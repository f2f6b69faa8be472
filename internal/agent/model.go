package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
)

// reply is one whole answer of the model.
type reply struct {
	messageID  string // of its text, known before the text is
	responseID string
	reasoning  []provider.Reasoning
	texts      []provider.AssistantMessage
	calls      []provider.ToolCall
	done       provider.Completed
	streamed   strings.Builder // text shown as deltas, also of a broken reply
}

func (r *reply) text() string {
	var b strings.Builder
	for _, m := range r.texts {
		b.WriteString(m.Text)
	}
	return b.String()
}

// call makes one model call with its retries and records it.
func (t *turn) call(ctx context.Context) (*reply, error) {
	task := ident.V7(t.Now())
	if err := t.proposeModelTask(task); err != nil {
		return nil, err
	}
	began := t.Now()
	var shortened bool
	for attempt := 1; ; attempt++ {
		if err := t.status(task, "opening_stream", attempt, nil, provider.WireFacts{}, ""); err != nil {
			return nil, err
		}
		r, err := t.attempt(ctx, t.request())
		if err == nil {
			if err := t.status(task, "stream_succeeded", attempt, r, r.done.Wire, r.responseID); err != nil {
				return nil, err
			}
			return r, t.commitReply(task, r, began)
		}
		failure, ok := classified(ctx, err)
		if !ok {
			return nil, t.endModelTask(task, r, err)
		}
		if failure.Class == provider.ContextLength && !shortened {
			// The estimate was wrong: make room once, then try again.
			shortened = true
			if t.compactNow(ctx, "context_length") == nil {
				continue
			}
		}
		if !failure.Class.Retryable() || attempt >= t.Retry.Attempts() {
			return nil, t.endModelTask(task, r, failure)
		}
		if err := t.wait(ctx, task, attempt, failure); err != nil {
			return nil, t.endModelTask(task, r, err)
		}
	}
}

// attempt sends one request and gathers the reply. On an error the reply holds
// what had arrived.
func (t *turn) attempt(ctx context.Context, req *provider.Request) (*reply, error) {
	r := &reply{messageID: newID()}
	complete := false
	err := t.Provider.Stream(ctx, req, func(p provider.Part) error {
		switch {
		case p.Created != nil:
			r.responseID = p.Created.ResponseID
		case p.TextDelta != "":
			if t.firstToken == nil {
				ms := t.Now().Sub(t.began).Milliseconds()
				t.firstToken = &ms
			}
			before := int64(r.streamed.Len())
			r.streamed.WriteString(p.TextDelta)
			t.Recorder.Live(event.Event{Run: t.run, Body: event.OutputDelta{MessageID: r.messageID, Offset: before, Text: p.TextDelta}})
		case p.Reasoning != nil:
			r.reasoning = append(r.reasoning, *p.Reasoning)
		case p.Text != nil:
			r.texts = append(r.texts, *p.Text)
		case p.ToolCall != nil:
			r.calls = append(r.calls, *p.ToolCall)
		case p.Completed != nil:
			r.done, complete = *p.Completed, true
		}
		return nil
	})
	if err == nil && !complete {
		err = &provider.Error{Class: provider.Network, Message: "the stream ended before the reply was complete"}
	}
	if err == nil && r.done.Finish == provider.FinishLength {
		err = &provider.Error{Class: provider.OutputLimit, Message: "the reply was cut at the model's output token limit", Code: string(provider.OutputLimit)}
	}
	if r.done.ResponseID != "" {
		r.responseID = r.done.ResponseID
	}
	if len(r.texts) == 0 && r.streamed.Len() > 0 {
		r.texts = []provider.AssistantMessage{{Text: r.streamed.String()}}
	}
	return r, err
}

// classified is err as a provider failure; false when ctx ended it or it is
// none.
func classified(ctx context.Context, err error) (*provider.Error, bool) {
	var failure *provider.Error
	if ctx.Err() != nil || !errors.As(err, &failure) || failure.Class == provider.Cancelled {
		return nil, false
	}
	return failure, true
}

func (t *turn) request() *provider.Request {
	specs := t.Tools.Specs()
	req := &provider.Request{
		Model: t.Model.ID, Instructions: t.Instructions, Effort: t.Effort, Parallel: t.Parallel, CacheKey: t.SessionID,
		Tools: make([]provider.Tool, len(specs)),
	}
	for i, s := range specs {
		req.Tools[i] = provider.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema}
	}
	if t.Output != nil {
		req.OutputSchema = t.Output.Schema
	}
	for _, c := range t.Context {
		req.Items = append(req.Items, provider.Item{Developer: &provider.DeveloperMessage{Text: c.Text}})
	}
	req.Items = append(req.Items, t.conv.Items(t.Assets.LoadImage)...)
	return req
}

func (t *turn) proposeModelTask(task string) error {
	kind := "model." + t.wireName() + ".response"
	key := "model:" + t.run + ":" + task
	for _, body := range []event.Body{
		event.TaskLinked{ExecutionMode: "foreground", TaskID: task, TaskStream: event.TaskRef(task)},
		event.TaskProposed{TaskID: task, TaskKind: kind},
		event.TaskAccepted{TaskID: task},
		event.TaskScheduled{TaskID: task, IdempotencyKey: key},
		event.TaskIntent{TaskID: task, IdempotencyKey: key, Operation: kind, PolicyDecision: "not_applicable"},
		event.TaskStarted{TaskID: task},
	} {
		if err := t.recordTask(task, body); err != nil {
			return err
		}
	}
	return nil
}

// wireName is the provider's name in task kinds; echo has none there
// (STREAM.md (d)).
func (t *turn) wireName() string {
	if t.Provider.ID() == "echo" {
		return "unknown"
	}
	return t.Provider.ID()
}

func (t *turn) recordTask(task string, body event.Body) error {
	e := event.Event{Run: t.run, Body: body}
	if event.FamilyOf(e) == event.TaskEvent {
		e.Task = task
	}
	_, err := t.record(e)
	return err
}

// status records what an attempt is doing (STREAM.md (a), Model
// status.details). The echo provider shows none.
func (t *turn) status(task, phase string, attempt int, r *reply, wire provider.WireFacts, responseID string) error {
	id := t.Provider.ID()
	if id == "echo" {
		return nil
	}
	attemptFacet := map[string]any{
		"attempt": attempt, "kind": "external_attempt", "max_attempts": t.Retry.Attempts(), "operation": "model.response", "system": id,
	}
	detail := map[string]any{"kind": "provider", "provider": id}
	message := fmt.Sprintf("opening %s model stream attempt %d/%d", id, attempt, t.Retry.Attempts())
	if r != nil {
		attemptFacet["error_kind"] = phase
		detail["model"] = t.Model.ID
		detail["request_id"] = nullable(wire.RequestID)
		detail["response_id"] = nullable(responseID)
		detail["stream"] = map[string]any{
			"bytes_read": wire.BytesRead, "eof": false, "eof_buffer_len": 0, "last_wire_event_type": wire.LastEvent,
			"time_to_first_event_ms": wire.FirstEventIn.Milliseconds(), "wire_events_seen": wire.Events,
		}
		message = fmt.Sprintf("completed %s model stream attempt %d/%d", id, attempt, t.Retry.Attempts())
	}
	raw, err := json.Marshal(map[string]any{
		"facets": []any{attemptFacet, map[string]any{"detail": detail, "kind": "producer"}}, "phase": phase,
	}, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("describe model attempt: %w", err)
	}
	return t.recordTask(task, event.TaskStatus{TaskID: task, Message: message, Details: jsontext.Value(raw)})
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// commitReply records a whole reply: what the provider gave, then the end of
// the task, then what the model said.
func (t *turn) commitReply(task string, r *reply, began time.Time) error {
	usage := r.done.Usage
	completed := event.ModelCompleted{
		DurationMS: t.Now().Sub(began).Milliseconds(), Finish: finishOf(r), Model: t.Model.ID, Usage: usageOf(usage),
	}
	completed.CostMicros = t.cost(usage)
	t.spent.add(usage, completed.CostMicros)
	if usage.Input+usage.Output == 0 {
		t.spent.guessed += t.estimate() + int64(float64(r.streamed.Len())/t.bytesPerToken)
	}
	t.calibrate(usage)

	bodies := []event.Body{event.ResponseCreated{ResponseID: r.responseID}}
	for _, item := range r.reasoning {
		bodies = append(bodies, t.reasoning(item, r.responseID)...)
	}
	bodies = append(bodies, completed)
	for _, body := range bodies {
		if _, err := t.record(event.Event{Run: t.run, Body: body}); err != nil {
			return err
		}
	}
	if err := t.recordTask(task, event.TaskCompleted{TaskID: task}); err != nil {
		return err
	}
	return t.commitText(r, len(r.calls) > 0)
}

func (t *turn) reasoning(item provider.Reasoning, responseID string) []event.Body {
	message := newID()
	var out []event.Body
	if item.Summary != "" {
		for i, paragraph := range strings.Split(item.Summary, "\n\n") {
			out = append(out, event.SummaryParagraph{Index: i, MessageID: message, Text: paragraph})
		}
		out = append(out, event.SummaryCommitted{MessageID: message, ItemID: item.ItemID, ResponseID: responseID, Text: item.Summary})
	}
	if item.Opaque == "" && item.Text == "" {
		return out
	}
	return append(out, event.ReasoningCommitted{
		Encrypted: item.Opaque, MessageID: newID(), ModelID: item.Model, ProviderID: item.Provider,
		ItemID: item.ItemID, Redacted: item.Redacted, ResponseID: responseID, Text: item.Text,
	})
}

func (t *turn) commitText(r *reply, beside bool) error {
	text := r.text()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m := event.AssistantMessage{MessageID: r.messageID, ResponseID: r.responseID, Text: text}
	if len(r.texts) > 0 {
		m.ItemID = r.texts[0].ItemID
	}
	if beside {
		m.Phase = "commentary"
	}
	_, err := t.record(event.Event{Run: t.run, Body: m})
	return err
}

// endModelTask closes the task of a call that failed, keeping the text that
// had arrived, and returns why it failed.
func (t *turn) endModelTask(task string, r *reply, cause error) error {
	if r != nil && r.streamed.Len() > 0 {
		partial := event.AssistantMessage{MessageID: r.messageID, Phase: "incomplete", ResponseID: r.responseID, Text: r.streamed.String()}
		if _, err := t.record(event.Event{Run: t.run, Body: partial}); err != nil {
			return err
		}
	}
	var body event.Body = event.TaskFailed{TaskID: task, Reason: cause.Error()}
	var failure *provider.Error
	if !errors.As(cause, &failure) || failure.Class == provider.Cancelled {
		body = event.TaskCancelled{TaskID: task, Reason: "interrupted"}
	}
	if err := t.recordTask(task, body); err != nil {
		return err
	}
	return cause
}

// wait records that another attempt follows and waits for it.
func (t *turn) wait(ctx context.Context, task string, attempt int, failure *provider.Error) error {
	delay := t.Retry.Delay(attempt, failure)
	_, err := t.record(event.Event{Run: t.run, Body: event.RetryScheduled{
		Attempt: attempt, Class: string(failure.Class), DelayMS: delay.Milliseconds(),
		MaxAttempts: t.Retry.Attempts(), Reason: failure.Error(), TaskID: task,
	}})
	if err != nil {
		return err
	}
	return t.Sleep(ctx, delay)
}

func (t *turn) cost(u provider.Usage) *int64 {
	if t.Model.Cost == nil {
		return nil
	}
	micros, ok := t.Model.Cost(u)
	if !ok {
		return nil
	}
	return &micros
}

func finishOf(r *reply) string {
	if len(r.calls) > 0 {
		return string(provider.FinishToolCalls)
	}
	if r.done.Finish == "" {
		return string(provider.FinishStop)
	}
	return string(r.done.Finish)
}
