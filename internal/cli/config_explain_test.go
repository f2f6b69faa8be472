package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// cliHome is a person's machine: a home directory, variables, standard input.
type cliHome struct {
	t    *testing.T
	dir  string
	vars map[string]string
	in   string
}

func newCLIHome(t *testing.T, settings string) *cliHome {
	t.Helper()
	h := &cliHome{t: t, dir: t.TempDir(), vars: map[string]string{}}
	h.vars["HOME"] = h.dir
	if settings != "" {
		h.write("settings.json", settings, 0o600)
	}
	return h
}

func (h *cliHome) path(name string) string { return filepath.Join(h.dir, ".config", "muse", name) }

func (h *cliHome) write(name, text string, mode os.FileMode) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.path(name), []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
}

func (h *cliHome) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

// run runs one command line in process against a root with this group's
// commands.
func (h *cliHome) run(args ...string) (code int, stdout, stderr string) {
	h.t.Helper()
	var out, errs bytes.Buffer
	env := Env{
		Stdin: strings.NewReader(h.in), Stdout: &out, Stderr: &errs,
		Getenv:  func(name string) string { return h.vars[name] },
		Environ: func() []string { return nil },
		Getwd:   func() (string, error) { return h.dir, nil },
		Now:     func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) },
	}
	root := &cobra.Command{Use: "muse", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{Command: cmd.CommandPath(), Message: flagErrorText(err)}
	})
	root.AddCommand(newConfigCmd(&env), newAuthCmd(&env))
	for _, c := range root.Commands() {
		strictFlags(c)
	}
	root.SetArgs(args)
	code = exitCode(root.ExecuteContext(context.Background()), &env)
	return code, out.String(), errs.String()
}

const sampleSettings = `{
  "schema_version": 1,
  "model": "muse-spark-1.3",
  "provider_retry": {"max_retries": 2, "base_delay_ms": 50},
  "endpoint_transport": {
    "http_headers": {"X-Team": "a-very-secret-team-token"},
    "proxy": "http://me:hunter2@proxy.test:8080"
  },
  "hooks": {},
  "modle": 1
}
`

func TestConfigExplainText(t *testing.T) {
	h := newCLIHome(t, sampleSettings)
	h.vars["META_API_KEY"] = "sk-0123456789abcdef"
	h.vars["TBH_STREAM_IDLE_TIMEOUT_SECS"] = "7"
	code, out, errs := h.run("config", "explain", "--reasoning-effort", "low")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{
		"model = muse-spark-1.3  [settings ~/.config/muse/settings.json:3:3]  context 1000000; output 128000; price per million tokens $1.25 in, $4.25 out, $0.15 cached\n",
		"provider = meta  [built-in default]\n",
		"reasoning_effort = low  [command line --reasoning-effort]\n",
		"base_url = https://api.meta.ai/v1  [built-in default for meta]\n",
		"api_key = …cdef  [environment META_API_KEY]  sent to https://api.meta.ai only\n",
		"headers.x-team = …oken  [settings ~/.config/muse/settings.json:6:22]\n",
		"endpoint_transport.proxy = http://me:xxxxx@proxy.test:8080  [settings ~/.config/muse/settings.json:7:5]\n",
		"provider_retry.max_attempts = 3  [settings ~/.config/muse/settings.json:4:22]\n",
		"provider_retry.base_delay_ms = 50  [settings ~/.config/muse/settings.json:4:40]\n",
		"stream.idle_timeout_secs = 7  [environment TBH_STREAM_IDLE_TIMEOUT_SECS]\n",
		"hooks = (set)  [settings ~/.config/muse/settings.json:9:3]  not part of a model run\n",
		"modle = (set)  [settings ~/.config/muse/settings.json:10:3]  did you mean model? not read by this program; kept on every rewrite\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing %q", want)
		}
	}
	for _, secret := range []string{"0123456789", "hunter2", "very-secret"} {
		if strings.Contains(out+errs, secret) {
			t.Errorf("%q is shown", secret)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

func TestConfigExplainKey(t *testing.T) {
	h := newCLIHome(t, sampleSettings)
	h.vars["META_API_KEY"] = "k"
	if code, out, errs := h.run("config", "explain", "provider_retry"); code != 0 || strings.Count(out, "\n") != 3 || errs != "" {
		t.Errorf("group: exit %d\n%s%s", code, out, errs)
	}
	for key, near := range map[string]string{
		"modl": "did you mean model", "retry": "provider_retry.", "idle_timeout": "stream.idle_timeout_secs", "zzzzzz": `unknown setting "zzzzzz"`,
	} {
		code, out, errs := h.run("config", "explain", key)
		if code != 2 || out != "" || !strings.Contains(errs, near) {
			t.Errorf("%s: exit %d, %q, want %q", key, code, errs, near)
		}
	}
}

func TestConfigExplainJSON(t *testing.T) {
	h := newCLIHome(t, sampleSettings)
	code, out, errs := h.run("config", "explain", "model", "--json")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var doc explainJSON
	if err := json.Unmarshal([]byte(out), &doc, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	want := settingJSON{Key: "model", Value: "muse-spark-1.3", Origin: originJSON{Layer: "settings", Name: "model", File: h.path("settings.json"), Line: 3, Column: 3}}
	if len(doc.Settings) != 1 || doc.SchemaVersion != 1 {
		t.Fatalf("%s", out)
	}
	got := doc.Settings[0]
	got.Note = ""
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(doc.Warnings) != 1 || !strings.HasPrefix(doc.Warnings[0], "missing meta credentials: set META_API_KEY") {
		t.Errorf("warnings %q", doc.Warnings)
	}
}

func TestConfigExplainErrors(t *testing.T) {
	tests := []struct {
		name, settings string
		args           []string
		code           int
		want           string
	}{
		{"bad settings", "{\n  \"schema_version\": 1,\n  \"model\": 7\n}", nil, 1, "settings.json:3:12: model: wanted text in quotes, found 7"},
		{"no schema version", "{}", nil, 1, `the key schema_version is missing; add "schema_version": 1`},
		{"two keys", "", []string{"a", "b"}, 2, `unexpected argument "b"`},
		{"unknown provider", "", []string{"--provider", "opneai"}, 2, `did you mean "openai"?`},
		{"unknown flag", "", []string{"--nope"}, 2, "unknown option --nope"},
		{"given twice", "", []string{"--json", "--json"}, 2, "was given twice"},
		{"unknown preset", "", []string{"--preset", "x"}, 2, `unknown preset "x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newCLIHome(t, tt.settings)
			code, out, errs := h.run(append([]string{"config", "explain"}, tt.args...)...)
			if code != tt.code || out != "" || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
			}
		})
	}
}

func TestConfigGroup(t *testing.T) {
	h := newCLIHome(t, "")
	if code, _, errs := h.run("config", "explian"); code != 2 || !strings.Contains(errs, `did you mean "explain"?`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, out, _ := h.run("config"); code != 0 || !strings.Contains(out, "explain") {
		t.Errorf("help: exit %d: %s", code, out)
	}
	delete(h.vars, "HOME")
	if code, _, errs := h.run("config", "explain"); code != 1 || errs != "no usable config directory from XDG_CONFIG_HOME, HOME, or USERPROFILE\n" {
		t.Errorf("no home: exit %d: %s", code, errs)
	}
}
