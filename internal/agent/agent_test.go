package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/script"
	"github.com/openmuse/muse/internal/tool"
)

// memory is a recorder that keeps events in order and can be made to fail.
type memory struct {
	mu      sync.Mutex
	kept    []event.Recorded
	live    []event.Event
	commits []int // number of records kept at each commit
	failAt  int   // fail the n-th record, counted from 1
}

var errFull = errors.New("no space left on device")

func (m *memory) Record(e event.Event) (event.Recorded, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAt > 0 && len(m.kept)+1 >= m.failAt {
		return event.Recorded{}, errFull
	}
	r := event.Recorded{Event: e, ID: ident.V4(), Sequence: int64(len(m.kept) + 1), At: int64(len(m.kept) + 1)}
	m.kept = append(m.kept, r)
	return r, nil
}

func (m *memory) Live(e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.live = append(m.live, e)
}

func (m *memory) Commit() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits = append(m.commits, len(m.kept))
	return nil
}

func (m *memory) names() string {
	var names []string
	for _, r := range m.kept {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", r.Body), "event."))
	}
	return strings.Join(names, " ")
}

// bodies lists the kept bodies of one type.
func bodies[T event.Body](m *memory) []T {
	var out []T
	for _, r := range m.kept {
		if b, ok := r.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// function is a tool made of a function.
type function struct {
	spec tool.Spec
	run  func(ctx context.Context, c tool.Call) tool.Result
}

func (f function) Spec() tool.Spec                                  { return f.spec }
func (f function) Run(ctx context.Context, c tool.Call) tool.Result { return f.run(ctx, c) }

type toolbox map[string]function

func (b toolbox) Specs() []tool.Spec {
	var out []tool.Spec
	for _, f := range b {
		out = append(out, f.spec)
	}
	return out
}

func (b toolbox) Prepare(name, args string) (tool.Tool, jsontext.Value, *tool.Result) {
	f, ok := b[name]
	value := jsontext.Value(args)
	var refused tool.Result
	switch {
	case !ok:
		refused = tool.Fail("there is no tool " + name)
	case !value.IsValid():
		refused = tool.Fail("the arguments of " + name + " are not valid JSON")
	case value.Kind() != '{':
		refused = tool.Fail("arguments must be an object")
	default:
		return f, value, nil
	}
	return nil, nil, &refused
}

type noAssets struct{ kept map[string]string }

func (a *noAssets) KeepResult(id, text string) (string, string, error) {
	if a.kept == nil {
		a.kept = map[string]string{}
	}
	a.kept[id] = text
	return "tool-outputs/" + id + ".txt", "/s/tool-outputs/" + id + ".txt", nil
}

func (a *noAssets) KeepImage(mediaType string, _ []byte) (event.ContentBlock, error) {
	return event.ContentBlock{Kind: "image", MediaType: mediaType, Path: "input-assets/x"}, nil
}

func (a *noAssets) LoadImage(event.ContentBlock) ([]byte, error) { return []byte("picture"), nil }

type tries int

func (n tries) Attempts() int                            { return int(n) }
func (n tries) Delay(int, *provider.Error) time.Duration { return time.Second }

func played(t *testing.T, text string) provider.Provider {
	t.Helper()
	f, err := script.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return script.New(f, script.Options{})
}

// echoTool answers with its own arguments.
func echoTool(name string, effects, parallel bool) function {
	return function{
		spec: tool.Spec{Name: name, Schema: jsontext.Value(`{"type":"object"}`), Effects: effects, Parallel: parallel},
		run: func(_ context.Context, c tool.Call) tool.Result {
			return tool.Result{Text: name + " " + string(c.Args)}
		},
	}
}

func testLoop(p provider.Provider, m *memory, tools toolbox, change func(*Config)) *Loop {
	clock := time.UnixMilli(1790845200000)
	cfg := Config{
		SessionID: ident.V4(), Provider: p, Model: Model{ID: "test-model"}, Parallel: true, Instructions: "be brief",
		Tools: tools, Recorder: m, Retry: tries(3), Assets: &noAssets{},
		Now:   func() time.Time { clock = clock.Add(time.Millisecond); return clock },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg, NewConversation())
}

func turnOnce(t *testing.T, l *Loop, prompt string) Outcome {
	t.Helper()
	out, err := l.Turn(context.Background(), Prompt{Run: ident.V4(), Text: prompt})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPlainAnswer(t *testing.T) {
	m := &memory{}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"text":"four","reasoning":"two and two\n\nis four","usage":{"input":10,"output":2}}]}`), m, toolbox{}, nil)
	out := turnOnce(t, l, "2+2?")
	if out.Terminal != "completed" || out.Text != "four" {
		t.Fatalf("outcome %+v", out)
	}
	want := "RunStarted RequestConfigured TaskLinked TaskProposed TaskAccepted TaskScheduled TaskIntent TaskStarted TaskStatus TaskStatus " +
		"ResponseCreated SummaryParagraph SummaryParagraph SummaryCommitted"
	if !strings.HasPrefix(m.names(), want) {
		t.Errorf("events %s\nwant %s …", m.names(), want)
	}
	if !strings.HasSuffix(m.names(), "ModelCompleted TaskCompleted AssistantMessage RunUsage RunTerminal") {
		t.Errorf("events end %s", m.names())
	}
	if len(m.commits) != 2 || m.commits[0] != 2 || m.commits[1] != len(m.kept) {
		t.Errorf("commits at %v of %d", m.commits, len(m.kept))
	}
}

// TestIntentsAreDurableBeforeEffects: at the moment a tool with effects runs,
// the intents of its whole batch were committed.
func TestIntentsAreDurableBeforeEffects(t *testing.T) {
	m := &memory{}
	check := echoTool("write", true, false)
	ran := 0
	check.run = func(_ context.Context, c tool.Call) tool.Result {
		ran++
		committed := m.kept[:m.commits[len(m.commits)-1]]
		intents := 0
		for _, r := range committed {
			if i, ok := r.Body.(event.TaskIntent); ok && strings.HasPrefix(i.Operation, "tool:") {
				intents++
			}
		}
		if intents != 2 {
			t.Errorf("%d intents were durable when the tool ran, want 2", intents)
		}
		return tool.Result{Text: "done"}
	}
	l := testLoop(played(t, `{"schema_version":1,"replies":[
		{"tool_calls":[{"name":"write","args":{"a":1}},{"name":"write","args":{"a":2}}]},{"text":"ok"}]}`), m, toolbox{"write": check}, nil)
	if out := turnOnce(t, l, "go"); out.Terminal != "completed" || ran != 2 {
		t.Fatalf("outcome %+v after %d calls", out, ran)
	}
}

func TestBadCallsGoBackToTheModel(t *testing.T) {
	m := &memory{}
	l := testLoop(played(t, `{"schema_version":1,"replies":[
		{"tool_calls":[{"name":"nope","args":{}},{"name":"read","args_text":"{\"a\":"},{"name":"read","args":[1]},{"name":"read","args":{"b":2}}]},{"text":"ok"}]}`),
		m, toolbox{"read": echoTool("read", false, true)}, nil)
	if out := turnOnce(t, l, "go"); out.Terminal != "completed" {
		t.Fatalf("outcome %+v", out)
	}
	results := bodies[event.ToolResults](m)[0].Results
	for i, want := range []string{"tool failed: there is no tool nope", "tool failed: the arguments of read are not valid JSON", "tool failed: arguments must be an object", `read {"b":2}`} {
		if !strings.HasPrefix(results[i].Text, want) || results[i].Index != i {
			t.Errorf("result %d is %q, want %q", i, results[i].Text, want)
		}
		if (results[i].Refused != "") != (i < 3) {
			t.Errorf("result %d: refused %q", i, results[i].Refused)
		}
	}
}

func TestParallelCallsAreBoundedAndInOrder(t *testing.T) {
	m := &memory{}
	var mu sync.Mutex
	running, most := 0, 0
	full := make(chan struct{})
	f := echoTool("read", false, true)
	f.run = func(_ context.Context, c tool.Call) tool.Result {
		mu.Lock()
		running++
		if most = max(most, running); running == 2 {
			close(full)
		}
		mu.Unlock()
		<-full
		mu.Lock()
		running--
		mu.Unlock()
		return tool.Result{Text: string(c.Args)}
	}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"read","args":{"n":0}},{"name":"read","args":{"n":1}}]},{"text":"ok"}]}`),
		m, toolbox{"read": f}, func(c *Config) { c.MaxParallel = 2 })
	if out := turnOnce(t, l, "go"); out.Terminal != "completed" {
		t.Fatalf("outcome %+v", out)
	}
	for i, r := range bodies[event.ToolResults](m)[0].Results {
		if r.Text != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("result %d is %s", i, r.Text)
		}
	}
	if most != 2 {
		t.Errorf("%d calls at once, want 2", most)
	}
}

