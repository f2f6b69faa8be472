package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// full has every key that is read, and some that are not.
const full = `{
  "schema_version": 1,
  "provider": "meta", "model": "muse-spark-1.3", "reasoning_effort": "xhigh",
  "provider_retry": {"max_attempts": 3, "base_delay_ms": 10, "retry_after_cap_ms": 1000},
  "endpoint_transport": {"base_url": "https://gw.test/v1", "proxy": "socks5://p.test:1080", "auth": "bearer", "ca_bundle": "ca.pem",
    "http_headers": {"X-A": "1"}, "env_http_headers": {"X-B": "B_VAR"}, "allow_openai": false},
  "model_catalog": [{"model_id": "m", "provider_id": "meta", "profile_id": "tbh", "display_label": "M", "visibility": "list",
    "release_date": "2026-01-01", "display_order": 1, "is_default": false, "context_limit": 1000, "output_limit": 100, "description": "d"}],
  "context_compaction": {"strategy": "summary-preserved-suffix/v1", "soft_threshold": 0.5, "hard_threshold": 0.75, "provider_context_limit_tokens": 5000, "tool_result_clearing_enabled": false},
  "run": {"system_prompt": "s", "developer_prompt": "d", "toolset": ["bash"], "parallel_tool_calls": false, "code_mode": "off"},
  "presets": {"p.1": {"provider": "openai", "model": "x", "agent_profile": "a", "run": {"toolset": []}}},
  "context": {"foreign_personal_rules": false, "foreign_personal_skills": true},
  "openmuse": {"providers": {"lab": {"wire": "openai-chat", "base_url": "http://lab.test/v1", "auth": "none", "default_model": "q",
    "api_key_env": "LAB_KEY", "api_key_command": ["pass", "show", "lab"], "http_headers": {"Authorization": "Basic x"}, "env_http_headers": {},
    "models": {"q": {"label": "Q", "context_limit": 32000, "output_limit": 4000, "price_per_million": {"input": 0.5, "cached_input": 0.05, "cache_write": 0.6, "output": 2}, "reasoning_efforts": ["low"], "images": true, "contributor": false}}}}},
  "mcpServers": {"x": {"command": "y", "mystery": [1]}}, "hooks": {}, "future_key": {"a": 1}
}`

func TestSettingsFull(t *testing.T) {
	s := parse(t, full)
	if *s.Provider != "meta" || *s.ReasoningEffort != "xhigh" || *s.ProviderRetry.MaxAttempts != 3 || s.ProviderRetry.MaxRetries != nil {
		t.Errorf("%+v", s)
	}
	if h := s.EndpointTransport.Headers; len(h) != 2 || h[0] != (HeaderSetting{"X-A", "1", ""}) || h[1] != (HeaderSetting{"X-B", "", "B_VAR"}) {
		t.Errorf("headers %+v", h)
	}
	lab := s.Providers[0]
	if lab.ID != "lab" || !slices.Equal(*lab.APIKeyCommand, []string{"pass", "show", "lab"}) || lab.Models[0].Price.CachedInput.String() != "$0.05" {
		t.Errorf("provider %+v", lab)
	}
	if p := s.Presets[0]; p.Name != "p.1" || len(*p.Run.Toolset) != 0 {
		t.Errorf("preset %+v", p)
	}
	if len(s.Unknown) != 1 || s.Unknown[0].Path != "future_key" {
		t.Errorf("unknown %+v", s.Unknown)
	}
	if s.Node("mcpServers", "x", "mystery") == nil {
		t.Error("a feature's own part cannot be read")
	}
}

