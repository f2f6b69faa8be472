package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/provider"
)

func p[T any](v T) *T { return &v }

func vars(m map[string]string) func(string) string {
	return func(name string) string { return m[name] }
}

func parse(t *testing.T, text string) *Settings {
	t.Helper()
	s, err := ParseSettings("/c/settings.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const two = `{
  "schema_version": 1,
  "model": "muse-spark-1.3",
  "reasoning_effort": "low",
  "presets": {
    "fast": {"model": "muse-spark-1.2", "run": {"toolset": ["bash"], "parallel_tool_calls": false}},
    "claude": {"provider": "anthropic", "model": "claude-opus-5"}
  },
  "run": {"parallel_tool_calls": true, "system_prompt": "be brief"}
}`

func TestModelPrecedence(t *testing.T) {
	tests := []struct {
		name     string
		flags    Flags
		env      map[string]string
		settings string
		want     string
		origin   string
	}{
		{"nothing", Flags{}, nil, `{"schema_version":1}`, "muse-wonder-1.0", "built-in default for meta"},
		{"settings", Flags{}, nil, two, "muse-spark-1.3", "settings /c/settings.json:3:3"},
		{"preset over settings", Flags{Preset: p("fast")}, nil, two, "muse-spark-1.2", "preset fast (/c/settings.json:6:14)"},
		{"environment over preset", Flags{Preset: p("fast")}, map[string]string{"MUSE_MODEL": "m"}, two, "m", "environment MUSE_MODEL"},
		{"command line over all", Flags{Preset: p("fast"), Model: p("x")}, map[string]string{"MUSE_MODEL": "m"}, two, "x", "command line --model"},
		{"settings of another provider", Flags{Provider: p("anthropic")}, nil, two, "claude-sonnet-4-6", "model table"},
		{"provider of a preset", Flags{Preset: p("claude")}, nil, two, "claude-opus-5", "preset claude (/c/settings.json:7:41)"},
		{"preset of another provider", Flags{Preset: p("claude"), Provider: p("meta")}, nil, two, "muse-spark-1.3", "settings /c/settings.json:3:3"},
		{"catalog default", Flags{}, nil, `{"schema_version":1,"model_catalog":[{"model_id":"a","provider_id":"openai","is_default":true},{"model_id":"b","provider_id":"meta","is_default":true}]}`, "b", "settings /c/settings.json:1:96"},
		{"contributor is no default", Flags{}, nil, `{"schema_version":1,"model_catalog":[{"model_id":"b-contributor","provider_id":"meta","is_default":true}]}`, "muse-wonder-1.0", "built-in default for meta"},
		{"default of an own provider", Flags{Provider: p("lab")}, nil, `{"schema_version":1,"openmuse":{"providers":{"lab":{"wire":"openai-chat","base_url":"http://lab/v1","default_model":"q"}}}}`, "q", "settings /c/settings.json:1:101"},
		{"echo needs none", Flags{Provider: p("echo")}, nil, `{"schema_version":1}`, "", "built-in default"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Resolve(Inputs{Flags: tt.flags, Getenv: vars(tt.env), Settings: parse(t, tt.settings)})
			if err != nil {
				t.Fatal(err)
			}
			if r.Model.V != tt.want || r.Model.Origin.String() != tt.origin {
				t.Errorf("model %q from %s, want %q from %s", r.Model.V, r.Model.Origin, tt.want, tt.origin)
			}
		})
	}
}

func TestFlagErrors(t *testing.T) {
	tests := []struct {
		name  string
		flags Flags
		want  string
	}{
		{"provider", Flags{Provider: p("antropic")}, `unknown provider "antropic" for --provider: did you mean "anthropic"?`},
		{"preset", Flags{Preset: p("fst")}, `unknown preset "fst" for --preset: did you mean "fast"?`},
		{"effort", Flags{ReasoningEffort: p("hihg")}, `invalid value "hihg" for --reasoning-effort: did you mean "high"?`},
		{"none for meta", Flags{ReasoningEffort: p("none")}, "not available for provider meta"},
		{"echo effort", Flags{Provider: p("echo"), ReasoningEffort: p("low")}, "provider echo does not support --reasoning-effort"},
		{"echo image", Flags{Provider: p("echo"), Images: 1}, "provider echo does not support --image"},
		{"echo parallel", Flags{Provider: p("echo"), ParallelToolCalls: p(false)}, "provider echo does not support --parallel-tool-calls"},
		{"echo key", Flags{Provider: p("echo"), APIKeyStdin: true}, "provider echo does not support --api-key-stdin"},
		{"base URL", Flags{BaseURL: p("api.meta.ai")}, "invalid value for --base-url"},
		{"soft threshold", Flags{SoftThreshold: p(1.0)}, "invalid value 1 for --context-compaction-soft-threshold"},
		{"soft not below hard", Flags{SoftThreshold: p(0.5), HardThreshold: p(0.5)}, "is not below the hard one"},
		{"strategy", Flags{CompactionStrategy: p("none")}, `unknown strategy "none"`},
		{"gated strategy", Flags{CompactionStrategy: p("prefix-extension-summary/v1")}, "not available yet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Resolve(Inputs{Flags: tt.flags, Settings: parse(t, two)})
			var flagErr *FlagError
			if !errors.As(err, &flagErr) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestEffort(t *testing.T) {
	tests := []struct {
		name, settings string
		flags          Flags
		want           provider.Effort
		origin         string
	}{
		{"meta default", `{"schema_version":1}`, Flags{}, provider.EffortHigh, "built-in default"},
		{"settings", two, Flags{}, provider.EffortLow, "settings /c/settings.json:4:3"},
		{"flag", two, Flags{ReasoningEffort: p("max")}, provider.EffortMax, "command line --reasoning-effort"},
		{"ultra", two, Flags{ReasoningEffort: p("ultra")}, provider.EffortXHigh, "command line --reasoning-effort"},
		{"others send nothing", `{"schema_version":1}`, Flags{Provider: p("openai")}, provider.EffortDefault, "built-in default"},
		{"none elsewhere", `{"schema_version":1}`, Flags{Provider: p("openai"), Model: p("my-model"), ReasoningEffort: p("none")}, provider.EffortNone, "command line --reasoning-effort"},
		{"a level the model lacks", `{"schema_version":1}`, Flags{Model: p("muse-spark-1.2"), ReasoningEffort: p("max")}, provider.EffortXHigh, "command line --reasoning-effort"},
		{"echo ignores settings", two, Flags{Provider: p("echo")}, provider.EffortDefault, "built-in default"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Resolve(Inputs{Flags: tt.flags, Settings: parse(t, tt.settings)})
			if err != nil {
				t.Fatal(err)
			}
			if r.Effort != tt.want || r.EffortAsked.Origin.String() != tt.origin {
				t.Errorf("effort %q from %s, want %q from %s", r.Effort, r.EffortAsked.Origin, tt.want, tt.origin)
			}
		})
	}
}
