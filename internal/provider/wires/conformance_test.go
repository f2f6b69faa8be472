package wires

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/mockmodel"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// online are the wires that speak to a service.
var online = []string{Meta, OpenAI, OpenAIChat, Anthropic}

const key = "sk-conformance-0123456789"

// open runs a mock service and a provider that speaks wire to it.
func open(t *testing.T, wire string, mock mockmodel.Options, change ...func(*Options)) (*mockmodel.Server, provider.Provider) {
	t.Helper()
	server, err := mockmodel.New(mock)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Wire: wire, Transport: transport.Options{
		BaseURL: server.URL() + "/v1", Key: transport.Key{Value: key, From: "TEST_KEY"},
	}}
	for _, f := range change {
		f(&o)
	}
	p, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, p.Provider
}

var tools = []provider.Tool{
	{Name: "read_file", Description: "Read a file.", Schema: jsontext.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "bash", Description: "Run a command.", Schema: jsontext.Value(`{"type":"object","properties":{"command":{"type":"string"},"description":{"type":"string"}},"required":["command","description"]}`)},
}

func user(text string) provider.Item {
	return provider.Item{User: &provider.UserMessage{Text: text}}
}

func request(items ...provider.Item) *provider.Request {
	return &provider.Request{
		Model: "mock-1", Instructions: "Be brief.", Items: items, Tools: tools, Effort: provider.EffortHigh,
		Parallel: true, CacheKey: "session-1",
	}
}

// seen is what came of one attempt.
type seen struct {
	parts  []provider.Part
	items  []provider.Item
	deltas string
	done   *provider.Completed
}

func (s *seen) part(p provider.Part) error {
	s.parts = append(s.parts, p)
	s.deltas += p.TextDelta
	switch {
	case p.Reasoning != nil:
		s.items = append(s.items, provider.Item{Reasoning: p.Reasoning})
	case p.Text != nil:
		s.items = append(s.items, provider.Item{Assistant: p.Text})
	case p.ToolCall != nil:
		s.items = append(s.items, provider.Item{ToolCall: p.ToolCall})
	case p.Completed != nil:
		s.done = p.Completed
	}
	return nil
}

func (s *seen) calls() (calls []*provider.ToolCall) {
	for _, it := range s.items {
		if it.ToolCall != nil {
			calls = append(calls, it.ToolCall)
		}
	}
	return calls
}

func (s *seen) text() string {
	var text string
	for _, it := range s.items {
		if it.Assistant != nil {
			text += it.Assistant.Text
		}
	}
	return text
}

// run is a loop in small: it calls the model until that stops calling tools.
func run(t *testing.T, p provider.Provider, req *provider.Request, limit int) (text string, calls int) {
	t.Helper()
	for range limit {
		var s seen
		if err := p.Stream(t.Context(), req, s.part); err != nil {
			t.Fatal(err)
		}
		if s.done == nil || s.deltas != s.text() {
			t.Fatalf("completed %+v, deltas %q, text %q", s.done, s.deltas, s.text())
		}
		req.Items = append(req.Items, s.items...)
		if len(s.calls()) == 0 {
			return s.text(), calls
		}
		for _, c := range s.calls() {
			calls++
			req.Items = append(req.Items, provider.Item{ToolResult: &provider.ToolResult{CallID: c.CallID, Text: "done"}})
		}
	}
	t.Fatalf("no end after %d calls of the model", limit)
	return "", 0
}

func TestToolRunOverOneConnection(t *testing.T) {
	for _, wire := range online {
		t.Run(wire, func(t *testing.T) {
			const steps = 19
			server, p := open(t, wire, mockmodel.Options{Steps: steps, Key: key})
			text, calls := run(t, p, request(user("Run the steps")), steps+1)
			if text != "All steps are done." || calls != steps {
				t.Errorf("text %q after %d calls", text, calls)
			}
			if n := len(server.Calls()); n != steps+1 {
				t.Errorf("%d model requests", n)
			}
			if n := server.Connections(); n != 1 {
				t.Errorf("%d connections for %d requests", n, steps+1)
			}
			for i, r := range server.Requests() {
				if isList := strings.HasSuffix(r.Path, "/muse-code/models"); isList != (wire == Meta && i == 0) {
					t.Errorf("request %d is %s", i, r.Path)
				}
			}
		})
	}
}

