package responses

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

// reply runs one request against a service that answers with body and tells
// what came of it, one line a part.
func reply(t *testing.T, opts Options, contentType, body string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
	err = New(c, opts).Stream(t.Context(), &provider.Request{Model: "m-1", Tools: bash}, func(p provider.Part) error {
		switch {
		case p.Created != nil:
			fmt.Fprintf(&out, "created %s\n", p.Created.ResponseID)
		case p.TextDelta != "":
			fmt.Fprintf(&out, "delta %s\n", p.TextDelta)
		case p.SummaryDelta != nil:
			fmt.Fprintf(&out, "summary %d %s\n", p.SummaryDelta.Index, p.SummaryDelta.Text)
		case p.Reasoning != nil:
			fmt.Fprintf(&out, "reasoning %s %q %q %q\n", p.Reasoning.ItemID, p.Reasoning.Opaque, p.Reasoning.Summary, p.Reasoning.Text)
		case p.Text != nil:
			fmt.Fprintf(&out, "text %s %s\n", p.Text.ItemID, p.Text.Text)
		case p.ToolCall != nil:
			id := p.ToolCall.CallID
			if len(id) == 37 {
				id = "minted"
			}
			fmt.Fprintf(&out, "call %s %s %s %s\n", p.ToolCall.ItemID, id, p.ToolCall.Name, p.ToolCall.Args)
		case p.Completed != nil:
			fmt.Fprintf(&out, "done %s %s %d/%d/%d\n", p.Completed.Finish, p.Completed.Model, p.Completed.Usage.Input, p.Completed.Usage.Output, p.Completed.Usage.CacheRead)
		}
		return nil
	})
	return out.String(), err
}

func stream(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return b.String()
}

