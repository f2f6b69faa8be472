package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/tui/term"
)

func (b *bench) shows(want string) {
	b.t.Helper()
	if !strings.Contains(b.vt.Text(), want) {
		b.t.Errorf("the terminal does not show %q:\n%s", want, b.vt.Text())
	}
}

func (b *bench) hides(not string) {
	b.t.Helper()
	if strings.Contains(b.vt.Screen(), not) {
		b.t.Errorf("the terminal shows %q:\n%s", not, b.vt.Screen())
	}
}

func (b *bench) asks(command string) {
	b.t.Helper()
	b.happens("run", event.Approval{Kind: "requested", Fields: []byte(fmt.Sprintf(`{"pending_action_id":"a1","tool_call_id":"c1","tool_name":"bash","openmuse_reason":"no rule allows it",
		"approval_subject":{"command":%q},"available_choices":[
		{"choice_id":"allow_once","label":"Allow once","decision":"approved","scope":"once"},
		{"choice_id":"abort","label":"Reject","decision":"abort","scope":"once","accepts_feedback":true}]}`, command))})
}

// TestArming: a key that was typed for the prompt decides nothing.
func TestArming(t *testing.T) {
	b := newBench(t, 80, 30)
	b.happens("run", event.RunStarted{Prompt: "go"})
	b.types("I am wri")
	b.asks("rm -rf build")
	b.shows("keys are taken in a moment")
	for range 20 { // a person goes on writing, with what would be choices
		b.types("1")
		b.pass(200 * time.Millisecond)
	}
	b.types("y")
	if got := b.u.draft.Text(); got != "I am wri"+strings.Repeat("1", 20)+"y" {
		t.Errorf("the draft holds %q", got)
	}
	b.pass(armAfterTyping)
	b.hides("keys are taken in a moment")
	b.types("x") // no choice
	if len(b.s.decided) > 0 {
		t.Fatalf("decided: %v", b.s.decided)
	}
	b.types("1")
	b.answered()
	if len(b.s.decided) != 1 || b.s.decided[0].ChoiceID != "allow_once" || b.s.decided[0].RequirementID != "a1" {
		t.Errorf("decided: %+v", b.s.decided)
	}
	if got := b.u.draft.Text(); !strings.HasPrefix(got, "I am wri") {
		t.Errorf("the draft was lost: %q", got)
	}
}

func TestApprovalFeedback(t *testing.T) {
	b := newBench(t, 80, 30)
	b.happens("run", event.RunStarted{Prompt: "go"})
	b.asks("rm -rf build")
	b.pass(time.Second)
	b.shows("no rule allows it")
	b.types("f")
	b.types("use make 1y clean")
	b.types("\r")
	b.answered()
	if len(b.s.decided) != 1 || b.s.decided[0].ChoiceID != "abort" || b.s.decided[0].Feedback != "use make 1y clean" {
		t.Errorf("decided: %+v", b.s.decided)
	}
}

// TestLongCommand: a command of any length can be read whole, on the smallest
// screen.
func TestLongCommand(t *testing.T) {
	b := newBench(t, 40, 10)
	b.happens("run", event.RunStarted{Prompt: "go"})
	var command []string
	for n := range 40 {
		command = append(command, fmt.Sprintf("echo step-%02d", n))
	}
	b.asks(strings.Join(command, "\n"))
	b.pass(time.Second)
	b.shows("Allow once")
	b.shows("step-00")
	seen := b.vt.Screen()
	for range 60 {
		b.types("\x1b[6~")
		seen += b.vt.Screen()
	}
	for n := range 40 {
		if want := fmt.Sprintf("step-%02d", n); !strings.Contains(seen, want) {
			t.Errorf("%s cannot be reached", want)
		}
	}
	b.types("\x0f") // ctrl+o prints it
	for n := range 40 {
		b.shows(fmt.Sprintf("step-%02d", n))
	}
}