func TestSettingsErrors(t *testing.T) {
	with := func(rest string) string { return `{"schema_version":1,` + rest + `}` }
	tests := []struct{ name, in, want string }{
		{"not an object", `[]`, "wanted an object, found an array"},
		{"no version", `{"model":"x"}`, `s:1:1: the key schema_version is missing; add "schema_version": 1`},
		{"other version", `{"schema_version":2}`, "s:1:19: schema_version: settings of version 2 are not known here; this program reads version 1"},
		{"version as text", `{"schema_version":"1"}`, `schema_version: wanted a whole number, found the text "1"`},
		{"version null", `{"schema_version":null}`, "schema_version: wanted a whole number, found null"},
		{"duplicate", with(`"model":"a","model":"b"`), "s:1:33: model: the key is given twice (first at 1:21)"},
		{"duplicate far down", with(`"run":{"toolset":[],"toolset":[]}`), "run.toolset: the key is given twice"},
		{"model", with(`"model":1`), "s:1:29: model: wanted text in quotes, found 1"},
		{"blank model", with(`"model":" "`), "model: the text is empty"},
		{"effort", with(`"reasoning_effort":"hgih"`), `reasoning_effort: "hgih" is not a known value; did you mean "high"?`},
		{"object", with(`"run":[]`), "run: wanted an object, found an array"},
		{"bool", with(`"run":{"parallel_tool_calls":"yes"}`), `run.parallel_tool_calls: wanted true or false, found the text "yes"`},
		{"list", with(`"run":{"toolset":"bash"}`), "run.toolset: wanted an array of texts"},
		{"list item", with(`"run":{"toolset":["bash",3]}`), "run.toolset[1]: wanted text in quotes, found 3"},
		{"fraction number", with(`"provider_retry":{"max_attempts":1.5}`), "provider_retry.max_attempts: wanted a whole number, found 1.5"},
		{"no attempts", with(`"provider_retry":{"max_attempts":0}`), "provider_retry.max_attempts: 0 is too small; want at least 1"},
		{"both retries", with(`"provider_retry":{"max_attempts":1,"max_retries":1}`), "provider_retry: max_retries and max_attempts are both given"},
		{"threshold 1", with(`"context_compaction":{"soft_threshold":1}`), "context_compaction.soft_threshold: 1 is not strictly between 0 and 1"},
		{"threshold 0", with(`"context_compaction":{"hard_threshold":0.0}`), "hard_threshold: 0.0 is not strictly between"},
		{"soft above hard", with(`"context_compaction":{"soft_threshold":0.9,"hard_threshold":0.5}`), "soft_threshold 0.9 is not below hard_threshold 0.5"},
		{"soft equals hard", with(`"context_compaction":{"soft_threshold":0.5,"hard_threshold":0.5}`), "is not below"},
		{"strategy", with(`"context_compaction":{"strategy":"x"}`), `strategy: "x" is not a known value`},
		{"base URL", with(`"endpoint_transport":{"base_url":"ftp://x"}`), "endpoint_transport.base_url: the address does not begin with a scheme that is known here; want http:// or https:// and a host"},
		{"base URL without host", with(`"endpoint_transport":{"base_url":"https:///v1"}`), "the address has no host"},
		{"proxy and certificate", with(`"endpoint_transport":{"proxy":"http://p","client_cert":"c","client_key":"k"}`), "a proxy and a client certificate exclude each other"},
		{"certificate alone", with(`"endpoint_transport":{"client_cert":"c"}`), "client_cert is given without client_key; add client_key"},
		{"key alone", with(`"endpoint_transport":{"client_key":"c"}`), "client_key is given without client_cert"},
		{"auth", with(`"endpoint_transport":{"auth":"basic"}`), `endpoint_transport.auth: "basic" is not a known value; want one of bearer, none`},
		{"authorization header", with(`"endpoint_transport":{"http_headers":{"authorization":"x"}}`), "http_headers.authorization: the header authorization cannot be set"},
		{"header name", with(`"endpoint_transport":{"http_headers":{"a b":"x"}}`), `"a b" is not a header name`},
		{"header value", with(`"endpoint_transport":{"http_headers":{"a":"x\ny"}}`), "the value of the header a has a control character or a line break"},
		{"header twice", with(`"endpoint_transport":{"http_headers":{"a":"x"},"env_http_headers":{"A":"V"}}`), "the header A is given twice"},
		{"header variable", with(`"endpoint_transport":{"env_http_headers":{"a":"X=Y"}}`), "not the name of an environment variable"},
		{"preset name", with(`"presets":{"Fast":{}}`), `"Fast" is not a preset name; use lowercase`},
		{"catalog row", with(`"model_catalog":[{"provider_id":"meta"}]`), "model_catalog[0]: the row has no model_id"},
		{"catalog profile", with(`"model_catalog":[{"model_id":"a","profile_id":"x"}]`), "model_catalog[0].profile_id"},
		{"catalog limit", with(`"model_catalog":[{"model_id":"a","context_limit":0}]`), "context_limit: 0 is too small"},
		{"provider without wire", with(`"openmuse":{"providers":{"lab":{"base_url":"http://x"}}}`), "openmuse.providers.lab: the provider lab has no wire"},
		{"provider without address", with(`"openmuse":{"providers":{"lab":{"wire":"openai"}}}`), "the provider lab has no base_url"},
		{"other wire for a known provider", with(`"openmuse":{"providers":{"meta":{"wire":"openai"}}}`), "the provider meta speaks the wire meta"},
		{"offline provider", with(`"openmuse":{"providers":{"echo":{}}}`), "the provider echo works offline"},
		{"empty command", with(`"openmuse":{"providers":{"meta":{"api_key_command":[]}}}`), "the command is empty"},
		{"command as text", with(`"openmuse":{"providers":{"meta":{"api_key_command":"pass show x"}}}`), "api_key_command: wanted an array of texts"},
		{"price", with(`"openmuse":{"providers":{"meta":{"models":{"m":{"price_per_million":{"input":-1,"output":1}}}}}}`), "price_per_million.input: "},
		{"half a price", with(`"openmuse":{"providers":{"meta":{"models":{"m":{"price_per_million":{"input":1}}}}}}`), "the price has no output"},
		{"model efforts", with(`"openmuse":{"providers":{"meta":{"models":{"m":{"reasoning_efforts":["fast"]}}}}}`), "reasoning_efforts[0]: this is not a reasoning effort"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseSettings("s", []byte(tt.in))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestSettingsReportAllFaults(t *testing.T) {
	_, err := ParseSettings("s", []byte("{\n\"schema_version\": 1,\n\"model\": 1,\n\"run\": 2}"))
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "s:3:10: model") || !strings.Contains(err.Error(), "s:4:8: run") {
		t.Errorf("%v", err)
	}
}

func TestNullMeansNotSet(t *testing.T) {
	s := parse(t, `{"schema_version":1,"model":null,"run":null,"provider_retry":{"max_retries":null,"max_attempts":4},"endpoint_transport":{"client_cert":null},"presets":null,"model_catalog":null,"openmuse":null}`)
	if s.Model != nil || *s.ProviderRetry.MaxAttempts != 4 {
		t.Errorf("%+v", s)
	}
}

func TestReadSettingsMissingFile(t *testing.T) {
	s, err := ReadSettings(filepath.Join(t.TempDir(), "settings.json"))
	if err != nil || s.File() != "" || s.Node("x") != nil {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := ReadSettings(t.TempDir()); err == nil {
		t.Error("a directory was read as settings")
	}
}

func TestUpdateSettingsKeepsUnknownKeysAndSpacing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	const before = "\ufeff{\r\n\t\"schema_version\" : 1,\r\n\t\"mystery\": {\"b\":1,  \"a\":[ ]},\r\n\t\"model\": \"old\"\r\n}\r\n"
	if err := os.WriteFile(path, []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	err := UpdateSettings(context.Background(), path,
		Change{Path: []string{"model"}, Value: jsontext.Value(`"new"`)},
		Change{Path: []string{"context", "foreign_personal_rules"}, Value: jsontext.Value("false")})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, `"old"`, "\"new\",\r\n\t\"context\": {\r\n\t\t\"foreign_personal_rules\": false\r\n\t}", 1)
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("got  %q\nwant %q (%v)", got, want, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if err := UpdateSettings(context.Background(), path, Change{Path: []string{"context"}}, Change{Path: []string{"model"}, Value: jsontext.Value(`"old"`)}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != before {
		t.Errorf("there and back: %q %v", got, err)
	}
}

func TestUpdateSettingsRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	for name, tt := range map[string]struct {
		before string
		change Change
		want   string
	}{
		"a file that is broken":      {`{"schema_version":1,}`, Change{Path: []string{"model"}, Value: jsontext.Value(`"x"`)}, "settings are not changed because they cannot be read"},
		"a result that is refused":   {`{"schema_version":1}`, Change{Path: []string{"model"}, Value: jsontext.Value(`1`)}, "the result would be refused"},
		"a path through a text":      {`{"schema_version":1,"hooks":"x"}`, Change{Path: []string{"hooks", "a"}, Value: jsontext.Value(`1`)}, "not an object"},
		"a value that is not JSON":   {`{"schema_version":1}`, Change{Path: []string{"model"}, Value: jsontext.Value(`x`)}, "not valid JSON"},
		"removing the version":       {`{"schema_version":1}`, Change{Path: []string{"schema_version"}}, "the result would be refused"},
		"two thresholds that clash":  {`{"schema_version":1,"context_compaction":{"hard_threshold":0.5}}`, Change{Path: []string{"context_compaction", "soft_threshold"}, Value: jsontext.Value(`0.6`)}, "is not below"},
		"an unsupported new version": {`{"schema_version":1}`, Change{Path: []string{"schema_version"}, Value: jsontext.Value(`2`)}, "version 2"},
	} {
		if err := os.WriteFile(path, []byte(tt.before), 0o600); err != nil {
			t.Fatal(err)
		}
		err := UpdateSettings(context.Background(), path, tt.change)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tt.before {
			t.Errorf("%s: the file became %q %v", name, got, err)
		}
	}
}

// TestConcurrentUpdateSettings lets many writers add a key each: all of them
// are there afterwards, and so is what was there before.
func TestConcurrentUpdateSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "muse", "settings.json")
	const writers = 24
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			errs[i] = UpdateSettings(context.Background(), path, Change{
				Path: []string{"tui", fmt.Sprintf("key%d", i)}, Value: jsontext.Value(fmt.Sprint(i)),
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	s, err := ReadSettings(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range writers {
		if n := s.Node("tui", fmt.Sprintf("key%d", i)); n == nil || string(n.Raw()) != fmt.Sprint(i) {
			t.Errorf("key%d is lost", i)
		}
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
}

// FuzzSettings: reading never panics, an error has a place, what is accepted
// can be resolved or refused with words, and an edit keeps every other key.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{full, two, `{"schema_version":1}`, `{"schema_version":1,"openmuse":{"providers":{"a":{"wire":"meta","base_url":"http://[::1]:1/x?y=z"}}}}`, `{"schema_version":1,"presets":{"a":null}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings("f", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		for _, name := range ProviderNames(s) {
			in := Inputs{Flags: Flags{Provider: &name}, Settings: s}
			r, err := Resolve(in)
			if err == nil {
				Explain(in, r, Key{})
			} else if err.Error() == "" {
				t.Fatal("an error without words")
			}
		}
		next, err := change("f", data, []Change{{Path: []string{"model"}, Value: jsontext.Value(`"m"`)}})
		if err != nil {
			t.Fatalf("accepted settings cannot be changed: %v", err)
		}
		after, err := ParseSettings("f", next)
		if err != nil || after.Model == nil || *after.Model != "m" {
			t.Fatalf("after the change: %v", err)
		}
		for _, m := range s.Node().Members() {
			if m.Key() != "model" && string(after.Node(m.Key()).Raw()) != string(m.Raw()) {
				t.Fatalf("%q changed", m.Key())
			}
		}
	})
}
