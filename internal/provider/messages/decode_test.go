package messages

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

// answerOf runs one request against a service that answers with body and tells
// what came of it, one line a part.
func answerOf(t *testing.T, contentType, body string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") != version {
			t.Errorf("%s, headers %v", r.URL.Path, r.Header)
		}
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}))
	defer server.Close()
	c, err := transport.New(transport.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	var out strings.Builder
	err = New(c, Options{ID: "anthropic"}).Stream(t.Context(), &provider.Request{Model: "m", Tools: bash}, func(p provider.Part) error {
		switch {
		case p.Created != nil:
			fmt.Fprintf(&out, "created %s\n", p.Created.ResponseID)
		case p.TextDelta != "":
			fmt.Fprintf(&out, "delta %s\n", p.TextDelta)
		case p.SummaryDelta != nil:
			fmt.Fprintf(&out, "summary %d %s\n", p.SummaryDelta.Index, p.SummaryDelta.Text)
		case p.Reasoning != nil:
			fmt.Fprintf(&out, "reasoning %v %q %q\n", p.Reasoning.Redacted, p.Reasoning.Text, p.Reasoning.Opaque)
		case p.Text != nil:
			fmt.Fprintf(&out, "text %s\n", p.Text.Text)
		case p.ToolCall != nil:
			fmt.Fprintf(&out, "call %s %s %s\n", p.ToolCall.CallID, p.ToolCall.Name, p.ToolCall.Args)
		case p.Completed != nil:
			u := p.Completed.Usage
			fmt.Fprintf(&out, "done %s %s %d/%d/%d/%d\n", p.Completed.Finish, p.Completed.Model, u.Input, u.Output, u.CacheRead, u.CacheWrite)
		}
		return nil
	})
	return out.String(), err
}

func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "event: x\ndata: %s\n\n", e)
	}
	return b.String()
}

const (
	start = `{"type":"message_start","message":{"id":"msg","model":"x","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":3,"output_tokens":1}}}`
	stop  = `{"type":"message_stop"}`
)

func opened(index int, b string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, b)
}

func piece(index int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)
}