func TestQuestion(t *testing.T) {
	b := newBench(t, 80, 30)
	b.happens("run", event.RunStarted{Prompt: "go"})
	b.happens("run", event.UserInputRequested{CallID: "c1", ID: "u1", ToolName: "request_user_input", Questions: []event.UserQuestion{
		{Header: "Colour", ID: "colour", Mode: "single", Question: "Which colour?", Options: []event.UserOption{{Label: "red"}, {Label: "blue"}}},
		{Header: "Parts", ID: "parts", Mode: "multiple", Question: "Which parts?", Options: []event.UserOption{{Label: "one"}, {Label: "two"}, {Label: "three"}}},
		{Header: "Name", ID: "name", Mode: "single", Question: "Which name?", Options: []event.UserOption{{Label: "a"}, {Label: "b"}}},
	}})
	b.types("2")
	if b.u.draft.Text() != "2" {
		t.Errorf("a key before the question was armed went to %q", b.u.draft.Text())
	}
	b.pass(time.Second)
	b.types("2")
	b.shows("Which parts?")
	b.types("13\r")
	b.shows("Which name?")
	b.types("tmine\r")
	b.answered()
	if len(b.s.settled) != 1 {
		t.Fatalf("settled: %v", b.s.settled)
	}
	got := fmt.Sprintf("%+v", b.s.settled[0].Answers)
	want := `[{QuestionID:colour Many:false SelectedLabels:[blue] FreeText: Note:} {QuestionID:parts Many:true SelectedLabels:[one three] FreeText: Note:} {QuestionID:name Many:false SelectedLabels:[] FreeText:mine Note:}]`
	if got != want || b.s.settled[0].Outcome != host.Answered {
		t.Errorf("settled %s\nwant %s", got, want)
	}
}

// TestStreaming: what was printed once stays, and the answer is whole however
// it was cut.
func TestStreaming(t *testing.T) {
	const answer = "# Title\n\nA paragraph of\ntwo lines.\n\n- one\n- two\n\n```\ncode\n```\n\nThe end.\n"
	for _, step := range []int{1, 3, 1000} {
		b := newBench(t, 60, 12)
		b.happens("run", event.RunStarted{Prompt: "go"})
		for i := 0; i < len(answer); i += step {
			b.happens("run", event.OutputDelta{MessageID: "m", Offset: int64(i), Text: answer[i:min(i+step, len(answer))]})
		}
		b.happens("run", event.AssistantMessage{MessageID: "m", Text: answer})
		b.happens("run", event.RunTerminal{Terminal: "completed"})
		want := "› go\n\nTitle\n\nA paragraph of two lines.\n\n• one\n• two\n\n  code\n\nThe end.\n"
		if !strings.HasPrefix(b.vt.Text(), want) {
			t.Errorf("in steps of %d the terminal shows\n%s", step, b.vt.Text())
		}
	}
}

func TestRetryIsSaid(t *testing.T) {
	b := newBench(t, 80, 20)
	b.happens("run", event.RunStarted{Prompt: "go"})
	b.happens("run", event.RetryScheduled{Attempt: 1, DelayMS: 8000, MaxAttempts: 5, Reason: "the service is overloaded"})
	b.shows("Trying again in 8.0s (attempt 2 of 5): the service is overloaded")
	b.pass(3 * time.Second)
	b.shows("Trying again in 5.0s")
	reason := "no more"
	b.happens("run", event.RunTerminal{Terminal: "failed", Reason: &reason})
	b.shows("✗ The turn failed: no more")
	b.hides("Trying again")
}

// TestWeakenings stand out on every screen.
func TestWeakenings(t *testing.T) {
	for _, width := range []int{40, 80, 300} {
		b := newBench(t, width, 10)
		b.happens("", event.Metadata{ModelID: strings.Repeat("long-model-name-", 5), ProviderID: "p", WorkspaceRoot: "/ws"})
		b.happens("", event.PermissionProfile{Snapshot: event.PermissionSnapshot{Approval: "never", Sandbox: "disabled"}})
		b.happens("", event.ApprovalModeChanged{Mode: "allowAll", Source: "startup"})
		b.shows("YOLO: NO SANDBOX, NO APPROVAL")
	}
}

// TestSlash: what is no command stays where it is.
func TestSlash(t *testing.T) {
	b := newBench(t, 80, 24)
	b.types("/nonsense")
	b.types("\r")
	b.shows("there is no command /nonsense")
	if b.u.draft.Text() != "/nonsense" {
		t.Errorf("the draft holds %q", b.u.draft.Text())
	}
	b.types("\x15/he")
	b.shows("/help")
	b.types("\t\r")
	b.shows("/compact")
	b.hides("/diff") // it is not there in this UI
}