func TestStepLimit(t *testing.T) {
	m := &memory{}
	ran := 0
	f := echoTool("read", false, true)
	f.run = func(context.Context, tool.Call) tool.Result { ran++; return tool.Result{Text: "x"} }
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"read","args":{}}]},{"tool_calls":[{"name":"read","args":{}}]},{"tool_calls":[{"name":"read","args":{}}]}]}`),
		m, toolbox{"read": f}, func(c *Config) { c.Budget.Steps = 2 })
	out := turnOnce(t, l, "go")
	if out.Terminal != "failed" || !strings.Contains(out.Reason, "did not reach a terminal state within 2 step") {
		t.Fatalf("outcome %+v", out)
	}
	if ran != 1 {
		t.Errorf("%d calls ran, want 1: the last batch has nobody to read it", ran)
	}
	if n := bodies[event.Notice](m); len(n) != 1 || n[0].Source.Source != "step_budget" {
		t.Errorf("notices %+v", n)
	}
}

func TestRetriesThenGivesUp(t *testing.T) {
	fail := `{"class":"overloaded","status":529,"message":"busy"}`
	for _, tt := range []struct {
		name, failures string
		want           string
		retries        int
	}{
		{"mends", fail + "," + fail, "completed", 2},
		{"gives up", fail + "," + fail + "," + fail, "failed", 2},
		{"fails at once", `{"class":"billing","status":402,"message":"pay"}`, "failed", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &memory{}
			l := testLoop(played(t, `{"schema_version":1,"replies":[{"text":"ok","failures":[`+tt.failures+`]}]}`), m, toolbox{}, nil)
			out := turnOnce(t, l, "go")
			if out.Terminal != tt.want {
				t.Fatalf("outcome %+v", out)
			}
			if n := len(bodies[event.RetryScheduled](m)); n != tt.retries {
				t.Errorf("%d retries, want %d", n, tt.retries)
			}
			if tt.want == "failed" && (len(bodies[event.FatalError](m)) != 1 || !out.Model) {
				t.Errorf("outcome %+v, events %s", out, m.names())
			}
		})
	}
}

func TestOutputSchema(t *testing.T) {
	for _, tt := range []struct{ name, replies, want, text string }{
		{"at once", `{"text":" {\"ok\":true} "}`, "completed", ` {"ok":true} `},
		{"corrected", `{"text":"yes"},{"text":"[]"},{"text":"{\"ok\":false}"}`, "completed", `{"ok":false}`},
		{"never", `{"text":"a"},{"text":"b"},{"text":"c"}`, "failed", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &memory{}
			l := testLoop(played(t, `{"schema_version":1,"replies":[`+tt.replies+`]}`), m, toolbox{}, func(c *Config) {
				c.Output = &OutputSchema{Corrections: 2, Schema: jsontext.Value(`{}`), Validate: func(v jsontext.Value) error {
					if v.Kind() != '{' {
						return errors.New("an object is wanted")
					}
					return nil
				}}
			})
			if out := turnOnce(t, l, "go"); out.Terminal != tt.want || out.Text != tt.text {
				t.Errorf("outcome %+v", out)
			}
		})
	}
}

// TestEveryPrefixContinues cuts a run after each of its records, replays what
// is left, closes what was open and finishes the run: no call lacks a result,
// none has two, and a result that was known is not lost.
func TestEveryPrefixContinues(t *testing.T) {
	text := `{"schema_version":1,"replies":[
		{"reasoning":"hm","tool_calls":[{"name":"write","args":{"a":1}},{"name":"write","args":{"a":2}}]},
		{"tool_calls":[{"name":"write","args":{"a":3}}]},{"text":"done"},{"text":"done"},{"text":"done"},{"text":"done"}]}`
	tools := toolbox{"write": echoTool("write", true, false)}
	whole := &memory{}
	if out := turnOnce(t, testLoop(played(t, text), whole, tools, nil), "go"); out.Terminal != "completed" {
		t.Fatalf("outcome %+v", out)
	}
	for cut := 1; cut <= len(whole.kept); cut++ {
		m := &memory{kept: append([]event.Recorded{}, whole.kept[:cut]...)}
		conv := NewConversation()
		for _, r := range m.kept {
			conv.Apply(r)
		}
		for _, e := range conv.Interrupted() {
			r, err := m.Record(e)
			if err != nil {
				t.Fatal(err)
			}
			conv.Apply(r)
		}
		if left := conv.Interrupted(); len(left) != 0 {
			t.Fatalf("cut %d: still open after closing: %v", cut, left)
		}
		l := testLoop(played(t, text), m, tools, nil)
		l.conv = conv
		if out := turnOnce(t, l, "go on"); out.Terminal != "completed" || out.Text != "done" {
			t.Fatalf("cut %d: outcome %+v", cut, out)
		}
		calls, results := map[string]int{}, map[string]int{}
		for i, item := range conv.Items(nil) {
			switch {
			case item.ToolCall != nil:
				calls[item.ToolCall.CallID]++
			case item.ToolResult != nil:
				results[item.ToolResult.CallID]++
				if calls[item.ToolResult.CallID] != 1 {
					t.Errorf("cut %d: item %d answers a call not made before it", cut, i)
				}
			}
		}
		for id, n := range calls {
			if n != 1 || results[id] != 1 {
				t.Errorf("cut %d: call %s made %d times, answered %d times", cut, id, n, results[id])
			}
		}
	}
}

// TestRecorderFailureEndsTheTurn fails every record in turn: the turn ends
// with that error and nothing runs after it.
func TestRecorderFailureEndsTheTurn(t *testing.T) {
	text := `{"schema_version":1,"replies":[{"tool_calls":[{"name":"write","args":{}}]},{"text":"done"}]}`
	whole := &memory{}
	tools := toolbox{"write": echoTool("write", true, false)}
	turnOnce(t, testLoop(played(t, text), whole, tools, nil), "go")
	for at := 1; at <= len(whole.kept); at++ {
		m := &memory{failAt: at}
		_, err := testLoop(played(t, text), m, tools, nil).Turn(context.Background(), Prompt{Run: ident.V4(), Text: "go"})
		if !errors.Is(err, errFull) {
			t.Errorf("record %d: error %v", at, err)
		}
		if len(m.kept) != at-1 {
			t.Errorf("record %d: %d kept", at, len(m.kept))
		}
	}
}

func TestCancelledTurn(t *testing.T) {
	m := &memory{}
	ctx, cancel := context.WithCancel(context.Background())
	f := echoTool("write", true, false)
	f.run = func(ctx context.Context, _ tool.Call) tool.Result {
		cancel()
		<-ctx.Done()
		return tool.Fail("interrupted")
	}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"write","args":{}}]},{"text":"done"}]}`), m, toolbox{"write": f}, nil)
	out, err := l.Turn(ctx, Prompt{Run: ident.V4(), Text: "go"})
	if err != nil || out.Terminal != "cancelled" {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	if len(bodies[event.TaskCancelled](m)) != 1 || len(bodies[event.ToolResults](m)) != 1 {
		t.Errorf("events %s", m.names())
	}
	if end := bodies[event.RunTerminal](m); len(end) != 1 || end[0].Terminal != "cancelled" {
		t.Errorf("terminals %+v", end)
	}
}

