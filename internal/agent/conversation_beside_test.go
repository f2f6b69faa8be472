package agent

import (
	"reflect"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/provider"
)

// told applies events, numbered in order, and returns what the model is told.
func told(bodies ...event.Body) []provider.Item {
	c := NewConversation()
	for i, b := range bodies {
		c.Apply(event.Recorded{Event: event.Event{Run: "r", Body: b}, Sequence: int64(i + 1)})
	}
	return c.Items(nil)
}

func TestAPersonsCommandStandsAfterTheRun(t *testing.T) {
	code := 0
	command := event.UserShellCommand{CommandID: "c", CommandText: "make"}
	result := event.UserShellResult{CommandID: "c", ExitCode: &code, VisibleOutput: "built\n"}
	run := []event.Body{
		event.RunStarted{Prompt: "go"},
		event.ToolCalls{MessageID: "m", Calls: []event.ToolCall{{CallID: "1", Name: "bash", Args: "{}"}}},
		event.ToolResults{BatchID: "m", Results: []event.ToolResult{{CallID: "1", Text: "ok"}}},
		event.AssistantMessage{Text: "done"},
		event.RunTerminal{Terminal: "completed"},
	}
	// A running session applies what happened beside the run when it is over;
	// its log has it in the middle.
	during := told(run[0], run[1], command, result, run[2], run[3], run[4])
	after := told(run[0], run[1], run[2], run[3], run[4], command, result)
	if !reflect.DeepEqual(during, after) {
		t.Errorf("replayed %+v, running %+v", during, after)
	}
	last := during[len(during)-1]
	if len(during) != 5 || last.User == nil || !strings.HasSuffix(last.User.Text, "$ make\nbuilt\n[exit 0]") {
		t.Errorf("got %+v", last)
	}
	// One that was not run, or that nobody knows, says nothing.
	if got := told(command, event.UserShellRejected{CommandID: "c"}, result); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestTurnsAreTakenOutOfTheConversation(t *testing.T) {
	words := event.Notice{
		Body: "and this", Disposition: "delivered", Source: event.NoticeSource{Source: event.UserSteer},
		Payload: &event.NoticePayload{Prompt: "and this"},
	}
	first := []event.Body{event.RunStarted{Prompt: "one"}, words, event.AssistantMessage{Text: "uno"}, event.RunTerminal{Terminal: "completed"}}
	want := told(first...)
	if len(want) != 3 || want[1].User == nil || want[1].User.Text != "and this" {
		t.Fatalf("got %+v", want)
	}
	for name, rest := range map[string][]event.Body{
		"retracted": {event.RunStarted{Prompt: "two"}, event.RunTerminal{Terminal: "cancelled"}, event.RunRetracted{PromptSequence: 5}},
		"rewound":   {event.RunStarted{Prompt: "two"}, event.AssistantMessage{Text: "dos"}, event.RunTerminal{Terminal: "completed"}, event.SessionRewound{Sequence: 4}},
	} {
		if got := told(append(append([]event.Body{}, first...), rest...)...); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