func closed(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

func end(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":7}}`
}

func TestReplies(t *testing.T) {
	text := []string{opened(0, `{"type":"text","text":""}`), piece(0, `{"type":"text_delta","text":"Hel"}`), piece(0, `{"type":"text_delta","text":"lo"}`), closed(0)}
	all := func(events ...[]string) string {
		var list []string
		for _, e := range events {
			list = append(list, e...)
		}
		return stream(list...)
	}
	one := func(events ...string) []string { return events }
	for _, tt := range []struct{ name, body, want string }{
		{"text", all(one(start, `{"type":"ping"}`), text, one(end("end_turn"), stop)),
			"created msg\ndelta Hel\ndelta lo\ntext Hello\ndone stop x 18/7/5/3\n"},
		{"thinking, text, calls", all(one(start,
			opened(0, `{"type":"thinking","thinking":"","signature":""}`), piece(0, `{"type":"thinking_delta","thinking":"Hm"}`), piece(0, `{"type":"signature_delta","signature":"sig"}`), closed(0),
			opened(1, `{"type":"redacted_thinking","data":"hidden"}`), closed(1),
			opened(2, `{"type":"thinking","thinking":"","signature":""}`), piece(2, `{"type":"thinking_delta","thinking":"So"}`), piece(2, `{"type":"signature_delta","signature":"sig2"}`), closed(2),
			opened(3, `{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}`), piece(3, `{"type":"input_json_delta","partial_json":""}`), piece(3, `{"type":"input_json_delta","partial_json":"{\"x\""}`), piece(3, `{"type":"input_json_delta","partial_json":":1}"}`), closed(3),
			opened(4, `{"type":"tool_use","id":"toolu_2","name":"muse.bash","input":{}}`), closed(4),
			end("tool_use"), stop)),
			"created msg\nsummary 0 Hm\nreasoning false \"Hm\" \"sig\"\nreasoning true \"\" \"hidden\"\nsummary 1 So\nreasoning false \"So\" \"sig2\"\n" +
				"call toolu_1 bash {\"x\":1}\ncall toolu_2 bash {}\ndone tool_calls x 18/7/5/3\n"},
		{"input in the block", all(one(start, opened(0, `{"type":"tool_use","id":"a","name":"bash","input":{"x":1}}`), closed(0), end("tool_use"), stop)),
			"created msg\ncall a bash {\"x\":1}\ndone tool_calls x 18/7/5/3\n"},
		{"text in the block, never closed", all(one(start, opened(0, `{"type":"text","text":"hi"}`), end("end_turn"), stop)), "created msg\ndelta hi\ntext hi\ndone stop x 18/7/5/3\n"},
		{"output limit inside a call", all(one(start), text, one(opened(1, `{"type":"tool_use","id":"a","name":"bash","input":{}}`), piece(1, `{"type":"input_json_delta","partial_json":"{\"x"}`), closed(1), end("max_tokens"), stop)),
			"created msg\ndelta Hel\ndelta lo\ntext Hello\ndone length x 18/7/5/3\n"},
		{"usage in fractions", all(one(`{"type":"message_start","message":{"id":"msg","model":"x","usage":{"input_tokens":10.0,"cache_read_input_tokens":null,"cache_creation_input_tokens":-3,"output_tokens":1.5}}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":"none"}`, stop)),
			"created msg\ndone stop x 10/1/0/0\n"},
		{"refusal", all(one(start, end("refusal"), stop)), "created msg\ndone content_filter x 18/7/5/3\n"},
		{"no stop event", all(one(start), text, one(end("end_turn"))), "created msg\ndelta Hel\ndelta lo\ntext Hello\ndone stop x 18/7/5/3\n"},
		{"usage at the end only", stream(`{"type":"message_start","message":{"id":"msg"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":4,"output_tokens":2,"cache_read_input_tokens":1}}`, stop),
			"created msg\ndone stop m 5/2/1/0\n"},
		{"what is not known", all(one(start, `{"type":"new_thing"}`, opened(0, `{"type":"server_tool_use","id":"s"}`), piece(0, `{"type":"odd_delta"}`), piece(9, `{"type":"text_delta","text":"lost"}`), closed(0), closed(9)), one(end("pause_turn"), stop)),
			"created msg\ndone stop x 18/7/5/3\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := answerOf(t, "text/event-stream", tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestRepliesThatDoNotStream(t *testing.T) {
	got, err := answerOf(t, "application/json", `{"type":"message","id":"msg","model":"x","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"bash","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`)
	if want := "created msg\ndelta hi\ntext hi\ncall a bash {\"x\":1}\ndone tool_calls x 1/2/0/0\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBrokenReplies(t *testing.T) {
	half := opened(0, `{"type":"tool_use","id":"a","name":"bash","input":{}}`)
	for name, tt := range map[string]struct {
		kind, body string
		class      provider.Class
	}{
		"nothing":             {"text/event-stream", "", provider.Network},
		"no end":              {"text/event-stream", stream(start, half, closed(0)), provider.Network},
		"overloaded":          {"text/event-stream", stream(start, half, closed(0), `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`), provider.Overloaded},
		"error without type":  {"text/event-stream", stream(`{"error":{"message":"boom"}}`), provider.Server},
		"context window":      {"text/event-stream", stream(start, half, closed(0), end("model_context_window_exceeded"), stop), provider.ContextLength},
		"bad json":            {"text/event-stream", stream(start, `{"type":`), provider.Server},
		"document with error": {"application/json", `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, provider.RateLimit},
		"bad document":        {"application/json", `{`, provider.Server},
	} {
		got, err := answerOf(t, tt.kind, tt.body)
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != tt.class || strings.Contains(got, "call") {
			t.Errorf("%s: %v after %q", name, err, got)
		}
	}
}

func TestPath(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.anthropic.com": "v1/messages", "https://api.anthropic.com/v1": "messages", "https://x.test/anthropic/": "v1/messages",
	} {
		c, err := transport.New(transport.Options{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if got := New(c, Options{}).path; got != want {
			t.Errorf("%s: %s", base, got)
		}
	}
}