func TestCompaction(t *testing.T) {
	var replies []string
	for i := range 12 {
		replies = append(replies, fmt.Sprintf(`{"text":"note %d","tool_calls":[{"name":"read","args":{"n":%d}}]}`, i, i))
	}
	long := echoTool("read", false, false)
	long.run = func(context.Context, tool.Call) tool.Result {
		return tool.Result{Text: strings.Repeat("line of output\n", 300)}
	}
	text := `{"schema_version":1,"summary":"SUMMARY OF WORK","replies":[` + strings.Join(replies, ",") + strings.Repeat(`,{"text":"done"}`, 12) + `]}`
	for _, clear := range []bool{false, true} {
		m := &memory{}
		assets := &noAssets{}
		l := testLoop(played(t, text), m, toolbox{"read": long}, func(c *Config) {
			c.Model.ContextLimit = 8000
			c.Compaction = Compaction{Soft: 0.5, Hard: 0.7, ClearResults: clear}
			c.Assets = assets
		})
		if out := turnOnce(t, l, "the person's own words"); out.Terminal != "completed" {
			t.Fatalf("clear=%v: outcome %+v", clear, out)
		}
		if clear {
			if len(bodies[event.ResultsCleared](m)) == 0 || len(assets.kept) == 0 {
				t.Errorf("no result was cleared: %s", m.names())
			}
			continue
		}
		installed := bodies[event.CompactionInstalled](m)
		if len(installed) == 0 || installed[0].Replacement.Text != "SUMMARY OF WORK" {
			t.Fatalf("compactions %+v", installed)
		}
		if est, _ := l.estimate(), 0; est > 5600+1200 {
			t.Errorf("the prompt is still %d tokens", est)
		}
		var said bytes.Buffer
		for _, item := range l.conv.Items(nil) {
			if item.User != nil {
				said.WriteString(item.User.Text)
			}
		}
		if !strings.Contains(said.String(), "the person's own words") {
			t.Error("the person's words were lost")
		}
		replayed := NewConversation()
		for _, r := range m.kept {
			replayed.Apply(r)
		}
		if fmt.Sprint(replayed.Items(nil)) == "" || replayed.bytes() != l.conv.bytes() {
			t.Errorf("replay gives %d bytes, the live loop has %d", replayed.bytes(), l.conv.bytes())
		}
	}
}

