package script

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

const sample = `{
  "schema_version": 1,
  "model": "recorded-1",
  "summary": "what happened so far",
  "replies": [
    {
      "reasoning": "Look first.\n\nThen act.",
      "text": "I will run the tests now.",
      "tool_calls": [
        {"name": "bash", "args": {"command": "go test ./...", "description": "Run tests"}},
        {"name": "read_file", "args_text": "{\"path\": "}
      ],
      "usage": {"input": 900, "output": 40, "reasoning": 12, "cache_read": 800, "cache_write": 100},
      "failures": [
        {"class": "rate_limit", "status": 429, "message": "slow down", "retry_after_ms": 1500, "quota_scope": "account", "reset_at": "2026-12-01T00:00:00Z"},
        {"class": "network", "after_deltas": 1}
      ]
    },
    {"text": "All tests pass."}
  ]
}`

// play collects the parts of one attempt.
func play(t *testing.T, s *Script, req *provider.Request) (parts []provider.Part, err error) {
	t.Helper()
	err = s.Stream(t.Context(), req, func(p provider.Part) error {
		parts = append(parts, p)
		return nil
	})
	return parts, err
}

// items turns the parts of a reply into what the loop keeps of them.
func items(parts []provider.Part) (out []provider.Item) {
	for _, p := range parts {
		switch {
		case p.Reasoning != nil:
			out = append(out, provider.Item{Reasoning: p.Reasoning})
		case p.Text != nil:
			out = append(out, provider.Item{Assistant: p.Text})
		case p.ToolCall != nil:
			out = append(out, provider.Item{ToolCall: p.ToolCall})
		}
	}
	return out
}

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

var tools = []provider.Tool{{Name: "bash"}}

func ask(items ...provider.Item) *provider.Request {
	return &provider.Request{Model: "asked", Tools: tools, Items: items}
}

func user(text string) provider.Item {
	return provider.Item{User: &provider.UserMessage{Text: text}}
}

func TestPlaysFailuresThenReplies(t *testing.T) {
	s := New(mustParse(t, sample), Options{Name: "demo.json"})
	if s.ID() != "script" || s.Model() != "recorded-1" {
		t.Errorf("id %q, model %q", s.ID(), s.Model())
	}
	conversation := []provider.Item{user("fix it")}

	_, err := play(t, s, ask(conversation...))
	var failure *provider.Error
	if !errors.As(err, &failure) {
		t.Fatalf("first attempt: %v", err)
	}
	want := provider.Error{
		Class: provider.RateLimit, Status: 429, Message: "slow down",
		RetryAfter: 1500 * time.Millisecond, QuotaScope: "account", ResetAt: "2026-12-01T00:00:00Z",
	}
	if *failure != want {
		t.Errorf("first failure = %+v", *failure)
	}

	parts, err := play(t, s, ask(conversation...))
	if !errors.As(err, &failure) || failure.Class != provider.Network {
		t.Fatalf("second attempt: %v", err)
	}
	if got := items(parts); len(got) != 1 || got[0].Reasoning == nil {
		t.Errorf("a broken stream left %+v", got)
	}
	if last := parts[len(parts)-1]; last.TextDelta != "I will run " {
		t.Errorf("last part of the broken stream = %+v", last)
	}

	parts, err = play(t, s, ask(conversation...))
	if err != nil {
		t.Fatal(err)
	}
	var text, summary strings.Builder
	for _, p := range parts {
		text.WriteString(p.TextDelta)
		if p.SummaryDelta != nil {
			if p.SummaryDelta.Index > 0 {
				summary.WriteString("\n\n")
			}
			summary.WriteString(p.SummaryDelta.Text)
		}
	}
	if text.String() != "I will run the tests now." || summary.String() != "Look first.\n\nThen act." {
		t.Errorf("text %q, summary %q", text.String(), summary.String())
	}
	got := items(parts)
	if len(got) != 4 {
		t.Fatalf("items = %+v", got)
	}
	if r := got[0].Reasoning; r.Provider != "script" || r.Model != "recorded-1" || r.Summary != summary.String() {
		t.Errorf("reasoning = %+v", r)
	}
	first, second := got[2].ToolCall, got[3].ToolCall
	if first.Args != `{"command":"go test ./...","description":"Run tests"}` || second.Args != `{"path": ` {
		t.Errorf("args %q and %q", first.Args, second.Args)
	}
	if first.CallID == second.CallID || !strings.HasPrefix(first.CallID, "call_") {
		t.Errorf("call ids %q and %q", first.CallID, second.CallID)
	}
	done := parts[len(parts)-1].Completed
	wantUsage := provider.Usage{Input: 900, Output: 40, Reasoning: 12, CacheRead: 800, CacheWrite: 100}
	if done == nil || done.Finish != provider.FinishToolCalls || done.Usage != wantUsage || done.Model != "recorded-1" {
		t.Errorf("completed = %+v", done)
	}

	conversation = append(conversation, got...)
	conversation = append(conversation,
		provider.Item{ToolResult: &provider.ToolResult{CallID: first.CallID, Text: "ok"}},
		provider.Item{ToolResult: &provider.ToolResult{CallID: second.CallID, Text: "tool failed: bad"}})
	// A new provider, as a continued session has.
	again := New(mustParse(t, sample), Options{Name: "demo.json"})
	parts, err = play(t, again, ask(conversation...))
	if err != nil {
		t.Fatal(err)
	}
	if got := items(parts); len(got) != 1 || got[0].Assistant.Text != "All tests pass." {
		t.Errorf("second reply = %+v", got)
	}
	conversation = append(conversation, items(parts)...)
	_, err = play(t, again, ask(append(conversation, user("more"))...))
	if !errors.As(err, &failure) || failure.Class != provider.InvalidRequest ||
		failure.Message != "demo.json has 2 replies and reply 3 was asked for" {
		t.Errorf("past the end: %v", err)
	}
}

