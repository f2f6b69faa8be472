package agent

import (
	"testing"

	"github.com/openmuse/muse/internal/event"
)

// TestResumable: a run goes on only when nothing of it was under way.
func TestResumable(t *testing.T) {
	calls := event.ToolCalls{MessageID: "m", Calls: []event.ToolCall{{CallID: "a", Name: "bash"}, {CallID: "b", Name: "bash"}}}
	announced := func(call string) []event.Body {
		return []event.Body{
			event.TaskProposed{TaskID: "task-" + call}, event.TaskScheduled{TaskID: "task-" + call, IdempotencyKey: "tool:" + call},
			event.TaskIntent{TaskID: "task-" + call},
		}
	}
	both := append(announced("a"), announced("b")...)
	ended := []event.Body{event.TaskOutput{TaskID: "task-a", Chunk: "out", Final: true}, event.TaskCompleted{TaskID: "task-a"}}
	for _, tt := range []struct {
		name    string
		then    []event.Body
		waiting []string
		want    bool
	}{
		{"asked before anything was announced", nil, []string{"b"}, true},
		{"nothing waits", nil, nil, false},
		{"another run's call waits", nil, []string{"c"}, false},
		{"the first waits while it runs", both, []string{"a"}, true},
		{"the first ended, the second waits", append(both[:len(both):len(both)], ended...), []string{"b"}, true},
		{"the first was running", both, []string{"b"}, false},
		{"the first ended without a word", append(both[:len(both):len(both)], event.TaskCompleted{TaskID: "task-a"}), []string{"b"}, false},
		{"a model call runs", []event.Body{event.TaskProposed{TaskID: "model"}}, []string{"a"}, false},
		{"half of the results are there", []event.Body{event.ToolResults{Results: []event.ToolResult{{CallID: "a"}}}}, []string{"b"}, false},
		{"the run ended", []event.Body{event.RunTerminal{Terminal: "completed"}}, []string{"a"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := NewConversation()
			for i, b := range append([]event.Body{event.RunStarted{Prompt: "x"}, calls}, tt.then...) {
				c.Apply(event.Recorded{Event: event.Event{Run: "run", Body: b}, Sequence: int64(i + 1)})
			}
			waiting := map[string]bool{}
			for _, id := range tt.waiting {
				waiting[id] = true
			}
			if got := c.Resumable(waiting); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
