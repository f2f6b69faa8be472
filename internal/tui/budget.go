package tui

import (
	"fmt"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/tui/text"
)

// Budget is what one turn may use; 0 is no limit.
type Budget struct {
	Steps      int
	CostMicros int64
	Tokens     int64
	Time       time.Duration
}

// turnUse is what a turn has used: the running one, or the last one.
type turnUse struct {
	steps      int
	tokens     int64 // input and output of all its model calls
	costMicros int64
	priced     bool // the price of a call was known
	unpriced   bool // that of another was not
}

func (t *turnUse) add(b event.ModelCompleted) {
	t.steps++
	t.tokens += b.Usage.InputTokens + b.Usage.OutputTokens
	if b.CostMicros == nil {
		t.unpriced = true
		return
	}
	t.priced = true
	t.costMicros += *b.CostMicros
}

// cost is what the turn costs, "" when that is not known.
func (t *turnUse) cost() string {
	switch {
	case !t.priced:
		return ""
	case t.unpriced:
		return "≥" + dollars(float64(t.costMicros)/1e6)
	}
	return dollars(float64(t.costMicros) / 1e6)
}

// allowance is one limit with what is used of it.
type allowance struct {
	used, limit string
	share       float64
}

func (a allowance) String() string { return a.used + " of " + a.limit }

// allowances are the limits of a turn that are set, with what the turn has used.
func (u *ui) allowances() []allowance {
	b, t := u.Budget, &u.view.use
	var out []allowance
	if b.CostMicros > 0 {
		out = append(out, allowance{dollars(float64(t.costMicros) / 1e6), dollars(float64(b.CostMicros) / 1e6), float64(t.costMicros) / float64(b.CostMicros)})
	}
	if b.Tokens > 0 {
		out = append(out, allowance{count(t.tokens), count(b.Tokens) + " tokens", float64(t.tokens) / float64(b.Tokens)})
	}
	if b.Steps > 0 {
		out = append(out, allowance{fmt.Sprint(t.steps), plural(b.Steps, "step", "steps"), float64(t.steps) / float64(b.Steps)})
	}
	if b.Time > 0 {
		var since time.Duration
		if u.view.turn != "" {
			since = u.Now().Sub(u.view.started)
		}
		out = append(out, allowance{spent(since.Truncate(time.Second)), spent(b.Time), since.Seconds() / b.Time.Seconds()})
	}
	return out
}

// nearBudget is the share of an allowance from which on it stands out: the
// model is told to finish there.
const nearBudget = 0.8

// budgetWord is the limit that is nearest to its end.
func (u *ui) budgetWord() (word string, style text.Style) {
	var most *allowance
	for _, a := range u.allowances() {
		if most == nil || a.share > most.share {
			most = &a
		}
	}
	switch {
	case most == nil:
		return "", 0
	case most.share >= nearBudget:
		return "budget " + most.String(), text.Warn
	}
	return "budget " + most.String(), text.Muted
}
