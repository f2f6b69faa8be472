package provider

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCallIDs(t *testing.T) {
	ids := NewCallIDs([]Item{{ToolCall: &ToolCall{CallID: "call_0"}}}, time.Now)
	if got := ids.Take("call_1"); got != "call_1" {
		t.Errorf("a new id became %q", got)
	}
	seen := map[string]bool{"call_0": true, "call_1": true}
	for _, id := range []string{"call_0", "call_1", "", ""} {
		got := ids.Take(id)
		if seen[got] || !strings.HasPrefix(got, "call_") || len(got) != 37 {
			t.Errorf("Take(%q) = %q", id, got)
		}
		seen[got] = true
	}
}

func TestToolName(t *testing.T) {
	tools := []Tool{{Name: "read_file"}, {Name: "muse.odd"}}
	for name, want := range map[string]string{
		"read_file": "read_file", "muse.read_file": "read_file", "muse__read_file": "read_file",
		"functions.read_file": "read_file", "muse.odd": "muse.odd", "muse.other": "muse.other", "other": "other", "": "",
	} {
		if got := ToolName(tools, name); got != want {
			t.Errorf("ToolName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestArgs(t *testing.T) {
	for in, want := range map[string]string{
		"":            `{}`,
		" \n":         `{}`,
		`{"a":1}`:     `{"a":1}`,
		`{"a":`:       `{"raw_arguments":"{\"a\":"}`,
		`[1]`:         `{"raw_arguments":"[1]"}`,
		"{\"a\":\xff": `{"raw_arguments":"{\"a\":` + "\uFFFD" + `"}`,
	} {
		if got := string(ObjectArgs(in)); got != want {
			t.Errorf("ObjectArgs(%q) = %s, want %s", in, got, want)
		}
	}
	if got := CleanArgs(`{"a":`); got != `{"a":` {
		t.Errorf("CleanArgs changed bad arguments: %q", got)
	}
}

func TestStrictSchema(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{},"additionalProperties":false}`:                                       true,
		`{"type":"object","properties":{"a":{}},"required":["a"]}`:                                             false,
		`{"type":"object","properties":{"a":{},"b":{}},"required":["a"],"additionalProperties":false}`:         false,
		`{"type":"object"}`: false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`: false,
		`{"type":"array","items":{"type":"object"}}`:                                                           false,
		`{"type":"array","items":{"type":"string"}}`:                                                           true,
		`{"anyOf":[{"type":"null"},{"type":"object"}]}`:                                                        false,
		`{"oneOf":[{"type":"null"}]}`:                                                                          false,
		`{"$defs":{"x":{"type":"object"}},"$ref":"#/$defs/x"}`:                                                 false,
		`true`: false,
		`{`:    false,
	} {
		if got := StrictSchema(jsontext.Value(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
