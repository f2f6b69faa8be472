package chat

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/transport"
)

func wire(t *testing.T, base string, opts Options) *Wire {
	t.Helper()
	c, err := transport.New(transport.Options{BaseURL: base})
	if err != nil {
		t.Fatal(err)
	}
	opts.ID = "openai-chat"
	return New(c, opts)
}

var bash = []provider.Tool{{Name: "bash", Description: "Run.", Schema: jsontext.Value(`{ "type": "object" }`)}}

func user(text string) provider.Item {
	return provider.Item{User: &provider.UserMessage{Text: text}}
}

func notice(text string) provider.Item {
	return provider.Item{Developer: &provider.DeveloperMessage{Text: text}}
}

func answer(text string) provider.Item {
	return provider.Item{Assistant: &provider.AssistantMessage{Text: text}}
}

func call(id, args string) provider.Item {
	return provider.Item{ToolCall: &provider.ToolCall{CallID: id, Name: "bash", Args: args}}
}

// madeUp is a call of a tool that there is not, by a name that services refuse.
func madeUp(id string) provider.Item {
	return provider.Item{ToolCall: &provider.ToolCall{CallID: id, Name: "container.exec\n", Args: `{}`}}
}

func result(id, text string, images ...provider.Image) provider.Item {
	return provider.Item{ToolResult: &provider.ToolResult{CallID: id, Text: text, Images: images}}
}

func thought(model, text, opaque string) provider.Item {
	return provider.Item{Reasoning: &provider.Reasoning{Provider: "openai-chat", Model: model, Text: text, Opaque: opaque}}
}

var png = provider.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}

