package tui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
)

// TestResizeStorm changes the size of the terminal between any two pieces of an
// answer: each line of it is there once, and nothing of the live area stays,
// whether the terminal reflows or cuts.
func TestResizeStorm(t *testing.T) {
	for seed := range uint64(40) {
		cuts := seed%2 == 1
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBench(t, 80, 24)
		b.happens("", event.Metadata{ModelID: "model-name", ProviderID: "p", WorkspaceRoot: "/ws"})
		b.happens("run", event.RunStarted{Prompt: "the prompt"})
		b.types("a draft of several words that stands in the prompt")
		var answer strings.Builder
		for n := range 30 {
			fmt.Fprintf(&answer, "Line-%02d of the answer is long enough to be wrapped on a narrow screen, twice even.\n\n", n)
			if n%7 == 0 {
				fmt.Fprintf(&answer, "```\ncode-%02d\n```\n\n| a-%02d | b |\n|---|---|\n| c | d |\n\n", n, n)
			}
		}
		whole := answer.String()
		for i := 0; i < len(whole); {
			n := min(len(whole)-i, 1+r.IntN(60))
			b.happens("run", event.OutputDelta{MessageID: "m", Offset: int64(i), Text: whole[i : i+n]})
			i += n
			if r.IntN(3) == 0 {
				w, h := 20+r.IntN(100), 5+r.IntN(40)
				if cuts {
					b.vt.Cut(w, h)
				} else {
					b.vt.Resize(w, h)
				}
			}
			if r.IntN(4) == 0 {
				b.draw()
			}
		}
		b.happens("run", event.AssistantMessage{MessageID: "m", Text: whole})
		if cuts {
			b.vt.Cut(120, 40)
		} else {
			b.vt.Resize(120, 40)
		}
		b.happens("run", event.RunTerminal{Terminal: "completed"})
		b.u.done = true
		b.draw()
		got := strings.Join(strings.Fields(b.vt.Text()), " ")
		for n := range 30 {
			if c := strings.Count(got, fmt.Sprintf("Line-%02d", n)); c != 1 {
				t.Errorf("seed %d: line %d is there %d times", seed, n, c)
			}
			if n%7 == 0 {
				if c := strings.Count(got, fmt.Sprintf("code-%02d", n)); c != 1 {
					t.Errorf("seed %d: code %d is there %d times", seed, n, c)
				}
				if c := strings.Count(got, fmt.Sprintf("a-%02d", n)); c != 1 {
					t.Errorf("seed %d: table %d is there %d times", seed, n, c)
				}
			}
		}
		for _, not := range []string{"model-name", "a draft of", "Working"} {
			if strings.Contains(got, not) {
				t.Errorf("seed %d: %q of the live area stayed", seed, not)
			}
		}
		if t.Failed() {
			t.Log(b.vt.Text())
			return
		}
	}
}

// TestManyItems: memory of the view does not grow with what was shown.
func TestManyItems(t *testing.T) {
	b := newBench(t, 80, 24)
	b.happens("run", event.RunStarted{Prompt: "go"})
	for n := range 2000 {
		id := fmt.Sprint("c", n)
		b.u.take(fed{view: b.u.view, rec: b.record("run", event.ToolCalls{MessageID: id, Calls: []event.ToolCall{{CallID: id, Name: "bash", Args: `{"command":"true"}`}}})})
		b.u.take(fed{view: b.u.view, rec: b.record("run", event.EffectStarted{CallID: id, TaskID: "t" + id, ToolName: "bash"})})
		b.u.take(fed{view: b.u.view, rec: b.record("run", event.ToolResults{BatchID: id, Results: []event.ToolResult{{CallID: id, Text: "ok"}}})})
		if n%50 == 0 {
			b.pass(time.Millisecond)
		}
	}
	b.draw()
	v := b.u.view
	if len(v.ended) > 50 || len(v.open) > 0 || len(v.began) > 0 || len(v.output) > 0 || len(b.u.print) > 0 {
		t.Errorf("kept: %d ended, %d open, %d begun, %d outputs, %d lines", len(v.ended), len(v.open), len(v.began), len(v.output), len(b.u.print))
	}
}
