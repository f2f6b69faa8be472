package messages

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
	c, err := transport.New(transport.Options{BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	opts.ID = "anthropic"
	return New(c, opts)
}

const model = "claude-sonnet-4-5"

var bash = []provider.Tool{
	{Name: "read_file", Schema: jsontext.Value(`{"type":"object"}`)},
	{Name: "bash", Description: "Run.", Schema: jsontext.Value(`{ "type": "object" }`)},
}

func user(text string) provider.Item {
	return provider.Item{User: &provider.UserMessage{Text: text}}
}

func answer(text string) provider.Item {
	return provider.Item{Assistant: &provider.AssistantMessage{Text: text}}
}

func call(id, args string) provider.Item {
	return provider.Item{ToolCall: &provider.ToolCall{CallID: id, Name: "bash", Args: args}}
}

func result(r provider.ToolResult) provider.Item { return provider.Item{ToolResult: &r} }

func notice(text string) provider.Item {
	return provider.Item{Developer: &provider.DeveloperMessage{Text: text}}
}

func thought(provide, model, signature, text string) provider.Item {
	return provider.Item{Reasoning: &provider.Reasoning{Provider: provide, Model: model, Opaque: signature, Text: text}}
}

func redacted(data string) provider.Item {
	return provider.Item{Reasoning: &provider.Reasoning{Provider: "anthropic", Model: model, Opaque: data, Redacted: true}}
}

var png = provider.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}

