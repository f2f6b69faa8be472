package wires

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/mockmodel"
)

// A cap on the output is only sent where the wire demands one.
func TestOutputCap(t *testing.T) {
	for wire, want := range map[string]string{
		Meta: `"max_output_tokens":128000,`, OpenAI: "", OpenAIChat: "", Anthropic: `"max_tokens":16384,`,
	} {
		server, p := open(t, wire, mockmodel.Options{}, func(o *Options) { o.MaxOutput = 16384 })
		run(t, p, request(user("go")), 1)
		body := string(server.Calls()[0].Body)
		if want == "" && strings.Contains(body, "max_") || !strings.Contains(body, want) {
			t.Errorf("%s: %s", wire, body)
		}
	}
}

// The servers that imitate Chat Completions differ; a run ends well on each.
func TestQuirks(t *testing.T) {
	for _, q := range []mockmodel.Quirks{
		{}, {NoIndex: true}, {NoIDs: true}, {NoIndex: true, NoIDs: true}, {WholeCalls: true},
		{WholeCalls: true, NoIndex: true, NoIDs: true}, {NoUsage: true}, {NoDone: true}, {NoUsage: true, NoDone: true},
		{OneChunk: true}, {Reasoning: "reasoning"},
	} {
		t.Run(fmt.Sprintf("%+v", q), func(t *testing.T) {
			server, p := open(t, OpenAIChat, mockmodel.Options{Quirks: q, Reply: func(c *mockmodel.Call) mockmodel.Reply {
				if c.Results == 4 {
					return mockmodel.Reply{Text: "The end."}
				}
				return mockmodel.Reply{Reasoning: "Think of it.", Calls: []mockmodel.ToolCall{
					{Name: "bash", Args: `{"command":"echo a b c","description":"d"}`}, {Name: "read_file", Args: `{"path":"x y"}`},
				}}
			}})
			req := request(user("go"))
			text, calls := run(t, p, req, 3)
			if text != "The end." || calls != 4 {
				t.Errorf("text %q after %d calls", text, calls)
			}
			for _, it := range req.Items {
				if c := it.ToolCall; c != nil && c.Args != `{"command":"echo a b c","description":"d"}` && c.Args != `{"path":"x y"}` {
					t.Errorf("arguments %q", c.Args)
				}
			}
			if !strings.Contains(string(server.Calls()[1].Body), `"reasoning_content":"Think of it."`) {
				t.Error("reasoning was not given back within its turn")
			}
			if n := server.Connections(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