func TestReplies(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{
			"usage in fractions", stream(
				`{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":12.0,"output_tokens":1.5,"input_tokens_details":{"cached_tokens":null},"output_tokens_details":null}}}`),
			"created r\ndone stop m-1 12/1/0\n",
		},
		{
			"usage that is none", stream(`{"type":"response.completed","response":{"id":"r","usage":false}}`),
			"created r\ndone stop m-1 0/0/0\n",
		},
		{
			// The form of the hosts that clients are tested with (MSP.md 3).
			"argument events without items", stream(
				`{"type":"response.created","response":{"id":"r"}}`,
				`{"type":"response.output_text.delta","delta":"Hel"}`,
				`{"type":"response.output_text.delta","delta":"lo"}`,
				`{"type":"response.function_call_arguments.done","name":"bash","call_id":"c1","arguments":"{\"command\":\"ls\"}"}`,
				`{"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}}`),
			"created r\ndelta Hel\ndelta lo\ntext  Hello\ncall  c1 bash {\"command\":\"ls\"}\ndone tool_calls m-1 3/2/0\n",
		},
		{
			"argument events and items", stream(
				`{"type":"response.created","response":{"id":"r"}}`,
				`{"type":"response.function_call_arguments.done","item_id":"fc","name":"bash","arguments":"{}"}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","id":"fc","call_id":"c1","name":"bash","arguments":"{}"}}`,
				`{"type":"response.completed","response":{"id":"r","model":"m-1b"}}`),
			"created r\ncall fc c1 bash {}\ndone tool_calls m-1b 0/0/0\n",
		},
		{
			"namespaces", stream(
				`{"type":"response.output_item.done","item":{"type":"function_call","id":"a","call_id":"1","namespace":"muse","name":"bash","arguments":"{}"}}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","id":"b","call_id":"2","name":"muse.bash","arguments":"{}"}}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","id":"c","call_id":"3","name":"muse__bash","arguments":""}}`,
				`{"type":"response.completed","response":{"id":"r"}}`),
			"created \ncall a 1 bash {}\ncall b 2 bash {}\ncall c 3 bash {}\ndone tool_calls m-1 0/0/0\n",
		},
		{
			"everything in the last event", stream(
				`{"type":"response.completed","response":{"id":"r","model":"x","output":[` +
					`{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"e"},` +
					`{"type":"message","id":"m","content":[{"type":"output_text","text":"done"}]}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":1}}}`),
			"created r\nreasoning rs \"e\" \"a\\n\\nb\" \"\"\ndelta done\ntext m done\ndone stop x 9/1/4\n",
		},
		{
			"items, and all of them again in the last event", stream(
				`{"type":"response.created","response":{"id":"r"}}`,
				`{"type":"response.reasoning_summary_text.delta","item_id":"rs","summary_index":1,"delta":"hm"}`,
				`{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e"}}`,
				`{"type":"response.output_text.delta","delta":"ok"}`,
				`{"type":"response.output_item.done","item":{"type":"message","id":"m","content":[{"type":"output_text","text":"ok"}]}}`,
				`{"type":"response.completed","response":{"id":"r","output":[{"type":"reasoning","id":"rs","encrypted_content":"e"},{"type":"message","id":"m","content":[{"type":"output_text","text":"ok"}]}]}}`),
			"created r\nsummary 1 hm\nreasoning rs \"e\" \"\" \"\"\ndelta ok\ntext m ok\ndone stop m-1 0/0/0\n",
		},
		{
			"deltas that miss the end", stream(
				`{"type":"response.output_text.delta","delta":"al"}`,
				`{"type":"response.output_item.done","item":{"type":"message","id":"m","content":[{"type":"output_text","text":"almost"}]}}`,
				`{"type":"response.completed","response":{"id":"r"}}`),
			"created \ndelta al\ndelta most\ntext m almost\ndone stop m-1 0/0/0\n",
		},
		{
			"reasoning in the open", stream(
				`{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"first"}]}}`,
				`{"type":"response.output_text.delta","delta":"x"}`,
				`{"type":"response.completed","response":{"id":"r"}}`),
			"created \nreasoning rs \"\" \"\" \"first\"\ndelta x\ntext  x\ndone stop m-1 0/0/0\n",
		},
		{
			"output limit inside a call", stream(
				`{"type":"response.created","response":{"id":"r"}}`,
				`{"type":"response.output_item.done","item":{"type":"function_call","id":"a","call_id":"1","status":"incomplete","name":"bash","arguments":"{\"com"}}`,
				`{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
			"created r\ndone length m-1 0/0/0\n",
		},
		{
			"filter", stream(`{"type":"response.incomplete","response":{"id":"r","status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`),
			"created r\ndone content_filter m-1 0/0/0\n",
		},
		{
			"refusal", stream(
				`{"type":"response.refusal.delta","delta":"No."}`,
				`{"type":"response.output_item.done","item":{"type":"message","id":"m","content":[{"type":"refusal","refusal":"No."}]}}`,
				`{"type":"response.completed","response":{"id":"r"}}`),
			"created \ndelta No.\ntext m No.\ndone stop m-1 0/0/0\n",
		},
		{
			"unknown events and items", stream(
				`{"type":"response.created","response":{"id":"r"}}`,
				`{"type":"response.something.new","delta":{"a":1}}`,
				`{"type":"response.output_item.done","item":{"type":"web_search_call","id":"ws"}}`,
				`{"type":"keepalive"}`, `{}`,
				`{"type":"response.output_text.delta","delta":"x","type":"response.output_text.delta"}`,
				`{"type":"response.completed","response":{"id":"r"}}`),
			"created r\ndelta x\ntext  x\ndone stop m-1 0/0/0\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := reply(t, Options{ID: "openai"}, "text/event-stream", tt.body)
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
	got, err := reply(t, Options{ID: "openai"}, "application/json",
		`{"object":"response","id":"r","model":"x","status":"completed","error":null,"output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`)
	if want := "created r\ndelta hi\ntext m hi\ndone stop x 1/2/0\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	for body, class := range map[string]provider.Class{
		`{"error":{"message":"busy","code":"server_is_overloaded"}}`: provider.Overloaded,
		`{"object":"list"}`: provider.Server,
		`{`:                 provider.Server,
	} {
		_, err := reply(t, Options{ID: "openai"}, "application/json", body)
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != class {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestBrokenReplies(t *testing.T) {
	for name, tt := range map[string]struct {
		body  string
		class provider.Class
	}{
		"nothing":             {"", provider.Network},
		"end mark only":       {stream("[DONE]"), provider.Network},
		"no end":              {stream(`{"type":"response.output_text.delta","delta":"x"}`), provider.Network},
		"failed":              {stream(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`), provider.Server},
		"failed, rate limit":  {stream(`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"x"}}}`), provider.RateLimit},
		"error without type":  {stream(`{"error":{"code":"context_length_exceeded","message":"x"}}`), provider.ContextLength},
		"a delta of bad kind": {stream(`{"type":7}`), provider.Server},
	} {
		_, err := reply(t, Options{ID: "openai"}, "text/event-stream", tt.body)
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != tt.class {
			t.Errorf("%s: %v", name, err)
		}
	}
}