func TestReply(t *testing.T) {
	reply := mockmodel.Reply{
		Reasoning: "Think of it.", Text: "I run two commands now.",
		Calls: []mockmodel.ToolCall{
			{ID: "call_a", Name: "bash", Args: `{"command":"echo a","description":"a"}`},
			{ID: "call_b", Name: "read_file", Args: `{"path":"b"}`},
		},
		Usage: mockmodel.Usage{Input: 1000, Output: 50, Cached: 600},
	}
	for _, wire := range online {
		t.Run(wire, func(t *testing.T) {
			_, p := open(t, wire, mockmodel.Options{Reply: func(*mockmodel.Call) mockmodel.Reply { return reply }})
			var s seen
			if err := p.Stream(t.Context(), request(user("go")), s.part); err != nil {
				t.Fatal(err)
			}
			if s.parts[0].Created == nil || s.parts[0].Created.ResponseID == "" {
				t.Errorf("first part = %+v", s.parts[0])
			}
			if s.deltas != reply.Text || s.text() != reply.Text {
				t.Errorf("deltas %q, text %q", s.deltas, s.text())
			}
			calls := s.calls()
			if len(calls) != 2 || calls[0].CallID != "call_a" || calls[1].Name != "read_file" || calls[0].Args != reply.Calls[0].Args {
				t.Errorf("calls = %+v", calls)
			}
			r := s.items[0].Reasoning
			if r == nil || r.Provider != wire || r.Model != "mock-1" || r.Summary+r.Text != reply.Reasoning {
				t.Errorf("reasoning = %+v", r)
			}
			d := s.done
			if d.Finish != provider.FinishToolCalls || d.Model != "mock-1" || d.ResponseID == "" {
				t.Errorf("completed = %+v", d)
			}
			if d.Usage.Input != 1000 || d.Usage.Output != 50 || d.Usage.CacheRead != 600 {
				t.Errorf("usage = %+v", d.Usage)
			}
			if d.Wire.RequestID == "" || d.Wire.Events == 0 || d.Wire.BytesRead == 0 || d.Wire.LastEvent == "" {
				t.Errorf("facts = %+v", d.Wire)
			}
		})
	}
}

