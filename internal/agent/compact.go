package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"

	_ "embed"
)

// Strategy ids of CLI.md 6; the one that is built.
const StrategySummary = "summary-preserved-suffix/v1"

// Compaction says when the conversation is shortened: thresholds are fractions
// of the context limit, strictly between 0 and 1, Soft below Hard.
type Compaction struct {
	Soft, Hard   float64
	ClearResults bool // move old tool results to files first
}

//go:embed summary.md
var summaryInstructions string

const (
	// assumedBytesPerToken holds until the first usage of a session tells
	// better; measured on source code (LIBS.md, Tokens).
	assumedBytesPerToken = 3.85
	// suffixShare is the part of the soft threshold that stays word for word.
	suffixShare = 0.25
	// clearMinBytes is the size from which moving a result to a file pays.
	clearMinBytes = 1 << 10
	// userShare is the part of the soft threshold that the person's own words
	// may take beside a summary.
	userShare = 0.15
)

// compactionJob is a summary being written while the run goes on.
type compactionJob struct {
	cancel context.CancelFunc
	plan   compactionPlan
	done   chan summaryResult
}

type compactionPlan struct {
	trigger, timing     string
	through, head, tail int64
	before              int64 // tokens
	started             int64 // newest sequence when it began
}

type summaryResult struct {
	text  string
	usage provider.Usage
	err   error
}

// estimate is the size of the next prompt in tokens.
func (l *Loop) estimate() int64 {
	return int64(float64(l.overhead+l.conv.bytes()) / l.bytesPerToken)
}

// calibrate learns from what the provider counted. A count that includes
// pictures or hidden text is kept within what text can be.
func (l *Loop) calibrate(u provider.Usage) {
	if u.Input < 200 {
		return
	}
	ratio := float64(l.overhead+l.conv.bytes()) / float64(u.Input)
	l.bytesPerToken = min(max(ratio, 1.5), 6)
}

func (l *Loop) thresholds() (soft, hard int64) {
	return int64(l.Compaction.Soft * float64(l.Model.ContextLimit)), int64(l.Compaction.Hard * float64(l.Model.ContextLimit))
}

// makeRoom shortens the conversation when it nears the model's limit: over the
// soft threshold a summary is written beside the run, over the hard one, and
// before a run's first call, the run waits for it.
func (t *turn) makeRoom(ctx context.Context) error {
	soft, hard := t.thresholds()
	if soft <= 0 {
		return nil
	}
	if err := t.collect(ctx, t.estimate() >= hard); err != nil {
		return err
	}
	if t.estimate() < soft {
		return nil
	}
	if t.Compaction.ClearResults {
		if err := t.clearResults(soft); err != nil {
			return err
		}
	}
	now := t.estimate()
	switch {
	case now >= hard:
		return t.shorten(ctx, soft, hard)
	case now >= soft && t.step == 0:
		// Before the first call nothing goes on beside which a summary could be
		// written, and a short turn would end before it is ready.
		if err := t.compactNow(ctx, "soft_threshold_async"); !errors.Is(err, errNothingToSummarise) {
			return err
		}
	case now >= soft && t.compaction == nil:
		t.compactBeside(ctx)
	}
	return nil
}

// shorten brings the prompt below the hard threshold, or says that it cannot.
// What stays beside a summary must fit by itself; where it does not, long
// results go to files first, and in the end everything but the newest prompt
// is summarised from the record, without a model.
func (t *turn) shorten(ctx context.Context, soft, hard int64) error {
	if plan, ok := t.plan("hard_threshold_blocking"); !ok || t.after(plan.through) >= hard {
		if err := t.clearResultsBefore(0); err != nil {
			return err
		}
	}
	if t.estimate() >= hard {
		if err := t.compactNow(ctx, "hard_threshold_blocking"); err != nil && !errors.Is(err, errNothingToSummarise) {
			return err
		}
	}
	if plan, ok := t.wholePlan(); ok && t.estimate() >= hard {
		if err := t.install(plan, t.capped(localSummary(t.conv.upTo(plan.through)))); err != nil {
			return err
		}
	}
	if after := t.estimate(); after >= hard {
		return fmt.Errorf("context compaction replacement still exceeds the hard threshold (%d >= %d tokens)", after, hard)
	}
	return nil
}

// after is the size in tokens of what follows a place in the conversation, and
// of everything around the conversation.
func (t *turn) after(through int64) int64 {
	return int64(float64(t.overhead+t.conv.bytes()-t.conv.upTo(through).bytes()) / t.bytesPerToken)
}

// wholePlan summarises everything but a prompt that was not answered yet.
func (t *turn) wholePlan() (compactionPlan, bool) {
	through, head, tail, ok := t.conv.end()
	return compactionPlan{
		trigger: "hard_threshold_blocking", timing: t.timing(), through: through, head: head, tail: tail, before: t.estimate(), started: tail,
	}, ok
}

func (t *turn) timing() string {
	switch {
	case t.standalone:
		return "standalone_manual"
	case t.step == 0:
		return "pre_turn"
	}
	return "mid_turn"
}

