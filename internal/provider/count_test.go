package provider

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestCount(t *testing.T) {
	for in, want := range map[string]Count{
		`12`: 12, `12.0`: 12, `1.9`: 1, `1.2e2`: 120, `-3`: 0, `-0.5`: 0, `null`: 0, `"12"`: 0, `true`: 0, `[1]`: 0, `{"a":{}}`: 0,
		`1e400`: maxCount, `-1e400`: 0, `1e-400`: 0, `9007199254740993000`: maxCount,
	} {
		got := Count(7)
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", in, got, err, want)
		}
	}
	if err := json.Unmarshal([]byte(`1.`), new(Count)); err == nil {
		t.Error("bad syntax was taken")
	}
}
