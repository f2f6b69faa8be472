package provider

import (
	"strings"
	"testing"
)

func TestResolveEffort(t *testing.T) {
	for _, tt := range []struct {
		provider  string
		effort    Effort
		supported []Effort
		want      Effort
		note, err string
	}{
		{"meta", EffortDefault, nil, EffortDefault, "", ""},
		{"meta", EffortNone, nil, "", "", `"none" is not available for provider meta`},
		{"meta", EffortMinimal, nil, EffortMinimal, "", ""},
		{"meta", EffortMax, nil, EffortMax, "", ""},
		{"meta", EffortUltra, nil, EffortXHigh, "ultra is sent as xhigh", ""},
		{"openai", EffortNone, nil, EffortNone, "", ""},
		{"openai", EffortMax, nil, EffortXHigh, "max is sent as xhigh", ""},
		{"openai", EffortUltra, nil, EffortXHigh, "ultra is sent as xhigh", ""},
		{"openai", EffortXHigh, []Effort{EffortLow, EffortMedium, EffortHigh}, EffortHigh, "xhigh is sent as high", ""},
		{"openai", EffortMinimal, []Effort{EffortLow, EffortMedium, EffortHigh}, EffortLow, "minimal is sent as low", ""},
		{"openai-chat", EffortUltra, nil, EffortHigh, "ultra is sent as high", ""},
		{"openai-chat", EffortXHigh, []Effort{EffortXHigh}, EffortXHigh, "", ""},
		{"anthropic", EffortMax, nil, EffortMax, "", ""},
		{"anthropic", EffortNone, nil, EffortNone, "", ""},
		{"echo", EffortDefault, nil, EffortDefault, "", ""},
		{"echo", EffortLow, nil, "", "", "takes no reasoning effort"},
		{"script", EffortUltra, nil, EffortUltra, "", ""},
		{"meta", "lots", nil, "", "", `unknown reasoning effort "lots": want one of none, minimal, low`},
		{"openai", EffortHigh, []Effort{"odd"}, EffortHigh, "", ""},
	} {
		got, note, err := ResolveEffort(tt.provider, tt.effort, tt.supported)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s %s: error %v, want %q", tt.provider, tt.effort, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want || (note == "") != (tt.note == "") || !strings.Contains(note, tt.note) {
			t.Errorf("%s %s: %q, note %q, %v; want %q, note %q", tt.provider, tt.effort, got, note, err, tt.want, tt.note)
		}
	}
}

func TestParseEffort(t *testing.T) {
	if e, err := ParseEffort("xhigh"); err != nil || e != EffortXHigh {
		t.Errorf("xhigh: %v, %v", e, err)
	}
	for _, s := range []string{"", "HIGH", "very"} {
		if _, err := ParseEffort(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}