const data = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}`

func TestMessages(t *testing.T) {
	const tail = `],"stream":true,"stream_options":{"include_usage":true}}`
	for _, tt := range []struct {
		name  string
		opts  Options
		items []provider.Item
		want  string // of the messages
	}{
		{"neighbours of one role", Options{}, []provider.Item{notice("Rules."), user("a"), answer("b"), answer("c"), user("d"), user("e")},
			`{"role":"user","content":"<harness_notice>\nRules.\n</harness_notice>\n\na"},{"role":"assistant","content":"b\n\nc"},{"role":"user","content":"d\n\ne"}`},
		{"calls and results", Options{}, []provider.Item{user("a"), answer("b"), call("1", `{"x":1}`), call("2", ``), result("1", "r1"), result("2", "r2"), call("3", `{"x":`), result("3", "bad")},
			`{"role":"user","content":"a"},` +
				`{"role":"assistant","content":"b","tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{\"x\":1}"}},{"id":"2","type":"function","function":{"name":"bash","arguments":"{}"}}]},` +
				`{"role":"tool","content":"r1","tool_call_id":"1"},{"role":"tool","content":"r2","tool_call_id":"2"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"3","type":"function","function":{"name":"bash","arguments":"{\"raw_arguments\":\"{\\\"x\\\":\"}"}}]},` +
				`{"role":"tool","content":"bad","tool_call_id":"3"}`},
		{"what services refuse", Options{}, []provider.Item{result("0", "orphan"), user("a"), madeUp("1"), user("b"), madeUp("2"), result("2", "r")},
			`{"role":"user","content":"a"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"container_exec_","arguments":"{}"}}]},{"role":"tool","content":"tool failed: interrupted","tool_call_id":"1"},` +
				`{"role":"user","content":"b"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"container_exec_","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"2"}`},
		{"pictures", Options{}, []provider.Item{{User: &provider.UserMessage{Text: "a", Images: []provider.Image{png}}}},
			`{"role":"user","content":[{"type":"text","text":"a"},` + data + `]}`},
		{"pictures of results wait for the batch's end", Options{}, []provider.Item{user("a"), call("1", `{}`), call("2", `{}`), result("1", "r1", png), result("2", "r2"), notice("n")},
			`{"role":"user","content":"a"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"bash","arguments":"{}"}}]},` +
				`{"role":"tool","content":"r1","tool_call_id":"1"},{"role":"tool","content":"r2","tool_call_id":"2"},` +
				`{"role":"user","content":[{"type":"text","text":"<harness_notice>\nThe pictures of tool result 1:\n</harness_notice>\n\n<harness_notice>\nn\n</harness_notice>"},` + data + `]}`},
		{"no pictures", Options{NoImages: true}, []provider.Item{{User: &provider.UserMessage{Images: []provider.Image{png}}}, call("1", `{}`), result("1", "", png)},
			`{"role":"user","content":"[image/png left out: this model takes no pictures]"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{}"}}]},` +
				`{"role":"tool","content":"[image/png left out: this model takes no pictures]","tool_call_id":"1"}`},
		{"reasoning of this turn and model", Options{}, []provider.Item{
			user("a"), thought("m", "old turn", ""), answer("b"),
			user("c"), thought("m", "this turn", ""), call("1", `{}`), result("1", "r"), thought("other", "other model", ""), call("2", `{}`), result("2", "r"),
			{Reasoning: &provider.Reasoning{Provider: "meta", Model: "m", Text: "other provider"}}, call("3", `{}`), result("3", "r"), thought("m", "led nowhere", "")},
			`{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},` +
				`{"role":"assistant","content":null,"reasoning_content":"this turn","tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"1"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"2","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"2"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"3","type":"function","function":{"name":"bash","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"3"}`},
		{"sealed reasoning", Options{}, []provider.Item{user("a"), thought("m", "x", `[{"type":"reasoning.encrypted","data":"s"}]`), answer("b")},
			`{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_details":[{"type":"reasoning.encrypted","data":"s"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wire(t, "http://127.0.0.1:1/v1", tt.opts).encode(&provider.Request{Model: "m", Items: tt.items})
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"model":"m","messages":[` + tt.want + tail; string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestBody(t *testing.T) {
	full := provider.Request{
		Model: "m", Instructions: "Be brief.", Items: []provider.Item{user("a")}, Tools: bash,
		Effort: provider.EffortMax, Parallel: true, CacheKey: "s-1", MaxOutput: 9,
	}
	const head = `{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"a"}],` +
		`"tools":[{"type":"function","function":{"name":"bash","description":"Run.","parameters":{"type":"object"}}}],`
	const tail = `,"stream":true,"stream_options":{"include_usage":true}}`
	single := full
	single.Parallel = false
	shaped := provider.Request{Model: "m", OutputSchema: jsontext.Value(`{"type":"object"}`)}
	shapedWithTools := shaped
	shapedWithTools.Tools = bash
	const format = `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"},"strict":false}}`
	for _, tt := range []struct {
		name, base string
		opts       Options
		req        provider.Request
		want       string
	}{
		{"any server", "http://127.0.0.1:1/v1", Options{}, full, head + `"reasoning_effort":"high","max_tokens":9` + tail},
		{"OpenAI's own", "https://api.openai.com/v1", Options{}, full, head + `"reasoning_effort":"high","max_completion_tokens":9,"prompt_cache_key":"s-1"` + tail},
		{"levels of the model", "http://127.0.0.1:1/v1", Options{Efforts: []provider.Effort{provider.EffortXHigh}}, full, head + `"reasoning_effort":"xhigh","max_tokens":9` + tail},
		{"one call at a time", "http://127.0.0.1:1/v1", Options{NoReasoning: true}, single, head + `"parallel_tool_calls":false,"max_tokens":9` + tail},
		{"no usage", "http://127.0.0.1:1/v1", Options{NoUsage: true, MaxOutput: 5}, provider.Request{Model: "m"}, `{"model":"m","messages":null,"max_tokens":5,"stream":true}`},
		{"a shape", "http://127.0.0.1:1/v1", Options{NoUsage: true}, shaped, `{"model":"m","messages":null,` + format + `,"stream":true}`},
		{"a shape beside tools", "http://127.0.0.1:1/v1", Options{NoUsage: true}, shapedWithTools,
			`{"model":"m","messages":null,"tools":[{"type":"function","function":{"name":"bash","description":"Run.","parameters":{"type":"object"}}}],"parallel_tool_calls":false,"stream":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wire(t, tt.base, tt.opts).encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(tt.want, `"messages":null`, `"messages":[]`, 1); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	_, err := wire(t, "http://127.0.0.1:1/v1", Options{}).encode(&provider.Request{Effort: "odd"})
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.InvalidRequest {
		t.Errorf("odd effort: %v", err)
	}
}
