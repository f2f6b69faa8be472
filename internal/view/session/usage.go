package session

import (
	"strconv"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

func tokenUsage(u event.Usage) msp.TokenUsage {
	return msp.TokenUsage{
		CachedTokens: max(u.CachedTokens, u.CacheReadTokens), InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		ReasoningTokens: u.ReasoningTokens, CacheReadTokens: &u.CacheReadTokens, CacheWriteTokens: &u.CacheWriteTokens,
	}
}

// addUsage adds what one more call used.
func addUsage(total *msp.TokenUsage, u msp.TokenUsage) {
	total.CachedTokens += u.CachedTokens
	total.InputTokens += u.InputTokens
	total.OutputTokens += u.OutputTokens
	total.ReasoningTokens += u.ReasoningTokens
	total.CacheReadTokens = sum(total.CacheReadTokens, u.CacheReadTokens)
	total.CacheWriteTokens = sum(total.CacheWriteTokens, u.CacheWriteTokens)
}

func sum(a, b *int64) *int64 {
	var n int64
	for _, p := range []*int64{a, b} {
		if p != nil {
			n += *p
		}
	}
	return &n
}

// modelCompleted counts what a model call used. Tokens read from a cache are
// part of the input: our providers report them so.
func (f *Fold) modelCompleted(b event.ModelCompleted) {
	if b.Usage == (event.Usage{}) && b.CostMicros == nil {
		return // the provider reports no usage
	}
	u := tokenUsage(b.Usage)
	if r := f.s.Run; r != nil && r.ID == f.cur.Run {
		if r.Usage == nil {
			r.Usage = &msp.TokenUsage{}
		}
		addUsage(r.Usage, u)
	}
	total := &f.s.Usage
	total.PromptTokens += u.InputTokens
	total.OutputTokens += u.OutputTokens
	total.TotalTokens += u.InputTokens + u.OutputTokens
	total.CacheReadTokens = sum(total.CacheReadTokens, u.CacheReadTokens)
	total.CacheWriteTokens = sum(total.CacheWriteTokens, u.CacheWriteTokens)
	if b.CostMicros != nil {
		f.s.CostMicros += *b.CostMicros
		f.s.Priced = true
	} else {
		f.s.Unpriced = true
	}
	p := &msp.SessionTokenUsageParams{
		Durable: f.here(), TurnID: f.cur.Run, Cumulative: f.cumulative(), PromptTokens: u.InputTokens,
		TotalTokens: u.InputTokens + u.OutputTokens, Usage: u, FinishReason: b.Finish, ModelID: b.Model,
	}
	if b.DurationMS > 0 {
		p.DurationMs = &b.DurationMS
	}
	f.say(msp.NoteSessionTokenUsage, p)
	f.pressure(u.InputTokens + u.OutputTokens)
}

func (f *Fold) cumulative() msp.CumulativeTokenUsage {
	c := f.s.Usage
	c.CacheReadTokens, c.CacheWriteTokens = clone(c.CacheReadTokens), clone(c.CacheWriteTokens)
	if f.s.Priced {
		c.Cost = &msp.CumulativeCost{USD: float64(f.s.CostMicros) / 1e6, Partial: f.s.Unpriced}
	}
	return c
}

// pressure says how full the model's window is. The thresholds are those of
// compaction; a window that the log does not name is left out.
func (f *Fold) pressure(used int64) {
	now := msp.ContextUsage{Pressure: msp.ContextPressureLevelNormal, UsedTokens: used}
	if f.s.Window > 0 {
		now.WindowTokens = clone(&f.s.Window)
	}
	switch {
	case f.s.Hard > 0 && used >= f.s.Hard:
		now.Pressure = msp.ContextPressureLevelBlocked
	case f.s.Soft > 0 && used >= f.s.Soft:
		now.Pressure = msp.ContextPressureLevelWarning
	}
	if was := f.s.Context; was != nil && was.Pressure == now.Pressure && was.UsedTokens == now.UsedTokens &&
		value(was.WindowTokens) == value(now.WindowTokens) {
		return
	}
	f.s.Context = &now
	f.say(msp.NoteSessionContextUsage, &msp.SessionContextUsageParams{
		Durable: f.here(), Pressure: now.Pressure, UsedTokens: used, WindowTokens: clone(now.WindowTokens),
	})
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}

func (f *Fold) compactionStarted(b event.CompactionStarted) {
	if f.s.Compaction != nil {
		return // one at a time: the running one is shown
	}
	trigger := msp.CompactionTriggerAuto
	if b.Trigger == string(msp.CompactionTriggerManual) {
		trigger = msp.CompactionTriggerManual
	}
	f.s.Compaction = f.begin(msp.Item{
		ItemID: f.cur.ID, Kind: msp.ItemKindCompaction, TurnID: named(f.cur.Run), CommandID: b.CommandID, Trigger: trigger,
	})
}

// compactionInstalled ends the shown compaction, or shows one that was not.
// Here the view has a boundary: what is before it is summarised.
func (f *Fold) compactionInstalled(b event.CompactionInstalled) {
	o := f.s.Compaction
	f.s.Compaction = nil
	if o == nil {
		o = &open{First: f.position(), Item: msp.Item{
			ItemID: f.cur.ID, Kind: msp.ItemKindCompaction, TurnID: named(f.cur.Run), Trigger: msp.CompactionTriggerAuto,
		}}
		if b.Trigger == "manual" || b.Timing == "standalone_manual" {
			o.Item.Trigger = msp.CompactionTriggerManual
		}
	}
	o.Item.Outcome = msp.CompactionOutcomeCompacted
	o.Item.StrategyID = b.StrategyID
	o.Item.TokensBefore, o.Item.TokensAfter = &b.BudgetBefore.Tokens, &b.BudgetAfter.Tokens
	o.Item.SummarizedThrough = "session:" + f.s.Session + ":seq:" + strconv.FormatInt(b.Through.Sequence, 10)
	f.end(o, msp.ItemStatusCompleted)
	f.s.Boundary, f.s.Summarised = f.s.Head, o.Item.SummarizedThrough
	f.mark(o.Item.SummarizedThrough, f.s.Head)
	f.pressure(b.BudgetAfter.Tokens)
}

// maxMarks bounds how many boundaries can be resumed from by name.
const maxMarks = 256

// mark remembers a boundary by what it names, so that a client may resume from
// it; of many, the newest stay.
func (f *Fold) mark(summarised string, number int64) {
	if len(f.s.BoundaryMark) >= maxMarks {
		oldest := ""
		for name, n := range f.s.BoundaryMark {
			if oldest == "" || n < f.s.BoundaryMark[oldest] {
				oldest = name
			}
		}
		delete(f.s.BoundaryMark, oldest)
	}
	f.s.BoundaryMark[summarised] = number
}

func (f *Fold) compactionSettled(b event.CompactionSettled) {
	if f.s.Compaction != nil {
		f.endCompaction(msp.CompactionOutcome(b.Outcome), b.Reason)
	}
}

func (f *Fold) endCompaction(outcome msp.CompactionOutcome, reason string) {
	o := f.s.Compaction
	f.s.Compaction = nil
	o.Item.Outcome, o.Item.Reason = outcome, reason
	status := msp.ItemStatusCompleted
	switch outcome {
	case msp.CompactionOutcomeFailed:
		status = msp.ItemStatusFailed
	case msp.CompactionOutcomeCancelled:
		status = msp.ItemStatusCancelled
	}
	f.end(o, status)
}