// summaryTokens bounds a summary (CLI.md 6, Compaction).
const summaryTokens = 16384

// capped is a summary that leaves room for what it makes room for.
func (t *turn) capped(text string) string {
	limit := float64(summaryTokens)
	if soft, _ := t.thresholds(); soft > 0 {
		limit = min(limit, 0.3*float64(soft))
	}
	return cutMiddle(text, int(limit*t.bytesPerToken))
}

// clearResults moves old, long tool results to files.
func (t *turn) clearResults(soft int64) error {
	return t.clearResultsBefore(int64(suffixShare * float64(soft) * t.bytesPerToken))
}

// clearResultsBefore moves the long results before the newest keep bytes.
func (t *turn) clearResultsBefore(keep int64) error {
	var cleared []event.ClearedResult
	for _, r := range t.conv.clearable(keep, clearMinBytes) {
		rel, abs, err := t.Assets.KeepResult(r.CallID, r.Text)
		if err != nil {
			// Without the file the text must stay in the conversation.
			_, err = t.record(event.Event{Run: t.run, Body: event.CompactionFallback{
				CanContinue: true, FallbackID: newID(), Reason: fmt.Sprintf("tool result not cleared: %v", err), Severity: "warning"}})
			return err
		}
		cleared = append(cleared, event.ClearedResult{CallID: r.CallID, Path: rel, Bytes: int64(len(r.Text)), Text: clearedText(abs, len(r.Text))})
	}
	if len(cleared) == 0 {
		return nil
	}
	_, err := t.record(event.Event{Run: t.run, Body: event.ResultsCleared{Cleared: cleared}})
	return err
}

func (t *turn) plan(trigger string) (compactionPlan, bool) {
	soft, _ := t.thresholds()
	keep := int64(suffixShare * float64(soft) * t.bytesPerToken)
	through, head, tail, ok := t.conv.boundary(keep)
	if !ok {
		// Even a short suffix is better than an overfull prompt.
		through, head, tail, ok = t.conv.boundary(1)
	}
	return compactionPlan{trigger: trigger, timing: t.timing(), through: through, head: head, tail: tail, before: t.estimate(), started: tail}, ok
}

// compactBeside starts a summary that is collected at a later step.
func (t *turn) compactBeside(ctx context.Context) {
	plan, ok := t.plan("soft_threshold_async")
	if !ok {
		return
	}
	req := t.summaryRequest(plan.through)
	ctx, cancel := context.WithCancel(ctx)
	job := &compactionJob{cancel: cancel, plan: plan, done: make(chan summaryResult, 1)}
	t.compaction = job
	go func() { job.done <- t.summarise(ctx, req) }()
}

// collect installs a summary that was written beside the run; with wait it
// waits for one that is not ready.
func (t *turn) collect(ctx context.Context, wait bool) error {
	job := t.compaction
	if job == nil {
		return nil
	}
	var res summaryResult
	if wait {
		select {
		case res = <-job.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	} else {
		select {
		case res = <-job.done:
		default:
			return nil
		}
	}
	job.cancel()
	t.compaction = nil
	return t.settle(ctx, job.plan, res)
}

// dropCompaction ends a summary nobody will collect, so that no model call
// outlives its run.
func (l *Loop) dropCompaction() {
	if l.compaction == nil {
		return
	}
	l.compaction.cancel()
	<-l.compaction.done
	l.compaction = nil
}

var errNothingToSummarise = errors.New("context compaction found nothing to summarise")

// compactNow summarises while the run waits.
func (t *turn) compactNow(ctx context.Context, trigger string) error {
	t.dropCompaction()
	plan, ok := t.plan(trigger)
	if !ok && trigger == triggerManual {
		// Asked for in so many words: everything that was answered goes.
		plan, ok = t.wholePlan()
		plan.trigger = trigger
	}
	if !ok {
		return fmt.Errorf("%w: the prompt alone is %d tokens", errNothingToSummarise, t.estimate())
	}
	return t.settle(ctx, plan, t.summarise(ctx, t.summaryRequest(plan.through)))
}

// settle installs a summary, or a local one when the model gave none.
func (t *turn) settle(ctx context.Context, plan compactionPlan, res summaryResult) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := strings.TrimSpace(res.text)
	if res.err != nil || text == "" {
		reason := "the model gave no summary"
		if res.err != nil {
			reason = res.err.Error()
		}
		if _, err := t.record(event.Event{Run: t.run, Body: event.CompactionFallback{
			CanContinue: true, FallbackID: newID(), Reason: "a local summary is used: " + reason, Severity: "warning",
		}}); err != nil {
			return err
		}
		text = localSummary(t.conv.upTo(plan.through))
	} else if err := t.chargeSummary(res.usage); err != nil {
		return err
	}
	return t.install(plan, t.capped(text))
}

// chargeSummary records the tokens of the summary's model call, so that the
// run's total is the whole of what was paid.
func (t *turn) chargeSummary(u provider.Usage) error {
	done := event.ModelCompleted{Finish: string(provider.FinishStop), Model: t.Model.ID, Usage: usageOf(u), CostMicros: t.cost(u)}
	t.spent.add(u, done.CostMicros)
	_, err := t.record(event.Event{Run: t.run, Body: done})
	return err
}