// TestAuthorizeComesBeforeTheIntent: a refused call leaves no task behind, and
// an error of the decision point ends the run with every call answered.
func TestAuthorizeComesBeforeTheIntent(t *testing.T) {
	text := `{"schema_version":1,"replies":[{"tool_calls":[{"name":"write","args":{"n":1}},{"name":"write","args":{"n":2}}]},{"text":"done"}]}`
	tools := toolbox{"write": echoTool("write", true, false)}

	m := &memory{}
	l := testLoop(played(t, text), m, tools, func(c *Config) {
		c.Authorize = func(_ context.Context, c tool.Call) (string, string, error) {
			if string(c.Args) == `{"n":1}` {
				return "", "permission denied: not today", nil
			}
			return "allow:human", "", nil
		}
	})
	if out := turnOnce(t, l, "go"); out.Terminal != "completed" {
		t.Fatalf("outcome %+v", out)
	}
	results := bodies[event.ToolResults](m)[0].Results
	if results[0].Text != "tool failed: permission denied: not today" || results[1].Failed {
		t.Errorf("results %+v", results)
	}
	var policies []string
	for _, i := range bodies[event.TaskIntent](m) {
		if strings.HasPrefix(i.Operation, "tool:") {
			policies = append(policies, i.PolicyDecision)
		}
	}
	if fmt.Sprint(policies) != "[allow:human]" {
		t.Errorf("policies %v", policies)
	}

	m = &memory{}
	l = testLoop(played(t, text), m, tools, func(c *Config) {
		c.Authorize = func(context.Context, tool.Call) (string, string, error) { return "", "", errors.New("nobody answered") }
	})
	if out := turnOnce(t, l, "go"); out.Terminal != "failed" || out.Reason != "nobody answered" {
		t.Fatalf("outcome %+v", out)
	}
	for _, r := range bodies[event.ToolResults](m)[0].Results {
		if !r.Failed {
			t.Errorf("result %+v", r)
		}
	}
}