// TestPath: a prompt may begin with a path.
func TestPath(t *testing.T) {
	b := newBench(t, 80, 24)
	b.types("/etc/hosts is odd\r")
	b.answered()
	if len(b.s.sent) != 1 || b.s.sent[0].Text != "/etc/hosts is odd" {
		t.Errorf("sent: %v", b.s.sent)
	}
}

func TestRefusedPromptComesBack(t *testing.T) {
	b := newBench(t, 80, 24)
	b.u.session = refusing{b.s}
	b.types("precious\r")
	b.answered()
	if b.u.draft.Text() != "precious" {
		t.Errorf("the draft holds %q", b.u.draft.Text())
	}
	b.shows("✗ no")
}

type refusing struct{ *fakeSession }

func (refusing) Submit(context.Context, host.Command, host.TurnRequest) (host.TurnAck, error) {
	return host.TurnAck{}, &host.Refusal{Message: "no"}
}

// TestSizes draws everything on screens of all sizes.
func TestSizes(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {10, 3}, {40, 10}, {300, 100}} {
		b := newBench(t, size[0], size[1])
		b.happens("run", event.RunStarted{Prompt: "日本語 עברית é́́ go"})
		b.asks("echo 日本語日本語日本語日本語日本語日本語日本語")
		b.pass(time.Second)
		b.types("f日本")
		b.u.input(term.Paste{Text: strings.Repeat("漢", 500)})
		b.draw()
		b.u.closeDialogs()
		b.types("/")
		b.happens("run", event.OutputDelta{MessageID: "m", Text: "| a | b |\n|--|--|\n| 漢字 | x |\n"})
		b.u.permissions("")
		b.draw()
		if odd := b.vt.Odd(); len(odd) > 0 {
			t.Errorf("at %v: %v", size, odd)
		}
	}
}

// TestPastCalls: calls of before the session was opened show how they ended and
// how long they took, as they did when they ran.
func TestPastCalls(t *testing.T) {
	b := newBench(t, 80, 24)
	var log []event.Recorded
	now := b.now
	add := func(run, task string, after time.Duration, body event.Body) {
		now = now.Add(after)
		log = append(log, event.Recorded{
			Event: event.Event{Run: run, Task: task, Body: body}, ID: fmt.Sprint("r", len(log)), Sequence: int64(len(log) + 1), At: now.UnixMicro(),
		})
	}
	add("run", "", 0, event.RunStarted{Prompt: "go"})
	add("run", "", 0, event.ToolCalls{MessageID: "m", Calls: []event.ToolCall{
		{CallID: "c1", Name: "bash", Args: `{"command":"make test"}`}, {CallID: "c2", Name: "bash", Args: `{"command":"true"}`},
	}})
	add("run", "t1", 0, event.TaskProposed{TaskID: "t1", TaskKind: "tool.bash"})
	add("run", "t1", 5*time.Second, event.EffectStarted{CallID: "c1", TaskID: "t1", ToolName: "bash"}) // a person decided meanwhile
	add("run", "t1", 3*time.Second, event.TaskOutput{TaskID: "t1", Final: true, Chunk: `{"chunk_id":"x","output":"FAIL","exit_code":2}`})
	add("run", "", time.Second, event.ToolResults{BatchID: "m", Results: []event.ToolResult{{CallID: "c1", Text: `{"chunk_id":"x","output":"FAIL","exit_code":2}`}, {CallID: "c2", Text: "{}"}}})
	add("run", "", 0, event.RunTerminal{Terminal: "completed"})
	s := &past{fakeSession: b.s}
	s.events = log
	b.u.session = s
	b.u.load(s)
	b.answered()
	b.shows("✗ Ran make test · exit 2 · 3.0s")
	b.types("\x0f\x0f")
	b.shows("exit code 2")
	if n := len(b.u.view.began) + len(b.u.view.took); n > 0 {
		t.Errorf("%d times are kept of calls that ended", n)
	}
}

// past is a session in which something has happened.
type past struct{ *fakeSession }

