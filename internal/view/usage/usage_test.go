package usage

import (
	"testing"

	"github.com/openmuse/muse/internal/view/timeline"
)

func TestLedger(t *testing.T) {
	var l Ledger
	call := timeline.Usage{Input: 1_000_000, Cached: 400_000, Output: 100_000, Reasoning: 50_000, DurationMS: 10}
	l.Add("meta", "muse-spark-1.3", call)
	l.Add("", "muse-spark-1.3", call)
	l.Add("script", "recorded", call)
	priced := call
	priced.Priced, priced.CostMicros = true, 7
	l.Add("script", "recorded", priced)
	lines := l.Lines()
	if len(lines) != 3 {
		t.Fatalf("%+v", lines)
	}
	// $1.25 for 600k input, $0.15 for 400k cached, $4.25 for 100k output.
	const want = 750_000 + 60_000 + 425_000
	for _, m := range lines[:2] {
		if cost, whole := m.Cost(); m.CostMicros != want || !whole || cost.String() != "$1.235" {
			t.Errorf("%+v costs %v, %v", m, cost, whole)
		}
	}
	if got := lines[2]; got.Calls != 2 || got.Unpriced != 1 || got.CostMicros != 7 {
		t.Errorf("the model without a price: %+v", got)
	}
	var sum Ledger
	sum.Merge(&l)
	sum.Merge(&l)
	if total := sum.Total(); total.Calls != 8 || total.Input != 8_000_000 || total.CostMicros != 2*(2*want+7) || total.Unpriced != 2 {
		t.Errorf("total %+v", total)
	}
}