// counted is a model that gives its replies one after the other, whatever the
// conversation holds by then; a request without tools gets the summary.
type counted struct {
	summary string
	replies []provider.Part
	next    int
}

func (*counted) ID() string { return "script" }

func (c *counted) Stream(_ context.Context, req *provider.Request, emit func(provider.Part) error) error {
	part := provider.Part{TextDelta: c.summary}
	if len(req.Tools) > 0 {
		part = c.replies[min(c.next, len(c.replies)-1)]
		c.next++
	}
	if err := emit(part); err != nil {
		return err
	}
	return emit(provider.Part{Completed: &provider.Completed{Finish: provider.FinishStop}})
}

func calling(name, args string) provider.Part {
	return provider.Part{ToolCall: &provider.ToolCall{Name: name, Args: args}}
}

// TestOneHugeEntryDoesNotEndASession: a result, or arguments, bigger than the
// model's whole context are moved out of the way instead of failing every later
// turn.
func TestOneHugeEntryDoesNotEndASession(t *testing.T) {
	big := echoTool("read", false, false)
	big.run = func(context.Context, tool.Call) tool.Result {
		return tool.Result{Text: strings.Repeat("line of output\n", 4000)}
	}
	for _, call := range []provider.Part{calling("read", "{}"), calling("write", `{"content":"`+strings.Repeat("x", 60000)+`"}`)} {
		m := &memory{}
		l := testLoop(&counted{summary: "SUMMARY", replies: []provider.Part{call, {TextDelta: "done"}}}, m,
			toolbox{"read": big, "write": echoTool("write", true, false)}, func(c *Config) {
				c.Model.ContextLimit = 8192
				c.Compaction = Compaction{Soft: 0.75, Hard: 0.9}
			})
		if out := turnOnce(t, l, "the person's words"); out.Terminal != "completed" {
			t.Errorf("outcome %+v", out)
		}
		if _, hard := l.thresholds(); l.estimate() >= hard {
			t.Errorf("the prompt is %d tokens, over %d", l.estimate(), hard)
		}
		if first := l.conv.Items(nil)[0].User; first == nil || first.Text != "the person's words" {
			t.Errorf("the conversation begins with %+v", first)
		}
	}
}

