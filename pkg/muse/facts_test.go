package muse_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

func TestToolCalls(t *testing.T) {
	bash := "{\n  \"chunk_id\": \"exec-1-1\",\n  \"command\": \"go test ./...\",\n  \"description\": \"Run the tests\",\n  \"exit_code\": 1,\n  \"terminal_status\": \"failed\",\n  \"output\": \"FAIL\\n\"\n}"
	tests := []struct {
		name string
		tool musetest.Tool
		want call
	}{
		{"edit facts first", musetest.Tool{Name: "edit_file", Text: "edited", EditPath: "a/b.go", Added: 3}, call{"edit_file", "a/b.go", muse.TargetEditPath, muse.CallSuccess}},
		{"bash command", musetest.Tool{Name: "bash", Text: bash}, call{"bash", "go test ./...", muse.TargetCommand, muse.CallSuccess}},
		{"bash description only", musetest.Tool{Name: "bash", Text: `{"description":"Run"}`}, call{"bash", "Run", muse.TargetDescription, muse.CallSuccess}},
		{"bash with a cut body", musetest.Tool{Name: "bash", Text: `{"command":"ls`}, call{"bash", `{"command":"ls`, muse.TargetPreview, muse.CallSuccess}},
		{"shell with a body", musetest.Tool{Name: "shell", Text: `{"command":"ls"}`}, call{"shell", "ls", muse.TargetCommand, muse.CallSuccess}},
		{"shell without", musetest.Tool{Name: "shell", Text: "hello\nworld\n"}, call{"shell", "hello world", muse.TargetPreview, muse.CallSuccess}},
		{"shell output that is JSON of something else", musetest.Tool{Name: "shell", Text: `{"name":"x"}`}, call{"shell", `{"name":"x"}`, muse.TargetPreview, muse.CallSuccess}},
		{"another tool's JSON is no command", musetest.Tool{Name: "search", Text: `{"command":"ls"}`}, call{"search", `{"command":"ls"}`, muse.TargetPreview, muse.CallSuccess}},
		{"failure", musetest.Tool{Name: "shell", Text: "tool failed: exit status: 1", Outcome: "failure"}, call{"shell", "tool failed: exit status: 1", muse.TargetPreview, muse.CallFailure}},
		{"error", musetest.Tool{Name: "read_file", Text: "no", Outcome: "error"}, call{"read_file", "no", muse.TargetPreview, muse.CallFailure}},
		{"timeout", musetest.Tool{Name: "shell", Text: "tool timed out", Outcome: "timeout"}, call{"shell", "tool timed out", muse.TargetPreview, muse.CallFailure}},
		{"timed_out", musetest.Tool{Name: "shell", Text: "tool timed out", Outcome: "timed_out"}, call{"shell", "tool timed out", muse.TargetPreview, muse.CallFailure}},
		{"timed out but called a success", musetest.Tool{Name: "shell", Text: "tool timed out\n", Outcome: "success"}, call{"shell", "tool timed out", muse.TargetPreview, muse.CallFailure}},
		{"an outcome nobody knows", musetest.Tool{Name: "shell", Text: "?", Outcome: "odd"}, call{"shell", "?", muse.TargetPreview, muse.CallUnknown}},
		{"a long result", musetest.Tool{Name: "search", Text: strings.Repeat("é", 1000)}, call{"search", strings.Repeat("é", 200) + "…", muse.TargetPreview, muse.CallSuccess}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.tool.CallID = "call_1"
			o := read(t, stream(func(s *musetest.Stream) {
				s.Open("p", "")
				s.Tool(tt.tool)
				s.Terminal("completed", ptr("x"), "", nil)
			}))
			if diff := cmp.Diff([]call{tt.want}, calls(o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			c := o.Tools[0]
			if c.CallID != "call_1" || c.TaskID == "" || c.Runtime != "muse" || c.Source != "stream" || c.PolicyDecision != "allow:policy" || c.Summary == "" {
				t.Errorf("record %+v", c)
			}
			if (tt.tool.Name == "shell" || tt.tool.Name == "bash") && c.Display != "Bash" {
				t.Errorf("displayed as %q", c.Display)
			}
			if len(o.Findings) > 0 {
				t.Errorf("diagnostics %v", o.Findings)
			}
		})
	}
}

func TestToolCallsThatFitNothing(t *testing.T) {
	o := read(t, stream(func(s *musetest.Stream) {
		s.Open("p", "")
		s.Record("tool.result", "tool_result", map[string]any{"call_id": "call_x", "text": "tool failed: unknown tool"})
		pending := s.Task("tool.bash")
		s.Lifecycle(pending, "scheduled", map[string]any{"idempotency_key": "tool:call_y"})
		rejected := s.Task("tool.shell")
		s.Lifecycle(rejected, "rejected", map[string]any{"reason": "denied by policy"})
		s.Tool(musetest.Tool{Name: "shell", CallID: "call_z", Text: "one"})
		s.Record("tool.result", "tool_result", map[string]any{"call_id": "call_z", "text": "two"})
		odd := s.Task("tool.shell")
		s.Lifecycle(odd, "scheduled", map[string]any{"idempotency_key": "model:x"})
		s.Task("model.meta.response")
		s.Task("reminder.agent.plugin:tbh-reminders:goal-reminder")
		s.Terminal("completed", ptr("x"), "", nil)
	}))
	want := []call{
		{"", "tool failed: unknown tool", muse.TargetPreview, muse.CallFailure},
		{"shell", "one", muse.TargetPreview, muse.CallSuccess},
		{"bash", "", muse.TargetNone, muse.CallUnfinished},
		{"shell", "", muse.TargetNone, muse.CallFailure},
		{"shell", "", muse.TargetNone, muse.CallUnfinished},
	}
	if diff := cmp.Diff(want, calls(o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if o.Tools[3].Reason != "denied by policy" {
		t.Errorf("reason %q", o.Tools[3].Reason)
	}
	if o.Tools[0].Outcome != nil {
		t.Errorf("an outcome was made up: %q", *o.Tools[0].Outcome)
	}
	if kinds := kindsOf(o.Findings); len(kinds) != 2 || kinds[0] != muse.DiagToolCall {
		t.Errorf("diagnostics %v", o.Findings)
	}
}

func TestOpenCallsAreBounded(t *testing.T) {
	n := 0
	collect(t, strings.NewReader(stream(func(s *musetest.Stream) {
		s.Open("p", "")
		for range 5000 {
			s.Task("tool.bash")
		}
	})), muse.ReaderOptions{}, muse.CollectorOptions{OnToolCall: func(c muse.ToolCall) {
		if n++; c.Status != muse.CallUnfinished {
			t.Errorf("status %s", c.Status)
		}
	}})
	if n != 5000 {
		t.Errorf("%d records of 5000 calls", n)
	}
}

func TestQuotaFacts(t *testing.T) {
	at := func(s string) *time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		v = v.UTC()
		return &v
	}
	tests := []struct {
		name, reason string
		extra        map[string]any
		limited      bool
		scope        *string
		reset        *time.Time
		after        *float64
	}{
		{name: "another failure", reason: "API error 500 at 2026-11-30T10:00:00Z"},
		{name: "nothing but 429", reason: "API error 429", limited: true},
		{name: "a number that only looks like it", reason: "line 14290 failed"},
		{name: "structured", reason: "rate limited", extra: map[string]any{"quota_scope": "model", "reset_at": "2026-11-30T10:00:00Z"}, limited: true, scope: ptr("model"), reset: at("2026-11-30T10:00:00Z")},
		{name: "nested", reason: "x", extra: map[string]any{"error": map[string]any{"status": 429, "details": []any{1, map[string]any{"quota_scope": "account", "retry_after": 30}}}}, limited: true, scope: ptr("account"), after: ptr(30.0)},
		{name: "epoch seconds", reason: "x", extra: map[string]any{"reset_at": 1796032800}, limited: true, reset: at("2026-11-30T10:00:00Z")},
		{name: "epoch milliseconds", reason: "x", extra: map[string]any{"reset_at": 1796032800500}, limited: true, reset: at("2026-11-30T10:00:00.5Z")},
		{name: "null stays unknown", reason: "429 Too Many Requests", extra: map[string]any{"quota_scope": nil, "reset_at": nil}, limited: true},
		{name: "a reset that is no time stays unknown", reason: "429", extra: map[string]any{"reset_at": "soon"}, limited: true},
		{name: "ISO reset in the reason", reason: "API error 429: quota exceeded, resets 2026-11-30T11:30:00+01:00.", limited: true, reset: at("2026-11-30T10:30:00Z")},
		{name: "all in the reason", reason: `429 {"quota_scope":"project","reset_at":"2026-11-30T10:00:00.250Z"} Retry-After: 12`, limited: true, scope: ptr("project"), reset: at("2026-11-30T10:00:00.25Z"), after: ptr(12.0)},
		{name: "retry-after in words", reason: "Rate limit reached. Please try again in 1.5m", limited: true, after: ptr(90.0)},
		{name: "milliseconds", reason: "rate_limit_exceeded: retry in 250ms", limited: true, after: ptr(0.25)},
		{name: "absurd", reason: "429 retry-after: 99999999999999", limited: true},
		{name: "negative", reason: "429 retry-after: -5", limited: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := read(t, stream(func(s *musetest.Stream) {
				s.Open("p", "")
				s.Delta("partial work")
				s.Terminal("failed", ptr(""), tt.reason, tt.extra)
			}))
			q := o.Quota
			if q.RateLimited != tt.limited {
				t.Errorf("limited %v", q.RateLimited)
			}
			if diff := cmp.Diff(tt.scope, q.Scope); diff != "" {
				t.Errorf("scope %s", diff)
			}
			if diff := cmp.Diff(tt.reset, q.ResetAt); diff != "" {
				t.Errorf("reset %s", diff)
			}
			if diff := cmp.Diff(tt.after, q.RetryAfterSeconds); diff != "" {
				t.Errorf("retry-after %s", diff)
			}
			if o.Reply != "partial work" {
				t.Errorf("partial text %q", o.Reply)
			}
		})
	}
}

func TestQuotaOfRetriedModelCall(t *testing.T) {
	o := read(t, stream(func(s *musetest.Stream) {
		s.Open("p", "")
		id := s.Task("model.meta.response")
		s.Lifecycle(id, "status", map[string]any{"message": "retrying meta model stream attempt 2/10", "details": map[string]any{
			"phase": "retry", "facets": []any{map[string]any{"kind": "error", "status": 429, "quota_scope": "org", "retry_after_ms": 1500}},
		}})
		s.Terminal("completed", ptr("done"), "", nil)
	}))
	if q := o.Quota; !q.RateLimited || q.Scope == nil || *q.Scope != "org" || q.RetryAfter == nil || *q.RetryAfter != 1500*time.Millisecond {
		t.Errorf("quota %+v", o.Quota)
	}
}

func TestQuotaWait(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	var q muse.QuotaFacts
	if _, known := q.Wait(now); known {
		t.Error("unknown facts give a known time")
	}
	q.AddReason("429 retry-after: Mon, 30 Nov 2026 10:00:30 GMT")
	if d, known := q.Wait(now); !known || d != 30*time.Second {
		t.Errorf("HTTP date: %v %v", d, known)
	}
	q.AddReason("reset_at=2026-11-30T09:00:00Z")
	if d, known := q.Wait(now); !known || d != 0 {
		t.Errorf("a reset in the past: %v %v", d, known)
	}
}

func TestClassify(t *testing.T) {
	done := func(f func(s *musetest.Stream)) *muse.Outcome {
		return read(t, stream(func(s *musetest.Stream) { s.Open("p", ""); f(s) }))
	}
	completed := done(func(s *musetest.Stream) { s.Terminal("completed", ptr("x"), "", nil) })
	failed := done(func(s *musetest.Stream) { s.Terminal("failed", ptr(""), "no", nil) })
	cancelled := done(func(s *musetest.Stream) { s.Terminal("cancelled", ptr(""), "", nil) })
	cut := done(func(s *musetest.Stream) { s.Delta("half") })
	nothing, noise := read(t, ""), read(t, "some words\n")
	newerEmpty := read(t, strings.ReplaceAll(plain(""), `"payload_schema_version":1`, `"payload_schema_version":2`))
	tests := []struct {
		name string
		exit muse.Exit
		out  *muse.Outcome
		want muse.Class
	}{
		{"completed", muse.Exit{}, completed, muse.ClassCompleted},
		{"failed", muse.Exit{Code: 1}, failed, muse.ClassFailed},
		{"failed with exit 0 is still failed", muse.Exit{}, failed, muse.ClassFailed},
		{"cancelled", muse.Exit{Code: 1}, cancelled, muse.ClassCancelled},
		{"completed but exit 1", muse.Exit{Code: 1}, completed, muse.ClassMismatch},
		{"usage", muse.Exit{Code: 2}, nothing, muse.ClassUsage},
		{"startup", muse.Exit{Code: 1}, nothing, muse.ClassStartup},
		{"startup with words", muse.Exit{Code: 1}, noise, muse.ClassStartup},
		{"exit 0 and silence", muse.Exit{}, nothing, muse.ClassNoTerminal},
		{"exit 0 and noise", muse.Exit{}, noise, muse.ClassUndecodable},
		{"an empty success of a newer format", muse.Exit{}, newerEmpty, muse.ClassUndecodable},
		{"cut", muse.Exit{}, cut, muse.ClassNoTerminal},
		{"cut and exit 1", muse.Exit{Code: 1}, cut, muse.ClassNoTerminal},
		{"130", muse.Exit{Code: 130}, cut, muse.ClassInterrupted},
		{"143", muse.Exit{Code: 143}, cut, muse.ClassTerminated},
		{"137 of a launcher", muse.Exit{Code: 137}, cut, muse.ClassKilled},
		{"SIGINT", muse.Exit{Code: -1, Signal: 2}, cut, muse.ClassInterrupted},
		{"SIGKILL", muse.Exit{Code: -1, Signal: 9}, cut, muse.ClassKilled},
	}
	for _, tt := range tests {
		if got := muse.Classify(tt.exit, tt.out); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestIsTransient(t *testing.T) {
	for _, reason := range []string{
		"API error 429 [request_id=x]: rate limited", "API error 503: Service Unavailable", "status 529 overloaded", "HTTP 500", "502 Bad Gateway",
		"model stream failed after 10/10 attempts: connection reset by peer", "stream idle for 180 s", "error sending request: operation timed out",
		"The server is overloaded. Try again later.", "unexpected EOF while reading the response", "dns error: temporary failure in name resolution",
	} {
		if !muse.IsTransient(reason) {
			t.Errorf("not transient: %s", reason)
		}
	}
	for _, reason := range []string{
		"", "something odd", "API error 402 [request_id=x]: Billing verification failed. (billing_error)", "API error 401: bad key", "model `x` does not exist or you lack access",
		"authentication failed: your API key from META_API_KEY was rejected", "context compaction replacement still exceeds the hard threshold (22132 >= 20480 tokens)",
		"required MCP startup failed", "API error 400: invalid request, 503 tokens too many", "429: insufficient_quota, check your plan", "assertion failed at line 503",
	} {
		if muse.IsTransient(reason) {
			t.Errorf("transient: %s", reason)
		}
	}
}

func TestExplain(t *testing.T) {
	step := read(t, stream(func(s *musetest.Stream) {
		s.Open("p", "")
		s.Terminal("failed", ptr(""), "model did not reach a terminal state within 2 step(s)", nil)
	}))
	if f := muse.Explain(muse.ClassFailed, step, ""); !f.StepLimit || f.Transient {
		t.Errorf("step limit: %+v", f)
	}
	stderr := "muse: workspace root: /ws (explicit)\nmuse: warning: trimmed\nfailed to fetch model catalog: connection refused\n"
	if f := muse.Explain(muse.ClassStartup, read(t, ""), stderr); f.Reason != "failed to fetch model catalog: connection refused" || !f.Transient {
		t.Errorf("startup: %+v", f)
	}
	if f := muse.Explain(muse.ClassUsage, read(t, ""), "unknown option --x\nusage: muse exec [OPTIONS] [PROMPT]\n"); f.Reason != "unknown option --x" || f.Transient {
		t.Errorf("usage: %+v", f)
	}
	if f := muse.Explain(muse.ClassCompleted, step, ""); f != nil {
		t.Errorf("completed: %+v", f)
	}
}

func TestUsage(t *testing.T) {
	line := func(event string) string {
		return `{"recorded_at":1796032800000000,"payload_type":"runtime.session","payload":{"kind":"run","run_id":"` + runID + `","event":` + event + "}}\n"
	}
	tests := []struct {
		name, log string
		filter    muse.UsageFilter
		want      muse.Usage
		findings  int
	}{
		{"empty", "", muse.UsageFilter{}, muse.Usage{}, 0},
		{
			"two calls", line(`{"kind":"model_completed","usage":{"input_tokens":100,"output_tokens":10,"cache_read_tokens":40,"cache_write_tokens":5,"cached_tokens":39,"reasoning_tokens":3}}`) +
				line(`{"kind":"model_completed","usage":{"input_tokens":200,"output_tokens":20}}`), muse.UsageFilter{},
			muse.Usage{InputTokens: 300, OutputTokens: 30, CacheReadTokens: 40, CacheWriteTokens: 5, ReasoningTokens: 3, Calls: 2}, 0,
		},
		{"the older name", line(`{"kind":"model_completed","usage":{"input_tokens":1,"cached_tokens":7}}`), muse.UsageFilter{}, muse.Usage{InputTokens: 1, CacheReadTokens: 7, Calls: 1}, 0},
		{
			"attribution repeats and is ignored", line(`{"kind":"goal_usage_attribution","note":"model_completed","record":{"quantity":{"input_tokens":100}}}`) +
				line(`{"kind":"model_completed","usage":{"input_tokens":100}}`), muse.UsageFilter{}, muse.Usage{InputTokens: 100, Calls: 1}, 0,
		},
		{"names with other types elsewhere", line(`{"kind":"review","note":"model_completed","model":{"model_id":"x"},"usage":7}`), muse.UsageFilter{}, muse.Usage{}, 0},
		{"no model named", line(`{"kind":"model_completed","usage":{"input_tokens":1}}`), muse.UsageFilter{}, muse.Usage{InputTokens: 1, Calls: 1}, 0},
		{"without usage", line(`{"kind":"model_completed"}`), muse.UsageFilter{}, muse.Usage{}, 1},
		{"torn last line", line(`{"kind":"model_completed","usage":{"input_tokens":1}}`) + `{"payload":{"event":{"kind":"model_completed","usage":{"inp`, muse.UsageFilter{}, muse.Usage{InputTokens: 1, Calls: 1}, 1},
		{"another record type", strings.Replace(line(`{"kind":"model_completed","usage":{"input_tokens":1}}`), "runtime.session", "runtime.other", 1), muse.UsageFilter{}, muse.Usage{}, 0},
		{"another run", line(`{"kind":"model_completed","usage":{"input_tokens":1}}`), muse.UsageFilter{Runs: []string{"other"}}, muse.Usage{}, 0},
		{"this run", line(`{"kind":"model_completed","usage":{"input_tokens":1}}`), muse.UsageFilter{Runs: []string{runID}}, muse.Usage{InputTokens: 1, Calls: 1}, 0},
		{"before", line(`{"kind":"model_completed","usage":{"input_tokens":1}}`), muse.UsageFilter{Since: time.UnixMicro(1796032800000001)}, muse.Usage{}, 0},
		{"in a frame", `{"retained_frame":"x","children":[{"record_json":"{\"payload_type\":\"runtime.session\",\"payload\":{\"event\":{\"kind\":\"model_completed\",\"usage\":{\"input_tokens\":9}}}}"}]}` + "\n", muse.UsageFilter{}, muse.Usage{InputTokens: 9, Calls: 1}, 0},
		{"a long line is skipped whole", strings.Repeat("x", 3<<20) + "model_completed\n" + line(`{"kind":"model_completed","usage":{"input_tokens":1}}`), muse.UsageFilter{}, muse.Usage{InputTokens: 1, Calls: 1}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got muse.Usage
			var diags muse.DiagnosticLog
			if err := muse.SumUsage(strings.NewReader(tt.log), tt.filter, func(_ string, u muse.Usage) { got.Add(u) }, &diags); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(diags.List()) != tt.findings {
				t.Errorf("diagnostics %v", diags.List())
			}
		})
	}
}

func TestReadUsageFindsTheLog(t *testing.T) {
	home := filepath.Join(t.TempDir(), "data [1]*")
	write := func(day, sub, text string) {
		dir := filepath.Join(home, "sessions", day, session, sub)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	record := `{"recorded_at":1796032800000000,"payload_type":"runtime.session","payload":{"event":{"kind":"model_completed","model":"muse-spark-1.3","usage":{"input_tokens":1000000,"output_tokens":1000000}}}}` + "\n"
	if u := muse.ReadUsage(home, session, muse.UsageFilter{}); u.Log != "" || u.Total != (muse.Usage{}) || len(u.Findings) != 1 {
		t.Errorf("a missing log: %+v", u)
	}
	write("2026/11/29", "", record) // the day before: the run spans midnight
	write("2026/11/29", "subagent/child", record)
	u := muse.ReadUsage(home, session, muse.UsageFilter{})
	if u.Total.Calls != 1 || u.Children.Calls != 1 || u.ByModel["muse-spark-1.3"].Calls != 2 || len(u.Findings) > 0 {
		t.Errorf("usage %+v", u)
	}
	if cost, ok := muse.Cost("muse-spark-1.3", u.Total); !ok || cost != 5.5 {
		t.Errorf("cost %v %v", cost, ok)
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b"} {
		if _, err := muse.FindSessionLog(home, bad); err == nil {
			t.Errorf("session id %q was looked up", bad)
		}
	}
}

func TestLogFactsOfAFailure(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "sessions", "2026", "11", "30", session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(event string) string {
		return `{"recorded_at":1,"payload_type":"runtime.session","payload":{"kind":"run","run_id":"` + runID + `","event":` + event + "}}\n"
	}
	log := line(`{"kind":"assistant_message_committed","text":"reset_at quota_scope","reset_at":"2001-01-01T00:00:00Z"}`) +
		line(`{"kind":"run_fatal_error_classified","http_status":429,"quota_scope":"account","reset_at":"2099-01-02T03:04:05Z","retry_after_seconds":86400}`) +
		line(`{"kind":"terminal","terminal":"failed","failure_retryable":true}`)
	if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	u := muse.ReadUsage(home, session, muse.UsageFilter{})
	if q := u.Quota; !q.RateLimited || q.Scope == nil || *q.Scope != "account" || q.ResetAt == nil || q.ResetAt.Year() != 2099 || q.RetryAfter == nil || *q.RetryAfter != 24*time.Hour {
		t.Errorf("quota %+v", q)
	}
	if u.Retryable == nil || !*u.Retryable {
		t.Errorf("retryable %v", u.Retryable)
	}
}

func TestReadUsageOfSharedHome(t *testing.T) {
	u := muse.ReadUsage(shared(t, "fixtures", "home", ".local", "share", "muse"), "01a0f000-0000-7000-8000-000000000001", muse.UsageFilter{})
	if u.Total.InputTokens != 900 || u.Total.OutputTokens != 40 || u.Total.ReasoningTokens != 12 || u.Total.Calls != 1 {
		t.Errorf("usage %+v", u)
	}
}

func TestModels(t *testing.T) {
	aliases := muse.DefaultAliases()
	for name, want := range map[string]string{
		"": "", "large": "muse-wonder-1.0", "small": "muse-spark-1.3", "muse/large": "muse-wonder-1.0", "wonder": "muse-wonder-1.0",
		"spark-contributor": "muse-spark-1.3-contributor", "muse-spark-9": "muse-spark-9", "muse/muse-spark-1.2": "muse-spark-1.2", "xs": "muse-spark-1.3", "xl": "muse-wonder-1.0",
	} {
		got, err := aliases.Resolve(name)
		if err != nil || got.Model != want {
			t.Errorf("Resolve(%q) = %+v, %v", name, got, err)
		}
		if (got.Advisory != "") != strings.HasSuffix(want, "-contributor") {
			t.Errorf("Resolve(%q) advises %q", name, got.Advisory)
		}
	}
	for _, id := range append(values(aliases.Sizes), aliases.Tiers[muse.TierLarge], aliases.Tiers[muse.TierSmall]) {
		if muse.IsContributor(id) {
			t.Errorf("a shipped mapping reaches %s", id)
		}
	}
	aliases.Tiers[muse.TierSmall] = "muse-spark-1.3-contributor"
	if sel, err := aliases.Resolve("small"); err == nil {
		t.Errorf("a tier chose %s", sel.Model)
	}
	aliases.Sizes["m"] = "muse-spark-1.3-contributor"
	if sel, err := aliases.Resolve("m"); err != nil || sel.Advisory == "" {
		t.Errorf("a size reached a contributor model silently: %+v %v", sel, err)
	}
	for _, m := range muse.Models() {
		if m.Contributor != muse.IsContributor(m.ID) {
			t.Errorf("%s: the table and the name disagree", m.ID)
		}
	}
	if _, ok := muse.Cost("muse-wonder-full-1.0", muse.Usage{InputTokens: 1}); ok {
		t.Error("a model without a price has a cost")
	}
	price := muse.Price{Input: 4, Cached: 0.2, Output: 20}
	if got := price.Of(muse.Usage{InputTokens: 1_000_000, CacheReadTokens: 500_000, OutputTokens: 100_000}); got != 2+0.1+2 {
		t.Errorf("cost %v", got)
	}
}

func values(m map[string]string) []string {
	var list []string
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

func TestParseBanner(t *testing.T) {
	tests := []struct {
		in, level, release, product string
		bad                         bool
	}{
		{in: "Muse Code 1.4.4 (1.4.4-R5419.1)\n", level: "1.4.4", release: "1.4.4-R5419.1", product: "Muse Code"},
		{in: "Muse Code 1.4.4 (1.4.4-openmuse.0.1.0)\n", level: "1.4.4", release: "1.4.4-openmuse.0.1.0", product: "openmuse"},
		{in: "Muse Code 0.1.0", level: "0.1.0", release: "0.1.0", product: "Muse Code"},
		{in: "muse 1.4.4", bad: true}, {in: "", bad: true}, {in: "Muse Code 1.4", bad: true}, {in: "Muse Code 1.4.4 1.4.4-R1", bad: true}, {in: "Muse Code 1.4.4\nmore", bad: true}, {in: "Muse Code v1.4.4", bad: true},
	}
	for _, tt := range tests {
		b, err := muse.ParseBanner(tt.in)
		if (err != nil) != tt.bad {
			t.Errorf("ParseBanner(%q): %v", tt.in, err)
			continue
		}
		if !tt.bad && (b.Level.String() != tt.level || b.Release.String() != tt.release || b.Product != tt.product || b.Raw != strings.TrimSpace(tt.in)) {
			t.Errorf("ParseBanner(%q) = %+v", tt.in, b)
		}
	}
	v, err := muse.ParseSemver("1.4.4-R5419.1+abc")
	if err != nil || v.String() != "1.4.4-R5419.1+abc" || !v.AtLeast(1, 4, 4) || v.AtLeast(1, 5, 0) || !v.AtLeast(0, 9, 9) {
		t.Errorf("semver %+v %v", v, err)
	}
}

func TestFindBinary(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := func(v string) func(string) string { return func(string) string { return v } }
	for _, tt := range []struct{ explicit, env, fallback, how string }{
		{self, "/nowhere", "/nowhere", "option"}, {"", self, "/nowhere", "MUSE_PATH"}, {"", "", self, "own binary"},
	} {
		if path, how, err := muse.FindBinary(tt.explicit, tt.fallback, env(tt.env)); err != nil || path != self || how != tt.how {
			t.Errorf("%+v: %q %q %v", tt, path, how, err)
		}
	}
	if _, _, err := muse.FindBinary("/nowhere/muse", "", env("")); err == nil {
		t.Error("a missing binary was found")
	}
}

func TestInspect(t *testing.T) {
	bin, env := musetest.Install(t, musetest.Plan{})
	schema := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(schema, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), env)
	in, err := muse.Inspect(context.Background(), bin, environ, schema)
	if err != nil || in.RawBanner != "Muse Code 1.4.4 (1.4.4-R5419.1)" || in.Version.String() != "1.4.4-R5419.1" || len(in.Digest) != 64 {
		t.Fatalf("installation %+v %v", in, err)
	}
	if err := in.Recheck(context.Background(), environ); err != nil {
		t.Errorf("recheck: %v", err)
	}
	if err := os.WriteFile(schema, []byte("{ }"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := in.Recheck(context.Background(), environ); err == nil {
		t.Error("a changed schema file went unnoticed")
	}
}
