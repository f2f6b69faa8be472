package tui

import (
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
)

// TestBudget: the limit that is nearest to its end is in the status line, and
// what a turn uses is told beside the session's.
func TestBudget(t *testing.T) {
	b := newBench(t, 100, 24)
	b.u.Budget = Budget{Steps: 10, CostMicros: 500_000, Tokens: 100_000, Time: time.Hour}
	b.happens("", event.Metadata{ModelID: "m", ProviderID: "p", WorkspaceRoot: "/ws"})
	b.happens("r1", event.RunStarted{Prompt: "one"})
	b.shows("budget $0.0000 of $0.5000")
	cost := int64(250_000)
	call := event.ModelCompleted{CostMicros: &cost, Usage: event.Usage{InputTokens: 2000, OutputTokens: 100}}
	b.happens("r1", call)
	b.shows("budget $0.2500 of $0.5000")
	b.shows("Working 0.0s · 2.1k tok · $0.2500")
	b.happens("r1", call)
	b.shows("budget $0.5000 of $0.5000")
	reason := "cost budget used up: $0.5000 of $0.5000 (--max-cost)"
	b.happens("r1", event.RunTerminal{Terminal: "failed", Reason: &reason})
	b.shows("every turn has this allowance anew")
	b.types("/usage\r")
	b.shows("last turn   2 model calls, 4.2k tokens, $0.5000")
	b.shows("budget      2 of 10 steps a turn")
	b.happens("r2", event.RunStarted{Prompt: "two"})
	b.pass(59 * time.Minute)
	b.shows("budget 59m 00s of 1h 00m")
	call.CostMicros = nil
	b.happens("r2", call)
	b.types("/usage\r")
	b.shows("this turn   1 model call, 2.1k tokens")
}
