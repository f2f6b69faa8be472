package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/view/stream"
)

// line is one record of a recorded or emitted stream.
type line struct {
	RecordType  string         `json:"record_type"`
	Durability  string         `json:"durability"`
	PayloadType string         `json:"payload_type"`
	Sequence    int            `json:"sequence"`
	Payload     map[string]any `json:"payload"`
}

func (l line) event() map[string]any {
	e, _ := l.Payload["event"].(map[string]any)
	return e
}

func (l line) text(keys ...string) string {
	v := any(l.Payload)
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

func readStream(t *testing.T, data []byte) []line {
	t.Helper()
	var out []line
	for raw := range bytes.Lines(data) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		out = append(out, l)
	}
	return out
}

// withoutReminders drops the observers' tasks: this build has none, and they
// run beside the main run.
func withoutReminders(lines []line) []line {
	drop := map[string]bool{}
	for _, l := range lines {
		if kind, _ := l.event()["task_kind"].(string); strings.HasPrefix(kind, "reminder.") {
			drop[l.text("task_id")] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return drop[l.text("task_id")] })
}

// shape is what a record looks like without its values: type, kind and the
// names of its members at every level.
func shape(l line) string {
	kind, _ := l.event()["kind"].(string)
	var names []string
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for k, inner := range m {
			if prefix == "event." && (k == "final_result" || k == "span_id") {
				continue // differ between the recorded releases
			}
			names = append(names, prefix+k)
			if k != "details" {
				walk(prefix+k+".", inner)
			}
		}
	}
	walk("", l.Payload)
	sort.Strings(names)
	return fmt.Sprint(l.RecordType, "/", l.Durability, " ", l.PayloadType, " ", kind, " ", names)
}

// shapes lists the shapes of a stream in order. Runs of deltas count as one,
// because their number is the network's.
func shapes(lines []line) []string {
	var out []string
	for _, l := range lines {
		s := shape(l)
		if l.PayloadType == "run.output.delta" && len(out) > 0 && out[len(out)-1] == s {
			continue
		}
		out = append(out, s)
	}
	return out
}

// played is a model and tools that say what a recording says.
type played struct {
	id      string
	replies []*reply
	next    int
}

type reply struct {
	deltas []string
	calls  []call
}

type call struct {
	name, id, text string
	failed         bool
	noOutput       bool
	edit           *tool.Edit
}

func (p *played) ID() string { return p.id }

func (p *played) Stream(_ context.Context, _ *provider.Request, emit func(provider.Part) error) error {
	r := p.replies[p.next]
	p.next++
	parts := []provider.Part{{Created: &provider.Created{ResponseID: "resp_1"}}}
	for _, d := range r.deltas {
		parts = append(parts, provider.Part{TextDelta: d})
	}
	for _, c := range r.calls {
		parts = append(parts, provider.Part{ToolCall: &provider.ToolCall{CallID: c.id, Name: c.name, Args: "{}"}})
	}
	parts = append(parts, provider.Part{Completed: &provider.Completed{
		ResponseID: "resp_1", Wire: provider.WireFacts{RequestID: "req_1", LastEvent: "response.completed"}}})
	for _, part := range parts {
		if err := emit(part); err != nil {
			return err
		}
	}
	return nil
}

func (p *played) Specs() []tool.Spec { return nil }

func (p *played) Prepare(name, _ string) (tool.Tool, jsontext.Value, *tool.Result) {
	return recordedTool{p, name}, jsontext.Value("{}"), nil
}

type recordedTool struct {
	from *played
	name string
}

func (r recordedTool) Spec() tool.Spec { return tool.Spec{Name: r.name} }

func (r recordedTool) Run(_ context.Context, c tool.Call) tool.Result {
	for _, reply := range r.from.replies {
		for _, rec := range reply.calls {
			if rec.id != c.ID {
				continue
			}
			res := tool.Result{Text: rec.text, Failed: rec.failed, Edit: rec.edit, NoOutput: rec.noOutput}
			if rec.failed {
				res.Reason = strings.TrimPrefix(rec.text, "tool failed: ")
			}
			return res
		}
	}
	return tool.Fail("not recorded")
}

