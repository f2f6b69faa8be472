package cli

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestCheckSchema(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 200) + `{}` + strings.Repeat(`}`, 200)
	for _, tt := range []struct{ schema, wrong string }{
		{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`, ""},
		{`{"$defs":{"tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}},"$ref":"#/$defs/tree"}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"integer"}`, ""},
		{`true`, ""},
		{`null`, "is null where a schema"},
		{`[]`, "is an array where a schema"},
		{`{"properties":{"a":3}}`, "#/properties/a is a number"},
		{`{"type":"strin"}`, "#/type is strin"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "draft"},
		{`{"$ref":"#"}`, "refers to itself"},
		{`{"allOf":[{"$ref":"#"}]}`, "refers to itself"},
		{`{"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "refers to itself"},
		{`{"$ref":"other.json"}`, "only references within the file"},
		{deep, "nested deeper"},
	} {
		var doc any
		if err := json.Unmarshal([]byte(tt.schema), &doc); err != nil {
			t.Fatal(err)
		}
		err := checkSchema(doc)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%.80s: %v, want %q", tt.schema, err, tt.wrong)
		}
	}
}
