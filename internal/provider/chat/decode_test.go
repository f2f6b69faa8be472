package chat

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
func reply(t *testing.T, contentType, body string) (string, error) {
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
	err = New(c, Options{ID: "openai-chat"}).Stream(t.Context(), &provider.Request{Model: "m", Tools: bash}, func(p provider.Part) error {
		switch {
		case p.Created != nil:
			fmt.Fprintf(&out, "created %s\n", p.Created.ResponseID)
		case p.TextDelta != "":
			fmt.Fprintf(&out, "delta %s\n", p.TextDelta)
		case p.SummaryDelta != nil:
			fmt.Fprintf(&out, "summary %s\n", p.SummaryDelta.Text)
		case p.Reasoning != nil:
			fmt.Fprintf(&out, "reasoning %s %s\n", p.Reasoning.Text, p.Reasoning.Opaque)
		case p.Text != nil:
			fmt.Fprintf(&out, "text %s\n", p.Text.Text)
		case p.ToolCall != nil:
			id := p.ToolCall.CallID
			if len(id) == 37 {
				id = "minted"
			}
			fmt.Fprintf(&out, "call %s %s %s\n", id, p.ToolCall.Name, p.ToolCall.Args)
		case p.Completed != nil:
			u := p.Completed.Usage
			fmt.Fprintf(&out, "done %s %s %d/%d/%d/%d\n", p.Completed.Finish, p.Completed.Model, u.Input, u.Output, u.Reasoning, u.CacheRead)
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

// chunkOf is a chunk with one delta.
func chunkOf(d string) string { return `{"id":"c","model":"x","choices":[{"delta":` + d + `}]}` }

// end is a chunk with a finish reason.
func end(reason string) string {
	return `{"choices":[{"delta":{},"finish_reason":"` + reason + `"}]}`
}

const (
	usageChunk = `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":1}}}`
	mark       = "[DONE]"
	none       = "0/0/0/0"
)

func TestReplies(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"text and usage", stream(chunkOf(`{"role":"assistant","content":""}`), chunkOf(`{"content":"Hel"}`), chunkOf(`{"content":"lo"}`), end("stop"), usageChunk, mark),
			"created c\ndelta Hel\ndelta lo\ntext Hello\ndone stop x 9/4/1/5\n"},
		{"no usage, no mark", stream(chunkOf(`{"content":"x"}`), end("stop")), "created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
		{"no finish reason but the mark", stream(chunkOf(`{"content":"x"}`), mark), "created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
		{"the mark without a blank line", stream(chunkOf(`{"content":"x"}`), end("stop")) + "data: [DONE]\n", "created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
		{"usage in the last chunk", stream(chunkOf(`{"content":"x"}`), `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, mark),
			"created c\ndelta x\ntext x\ndone stop x 1/2/0/0\n"},
		{"usage with every chunk", stream(`{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, mark),
			"created \ndelta x\ntext x\ndone stop m 1/2/0/0\n"},
		{"reasoning counted apart", stream(end("stop"), `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":7}}}`),
			"created \ndone stop m 9/11/7/0\n"},
		{"cache hits of DeepSeek", stream(end("stop"), `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_cache_hit_tokens":8}}`), "created \ndone stop m 9/4/0/8\n"},
		{"usage of Groq", stream(`{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":1}}}`, mark), "created \ndone stop m 3/1/0/0\n"},
		{"usage in fractions", stream(chunkOf(`{"content":"x"}`), end("stop"), `{"choices":[],"usage":{"prompt_tokens":12.0,"completion_tokens":1.5,"total_tokens":null,"prompt_tokens_details":{"cached_tokens":-2}}}`, mark), "created c\ndelta x\ntext x\ndone stop x 12/1/0/0\n"},
		{"usage that is none", stream(chunkOf(`{"content":"x"}`), end("stop"), `{"choices":[],"usage":[1]}`, mark), "created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
		{"usage details that are none", stream(end("stop"), `{"choices":[],"usage":{"prompt_tokens_details":[],"completion_tokens_details":7,"prompt_tokens":12,"completion_tokens":2}}`, mark), "created \ndone stop m 12/2/0/0\n"},
		{"a null usage first", stream(`{"choices":[{"delta":{"content":"x"}}],"usage":null}`, end("stop"), usageChunk, mark), "created \ndelta x\ntext x\ndone stop m 9/4/1/5\n"},

		{"calls by index", stream(
			chunkOf(`{"content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]}`),
			chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`),
			chunkOf(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"bash","arguments":""}},{"index":0,"function":{"arguments":":1}"}}]}`),
			chunkOf(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {\"x\":1}\ncall b bash {}\ndone tool_calls x " + none + "\n"},
		{"calls without index", stream(
			chunkOf(`{"tool_calls":[{"id":"a","function":{"name":"bash","arguments":"{\"x\""}}]}`), chunkOf(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`),
			chunkOf(`{"tool_calls":[{"id":"b","function":{"name":"bash","arguments":"{}"}}]}`), chunkOf(`{"tool_calls":[{"id":"a","function":{"arguments":""}}]}`), end("tool_calls")),
			"created c\ncall a bash {\"x\":1}\ncall b bash {}\ndone tool_calls x " + none + "\n"},
		{"whole calls without index and id", stream(
			chunkOf(`{"tool_calls":[{"function":{"name":"bash","arguments":"{\"x\":1}"}},{"function":{"name":"bash","arguments":"{\"x\":2}"}}]}`), end("stop"), mark),
			"created c\ncall minted bash {\"x\":1}\ncall minted bash {\"x\":2}\ndone tool_calls x " + none + "\n"},
		{"every call has index 0", stream(
			chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}}]}`),
			chunkOf(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":"{\"p\":1}"}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {}\ncall b read {\"p\":1}\ndone tool_calls x " + none + "\n"},
		{"the name comes again with every piece", stream(
			chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x\""}}]}`),
			chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":":1}"}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {\"x\":1}\ndone tool_calls x " + none + "\n"},
		{"the name comes in pieces", stream(
			chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ba"}}]}`), chunkOf(`{"tool_calls":[{"index":0,"function":{"name":"sh"}}]}`),
			chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {}\ndone tool_calls x " + none + "\n"},
		{"arguments as an object", stream(chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":{"x":1}}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {\"x\":1}\ndone tool_calls x " + none + "\n"},
		{"bad arguments stay as they are", stream(chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"x\":"}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {\"x\":\ndone tool_calls x " + none + "\n"},
		{"the form before tool_calls", stream(chunkOf(`{"function_call":{"name":"bash","arguments":"{\"x\""}}`), chunkOf(`{"function_call":{"arguments":":1}"}}`), end("function_call"), mark),
			"created c\ncall minted bash {\"x\":1}\ndone tool_calls x " + none + "\n"},
		{"a namespace in the name", stream(chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"functions.bash","arguments":"{}"}}]}`), end("tool_calls"), mark),
			"created c\ncall a bash {}\ndone tool_calls x " + none + "\n"},

		{"reasoning_content", stream(chunkOf(`{"reasoning_content":"Think"}`), chunkOf(`{"reasoning_content":"ing"}`), chunkOf(`{"content":"x"}`), end("stop"), mark),
			"created c\nsummary Think\nsummary ing\ndelta x\nreasoning Thinking \ntext x\ndone stop x " + none + "\n"},
		{"both names", stream(chunkOf(`{"reasoning":"Hm","reasoning_content":"Hm"}`), end("stop"), mark), "created c\nsummary Hm\nreasoning Hm \ndone stop x " + none + "\n"},
		{"details in pieces", stream(
			chunkOf(`{"reasoning":"A","reasoning_details":[{"type":"reasoning.text","text":"A","format":"f","index":0}]}`),
			chunkOf(`{"reasoning":"B","reasoning_details":[{"type":"reasoning.text","text":"B","signature":"sig","index":0}]}`),
			chunkOf(`{"reasoning_details":[{"type":"reasoning.encrypted","data":"sealed","id":"e","index":1}]}`), end("stop"), mark),
			"created c\nsummary A\nsummary B\nreasoning AB " +
				`[{"type":"reasoning.text","format":"f","index":0,"text":"AB","signature":"sig"},{"type":"reasoning.encrypted","id":"e","index":1,"data":"sealed"}]` +
				"\ndone stop x " + none + "\n"},
		{"content as a list", stream(chunkOf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"x"}]}`), end("stop"), mark),
			"created c\nsummary Hm\ndelta x\nreasoning Hm \ntext x\ndone stop x " + none + "\n"},

		{"output limit", stream(chunkOf(`{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"bash","arguments":"{\"x"}}]}`), end("length"), mark),
			"created c\ndelta x\ntext x\ncall a bash {}\ndone length x " + none + "\n"},
		{"filter before any text", stream(`{"id":"c","model":"x","choices":[{"delta":{"role":"assistant","content":""}}]}`, end("content_filter"), mark), "created c\ndone content_filter x " + none + "\n"},
		{"filter", stream(chunkOf(`{"content":"x"}`), end("content_filter"), mark), "created c\ndelta x\ntext x\ndone content_filter x " + none + "\n"},
		{"another reason", stream(chunkOf(`{"content":"x"}`), end("eos"), mark), "created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
		{"comments and empty chunks", ": processing\n\n" + stream(`{"id":"c","choices":[]}`, chunkOf(`{}`), `{"choices":[{}]}`, chunkOf(`{"content":"x"}`), end("stop"), mark),
			"created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
		{"damage behind the end", stream(chunkOf(`{"content":"x"}`), end("stop")) + "data: \xff\n\n", "created c\ndelta x\ntext x\ndone stop x " + none + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := reply(t, "text/event-stream", tt.body)
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
	got, err := reply(t, "application/json",
		`{"id":"c","object":"chat.completion","model":"x","choices":[{"message":{"role":"assistant","reasoning_content":"Hm","content":"hi","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
	if want := "created c\nsummary Hm\ndelta hi\nreasoning Hm \ntext hi\ncall a bash {}\ndone tool_calls x 1/2/0/0\n"; err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestBrokenReplies(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, body string
		class      provider.Class
	}{
		"nothing":             {"text/event-stream", "", provider.Network},
		"no end":              {"text/event-stream", stream(chunkOf(`{"content":"x"}`)), provider.Network},
		"half a call":         {"text/event-stream", stream(chunkOf(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{"}}]}`)), provider.Network},
		"error chunk":         {"text/event-stream", stream(chunkOf(`{"content":"x"}`), `{"error":{"code":502,"message":"upstream"},"choices":[{"delta":{},"finish_reason":"error"}]}`), provider.Server},
		"error chunk, rate":   {"text/event-stream", stream(`{"error":{"code":429,"message":"slow"}}`), provider.RateLimit},
		"error chunk, text":   {"text/event-stream", stream(`{"error":"CUDA"}`), provider.Server},
		"error object":        {"text/event-stream", stream(`{"object":"error","message":"maximum context length is 10","code":400}`), provider.ContextLength},
		"error finish":        {"text/event-stream", stream(end("error")), provider.Server},
		"document with error": {"application/json", `{"error":{"message":"no such model","code":"model_not_found"}}`, provider.ModelNotFound},
		"bad document":        {"application/json", `{`, provider.Server},
		"web page":            {"text/html", `<html>`, provider.InvalidRequest},
	} {
		got, err := reply(t, tt.kind, tt.body)
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != tt.class || strings.Contains(got, "call") {
			t.Errorf("%s: %v after %q", name, err, got)
		}
	}
}
