package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustResolve(t *testing.T, in Inputs) Resolved {
	t.Helper()
	r, err := Resolve(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBaseURL(t *testing.T) {
	const (
		none     = `{"schema_version":1}`
		gateway  = `{"schema_version":1,"endpoint_transport":{"base_url":"https://gw.test/v1/"}}`
		specific = `{"schema_version":1,"endpoint_transport":{"base_url":"https://gw.test/v1"},"openmuse":{"providers":{"meta":{"base_url":"https://own.test"}}}}`
		chat     = `{"schema_version":1,"provider":"openai-chat","model":"q","endpoint_transport":{"base_url":"http://127.0.0.1:8000/v1"}}`
	)
	tests := []struct {
		name, settings string
		flags          Flags
		env            map[string]string
		want, origin   string
		warning        string
	}{
		{"default", none, Flags{}, nil, "https://api.meta.ai/v1", "built-in default for meta", ""},
		{"settings", gateway, Flags{}, nil, "https://gw.test/v1", "settings /c/settings.json:1:43", ""},
		{"the provider's own entry", specific, Flags{}, nil, "https://own.test", "settings /c/settings.json:1:109", ""},
		{"environment over settings", specific, Flags{}, map[string]string{"META_BASE_URL": "http://127.0.0.1:1"}, "http://127.0.0.1:1", "environment META_BASE_URL", ""},
		{"command line last", specific, Flags{BaseURL: p("http://127.0.0.1:2/")}, map[string]string{"META_BASE_URL": "http://x"}, "http://127.0.0.1:2", "command line --base-url", ""},
		{"another provider is not redirected", gateway, Flags{Provider: p("openai")}, nil, "https://api.openai.com/v1", "built-in default for openai", "is about provider meta"},
		{"settings of the chosen provider", chat, Flags{}, nil, "http://127.0.0.1:8000/v1", "settings /c/settings.json:1:80", "in no table"},
		{"another provider's variable", none, Flags{}, map[string]string{"OPENAI_BASE_URL": "http://x"}, "https://api.meta.ai/v1", "built-in default for meta", ""},
		{"echo has none", gateway, Flags{Provider: p("echo")}, nil, "", "built-in default", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustResolve(t, Inputs{Flags: tt.flags, Getenv: vars(tt.env), Settings: parse(t, tt.settings)})
			if r.BaseURL.V != tt.want || r.BaseURL.Origin.String() != tt.origin || r.Endpoint.BaseURL != tt.want {
				t.Errorf("%q from %s, want %q from %s", r.BaseURL.V, r.BaseURL.Origin, tt.want, tt.origin)
			}
			if said := strings.Join(r.Warnings, "\n"); (tt.warning == "") != (said == "") || !strings.Contains(said, tt.warning) {
				t.Errorf("warnings %q, want %q", said, tt.warning)
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	tests := []struct {
		name, settings string
		flags          Flags
		env            map[string]string
		want           string
	}{
		{"address in a variable", "", Flags{}, map[string]string{"META_BASE_URL": "api.meta.ai"}, "META_BASE_URL: the address does not begin with a scheme"},
		{"OpenAI's host on Meta's wire", "", Flags{BaseURL: p("https://api.openai.com/v1")}, nil, "use --provider openai, or set endpoint_transport.allow_openai"},
		{"custom header without colon", "", Flags{}, map[string]string{"MUSE_CUSTOM_HEADERS": "X-A 1"}, "MUSE_CUSTOM_HEADERS: a line has no colon"},
		{"custom header with a key", "", Flags{}, map[string]string{"MUSE_CUSTOM_HEADERS": "Authorization: Bearer sk-secret"}, "the header Authorization cannot be set"},
		{"seconds", "", Flags{}, map[string]string{"TBH_STREAM_IDLE_TIMEOUT_SECS": "1.5"}, `TBH_STREAM_IDLE_TIMEOUT_SECS is "1.5"; want a whole number of seconds`},
		{"negative seconds", "", Flags{}, map[string]string{"TBH_STREAM_FIRST_EVENT_TIMEOUT_SECS": "-1"}, "TBH_STREAM_FIRST_EVENT_TIMEOUT_SECS"},
		{"provider in settings", `"provider":"metta"`, Flags{}, nil, `unknown provider "metta" (settings /c/settings.json:1:21)`},
		{"provider in a preset", `"presets":{"p":{"provider":"x"}}`, Flags{Preset: p("p")}, nil, `unknown provider "x" (preset p (/c/settings.json:1:37))`},
		{"none for meta in settings", `"reasoning_effort":"none"`, Flags{}, nil, "reasoning_effort (settings /c/settings.json:1:21)"},
		{"no model", `"provider":"openai-chat"`, Flags{}, nil, "no model is named for provider openai-chat: use --model, MUSE_MODEL or openmuse.providers.openai-chat.default_model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := `{"schema_version":1}`
			if tt.settings != "" {
				text = `{"schema_version":1,` + tt.settings + `}`
			}
			_, err := Resolve(Inputs{Flags: tt.flags, Getenv: vars(tt.env), Settings: parse(t, text)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "sk-secret") {
				t.Error("the error repeats a secret")
			}
		})
	}
	allowed := parse(t, `{"schema_version":1,"endpoint_transport":{"allow_openai":true}}`)
	mustResolve(t, Inputs{Flags: Flags{BaseURL: p("https://api.openai.com/v1")}, Settings: allowed})
}

func TestTransport(t *testing.T) {
	s := parse(t, `{"schema_version":1,"endpoint_transport":{"auth":"none","client_cert":"c.pem","client_key":"~/k.pem","ca_bundle":"/etc/ca.pem",
		"http_headers":{"X-A":"file","X-B":"b","Authorization":"Basic q"},"env_http_headers":{"X-C":"C","X-D":"UNSET","X-E":"BAD"}}}`)
	in := Inputs{Settings: s, Paths: Paths{Home: "/home/me"}, Getenv: vars(map[string]string{
		"C": "from-env", "BAD": "a\nb", "MUSE_CUSTOM_HEADERS": "x-a: over\n\n X-F :  f:g \n",
	})}
	r := mustResolve(t, in)
	tr := r.Transport
	if tr.Auth.V != "none" || filepath.ToSlash(tr.ClientCert.V) != "/c/c.pem" || filepath.ToSlash(tr.ClientKey.V) != "/home/me/k.pem" || tr.CABundle.V != "/etc/ca.pem" {
		t.Errorf("%+v", tr)
	}
	var got []string
	for _, h := range tr.Headers {
		got = append(got, h.V.Name+"="+h.V.Value+" "+h.Origin.Layer.String())
	}
	want := []string{"x-a=over environment", "X-B=b settings", "Authorization=Basic q settings", "X-C=from-env settings", "X-F=f:g environment"}
	if !slices.Equal(got, want) {
		t.Errorf("headers %q, want %q", got, want)
	}
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "the variable UNSET is not set") || !strings.Contains(said, "the variable BAD has a control character") {
		t.Errorf("warnings %q", said)
	}

	// Another provider gets none of it but the certificates it may trust.
	in.Flags.Provider = p("anthropic")
	r = mustResolve(t, in)
	if tr := r.Transport; tr.Auth.V != "bearer" || tr.ClientCert.V != "" || tr.CABundle.V == "" || len(tr.Headers) != 2 {
		t.Errorf("%+v", tr)
	}
}

func TestProxyOfOneLayerExcludesCertificateOfAnother(t *testing.T) {
	d, err := ParseDefaults("/d.json", []byte(`{"schema_version":1,"endpoint_transport":{"proxy":"http://p.test"}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, `{"schema_version":1,"endpoint_transport":{"client_cert":"c","client_key":"k"}}`)
	_, err = Resolve(Inputs{Defaults: d, Settings: s})
	if err == nil || !strings.Contains(err.Error(), "enterprise defaults /d.json:1:43") || !strings.Contains(err.Error(), "settings /c/settings.json:1:43") {
		t.Errorf("%v", err)
	}
}

func TestRetryStreamAndRun(t *testing.T) {
	r := mustResolve(t, Inputs{})
	if r.Retry.MaxAttempts.V != 10 || r.Stream.Idle.V != 180*time.Second || r.Stream.FirstEvent.V != 300*time.Second || !r.Run.Parallel.V || r.Run.Toolset.V != nil {
		t.Errorf("defaults %+v %+v %+v", r.Retry, r.Stream, r.Run)
	}
	d, err := ParseDefaults("/d.json", []byte(`{"schema_version":1,"provider_retry":{"max_attempts":9,"base_delay_ms":7},"run":{"system_prompt":"d"}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, `{"schema_version":1,"provider_retry":{"max_retries":0},"run":{"toolset":["bash"],"parallel_tool_calls":false},
		"presets":{"p":{"run":{"toolset":["search"]}}}}`)
	r = mustResolve(t, Inputs{Defaults: d, Settings: s, Flags: Flags{Preset: p("p")}, Getenv: vars(map[string]string{"TBH_STREAM_IDLE_TIMEOUT_SECS": " 0 "})})
	if r.Retry.MaxAttempts.V != 1 || r.Retry.BaseDelay.V != 7*time.Millisecond || r.Retry.BaseDelay.Origin.Layer != EnterpriseDefaults {
		t.Errorf("retry %+v", r.Retry)
	}
	if r.Stream.Idle.V != 0 || r.Stream.Idle.Origin.String() != "environment TBH_STREAM_IDLE_TIMEOUT_SECS" {
		t.Errorf("stream %+v", r.Stream)
	}
	if !slices.Equal(r.Run.Toolset.V, []string{"search"}) || r.Run.Toolset.Origin.Layer != Preset || r.Run.Parallel.V || r.Run.SystemPrompt.V != "d" {
		t.Errorf("run %+v", r.Run)
	}
	r = mustResolve(t, Inputs{Settings: s, Flags: Flags{ParallelToolCalls: p(true), Preset: p("miniswe")}})
	if !r.Run.Parallel.V || r.Run.Parallel.Origin.Name != "--parallel-tool-calls" || !slices.Equal(r.Run.Toolset.V, []string{"bash"}) {
		t.Errorf("run %+v", r.Run)
	}
}

func TestCompaction(t *testing.T) {
	tests := []struct {
		name, settings string
		flags          Flags
		soft, hard     float64
	}{
		{"defaults", "", Flags{}, 0.75, 0.9},
		{"low hard moves the built-in soft", `"context_compaction":{"hard_threshold":0.3}`, Flags{}, 0.25, 0.3},
		{"high soft moves the built-in hard", `"context_compaction":{"soft_threshold":0.96}`, Flags{}, 0.96, 0.98},
		{"flags over settings", `"context_compaction":{"soft_threshold":0.1,"hard_threshold":0.2}`, Flags{HardThreshold: p(0.5)}, 0.1, 0.5},
	}
	for _, tt := range tests {
		text := strings.Replace(`{"schema_version":1,`+tt.settings+`}`, ",}", "}", 1)
		r := mustResolve(t, Inputs{Flags: tt.flags, Settings: parse(t, text)})
		if c := r.Compaction; diff(c.Soft.V, tt.soft) || diff(c.Hard.V, tt.hard) || c.Strategy.V != CompactionDefault || c.ContextLimit.V != 1_000_000 || c.ContextLimit.Origin.Layer != Catalog {
			t.Errorf("%s: %+v", tt.name, c)
		}
	}
	s := parse(t, `{"schema_version":1,"context_compaction":{"strategy":"prefix-extension-summary/v1","provider_context_limit_tokens":5000,"tool_result_clearing_enabled":false}}`)
	r := mustResolve(t, Inputs{Settings: s})
	if c := r.Compaction; c.Strategy.V != CompactionDefault || c.ContextLimit.V != 5000 || c.ToolResultClearing.V {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "prefix-extension-summary/v1 (settings /c/settings.json:1:43) is not available") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func diff(a, b float64) bool { return a-b > 1e-9 || b-a > 1e-9 }

func TestPersonalAndEnvironment(t *testing.T) {
	s := parse(t, `{"schema_version":1,"context":{"foreign_personal_rules":true,"foreign_personal_skills":false}}`)
	env := map[string]string{"CODEX_HOME": "/opt/codex", "NO_COLOR": "1", "MUSE_NO_AUTO_UPDATE": "1"}
	in := Inputs{Settings: s, Getenv: vars(env), Paths: Paths{Home: "/home/me"}}
	r := mustResolve(t, in)
	if !r.ForeignPersonalRules.V || r.ForeignPersonalSkills.V || !r.NoColor.V || r.NoAutoUpdate.Origin.Name != "MUSE_NO_AUTO_UPDATE" || !r.NoAutoUpdate.V {
		t.Errorf("%+v", r)
	}
	if filepath.IsAbs("/opt/codex") && (r.CodexHome.V != "/opt/codex" || r.CodexHome.Origin.Layer != Environment) {
		t.Errorf("%+v", r.CodexHome)
	}
	in.Flags.NoForeignPersonalContext = true
	if r := mustResolve(t, in); r.ForeignPersonalRules.V || r.ForeignPersonalSkills.V {
		t.Errorf("%+v", r)
	}
	in.Flags.NoForeignPersonalContext = false
	in.Policy = &Policy{File: "/p.json", ForeignPersonalRulesOff: true}
	if r := mustResolve(t, in); r.ForeignPersonalRules.V || r.ForeignPersonalRules.Origin.String() != "enterprise policy /p.json" {
		t.Errorf("%+v", r.ForeignPersonalRules)
	}
}

func TestPolicy(t *testing.T) {
	pol := &Policy{File: "/p.json", AllowedProviders: []string{"meta"}, AllowedModels: []string{"muse-spark-1.3"}, ModelFallback: "muse-spark-1.3"}
	r := mustResolve(t, Inputs{Policy: pol})
	if r.Model.V != "muse-spark-1.3" || r.Model.Origin.Layer != EnterprisePolicy {
		t.Errorf("%+v", r.Model)
	}
	for name, flags := range map[string]Flags{
		`model "muse-wonder-1.0" (command line --model) is not allowed`: {Model: p("muse-wonder-1.0")},
		`provider "openai" (command line --provider) is not allowed`:    {Provider: p("openai")},
	} {
		if _, err := Resolve(Inputs{Policy: pol, Flags: flags}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

func TestModelInfo(t *testing.T) {
	s := parse(t, `{"schema_version":1,
		"model_catalog":[{"model_id":"muse-next","context_limit":2000,"display_label":"Next"}],
		"openmuse":{"providers":{
			"meta":{"models":{"muse-next":{"price_per_million":{"input":1,"output":2},"reasoning_efforts":["low","high"]}}},
			"deep":{"wire":"openai-chat","base_url":"https://api.deepseek.com/v1"}}}}`)
	r := mustResolve(t, Inputs{Settings: s, Flags: Flags{Model: p("muse-next"), ReasoningEffort: p("medium")}})
	m := r.ModelInfo
	if m.Assumed || m.ContextLimit != 2000 || m.Label != "Next" || m.Price == nil || m.Price.Output.String() != "$2.00" || r.Compaction.ContextLimit.V != 2000 {
		t.Errorf("%+v", m)
	}
	if r.Effort != "low" || len(r.Warnings) != 1 {
		t.Errorf("effort %s, warnings %q", r.Effort, r.Warnings)
	}
	r = mustResolve(t, Inputs{Settings: s, Flags: Flags{Provider: p("deep"), Model: p("deepseek-v4-pro")}})
	if r.ModelInfo.Table != "deepseek" || r.ModelInfo.Price == nil {
		t.Errorf("%+v", r.ModelInfo)
	}
	for model, want := range map[string]string{
		"muse-spark-1.3-contributor": "the provider trains on what is sent to and made by the contributor model muse-spark-1.3-contributor (command line --model)",
		"mystery":                    "the model mystery is in no table",
	} {
		r := mustResolve(t, Inputs{Flags: Flags{Model: &model}})
		if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], want) {
			t.Errorf("%s: %q", model, r.Warnings)
		}
	}
	r = mustResolve(t, Inputs{Flags: Flags{Provider: p("openai"), Model: p("gpt-4.1"), ReasoningEffort: p("low")}})
	if r.Effort != "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "takes no reasoning effort") {
		t.Errorf("effort %q, warnings %q", r.Effort, r.Warnings)
	}
}

// TestDefaultModelsNeverTrain walks all providers that have a default.
func TestDefaultModelsNeverTrain(t *testing.T) {
	for _, name := range []string{"meta", "openai", "anthropic"} {
		r := mustResolve(t, Inputs{Flags: Flags{Provider: &name}})
		if r.Model.V == "" || r.ModelInfo.Contributor || len(r.Warnings) != 0 {
			t.Errorf("%s: %+v %q", name, r.ModelInfo, r.Warnings)
		}
	}
}