func TestSummaryForARequestWithoutTools(t *testing.T) {
	s := New(mustParse(t, sample), Options{})
	parts, err := play(t, s, &provider.Request{Items: []provider.Item{user("summarise")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := items(parts); len(got) != 1 || got[0].Assistant.Text != "what happened so far" {
		t.Errorf("items = %+v", got)
	}
	// The summary was no reply: the list still starts at the first failure.
	if _, err := play(t, s, ask(user("x"))); err == nil {
		t.Error("the first attempt of reply 1 did not fail")
	}
}

func TestNext(t *testing.T) {
	answer := func(id string) provider.Item {
		return provider.Item{Assistant: &provider.AssistantMessage{ItemID: id, Text: "x"}}
	}
	call := func(id string) provider.Item { return provider.Item{ToolCall: &provider.ToolCall{ItemID: id}} }
	thought := provider.Item{Reasoning: &provider.Reasoning{}}
	result := provider.Item{ToolResult: &provider.ToolResult{}}
	notice := provider.Item{Developer: &provider.DeveloperMessage{}}
	for _, tt := range []struct {
		name  string
		items []provider.Item
		want  int
	}{
		{"nothing", nil, 0},
		{"one prompt", []provider.Item{notice, user("a")}, 0},
		{"one group", []provider.Item{user("a"), thought, answer(""), call(""), call("")}, 1},
		{"a result ends a group", []provider.Item{user("a"), call(""), result, call(""), result}, 2},
		{"results of one batch", []provider.Item{user("a"), call(""), call(""), result, result}, 1},
		{"a notice ends a group", []provider.Item{user("a"), answer(""), notice, answer("")}, 2},
		{"several turns", []provider.Item{user("a"), answer(""), user("b"), answer(""), user("c")}, 2},
		{"compacted", []provider.Item{user("summary"), call("script_6_0"), result}, 7},
		{"compacted, two groups left", []provider.Item{user("summary"), answer("script_4"), user("b"), call("script_5_1"), result}, 6},
		{"other ids", []provider.Item{user("a"), answer("msg_9"), user("b"), answer("script_x")}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := next(tt.items); got != tt.want {
				t.Errorf("next = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		text string
		size int
		want []string
	}{
		{"", 0, nil},
		{"one", 0, []string{"one"}},
		{"a b c d", 0, []string{"a b c ", "d"}},
		{"a  b\n\nc", 1, []string{"a  ", "b\n\n", "c"}},
		{" é ü ", 1, []string{" é ", "ü "}},
		{"   ", 1, []string{"   "}},
	} {
		if got := split(tt.text, tt.size); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("split(%q, %d) = %q, want %q", tt.text, tt.size, got, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no version":       `{"replies":[]}`,
		"other version":    `{"schema_version":2,"replies":[]}`,
		"unknown member":   `{"schema_version":1,"replies":[{"txt":"a"}]}`,
		"twice":            `{"schema_version":1,"replies":[{"text":"a","text":"b"}]}`,
		"no name":          `{"schema_version":1,"replies":[{"tool_calls":[{"args":{}}]}]}`,
		"no args":          `{"schema_version":1,"replies":[{"tool_calls":[{"name":"a"}]}]}`,
		"both args":        `{"schema_version":1,"replies":[{"tool_calls":[{"name":"a","args":{},"args_text":""}]}]}`,
		"unknown finish":   `{"schema_version":1,"replies":[{"finish":"done"}]}`,
		"unknown class":    `{"schema_version":1,"replies":[{"failures":[{"class":"oops"}]}]}`,
		"negative chunk":   `{"schema_version":1,"replies":[{"chunk":-1}]}`,
		"negative retry":   `{"schema_version":1,"replies":[{"failures":[{"class":"network","retry_after_ms":-1}]}]}`,
		"trailing garbage": `{"schema_version":1,"replies":[]} x`,
		"not json":         `replies`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(text)); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none.json"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	path := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("bad file: %v", err)
	}
}

func TestDelayEndsWithTheContext(t *testing.T) {
	s := New(mustParse(t, `{"schema_version":1,"replies":[{"text":"late","delay_ms":3600000}]}`), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Stream(ctx, ask(user("x")), func(provider.Part) error { t.Error("a part was sent"); return nil })
	var failure *provider.Error
	if !errors.As(err, &failure) || failure.Class != provider.Cancelled {
		t.Errorf("error = %v", err)
	}
}

func TestCancelledBetweenDeltas(t *testing.T) {
	s := New(mustParse(t, `{"schema_version":1,"replies":[{"text":"a b c d e f","chunk":1,"tool_calls":[{"name":"bash","args":{}}]}]}`), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []provider.Part
	err := s.Stream(ctx, ask(user("x")), func(p provider.Part) error {
		got = append(got, p)
		if p.TextDelta != "" {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(got) != 2 {
		t.Errorf("error %v after %+v", err, got)
	}
}