// playback reads from a recording what the model said and the tools returned.
func playback(lines []line) *played {
	p := &played{id: "meta"}
	calls := map[string]*call{}
	tasks := map[string]*call{}
	for _, l := range lines {
		kind, _ := l.event()["task_kind"].(string)
		task := l.text("task_id")
		switch {
		case strings.HasPrefix(kind, "model."):
			if kind == "model.unknown.response" {
				p.id = "echo"
			}
			p.replies = append(p.replies, &reply{})
		case strings.HasPrefix(kind, "tool."):
			last := p.replies[len(p.replies)-1]
			last.calls = append(last.calls, call{name: strings.TrimPrefix(kind, "tool."), noOutput: true})
			tasks[task] = &last.calls[len(last.calls)-1]
		case l.PayloadType == "task.lifecycle.scheduled" && tasks[task] != nil:
			id := strings.TrimPrefix(l.text("event", "idempotency_key"), "tool:")
			tasks[task].id = id
			calls[id] = tasks[task]
		case l.PayloadType == "task.lifecycle.output" && tasks[task] != nil:
			tasks[task].noOutput = false
		case l.PayloadType == "tool.result":
			c := calls[l.text("call_id")]
			c.text, c.failed = l.text("text"), l.text("correlation_facts", "outcome") == "failure"
			if facts, ok := l.Payload["edit_facts"].(map[string]any); ok {
				c.edit = &tool.Edit{Path: facts["path"].(string), Added: int(facts["added"].(float64))}
			}
		case l.PayloadType == "run.output.delta":
			last := p.replies[len(p.replies)-1]
			last.deltas = append(last.deltas, l.text("text"))
		}
	}
	return p
}

type once struct{}

func (once) Attempts() int                            { return 10 }
func (once) Delay(int, *provider.Error) time.Duration { return 0 }

// TestStreamHasTheShapeOfRecordings plays what each complete recording of Muse
// Code says through the loop and compares the records: same types, same kinds,
// same members, same order.
func TestStreamHasTheShapeOfRecordings(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "fixtures", "streams", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no recorded streams here: set OPENMUSE_SHARED to compare with them")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			recorded := withoutReminders(readStream(t, data))
			if !slices.ContainsFunc(recorded, func(l line) bool { return strings.HasPrefix(l.PayloadType, "run.terminal.") }) {
				t.Skip("the recording was cut before its end")
			}
			want := shapes(recorded)
			got := shapes(readStream(t, emit(t, recorded)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("records (-recorded +emitted):\n%s", diff)
			}
		})
	}
}

// emit runs what a recording says and returns the stream.
func emit(t *testing.T, recorded []line) []byte {
	t.Helper()
	p := playback(recorded)
	clock := time.UnixMilli(1790845200000)
	now := func() time.Time { clock = clock.Add(time.Millisecond); return clock }
	s, _, err := host.Open(host.Options{
		Workspace: "/srv/proj", KeepNothing: true, Provider: p.id, Model: "muse-spark-1.3", Now: now,
		SessionID: ident.V7(clock),
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	view := stream.New(&out, s.ID(), s.Turn(), false)
	s.Watch(view.Show, func(err error) { t.Error(err) })
	branch := branchOf(recorded)
	loop := s.Loop(agent.Config{
		Provider: p, Model: agent.Model{ID: "muse-spark-1.3"}, Tools: p, Retry: once{}, Branch: branch(true),
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), loop, host.Input{Text: "go"}, branch(false)); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// branchOf observes a branch with what the recording's records have: nothing
// outside of a repository, and after the run a commit only if there was one.
func branchOf(recorded []line) func(after bool) func(string) (event.WorkspaceBranch, bool) {
	var records []map[string]any
	for _, l := range recorded {
		if l.PayloadType == "session.workspace_branch.observed" {
			records = append(records, l.Payload["record"].(map[string]any))
		}
	}
	return func(after bool) func(string) (event.WorkspaceBranch, bool) {
		return func(run string) (event.WorkspaceBranch, bool) {
			b := event.WorkspaceBranch{CommandID: run, Reference: event.Reference{Kind: "branch", Name: "main"}, VCS: "git", WorkspaceRoot: "/srv/proj"}
			if after && len(records) > 1 {
				if _, ok := records[1]["commit"]; ok {
					b.Commit = "0123456789ab"
				}
				if _, ok := records[1]["dirty"]; ok {
					dirty := true
					b.Dirty = &dirty
				}
			}
			return b, len(records) > 1 || len(records) > 0 && !after
		}
	}
}
