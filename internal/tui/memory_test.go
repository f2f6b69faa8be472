package tui

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/tui/screen"
	"github.com/openmuse/muse/internal/view/session"
)

// TestMemoryStaysFlat: what is finished is printed and dropped. A session of
// 10,000 items holds no more than one of 1,000 and the window of what happened
// last, which has a limit of its own.
func TestMemoryStaysFlat(t *testing.T) {
	b := newBench(t, 80, 24)
	b.u.screen = screen.New(io.Discard, b.u.Theme, 80, 24) // a terminal keeps what it was shown
	sequence := int64(0)
	happens := func(run string, body event.Body) {
		sequence++
		b.u.take(fed{view: b.u.view, rec: event.Recorded{
			Event: event.Event{Run: run, Body: body}, ID: "record", Sequence: sequence, At: b.now.UnixMicro(),
		}})
	}
	happens("", event.Metadata{ModelID: "model-name", ProviderID: "p", WorkspaceRoot: "/ws"})
	n := 0
	after := func(items int) uint64 {
		for ; n < items; n++ {
			run, call := fmt.Sprintf("run%d", n/100), fmt.Sprintf("c%d", n)
			if n%100 == 0 {
				happens(run, event.RunStarted{Prompt: "go on"})
			}
			happens(run, event.ToolCalls{MessageID: "m" + call, Calls: []event.ToolCall{{CallID: call, Name: "read_file", Args: `{"path":"a.txt"}`}}})
			happens(run, event.EffectStarted{CallID: call, TaskID: "t" + call, ToolName: "read_file"})
			happens(run, event.ToolResults{BatchID: "m" + call, Results: []event.ToolResult{{CallID: call, Text: strings.Repeat("some output\n", 80)}}})
			if n%100 == 99 {
				happens(run, event.RunTerminal{Terminal: "completed"})
			}
			b.draw()
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	few := after(1000)
	many := after(10_000)
	if window := uint64(session.DefaultLimits().Window); many > few+window+2<<20 {
		t.Errorf("%d KB are held after 1,000 items and %d KB after 10,000", few>>10, many>>10)
	}
	t.Logf("%d KB are held after 1,000 items and %d KB after 10,000; %d calls can be opened", few>>10, many>>10, len(b.u.view.ended))
}