func (t *turn) install(plan compactionPlan, text string) error {
	soft, hard := t.thresholds()
	n := t.conv.compacted + 1
	replacement := event.Replacement{Kind: "summary_text", Text: text}
	before := event.PromptBudget{Source: "heuristic_estimate", Tokens: plan.before}
	keepUserLimit := int64(userShare * float64(soft) * t.bytesPerToken)
	part := t.conv.upTo(plan.through)
	stays := int64(len(text))
	kept, _ := keepUser(part.entries, keepUserLimit)
	for _, e := range kept {
		stays += itemBytes(e.item)
	}
	after := event.PromptBudget{Source: "heuristic_estimate"}
	after.Tokens = max(0, t.estimate()-int64(float64(part.bytes()-stays)/t.bytesPerToken))
	after.TargetMet = after.Tokens <= soft
	through := event.Cursor{Sequence: plan.through}
	candidate := event.CompactionCandidate{
		BudgetBefore: before, BudgetAfter: after, CandidateID: fmt.Sprintf("candidate-%d", n), Diagnostics: []event.Diagnostic{},
		Preserved:   event.SegmentHint{Head: plan.through + 1, Tail: plan.tail},
		Replacement: replacement, StartedAt: event.Cursor{Sequence: plan.started}, Status: "succeeded",
		Strategy: event.CompactionStrategy{
			Fingerprint: fmt.Sprintf("soft=%.4f,hard=%.4f", t.Compaction.Soft, t.Compaction.Hard),
			Hard:        hard, Soft: soft, Family: "summary", ID: StrategySummary, Target: soft,
		},
		Through: through, Timing: plan.timing, Trigger: plan.trigger,
	}
	installed := event.CompactionInstalled{
		BudgetAfter: after, BudgetBefore: before, CandidateID: candidate.CandidateID, InstallID: installID(n),
		Preserved: event.PreservedSegment{Head: plan.through + 1, Tail: plan.tail, Interval: fmt.Sprintf("(%d, %d]", plan.through, plan.tail)},
		Cache:     event.CacheBoundary{Status: "reset"}, KeptUserBytes: keepUserLimit,
		Replacement: replacement, StrategyID: StrategySummary, Through: through, Timing: plan.timing, Trigger: plan.trigger,
	}
	for _, body := range []event.Body{candidate, installed} {
		if _, err := t.record(event.Event{Run: t.run, Body: body}); err != nil {
			return err
		}
	}
	return nil
}

func installID(n int) string { return fmt.Sprintf("install-%d", n) }

func (t *turn) summaryRequest(through int64) *provider.Request {
	items := t.conv.upTo(through).Items(func(event.ContentBlock) ([]byte, error) { return nil, errPictureLeftOut })
	items = append(items, provider.Item{User: &provider.UserMessage{Text: "Write the summary now."}})
	return &provider.Request{Model: t.Model.ID, Instructions: summaryInstructions, Items: items, CacheKey: t.SessionID, MaxOutput: 16384}
}

var errPictureLeftOut = fmt.Errorf("pictures are left out of a summary")

// summarise makes one model call; it records nothing, so it may run beside the
// loop.
func (t *turn) summarise(ctx context.Context, req *provider.Request) summaryResult {
	var res summaryResult
	for attempt := 1; ; attempt++ {
		res = summaryResult{}
		res.err = t.Provider.Stream(ctx, req, func(p provider.Part) error {
			res.text += p.TextDelta
			if p.Completed != nil {
				res.usage = p.Completed.Usage
			}
			return nil
		})
		failure, ok := classified(ctx, res.err)
		if res.err == nil || !ok || !failure.Class.Retryable() || attempt >= t.Retry.Attempts() {
			return res
		}
		if t.Sleep(ctx, t.Retry.Delay(attempt, failure)) != nil {
			return res
		}
	}
}

// localSummary is what can be said without a model: what was asked, which
// files and commands were touched, and the last words of the assistant.
func localSummary(c *Conversation) string {
	var b strings.Builder
	b.WriteString("No summary by the model is available. From the record:\n\nTool calls, oldest first (newest 60):\n")
	var calls []string
	last := ""
	for _, e := range c.entries {
		switch {
		case e.item.ToolCall != nil:
			calls = append(calls, "- "+e.item.ToolCall.Name+" "+cutMiddle(e.item.ToolCall.Args, 200))
		case e.item.Assistant != nil:
			last = e.item.Assistant.Text
		case e.item.Developer != nil && strings.HasPrefix(e.item.Developer.Text, "Earlier work"):
			b.WriteString(cutMiddle(e.item.Developer.Text, 4<<10) + "\n")
		}
	}
	if len(calls) > 60 {
		calls = calls[len(calls)-60:]
	}
	b.WriteString(strings.Join(calls, "\n"))
	if last != "" {
		b.WriteString("\n\nThe assistant's last words:\n" + cutMiddle(last, 4<<10))
	}
	return b.String()
}
