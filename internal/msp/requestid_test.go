package msp

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func TestRequestID(t *testing.T) {
	tests := []struct {
		in, want string // want "" means refused
	}{
		{`1`, `1`},
		{`0`, `0`},
		{`-3`, `-3`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
		{`"1"`, `"1"`},
		{`""`, `""`},
		{`"\u0061\n"`, `"a\n"`},
		{`1.5`, ``},
		{`1e3`, ``},
		{`true`, ``},
		{`{}`, ``},
		{`[1]`, ``},
	}
	for _, tt := range tests {
		var id RequestId
		err := json.Unmarshal([]byte(tt.in), &id)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%s was read as %s", tt.in, id)
			}
			continue
		}
		out, encodeErr := json.Marshal(id)
		if err != nil || encodeErr != nil || string(out) != tt.want {
			t.Errorf("%s: %v, %v, written as %s", tt.in, err, encodeErr, out)
		}
	}
	if IntID(1) == StringID("1") {
		t.Error(`1 and "1" are the same`)
	}
	a, errA := ParseRequestID(jsontext.Value(`"a"`))
	b, errB := ParseRequestID(jsontext.Value(`"\u0061"`))
	if errA != nil || errB != nil || a != b || a != StringID("a") {
		t.Errorf("spellings of one text differ: %s and %s, %v, %v", a, b, errA, errB)
	}
	if n, ok := IntID(42).Int(); !ok || n != 42 {
		t.Errorf("%d, %v", n, ok)
	}
	if _, ok := StringID("42").Int(); ok {
		t.Error("a text became a number")
	}
	var null RequestId
	if err := json.Unmarshal([]byte(`null`), &null); err != nil || !null.IsNull() || null.String() != "null" {
		t.Errorf("null: %s, %v", null, err)
	}
}
