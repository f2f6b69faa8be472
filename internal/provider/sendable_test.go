package provider

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// spell is items in short: "u" and "d" for what users and the harness say, "a"
// and "t" for the model's words and thoughts, "c1" and "r1" for calls and
// results, "x1" for a result that says the call was interrupted.
func spell(items []Item) string {
	var words []string
	for _, it := range items {
		switch {
		case it.User != nil:
			words = append(words, "u")
		case it.Developer != nil:
			words = append(words, "d")
		case it.Assistant != nil:
			words = append(words, "a")
		case it.Reasoning != nil:
			words = append(words, "t")
		case it.ToolCall != nil:
			words = append(words, "c"+it.ToolCall.CallID)
		case it.ToolResult.Text == interrupted && it.ToolResult.Failed:
			words = append(words, "x"+it.ToolResult.CallID)
		default:
			words = append(words, "r"+it.ToolResult.CallID)
		}
	}
	return strings.Join(words, " ")
}

// read is the reverse of spell.
func read(words string) []Item {
	var items []Item
	for _, w := range strings.Fields(words) {
		switch w[0] {
		case 'u':
			items = append(items, Item{User: &UserMessage{}})
		case 'd':
			items = append(items, Item{Developer: &DeveloperMessage{}})
		case 'a':
			items = append(items, Item{Assistant: &AssistantMessage{}})
		case 't':
			items = append(items, Item{Reasoning: &Reasoning{}})
		case 'c':
			items = append(items, Item{ToolCall: &ToolCall{CallID: w[1:], Name: "bash"}})
		case 'r':
			items = append(items, Item{ToolResult: &ToolResult{CallID: w[1:], Text: "done"}})
		}
	}
	return items
}

func TestSendablePairsCallsAndResults(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"u t c1 c2 r2 r1 t a u":     "u t c1 c2 r2 r1 t a u",
		"u c1 a c2 r1 r2":           "u c1 a c2 r1 r2",
		"r1 u a":                    "u a",
		"u r1 c1 u":                 "u c1 x1 u",
		"u c1":                      "u c1 x1",
		"u c1 c2 r2 u a":            "u c1 c2 r2 x1 u a",
		"u c1 u r1 a":               "u c1 r1 u a",
		"u c1 d r1 a":               "u c1 r1 d a",
		"u c1 c2 r1 t c3 r2 r3":     "u c1 c2 r1 r2 t c3 r3",
		"u c1 r1 r1 u":              "u c1 r1 u",
		"u c1 r1 u c1 u":            "u c1 r1 u c1 x1 u",
		"u c1 u c1 r1 u":            "u c1 x1 u c1 r1 u",
		"u c1 r9 r1 a":              "u c1 r1 a",
		"u c1 r1 c2 r2 a u c3 a r3": "u c1 r1 c2 r2 a u c3 a r3",
	} {
		if got := spell(Sendable(&Request{Items: read(in)}).Items); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Whatever was recorded, every call is answered once and right behind its
// batch, and what is well formed stays.
func TestSendableHolds(t *testing.T) {
	word := rapid.SampledFrom([]string{"u", "d", "a", "t", "c1", "c2", "c3", "r1", "r2", "r3"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(word, 0, 14).Draw(t, "items"), " ")
		out := Sendable(&Request{Items: read(in)}).Items
		open := map[string]int{}
		left := 0
		for _, it := range out {
			switch {
			case it.ToolCall != nil:
				open[it.ToolCall.CallID]++
				left++
			case it.ToolResult != nil:
				if open[it.ToolResult.CallID]--; open[it.ToolResult.CallID] < 0 {
					t.Fatalf("%q became %q: a result without its call", in, spell(out))
				}
				left--
			case left > 0 && (it.User != nil || it.Developer != nil):
				t.Fatalf("%q became %q: a message among calls and results", in, spell(out))
			}
		}
		if left != 0 {
			t.Fatalf("%q became %q: a call without its result", in, spell(out))
		}
		words := func(s string) string {
			return strings.NewReplacer("r1", "", "r2", "", "r3", "", "x1", "", "x2", "", "x3", "").Replace(s)
		}
		if got, want := strings.Fields(words(spell(out))), strings.Fields(words(in)); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("%q became %q: more than results changed", in, spell(out))
		}
		if again := spell(paired(out)); strings.Count(again, " ") != strings.Count(spell(out), " ") {
			t.Fatalf("%q became %q and then %q", in, spell(out), again)
		}
	})
}

func TestSendableNames(t *testing.T) {
	for name, want := range map[string]string{
		"read_file":                  "read_file",
		"mcp__a-B__9":                "mcp__a-B__9",
		"container.exec":             "container_exec",
		"a\nb\x1b[31m":               "a_b__31m",
		"größe":                      "gr__e",
		"\xff":                       "_",
		"":                           "unknown_tool",
		strings.Repeat("x", 100<<10): strings.Repeat("x", 64),
		strings.Repeat("é", 70):      strings.Repeat("_", 64),
	} {
		req := &Request{Items: []Item{{ToolCall: &ToolCall{CallID: "1", Name: name}}, {ToolResult: &ToolResult{CallID: "1"}}}}
		if got := Sendable(req).Items[0].ToolCall.Name; got != want {
			t.Errorf("%.40q became %q, want %q", name, got, want)
		}
		if req.Items[0].ToolCall.Name != name {
			t.Errorf("%.40q was changed in the conversation itself", name)
		}
	}
}
