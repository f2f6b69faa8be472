package responses

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

func wire(t *testing.T, opts Options) *Wire {
	t.Helper()
	c, err := transport.New(transport.Options{BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	return New(c, opts)
}

// conversation has every kind of item, with reasoning of three origins.
func conversation(id string) []provider.Item {
	own := func(sealed string) provider.Item {
		return provider.Item{Reasoning: &provider.Reasoning{Provider: id, Model: "m-1", ItemID: "rs_" + sealed, Opaque: sealed}}
	}
	return []provider.Item{
		{Developer: &provider.DeveloperMessage{Text: "Rules."}},
		{User: &provider.UserMessage{Text: "Look", Images: []provider.Image{{MediaType: "image/png", Data: []byte{1, 2, 3}}}}},
		own("one"),
		{Reasoning: &provider.Reasoning{Provider: id, Model: "m-2", ItemID: "rs_x", Opaque: "other model"}},
		{Reasoning: &provider.Reasoning{Provider: "anthropic", Model: "m-1", Opaque: "other provider"}},
		{Assistant: &provider.AssistantMessage{ItemID: "msg_1", Text: "I look."}},
		{ToolCall: &provider.ToolCall{ItemID: "fc_1", CallID: "call_1", Name: "bash", Args: `{"command": "ls"}`}},
		{ToolCall: &provider.ToolCall{ItemID: "toolu_2", CallID: "call_2", Name: "read_file", Args: `{"path": `}},
		{ToolResult: &provider.ToolResult{CallID: "call_1", Text: "a.png", Images: []provider.Image{{MediaType: "image/png", Data: []byte{4}}}}},
		{ToolResult: &provider.ToolResult{CallID: "call_2", Text: "tool failed: bad arguments", Failed: true}},
		{Reasoning: &provider.Reasoning{Provider: id, Model: "m-1", ItemID: "rs_open", Text: "in the open", Summary: "short"}},
		{Assistant: &provider.AssistantMessage{Text: "Well."}},
		own("cut off"), // its reply was interrupted
		{User: &provider.UserMessage{Text: "Go on"}},
	}
}

var bash = []provider.Tool{{Name: "bash", Description: "Run.", Schema: jsontext.Value(`{ "type": "object" }`)}}

const input = `"input":[` +
	`{"role":"developer","content":"Rules."},` +
	`{"role":"user","content":[{"type":"input_text","text":"Look"},{"type":"input_image","image_url":"data:image/png;base64,AQID"}]},` +
	`{"type":"reasoning","id":"rs_one","summary":[],"encrypted_content":"one"},` +
	`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},` +
	`{"type":"function_call","call_id":"call_1",NS"name":"bash","arguments":"{\"command\": \"ls\"}"},` +
	`{"type":"function_call","call_id":"call_2",NS"name":"read_file","arguments":"{\"raw_arguments\":\"{\\\"path\\\": \"}"},` +
	`{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"a.png"},{"type":"input_image","image_url":"data:image/png;base64,BA=="}]},` +
	`{"type":"function_call_output","call_id":"call_2","output":"tool failed: bad arguments"},` +
	`{"type":"reasoning","id":"rs_open","summary":[{"type":"summary_text","text":"short"}],"content":[{"type":"reasoning_text","text":"in the open"}]},` +
	`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Well."}]},` +
	`{"role":"user","content":"Go on"}]`

func TestBody(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts Options
		req  provider.Request
		want string
	}{
		{
			"openai", Options{ID: "openai"},
			provider.Request{Instructions: "Be brief.", Items: conversation("openai"), Tools: bash, Effort: provider.EffortMedium, Parallel: true, CacheKey: "s-1"},
			`{"model":"m-1","instructions":"Be brief.",` + strings.ReplaceAll(input, "NS", "") +
				`,"tools":[{"type":"function","name":"bash","description":"Run.","parameters":{"type":"object"},"strict":false}],"parallel_tool_calls":true,` +
				`"reasoning":{"effort":"medium","summary":"auto"},"include":["reasoning.encrypted_content"],"prompt_cache_key":"s-1","store":false,"stream":true}`,
		},
		{
			"meta", Options{ID: "meta", Meta: true},
			provider.Request{Instructions: "Be brief.", Items: conversation("meta"), Tools: bash, Effort: provider.EffortUltra, CacheKey: "s-1"},
			`{"model":"m-1","instructions":"Be brief.",` + strings.ReplaceAll(input, "NS", `"namespace":"muse",`) +
				`,"tools":[{"type":"namespace","name":"muse","description":"The tools of this session.",` +
				`"tools":[{"type":"function","name":"bash","description":"Run.","parameters":{"type":"object"},"strict":false}]}],"parallel_tool_calls":false,` +
				`"reasoning":{"effort":"xhigh","summary":"auto"},"include":["reasoning.encrypted_content"],"max_output_tokens":128000,"prompt_cache_key":"s-1","store":false,"stream":true}`,
		},
		{
			"nothing asked for", Options{ID: "openai"}, provider.Request{},
			`{"model":"m-1","input":[],"reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}`,
		},
		{
			"a model that does not reason", Options{ID: "openai", NoReasoning: true},
			provider.Request{Effort: provider.EffortHigh, Items: conversation("openai")[2:3]},
			`{"model":"m-1","input":[],"store":false,"stream":true}`,
		},
		{
			"strict schema", Options{ID: "openai", NoReasoning: true, MaxOutput: 9},
			provider.Request{OutputSchema: jsontext.Value(`{"type":"object","properties":{},"additionalProperties":false}`)},
			`{"model":"m-1","input":[],"max_output_tokens":9,"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object","properties":{},"additionalProperties":false},"strict":true}},"store":false,"stream":true}`,
		},
		{
			"other schema", Options{ID: "openai", NoReasoning: true, MaxOutput: 9},
			provider.Request{OutputSchema: jsontext.Value(`{"type":"object"}`), MaxOutput: 7},
			`{"model":"m-1","input":[],"max_output_tokens":7,"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":false}},"store":false,"stream":true}`,
		},
		{
			"no pictures", Options{ID: "openai", NoReasoning: true, NoImages: true},
			provider.Request{Items: conversation("openai")[1:2]},
			`{"model":"m-1","input":[{"role":"user","content":"Look\n[image/png left out: this model takes no pictures]"}],"store":false,"stream":true}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.Model = "m-1"
			got, err := wire(t, tt.opts).encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestOtherModelsGetNoReasoning(t *testing.T) {
	req := &provider.Request{Model: "m-9", Items: conversation("openai")}
	body, err := wire(t, Options{ID: "openai"}).encode(req)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"type":"reasoning"`, "other model", "other provider", `"one"`, "in the open"} {
		if strings.Contains(string(body), word) {
			t.Errorf("%s is in %s", word, body)
		}
	}
}

func TestBodyRefuses(t *testing.T) {
	for name, req := range map[string]*provider.Request{
		"effort": {Effort: provider.EffortNone},
		"schema": {Tools: []provider.Tool{{Name: "x", Schema: jsontext.Value("{")}}},
		"text":   {Instructions: "\xff"},
	} {
		_, err := wire(t, Options{ID: "meta", Meta: true}).encode(req)
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != provider.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInputThatServicesRefuse(t *testing.T) {
	call := func(id string) provider.Item {
		return provider.Item{ToolCall: &provider.ToolCall{CallID: id, Name: "container.exec\n", Args: `[1]`}}
	}
	req := &provider.Request{Model: "m-1", Items: []provider.Item{
		{ToolResult: &provider.ToolResult{CallID: "0", Text: "orphan"}}, {User: &provider.UserMessage{Text: "a"}}, call("1"),
		{User: &provider.UserMessage{Text: "b"}}, call("2"), {ToolResult: &provider.ToolResult{CallID: "2", Text: "r"}},
	}}
	body, err := wire(t, Options{ID: "openai"}).encode(req)
	if err != nil {
		t.Fatal(err)
	}
	const called = `{"type":"function_call","call_id":"ID","name":"container_exec_","arguments":"{\"raw_arguments\":\"[1]\"}"}`
	want := `"input":[{"role":"user","content":"a"},` + strings.Replace(called, "ID", "1", 1) +
		`,{"type":"function_call_output","call_id":"1","output":"tool failed: interrupted"},{"role":"user","content":"b"},` +
		strings.Replace(called, "ID", "2", 1) + `,{"type":"function_call_output","call_id":"2","output":"r"}]`
	if !strings.Contains(string(body), want) {
		t.Errorf("got\n%s\nwant in it\n%s", body, want)
	}
}