// failures are the classes of Accept: what a service does and what comes of it.
var failures = []struct {
	name    string
	failure mockmodel.Failure
	class   provider.Class
	words   string // of the error's text
	wait    time.Duration
}{
	{"429 rate limit", mockmodel.Failure{Status: 429, Header: map[string]string{"Retry-After": "3"},
		Body: `{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}`}, provider.RateLimit, "API error 429: Slow down (rate_limit_exceeded)", 3 * time.Second},
	{"429 quota", mockmodel.Failure{Status: 429,
		Body: `{"error":{"message":"Used up","code":"insufficient_quota","quota_scope":"plan","reset_at":"2027-01-01T00:00:00Z"}}`},
		provider.Quota, "API error 429: Used up (insufficient_quota)", 0},
	{"500", mockmodel.Failure{Status: 500, Body: `{"error":{"message":"boom"}}`}, provider.Server, "API error 500: boom", 0},
	{"501", mockmodel.Failure{Status: 501}, provider.Server, "API error 501: not implemented", 0},
	{"502", mockmodel.Failure{Status: 502, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html><title>Bad gateway</title></html>"},
		provider.Server, "API error 502: the server answered with a web page: Bad gateway", 0},
	{"503", mockmodel.Failure{Status: 503, Header: map[string]string{"Retry-After": "1"}}, provider.Server, "API error 503: service unavailable", time.Second},
	{"504", mockmodel.Failure{Status: 504, Body: "timeout"}, provider.Server, "API error 504: timeout", 0},
	{"overloaded", mockmodel.Failure{Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		provider.Overloaded, "API error 529: Overloaded (overloaded_error)", 0},
	{"401", mockmodel.Failure{Status: 401, Body: `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`},
		provider.Authentication, "Incorrect API key; your API key from TEST_KEY was rejected (invalid_api_key)", 0},
	{"403", mockmodel.Failure{Status: 403, Body: `{"error":{"message":"No access"}}`}, provider.Authentication, "API error 403: No access", 0},
	{"402", mockmodel.Failure{Status: 402, Header: map[string]string{"X-Request-Id": "r1"}, Body: `{"error":{"message":"Pay","type":"billing_error"}}`},
		provider.Billing, "API error 402 [request_id=r1]: Pay (billing_error)", 0},
	{"404", mockmodel.Failure{Status: 404, Body: `{"error":{"message":"The model does not exist","code":"model_not_found"}}`},
		provider.ModelNotFound, "API error 404: The model does not exist (model_not_found)", 0},
	{"400", mockmodel.Failure{Status: 400, Body: `{"error":{"message":"Bad tool","type":"invalid_request_error"}}`},
		provider.InvalidRequest, "API error 400: Bad tool (invalid_request_error)", 0},
	{"context length", mockmodel.Failure{Status: 400, Body: `{"error":{"message":"Too long","code":"context_length_exceeded"}}`},
		provider.ContextLength, "API error 400: Too long (context_length_exceeded)", 0},
	{"reset", mockmodel.Failure{Break: mockmodel.Reset}, provider.Network, "127.0.0.1", 0},
	{"truncated", mockmodel.Failure{Break: mockmodel.Truncate}, provider.Network, "closed before the reply was complete", 0},
	{"short", mockmodel.Failure{Break: mockmodel.Short}, provider.Network, "closed before the reply was complete", 0},
	{"idle", mockmodel.Failure{Break: mockmodel.Idle}, provider.Network, "the stream was silent for 300ms", 0},
	{"silent", mockmodel.Failure{Break: mockmodel.Silent}, provider.Network, "no answer within 2s", 0},
	{"bad utf-8", mockmodel.Failure{Break: mockmodel.BadUTF8}, provider.Server, "not valid UTF-8", 0},
	{"bad json", mockmodel.Failure{Break: mockmodel.BadJSON}, provider.Server, "unreadable event", 0},
	{"error event", mockmodel.Failure{Break: mockmodel.ErrorEvent, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		provider.Overloaded, "Overloaded (overloaded_error)", 0},
	{"quota event", mockmodel.Failure{Break: mockmodel.ErrorEvent, Body: `{"type":"error","error":{"code":"insufficient_quota","message":"Used up"}}`},
		provider.Quota, "Used up (insufficient_quota)", 0},
}

func TestFailures(t *testing.T) {
	call := mockmodel.Reply{Reasoning: "Think of it.", Text: "I will run it.", Calls: []mockmodel.ToolCall{{Name: "bash", Args: `{"command":"rm -rf x","description":"d"}`}}}
	for _, wire := range online {
		for _, tt := range failures {
			t.Run(wire+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				mock := mockmodel.Options{
					Failures: []mockmodel.Failure{tt.failure}, Reply: func(*mockmodel.Call) mockmodel.Reply { return call },
				}
				_, p := open(t, wire, mock, func(o *Options) {
					// Only the two cases that wait for a limit take so long.
					o.Transport.Idle, o.Transport.FirstEvent = time.Minute, time.Minute
					switch tt.failure.Break {
					case mockmodel.Idle:
						o.Transport.Idle = 300 * time.Millisecond
					case mockmodel.Silent:
						o.Transport.FirstEvent = 2 * time.Second
					}
				})
				var s seen
				err := p.Stream(t.Context(), request(user("go")), s.part)
				var e *provider.Error
				if !errors.As(err, &e) {
					t.Fatalf("error = %v (%T)", err, err)
				}
				if e.Class != tt.class || !strings.Contains(e.Error(), tt.words) || e.RetryAfter != tt.wait {
					t.Errorf("got %s %q, wait %v", e.Class, e.Error(), e.RetryAfter)
				}
				if tt.name == "429 quota" && (e.QuotaScope != "plan" || e.ResetAt != "2027-01-01T00:00:00Z") {
					t.Errorf("facts of the 429: %q, %q", e.QuotaScope, e.ResetAt)
				}
				if len(s.calls()) != 0 || s.done != nil {
					t.Errorf("a broken reply left calls %+v, end %+v", s.calls(), s.done)
				}
				if strings.Contains(e.Error(), key) {
					t.Error("the key is in the error")
				}
				// The next attempt gets the whole reply.
				var again seen
				if err := p.Stream(t.Context(), request(user("go")), again.part); err != nil {
					t.Fatalf("second attempt: %v", err)
				}
				if c := again.calls(); len(c) != 1 || c[0].Args != call.Calls[0].Args {
					t.Errorf("second attempt: %+v", c)
				}
			})
		}
	}
}

func TestOutputLimit(t *testing.T) {
	for _, wire := range online {
		for finish, want := range map[string]provider.Finish{"length": provider.FinishLength, "content_filter": provider.FinishFilter} {
			t.Run(wire+"/"+finish, func(t *testing.T) {
				_, p := open(t, wire, mockmodel.Options{Reply: func(*mockmodel.Call) mockmodel.Reply {
					return mockmodel.Reply{Text: "half an answ", Finish: finish}
				}})
				var s seen
				if err := p.Stream(t.Context(), request(user("go")), s.part); err != nil {
					t.Fatal(err)
				}
				if s.done.Finish != want || s.text() != "half an answ" {
					t.Errorf("finish %s, text %q", s.done.Finish, s.text())
				}
			})
		}
	}
}

func TestCancelledMidStream(t *testing.T) {
	for _, wire := range online {
		t.Run(wire, func(t *testing.T) {
			_, p := open(t, wire, mockmodel.Options{
				Failures: []mockmodel.Failure{{Break: mockmodel.Idle}},
				Reply:    func(*mockmodel.Call) mockmodel.Reply { return mockmodel.Reply{Text: "one two three four five six"} },
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := p.Stream(ctx, request(user("go")), func(part provider.Part) error {
				if part.TextDelta != "" {
					cancel()
				}
				return nil
			})
			var e *provider.Error
			if !errors.As(err, &e) || e.Class != provider.Cancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v", err)
			}
		})
	}
}

func TestEmitErrorsAreReturnedAsTheyAre(t *testing.T) {
	stop := errors.New("stop")
	for _, wire := range online {
		for _, at := range []string{"created", "delta", "text", "call", "completed"} {
			t.Run(wire+"/"+at, func(t *testing.T) {
				_, p := open(t, wire, mockmodel.Options{Reply: func(*mockmodel.Call) mockmodel.Reply {
					return mockmodel.Reply{Text: "a b c", Calls: []mockmodel.ToolCall{{Name: "bash", Args: `{"command":"x"}`}}}
				}})
				err := p.Stream(t.Context(), request(user("go")), func(part provider.Part) error {
					if at == "created" && part.Created != nil || at == "delta" && part.TextDelta != "" || at == "text" && part.Text != nil ||
						at == "call" && part.ToolCall != nil || at == "completed" && part.Completed != nil {
						return stop
					}
					return nil
				})
				if err != stop { // identity is the contract
					t.Errorf("error = %v", err)
				}
			})
		}
	}
}

func TestRedirectedRequestsStayHome(t *testing.T) {
	other, err := mockmodel.New(mockmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, wire := range online {
		t.Run(wire, func(t *testing.T) {
			_, p := open(t, wire, mockmodel.Options{Failures: []mockmodel.Failure{{
				Status: 307, Header: map[string]string{"Location": other.URL() + "/v1/responses"},
			}}})
			err := p.Stream(t.Context(), request(user("go")), func(provider.Part) error { return nil })
			var e *provider.Error
			if !errors.As(err, &e) || e.Class != provider.InvalidRequest || !strings.Contains(e.Message, "refused") {
				t.Errorf("error = %v", err)
			}
		})
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
}

func TestDuplicateCallIDsAreReplaced(t *testing.T) {
	for _, wire := range online {
		t.Run(wire, func(t *testing.T) {
			_, p := open(t, wire, mockmodel.Options{Reply: func(c *mockmodel.Call) mockmodel.Reply {
				if c.Results == 3 {
					return mockmodel.Reply{Text: "end"}
				}
				return mockmodel.Reply{Calls: []mockmodel.ToolCall{{ID: "call_0", Name: "bash", Args: `{"command":"x"}`}}}
			}})
			req := request(user("go"))
			run(t, p, req, 4)
			ids := map[string]bool{}
			for _, it := range req.Items {
				if it.ToolCall != nil {
					ids[it.ToolCall.CallID] = true
				}
			}
			if len(ids) != 3 || !ids["call_0"] {
				t.Errorf("ids = %v", ids)
			}
		})
	}
}

func TestEffortIsRefused(t *testing.T) {
	_, p := open(t, Meta, mockmodel.Options{})
	req := request(user("go"))
	req.Effort = provider.EffortNone
	var e *provider.Error
	if err := p.Stream(t.Context(), req, func(provider.Part) error { return nil }); !errors.As(err, &e) || e.Class != provider.InvalidRequest {
		t.Errorf("error = %v", err)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(Options{Wire: "smoke"}); err == nil {
		t.Error("an unknown wire was opened")
	}
	if _, err := Open(Options{Wire: OpenAI}); err == nil || !strings.Contains(err.Error(), "provider openai") {
		t.Errorf("without a base URL: %v", err)
	}
	if _, err := Open(Options{Wire: Script, ScriptPath: "none.json"}); err == nil {
		t.Error("a missing script was opened")
	}
	o, err := Open(Options{Wire: Echo})
	if err != nil || o.Provider.ID() != "echo" {
		t.Fatalf("echo: %v", err)
	}
	o.Close()
	o, err = Open(Options{Wire: OpenAIChat, ID: "ollama", Transport: transport.Options{
		BaseURL: "http://models.test/v1", Key: transport.Key{Value: key, From: "X"}}})
	if err != nil || o.Provider.ID() != "ollama" || len(o.Notes) != 1 {
		t.Errorf("opened %+v, %v", o, err)
	}
}

func TestModelLists(t *testing.T) {
	for _, wire := range online {
		t.Run(wire, func(t *testing.T) {
			for _, suffix := range []string{"/v1", ""} {
				server, err := mockmodel.New(mockmodel.Options{Key: key, Catalogue: []mockmodel.Model{{ID: "a", Context: 9, Output: 3}, {ID: "b"}}})
				if err != nil {
					t.Fatal(err)
				}
				o, err := Open(Options{Wire: wire, Transport: transport.Options{BaseURL: server.URL() + suffix, Key: transport.Key{Value: key, From: "K"}}})
				if err != nil {
					t.Fatal(err)
				}
				models, err := o.Catalogue.Models(t.Context())
				if err != nil || len(models) != 2 || models[0].ID != "a" {
					t.Errorf("models = %v, %v", models, err)
				}
				if wire == Meta && fmt.Sprint(models[0].Context, models[0].Output) != "9 3" {
					t.Errorf("limits of %+v", models[0])
				}
				o.Close()
				if err := server.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
