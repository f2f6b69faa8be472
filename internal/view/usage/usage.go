// Package usage sums up what model calls used and what they cost, by provider
// and model. Costs come from the log where it has them, else from the price
// table; a model without a price leaves its cost unknown, never zero.
package usage

import (
	"cmp"
	"slices"

	"github.com/openmuse/muse/internal/models"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/view/timeline"
)

// Tokens counts tokens of calls. Cached is part of Input, Reasoning part of
// Output.
type Tokens struct {
	Calls      int64 `json:"calls"`
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens"`
	DurationMS int64 `json:"duration_ms"`
}

func (t *Tokens) add(u Tokens) {
	t.Calls += u.Calls
	t.Input += u.Input
	t.Cached += u.Cached
	t.CacheWrite += u.CacheWrite
	t.Output += u.Output
	t.Reasoning += u.Reasoning
	t.DurationMS += u.DurationMS
}

// Line is the sum of one model's calls.
type Line struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Tokens
	CostMicros int64 `json:"cost_micro_usd"` // of the calls whose price is known
	Unpriced   int64 `json:"unpriced_calls"` // calls whose price is not
}

// Cost is the price in dollars of the calls that have one; whole is false when
// some have none.
func (l Line) Cost() (cost models.Money, whole bool) {
	return models.Money(l.CostMicros) * (models.Dollar / 1_000_000), l.Unpriced == 0
}

type key struct{ provider, model string }

type sum struct {
	Line
	exact models.Money
}

// Ledger sums calls. The zero value is ready. It is for one goroutine.
type Ledger struct {
	sums   map[key]*sum
	prices map[key]*models.Price
}

// Add takes one call. Without a provider the model is looked up as one of
// Meta's, whose logs may not name it.
func (l *Ledger) Add(providerID, model string, u timeline.Usage) {
	k := key{providerID, model}
	s := l.sums[k]
	if s == nil {
		if l.sums == nil {
			l.sums = map[key]*sum{}
		}
		s = &sum{Line: Line{Provider: providerID, Model: model}}
		l.sums[k] = s
	}
	cached := max(u.Cached, u.CacheRead) // older logs have only one of them
	s.add(Tokens{
		Calls: 1, Input: u.Input, Cached: cached, CacheWrite: u.CacheWrite,
		Output: u.Output, Reasoning: u.Reasoning, DurationMS: u.DurationMS,
	})
	price := l.price(k)
	switch {
	case u.Priced:
		s.exact += models.Money(u.CostMicros) * (models.Dollar / 1_000_000)
	case price != nil:
		s.exact += price.Cost(provider.Usage{Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, CacheRead: cached, CacheWrite: u.CacheWrite})
	default:
		s.Unpriced++
	}
	s.CostMicros = s.exact.Micros()
}

func (l *Ledger) price(k key) *models.Price {
	if p, ok := l.prices[k]; ok {
		return p
	}
	table := k.provider
	if table == "" {
		table = "meta"
	}
	p := models.Lookup(table, k.model).Price
	if l.prices == nil {
		l.prices = map[key]*models.Price{}
	}
	l.prices[k] = p
	return p
}

// Merge adds what another ledger summed.
func (l *Ledger) Merge(o *Ledger) {
	for k, s := range o.sums {
		mine := l.sums[k]
		if mine == nil {
			if l.sums == nil {
				l.sums = map[key]*sum{}
			}
			mine = &sum{Line: Line{Provider: k.provider, Model: k.model}}
			l.sums[k] = mine
		}
		mine.add(s.Tokens)
		mine.exact += s.exact
		mine.Unpriced += s.Unpriced
		mine.CostMicros = mine.exact.Micros()
	}
}

// Lines are the sums, the dearest first.
func (l *Ledger) Lines() []Line {
	lines := make([]Line, 0, len(l.sums))
	for _, s := range l.sums {
		lines = append(lines, s.Line)
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.CostMicros, a.CostMicros), cmp.Compare(b.Input+b.Output, a.Input+a.Output),
			cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model))
	})
	return lines
}

// Total is the sum over all models.
func (l *Ledger) Total() Line {
	var t Line
	var exact models.Money
	for _, s := range l.sums {
		t.add(s.Tokens)
		t.Unpriced += s.Unpriced
		exact += s.exact
	}
	t.CostMicros = exact.Micros()
	return t
}

// Sum is the sum of lines.
func Sum(lines []Line) Line {
	var t Line
	for _, l := range lines {
		t.add(l.Tokens)
		t.CostMicros += l.CostMicros
		t.Unpriced += l.Unpriced
	}
	return t
}