func (s *past) Head() int64 { return int64(len(s.events)) }

// TestEscTwice: on an empty prompt esc goes back only when it is pressed twice
// in a row, soon, and while nothing runs.
func TestEscTwice(t *testing.T) {
	b := newBench(t, 80, 24)
	b.types("\x1b")
	b.hides("again goes back") // there is no prompt yet
	b.happens("run", event.RunStarted{Prompt: "first thing"})
	b.happens("run", event.RunTerminal{Terminal: "completed"})
	b.types("\x1b")
	b.shows("esc again goes back to an earlier prompt")
	b.types("x\x7f")
	b.types("\x1b")
	b.hides("Go back to before")
	b.pass(2 * time.Second)
	b.types("\x1b")
	b.hides("Go back to before")
	b.types("\x1b")
	b.shows("Go back to before  1 of 1")
	b.shows("▸ first thing")
}

// TestLongConfirmation: what is asked about can be read whole on the smallest
// screen before it is answered.
func TestLongConfirmation(t *testing.T) {
	b := newBench(t, 40, 10)
	asked := 0
	var files []string
	for n := range 30 {
		files = append(files, fmt.Sprintf("file-%02d", n))
	}
	b.u.Trust = func() (*TrustQuestion, error) {
		return &TrustQuestion{Files: files, Decide: func(context.Context, bool) error { asked++; return nil }}, nil
	}
	b.u.askTrust()
	b.draw()
	seen := b.vt.Screen()
	for range 20 {
		b.types("\x1b[6~")
		seen += b.vt.Screen()
		b.shows("y yes   n no")
	}
	for _, f := range files {
		if !strings.Contains(seen, f) {
			t.Errorf("%s cannot be reached", f)
		}
	}
	if asked > 0 || b.u.confirm == nil {
		t.Error("scrolling answered the question")
	}
}

// TestEffortThatIsNone: a word that is no effort is named and not set.
func TestEffortThatIsNone(t *testing.T) {
	b := newBench(t, 100, 24)
	b.types("/effort bogus\r")
	b.shows(`there is no effort "bogus": there are none, minimal, low, medium, high, xhigh, max, ultra`)
}

// TestEffortListStartsWhereItStands: the key that accepts changes nothing.
func TestEffortListStartsWhereItStands(t *testing.T) {
	b := newBench(t, 100, 24)
	b.types("/effort\r")
	b.shows("the model's own")
	b.types("\r")
	if strings.Contains(b.vt.Text(), "effort: minimal") {
		t.Errorf("an effort was set:\n%s", b.vt.Text())
	}
}

// TestStopWithNothingRunning: it is said that there is nothing to stop.
func TestStopWithNothingRunning(t *testing.T) {
	b := newBench(t, 80, 24)
	b.types("/stop\r")
	b.shows("nothing runs")
}

// TestBackgroundIsSeen: a command that no call waits for is named, and stopped
// when everything is.
func TestBackgroundIsSeen(t *testing.T) {
	b := newBench(t, 100, 24)
	b.s.behind = []tool.InBackground{{SessionID: "exec-1", Command: "make serve\x1b[2J", Began: b.now}}
	b.types("/tasks\r")
	b.shows("1 in the background")
	b.shows("& make serve")
	b.types("/stop\r")
	b.answered()
	b.shows("stopped 1 command in the background")
	if screen := b.vt.Screen(); strings.Contains(screen, "1 in the background") {
		t.Errorf("the status line still has it:\n%s", screen)
	}
}

// TestCallVerb: what was not allowed is not said to have been done.
func TestCallVerb(t *testing.T) {
	for _, c := range []struct {
		tool   string
		status msp.ItemStatus
		want   string
	}{
		{"bash", msp.ItemStatusInProgress, "Running"},
		{"bash", msp.ItemStatusFailed, "Ran"},
		{"bash", msp.ItemStatusRejected, "Run"},
		{"write_file", msp.ItemStatusRejected, "Write"},
		{"edit_file", msp.ItemStatusCompleted, "Edited"},
	} {
		if got := callVerb(msp.Item{Kind: msp.ItemKindToolCall, Tool: c.tool, Status: c.status}); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.status, got, c.want)
		}
	}
}