const (
	cache    = `,"cache_control":{"type":"ephemeral"}`
	pngBlock = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}}`
)

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		name   string
		opts   Options
		effort provider.Effort
		items  []provider.Item
		want   string
	}{
		{"roles take turns", Options{}, "", []provider.Item{notice("Rules."), user("a"), answer("b"), answer(" \n"), answer("c"), user("d"), notice("n")},
			`{"role":"user","content":[{"type":"text","text":"<harness_notice>\nRules.\n</harness_notice>"},{"type":"text","text":"a"CACHE}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]},` +
				`{"role":"user","content":[{"type":"text","text":"d"},{"type":"text","text":"<harness_notice>\nn\n</harness_notice>"CACHE}]}`},
		{"calls and results", Options{}, "", []provider.Item{
			user("a"), call("call_1", `{"x": 1}`), call("c:2/x", `{"x":`), result(provider.ToolResult{CallID: "call_1", Text: "ok", Images: []provider.Image{png}}),
			result(provider.ToolResult{CallID: "c:2/x", Text: "tool failed: no", Failed: true}), notice("n")},
			`{"role":"user","content":[{"type":"text","text":"a"CACHE}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"bash","input":{"x":1}},{"type":"tool_use","id":"c_2_x","name":"bash","input":{"raw_arguments":"{\"x\":"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"ok"},` + pngBlock + `]},` +
				`{"type":"tool_result","tool_use_id":"c_2_x","content":"tool failed: no","is_error":true},{"type":"text","text":"<harness_notice>\nn\n</harness_notice>"CACHE}]}`},
		{"results come first", Options{}, "", []provider.Item{user("a"), call("1", `{}`), notice("n"), result(provider.ToolResult{CallID: "1"})},
			`{"role":"user","content":[{"type":"text","text":"a"CACHE}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"text","text":"<harness_notice>\nn\n</harness_notice>"CACHE}]}`},
		{"pictures", Options{}, "", []provider.Item{{User: &provider.UserMessage{Images: []provider.Image{png}}}},
			`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}CACHE}]}`},
		{"no pictures", Options{NoImages: true}, "", []provider.Item{{User: &provider.UserMessage{Text: "a", Images: []provider.Image{png}}}, call("1", "{}"), result(provider.ToolResult{CallID: "1", Images: []provider.Image{png}})},
			`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"[image/png left out: this model takes no pictures]"CACHE}]},` +
				`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"bash","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"[image/png left out: this model takes no pictures]"CACHE}]}`},
		{"the user begins", Options{}, "", []provider.Item{answer("b"), user("c")},
			`{"role":"user","content":[{"type":"text","text":"<harness_notice>\nThe conversation goes on.\n</harness_notice>"CACHE}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"CACHE}]}`},
		{"thinking goes back to its model", Options{}, provider.EffortLow, []provider.Item{
			user("a"), thought("anthropic", model, "sig", "Hm"), redacted("data"), call("1", `{}`), result(provider.ToolResult{CallID: "1", Text: "r"}),
			thought("anthropic", "claude-opus-4-1", "sig", "other model"), thought("meta", model, "sig", "other provider"), thought("anthropic", model, "", "unsigned"),
			answer("b"), thought("anthropic", model, "sig", "led nowhere"), user("c")},
			`{"role":"user","content":[{"type":"text","text":"a"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"sig"},{"type":"redacted_thinking","data":"data"},{"type":"tool_use","id":"1","name":"bash","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"CACHE}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"CACHE}]}`},
		{"thinking is not sent when it is off", Options{}, "", []provider.Item{user("a"), thought("anthropic", model, "sig", "Hm"), answer("b"), user("c")},
			`{"role":"user","content":[{"type":"text","text":"a"CACHE}]},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":[{"type":"text","text":"c"CACHE}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body, _, err := wire(t, tt.opts).encode(&provider.Request{Model: model, Items: tt.items, Effort: tt.effort})
			if err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(string(body), `"messages":`)
			want := "[" + strings.ReplaceAll(tt.want, "CACHE", cache) + "]"
			if !strings.HasPrefix(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestBody(t *testing.T) {
	req := func(model string, e provider.Effort, change ...func(*provider.Request)) provider.Request {
		r := provider.Request{Model: model, Instructions: "Be brief.", Items: []provider.Item{user("a")}, Tools: bash, Effort: e, Parallel: true, CacheKey: "s-1"}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	const middle = `"system":[{"type":"text","text":"Be brief."` + cache + `}],"messages":[{"role":"user","content":[{"type":"text","text":"a"` + cache + `}]}],` +
		`"tools":[{"name":"read_file","input_schema":{"type":"object"}},{"name":"bash","description":"Run.","input_schema":{"type":"object"}` + cache + `}],`
	for _, tt := range []struct {
		name       string
		opts       Options
		req        provider.Request
		head, tail string
		beta       string
	}{
		{"no effort", Options{}, req("claude-sonnet-4-5", ""), `{"model":"claude-sonnet-4-5","max_tokens":32000,`, `"stream":true}`, ""},
		{"effort none", Options{}, req("claude-sonnet-4-5", provider.EffortNone), `{"model":"claude-sonnet-4-5","max_tokens":32000,`, `"stream":true}`, ""},
		{"budget", Options{}, req("claude-sonnet-4-5-20250929", provider.EffortHigh), `{"model":"claude-sonnet-4-5-20250929","max_tokens":32000,`,
			`"thinking":{"type":"enabled","budget_tokens":20000},"stream":true}`, interleaved},
		{"budget, ultra", Options{MaxOutput: 64000}, req("claude-opus-4-1", provider.EffortUltra), `{"model":"claude-opus-4-1","max_tokens":64000,`,
			`"thinking":{"type":"enabled","budget_tokens":32000},"stream":true}`, interleaved},
		{"budget within the output", Options{MaxOutput: 8000}, req("claude-3-7-sonnet-latest", provider.EffortMax), `{"model":"claude-3-7-sonnet-latest","max_tokens":8000,`,
			`"thinking":{"type":"enabled","budget_tokens":6000},"stream":true}`, ""},
		{"too little output to think", Options{}, req("claude-sonnet-4-5", provider.EffortHigh, func(r *provider.Request) { r.MaxOutput = 1000 }),
			`{"model":"claude-sonnet-4-5","max_tokens":1000,`, `"stream":true}`, ""},
		{"a model that does not think", Options{}, req("claude-3-5-sonnet-20241022", provider.EffortHigh), `{"model":"claude-3-5-sonnet-20241022","max_tokens":32000,`, `"stream":true}`, ""},
		{"adaptive", Options{}, req("claude-opus-4-6", provider.EffortXHigh), `{"model":"claude-opus-4-6","max_tokens":32000,`,
			`"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"stream":true}`, ""},
		{"adaptive, later", Options{}, req("claude-opus-4-7", provider.EffortMinimal), `{"model":"claude-opus-4-7","max_tokens":32000,`,
			`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"},"stream":true}`, ""},
		{"adaptive, without an effort", Options{}, req("claude-opus-5", ""), `{"model":"claude-opus-5","max_tokens":32000,`, `"stream":true}`, ""},
		{"another maker", Options{}, req("deepseek-chat", provider.EffortLow), `{"model":"deepseek-chat","max_tokens":32000,`,
			`"thinking":{"type":"enabled","budget_tokens":4096},"stream":true}`, ""},
		{"told not to", Options{Thinking: ThinkingNone}, req("claude-opus-5", provider.EffortMax), `{"model":"claude-opus-5","max_tokens":32000,`, `"stream":true}`, ""},
		{"one call at a time", Options{}, req("claude-sonnet-4-5", "", func(r *provider.Request) { r.Parallel = false }), `{"model":"claude-sonnet-4-5","max_tokens":32000,`,
			`"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"stream":true}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, beta, err := wire(t, tt.opts).encode(&tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.head + middle + tt.tail; string(got) != want || beta != tt.beta {
				t.Errorf("beta %q, got\n%s\nwant\n%s", beta, got, want)
			}
		})
	}
	_, _, err := wire(t, Options{}).encode(&provider.Request{Effort: "odd"})
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.InvalidRequest {
		t.Errorf("odd effort: %v", err)
	}
}

// A turn that was begun without thinking goes on without it: the service
// refuses anything else.
func TestATurnWithoutThinkingGoesOnSo(t *testing.T) {
	begun := []provider.Item{
		user("a"), thought("anthropic", model, "sig", "Hm"), answer("b"),
		user("c"), call("1", `{}`), result(provider.ToolResult{CallID: "1", Text: "r"}),
	}
	body, beta, err := wire(t, Options{}).encode(&provider.Request{Model: model, Items: begun, Effort: provider.EffortHigh})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(body), "thinking") || beta != "" {
		t.Errorf("beta %q, body %s", beta, body)
	}
	next := append(begun, answer("done"), user("again"))
	body, _, err = wire(t, Options{}).encode(&provider.Request{Model: model, Items: next, Effort: provider.EffortHigh})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(body), `"budget_tokens":20000`) || !strings.Contains(string(body), `"signature":"sig"`) {
		t.Errorf("the next turn does not think: %s", body)
	}
}

func TestVersionOf(t *testing.T) {
	for id, want := range map[string]modelVersion{
		"claude-3-7-sonnet-20250219":   {true, true, 3, 7},
		"claude-3-opus-20240229":       {true, true, 3, 0},
		"claude-opus-4-20250514":       {true, true, 4, 0},
		"claude-opus-4-1-20250805":     {true, true, 4, 1},
		"claude-haiku-4-5":             {true, true, 4, 5},
		"claude-opus-4-6-v1":           {true, true, 4, 6},
		"anthropic/claude-sonnet-4.5":  {true, true, 4, 5},
		"claude-fable-5-1":             {true, true, 5, 1},
		"claude-sonnet-5":              {true, true, 5, 0},
		"claude-mythos-preview":        {true, false, 0, 0},
		"us.anthropic.claude-opus-4-7": {true, true, 4, 7},
		"claude-sonnet-4@20250514":     {true, true, 4, 0},
		"kimi-k2":                      {},
	} {
		if got := versionOf(id); got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	for id, want := range map[string]Thinking{
		"claude-3-5-haiku-latest": ThinkingNone, "claude-3-7-sonnet-latest": ThinkingBudget, "claude-haiku-4-5": ThinkingBudget,
		"claude-sonnet-4-6": ThinkingAdaptive, "claude-mythos-preview": ThinkingAdaptive, "claude-sonnet-5": ThinkingAdaptive, "glm-5": ThinkingBudget,
	} {
		if got := versionOf(id).thinking(); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestMessagesThatServicesRefuse(t *testing.T) {
	madeUp := func(id string) provider.Item {
		return provider.Item{ToolCall: &provider.ToolCall{CallID: id, Name: "container.exec\n", Args: `{}`}}
	}
	req := &provider.Request{Model: model, Items: []provider.Item{
		result(provider.ToolResult{CallID: "0", Text: "orphan"}), user("a"), madeUp("1"), user("b"), madeUp("2"), result(provider.ToolResult{CallID: "2", Text: "r"}),
	}}
	body, _, err := wire(t, Options{}).encode(req)
	if err != nil {
		t.Fatal(err)
	}
	want := `"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"container_exec_","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"tool failed: interrupted","is_error":true},{"type":"text","text":"b"}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"2","name":"container_exec_","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"r"}]}]`
	if got := strings.ReplaceAll(string(body), cache, ""); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
}
