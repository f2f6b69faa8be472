package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// Budget is what one run may use; 0 means no limit.
type Budget struct {
	Steps      int           // model calls
	CostMicros int64         // millionths of a US dollar
	Tokens     int64         // input and output tokens of all model calls
	Time       time.Duration // wall time
}

// windDown is the share of a budget after which the model is told to finish.
const windDown = 0.8

// budgetError is the cause of a context that a time budget ended.
type budgetError struct{ limit time.Duration }

func (e *budgetError) Error() string {
	return fmt.Sprintf("time budget used up: %s (--max-time)", e.limit)
}

func (b Budget) deadline(ctx context.Context, now time.Time) (context.Context, context.CancelFunc) {
	if b.Time <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, now.Add(b.Time), &budgetError{b.Time})
}

// spent counts what a run has used.
type spent struct {
	usage       provider.Usage
	costMicros  int64
	costUnknown bool
	// guessed counts tokens of calls for which the service reported none.
	guessed   int64
	calls     int // model calls
	toolCalls int
	states    []event.StepBudget // changes not yet recorded
}

func (s *spent) add(u provider.Usage, cost *int64) {
	s.usage.Input += u.Input
	s.usage.Output += u.Output
	s.usage.Reasoning += u.Reasoning
	s.usage.CacheRead += u.CacheRead
	s.usage.CacheWrite += u.CacheWrite
	s.calls++
	if cost == nil {
		s.costUnknown = true
	} else {
		s.costMicros += *cost
	}
}

// tokens is what counts against the token budget.
func (s *spent) tokens() int64 { return s.usage.Input + s.usage.Output + s.guessed }

func (s *spent) total(steps int) event.RunUsage {
	r := event.RunUsage{ModelCalls: s.calls, Steps: steps, ToolCalls: s.toolCalls, Usage: usageOf(s.usage)}
	if !s.costUnknown {
		cost := s.costMicros
		r.CostMicros = &cost
	}
	return r
}

// noticesGiven keeps each wind-down notice to one a run.
type noticesGiven map[string]bool

// check says whether the run must stop now, and whether the model is to be
// told that it soon must. steps is the number of model calls made.
func (s *spent) check(b *Budget, steps int, elapsed time.Duration, given *noticesGiven) (reason string, notice *event.Notice) {
	if *given == nil {
		*given = noticesGiven{}
	}
	for _, one := range []struct {
		kind        string
		used, limit int64
		near        bool
		reason      string
		left        string
	}{
		{"steps", int64(steps), int64(b.Steps), b.Steps > 1 && b.Steps-steps <= stepsNear(b.Steps), stepLimitReason(b.Steps),
			fmt.Sprintf("%d more model call(s)", b.Steps-steps)},
		{"cost", s.costMicros, b.CostMicros, float64(s.costMicros) >= windDown*float64(b.CostMicros),
			fmt.Sprintf("cost budget used up: %s of %s (--max-cost)", dollars(s.costMicros), dollars(b.CostMicros)),
			dollars(b.CostMicros-s.costMicros) + " of model cost"},
		{"tokens", s.tokens(), b.Tokens, float64(s.tokens()) >= windDown*float64(b.Tokens),
			fmt.Sprintf("token budget used up: %d of %d (--max-tokens-total)", s.tokens(), b.Tokens),
			fmt.Sprintf("%d tokens", b.Tokens-s.tokens())},
		{"time", elapsed.Milliseconds(), b.Time.Milliseconds(), elapsed.Seconds() >= windDown*b.Time.Seconds(),
			(&budgetError{b.Time}).Error(), (b.Time - elapsed).Round(time.Second).String()},
	} {
		if one.limit <= 0 {
			continue
		}
		state := event.StepBudget{Kind: one.kind, Limit: one.limit, Used: one.used}
		switch {
		case one.used >= one.limit:
			state.State = "exhausted"
			s.states = append(s.states, state)
			return one.reason, nil
		case one.near && !(*given)[one.kind]:
			(*given)[one.kind] = true
			state.State = "winding_down"
			s.states = append(s.states, state)
			notice = &event.Notice{
				Disposition: "delivered", Source: event.NoticeSource{Source: "step_budget"},
				Summary: "wind down: " + one.kind,
				Body:    "This run is almost out of its allowance: " + one.left + " left. Finish now: leave the workspace in a working state, call only tools you cannot do without, and give your final answer, saying what is still undone.",
			}
		}
	}
	return "", notice
}

// stepsNear is how many model calls before the limit the model is told.
func stepsNear(limit int) int {
	if limit >= 10 {
		return 3
	}
	return 1
}

func (t *turn) recordBudgets() error {
	for _, s := range t.spent.states {
		if _, err := t.record(event.Event{Run: t.run, Body: s}); err != nil {
			return err
		}
	}
	t.spent.states = nil
	return nil
}

func dollars(micros int64) string { return fmt.Sprintf("$%.4f", float64(micros)/1e6) }

func usageOf(u provider.Usage) event.Usage {
	return event.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, ReasoningTokens: u.Reasoning,
		CacheReadTokens: u.CacheRead, CachedTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
	}
}
