package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/record"
)

// Reviewer runs the automated reviewer's model: one call, one tool, nothing of
// the project. It implements permission.ModelRun. Each run keeps a log of its
// own under the session's approval-review directory (seed 000, Approval review
// logs); without a session directory none is kept.
type Reviewer struct {
	Provider provider.Provider
	Model    string
	Effort   provider.Effort
	Dir      string // session directory, "" keeps no log
}

// reviewClock is where the synthetic clock of review logs begins, in µs; the
// real times are in the session's log (seed 000, Approval review logs).
const reviewClock = 1780531500000000

// RunReview implements permission.ModelRun.
func (r Reviewer) RunReview(ctx context.Context, req permission.ModelRequest) (permission.ModelReply, error) {
	reply := permission.ModelReply{Model: permission.JudgeModel{
		ModelID: r.Model, ProviderID: r.Provider.ID(), ReasoningEffort: string(r.Effort),
	}}
	var call *provider.ToolCall
	var done *provider.Completed
	err := r.Provider.Stream(ctx, &provider.Request{
		Model: r.Model, Instructions: req.Instructions, Effort: r.Effort,
		Items: []provider.Item{{User: &provider.UserMessage{Text: req.Prompt}}},
		Tools: []provider.Tool{{Name: req.Tool, Description: "Hand in the assessment.", Schema: req.Schema}},
	}, func(p provider.Part) error {
		switch {
		case p.ToolCall != nil && call != nil:
			return errors.New("the reviewer made more than one call")
		case p.ToolCall != nil:
			call = p.ToolCall
		case p.Completed != nil:
			done = p.Completed
		}
		return nil
	})
	if logErr := r.keepLog(req, call, done, err); err == nil {
		err = logErr
	}
	switch {
	case err != nil:
		return reply, err
	case call == nil || done == nil:
		return reply, errors.New("the reviewer gave no assessment")
	}
	reply.Tool, reply.Args = call.Name, jsontext.Value(call.Args)
	if reply.Usage, err = json.Marshal(usage(done.Usage)); err != nil {
		return reply, fmt.Errorf("encode the reviewer's usage: %w", err)
	}
	return reply, nil
}

func usage(u provider.Usage) event.Usage {
	return event.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, ReasoningTokens: u.Reasoning,
		CacheReadTokens: u.CacheRead, CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
	}
}

// keepLog writes the review's own log.
func (r Reviewer) keepLog(req permission.ModelRequest, call *provider.ToolCall, done *provider.Completed, failure error) error {
	if r.Dir == "" {
		return nil
	}
	run := ident.V4()
	bodies := []event.Body{event.RunStarted{Prompt: req.Prompt}}
	if done != nil {
		bodies = append(bodies, event.ModelCompleted{Finish: string(done.Finish), Usage: usage(done.Usage)})
	}
	if call != nil {
		bodies = append(bodies, event.ToolCalls{MessageID: ident.V4(), Calls: []event.ToolCall{
			{Args: call.Args, CallID: call.CallID, ID: call.ItemID, Name: call.Name}}})
	}
	terminal := event.RunTerminal{Terminal: "completed"}
	if failure != nil {
		reason := failure.Error()
		terminal = event.RunTerminal{Terminal: "failed", Reason: &reason}
	}
	var out []byte
	for i, body := range append(bodies, terminal) {
		n := int64(i + 1)
		b, err := record.EncodeLog(event.Event{Run: run, Body: body}, record.RunPosition{ID: ident.V4(), Sequence: n})
		if err != nil {
			return fmt.Errorf("encode the reviewer's log: %w", err)
		}
		env := record.Envelope{
			SchemaVersion: record.SchemaVersion, ID: ident.V4(), Stream: record.Stream{Kind: "approval.review.runtime", ID: req.RolloutID},
			Sequence: n, RecordedAt: reviewClock + n - 1, RecordType: record.TypeEvent, Durability: record.Durable,
			PayloadType: b.PayloadType, PayloadSchemaVersion: b.SchemaVersion, Payload: b.Payload,
		}
		out = append(env.Append(out), '\n')
	}
	dir := filepath.Join(r.Dir, "approval-review")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the reviewer's log: %w", err)
	}
	if err := writeNew(filepath.Join(dir, req.RolloutID+".jsonl"), out); err != nil {
		return fmt.Errorf("keep the reviewer's log: %w", err)
	}
	return nil
}
