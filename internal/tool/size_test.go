package tool

import (
	"testing"

	"github.com/go-json-experiment/json"
)

// The tools are sent with every request: their text is a budget.
func TestToolsAreSmall(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.UserInputAutoResolve = true })
	type wire struct {
		Type, Name, Description string
		Parameters              any
	}
	var tools []wire
	for _, spec := range s.Specs() {
		if len(spec.Description) > 400 {
			t.Errorf("%s: the description has %d bytes", spec.Name, len(spec.Description))
		}
		tools = append(tools, wire{"function", spec.Name, spec.Description, spec.Schema})
	}
	text, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 8<<10 {
		t.Errorf("the tools take %d bytes of a request, more than 8 KB", len(text))
	}
	t.Logf("%d tools, %d bytes", len(tools), len(text))
}