// TestRunawaySummaryIsCut: a summary that is itself too long does not fail the
// run it was written for.
func TestRunawaySummaryIsCut(t *testing.T) {
	long := echoTool("read", false, false)
	long.run = func(context.Context, tool.Call) tool.Result {
		return tool.Result{Text: strings.Repeat("line of output\n", 300)}
	}
	replies := slices.Repeat([]provider.Part{calling("read", "{}")}, 12)
	m := &memory{}
	l := testLoop(&counted{summary: strings.Repeat("blah ", 40000), replies: append(replies, provider.Part{TextDelta: "done"})}, m,
		toolbox{"read": long}, func(c *Config) {
			c.Model.ContextLimit = 8000
			c.Compaction = Compaction{Soft: 0.5, Hard: 0.7}
		})
	if out := turnOnce(t, l, "go"); out.Terminal != "completed" {
		t.Errorf("outcome %+v", out)
	}
}

func TestTokenBudgetBindsWithoutReportedUsage(t *testing.T) {
	m := &memory{}
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"read","args":{}}]},{"text":"done"}]}`),
		m, toolbox{"read": echoTool("read", false, true)}, func(c *Config) { c.Budget.Tokens = 5 })
	if out := turnOnce(t, l, "count me"); out.Terminal != "failed" || !strings.Contains(out.Reason, "token budget used up") {
		t.Errorf("outcome %+v", out)
	}
}

func TestResultsAreUTF8(t *testing.T) {
	m := &memory{}
	bad := echoTool("read", false, false)
	bad.run = func(context.Context, tool.Call) tool.Result { return tool.Fail("caf\xe9") }
	l := testLoop(played(t, `{"schema_version":1,"replies":[{"tool_calls":[{"name":"read","args":{}}]},{"text":"done"}]}`), m, toolbox{"read": bad}, nil)
	turnOnce(t, l, "go")
	if got := bodies[event.ToolResults](m)[0].Results[0].Text; got != "tool failed: caf\uFFFD" {
		t.Errorf("result %q", got)
	}
}
