package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// runVerb runs one command with a home of its own and gives its exit code.
func runVerb(t *testing.T, home, cwd, stdin string, verb func(*Env) *cobra.Command, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &Env{
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Getenv: func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		},
		Getwd: func() (string, error) { return cwd, nil },
	}
	cmd := verb(env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{Command: cmd.CommandPath(), Message: flagErrorText(err)}
	})
	code = exitCode(cmd.ExecuteContext(t.Context()), env)
	return out.String(), errs.String(), code
}

type explanation struct {
	Line    string `json:"line"`
	Mode    string `json:"mode"`
	Verdict string `json:"verdict"`
	Stages  []struct {
		Effective string   `json:"effective"`
		Argv      []string `json:"argv"`
		Class     string   `json:"class"`
		Verdict   string   `json:"verdict"`
		Reason    string   `json:"reason"`
		Rule      string   `json:"rule"`
	} `json:"stages"`
	Held *struct {
		Stage  *int   `json:"stage"`
		Reason string `json:"reason"`
	} `json:"held"`
}

func TestPermissionExplain(t *testing.T) {
	home := t.TempDir()
	at := []string{"explain", "--workspace", "/w/ws", "--home", "/home/u"}
	explain := func(args ...string) (explanation, string, int) {
		t.Helper()
		out, errs, code := runVerb(t, home, "/", "", newPermissionCmd, append(at, args...)...)
		var e explanation
		if code == 0 {
			if err := json.Unmarshal([]byte(out), &e, json.RejectUnknownMembers(true)); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		return e, errs, code
	}
	e, _, _ := explain("--json", "--", "npm test && env rm -rf 'a b' && echo done")
	if e.Verdict != "review" || e.Mode != "on-request" || len(e.Stages) != 3 || *e.Held.Stage != 1 || e.Held.Reason == "" {
		t.Fatalf("%+v", e)
	}
	if s := e.Stages[1]; s.Effective != "rm -rf 'a b'" || strings.Join(s.Argv, "|") != "rm|-rf|a b" || s.Class != "dangerous" || s.Verdict != "review" || s.Reason == "" {
		t.Errorf("%+v", s)
	}
	if s := e.Stages[0]; s.Verdict != "pass" || s.Class != "project-code" {
		t.Errorf("%+v", s)
	}
	if e, _, _ := explain("--json", "--approval-mode", "untrusted", "--", "npm test"); e.Verdict != "review" || e.Mode != "untrusted" {
		t.Errorf("%+v", e)
	}
	if e, _, _ := explain("--json", "--approval-mode", "never", "--", "rm x"); e.Verdict != "pass" || e.Held != nil {
		t.Errorf("%+v", e)
	}
	if e, _, _ := explain("--json", "--disable-sandbox", "--", "npm test"); e.Verdict != "review" {
		t.Errorf("%+v", e)
	}
	if e, _, _ := explain("--json", "--", "(ls)"); e.Verdict != "unparseable-review" || len(e.Stages) != 0 || e.Held.Stage != nil || !strings.Contains(e.Held.Reason, "subshell") {
		t.Errorf("%+v", e)
	}
	if e, _, _ := explain("--json", "--", "cat ~/.ssh/id_rsa"); e.Stages[0].Class != "sensitive-read" || e.Stages[0].Argv[1] != "/home/u/.ssh/id_rsa" {
		t.Errorf("--home does not count: %+v", e)
	}
	for _, args := range [][]string{{}, {"--", "a", "b"}, {"--lines-from", "x", "--", "a"}, {"--approval-mode", "maybe", "--", "ls"}, {"--colour", "--", "ls"}, {"--lines-from", "/no/such/file"}} {
		if _, errs, code := explain(args...); code != 2 || errs == "" {
			t.Errorf("%q: exit %d, %q", args, code, errs)
		}
	}
	out, _, code := runVerb(t, home, "/", "", newPermissionCmd, append(at, "--", "ls && timeout 5 rm x")...)
	for _, want := range []string{"verdict: review (mode on-request)", "held at: stage 2", "rm x", "started by timeout"} {
		if !strings.Contains(out, want) || code != 0 {
			t.Errorf("no %q in %s", want, out)
		}
	}
}

func TestPermissionExplainLines(t *testing.T) {
	lines := []string{"ls", "rm x", "a\tb\n\"c\"", "ls\r", "echo \u202e", "\x00", "(ls)", ""}
	var in strings.Builder
	for _, l := range lines {
		q, err := jsontext.AppendQuote(nil, l)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(q)
		in.WriteString("\n\n") // blank lines are skipped
	}
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(in.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{file, "-"} {
		out, errs, code := runVerb(t, t.TempDir(), "/", in.String(), newPermissionCmd, "explain", "--lines-from", from, "--workspace", "/w/ws", "--home", "/home/u", "--approval-mode", "untrusted")
		got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if code != 0 || len(got) != len(lines) {
			t.Fatalf("exit %d, %d lines: %s", code, len(got), errs)
		}
		for i, g := range got {
			var e explanation
			if err := json.Unmarshal([]byte(g), &e, json.RejectUnknownMembers(true)); err != nil {
				t.Fatalf("%v: %s", err, g)
			}
			if e.Line != lines[i] || e.Mode != "untrusted" || e.Stages == nil {
				t.Errorf("%q: %s", lines[i], g)
			}
		}
	}
	_, errs, code := runVerb(t, t.TempDir(), "/", "\"ls\"\nnot json\n", newPermissionCmd, "explain", "--lines-from", "-")
	if code != 1 || !strings.Contains(errs, "line 2") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// newHome makes a home with settings and a workspace with rules of its own.
func newHome(t *testing.T, permissions string) (home, ws string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws = filepath.Join(base, "home"), filepath.Join(base, "ws")
	files := map[string]string{
		filepath.Join(home, ".config/muse/settings.json"): `{"schema_version": 1, "permissions": ` + permissions + `}`,
		filepath.Join(ws, ".muse/permissions.json"):       `{"rules": [{"prefix": ["make", "deploy"], "verdict": "deny", "reason": "use the pipeline"}]}`,
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, ws
}

// TestRulesCount: the user's rules hold at once, the project's after trust.
func TestRulesCount(t *testing.T) {
	home, ws := newHome(t, `{"rules": [{"prefix": ["git", "push"], "verdict": "deny", "reason": "by hand"}, {"prefix": ["npm", "publish"], "verdict": "allow"}]}`)
	verdict := func(line string) explanation {
		t.Helper()
		out, errs, code := runVerb(t, home, ws, "", newPermissionCmd, "explain", "--json", "--", line)
		if code != 0 {
			t.Fatal(errs)
		}
		var e explanation
		if err := json.Unmarshal([]byte(out), &e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := verdict("git push"); e.Verdict != "denied" || !strings.Contains(e.Held.Reason, "by hand") || !strings.Contains(e.Held.Reason, "settings.json:1") {
		t.Errorf("%+v", e)
	}
	if e := verdict("(git push)"); e.Verdict != "denied" {
		t.Errorf("%+v", e)
	}
	if e := verdict("npm publish"); e.Verdict != "pass" || e.Stages[0].Rule != "allow npm publish …" {
		t.Errorf("%+v", e)
	}
	if e := verdict("make deploy"); e.Verdict != "pass" {
		t.Errorf("a rule of an untrusted project counts: %+v", e)
	}
	rules := func() string {
		t.Helper()
		out, errs, code := runVerb(t, home, ws, "", newPermissionCmd, "rules")
		if code != 0 {
			t.Fatal(errs)
		}
		return out
	}
	if out := rules(); !strings.Contains(out, "deny git push …") || !strings.Contains(out, "not loaded: nobody has trusted") || strings.Contains(out, "make deploy") || !strings.Contains(out, ":auto-review") {
		t.Error(out)
	}
	if _, errs, code := runVerb(t, home, ws, "", newTrustCmd, "add"); code != 0 || !strings.Contains(errs, ".muse/permissions.json") {
		t.Fatal(errs)
	}
	if e := verdict("make deploy"); e.Verdict != "denied" || !strings.Contains(e.Held.Reason, "use the pipeline") {
		t.Errorf("%+v", e)
	}
	if out := rules(); !strings.Contains(out, "make deploy") {
		t.Error(out)
	}
	if err := os.WriteFile(filepath.Join(ws, ".muse/permissions.json"), []byte(`{"rules": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := rules(); strings.Contains(out, "make deploy") || !strings.Contains(out, "have changed") {
		t.Errorf("a changed file is not asked about: %s", out)
	}
	out, _, code := runVerb(t, home, ws, "", newPermissionCmd, "rules", "--json", "--programs")
	var doc struct {
		Rules    []map[string]any
		Programs map[string]string
	}
	if err := json.Unmarshal([]byte(out), &doc, json.MatchCaseInsensitiveNames(true)); err != nil || code != 0 || len(doc.Rules) != 2 || doc.Programs["rm"] != "dangerous" {
		t.Errorf("%v %s", err, out)
	}
}

func TestBadRulesStopEverything(t *testing.T) {
	for _, permissions := range []string{`{"rules": [{"prefix": ["a"], "verdict": "perhaps"}]}`, `{"rule": []}`, `{"profiles": {"a": {}}}`} {
		home, ws := newHome(t, permissions)
		if _, errs, code := runVerb(t, home, ws, "", newPermissionCmd, "explain", "--", "ls"); code != 1 || !strings.Contains(errs, "settings.json") {
			t.Errorf("%s: exit %d: %s", permissions, code, errs)
		}
	}
}

func TestTrustCommands(t *testing.T) {
	home, ws := newHome(t, `{}`)
	run := func(args ...string) (string, string, int) { return runVerb(t, home, ws, "", newTrustCmd, args...) }
	if out, errs, code := run("list"); code != 0 || out != "" || !strings.Contains(errs, "no workspace") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	if out, _, code := run("add"); code != 0 || out != ws+"\ttrusted\n" {
		t.Errorf("%d %q", code, out)
	}
	if out, _, _ := run(); out != ws+"\ttrusted\n" {
		t.Errorf("%q", out)
	}
	if out, _, _ := run("list", "--json"); !strings.Contains(out, `"trusted": true`) {
		t.Error(out)
	}
	if err := os.WriteFile(filepath.Join(ws, "AGENTS.md"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := run("list"); !strings.Contains(out, "not trusted: files that trust lets load have changed: AGENTS.md") {
		t.Error(out)
	}
	if _, _, code := run("add", "--untrusted"); code != 0 {
		t.Error(code)
	}
	if out, _, _ := run("list"); !strings.Contains(out, "not trusted: you said") {
		t.Error(out)
	}
	if _, _, code := run("remove", ws); code != 0 {
		t.Error(code)
	}
	if _, errs, code := run("remove", ws); code != 1 || !strings.Contains(errs, "nothing was decided") {
		t.Errorf("%d %s", code, errs)
	}
	if _, errs, code := run("add", filepath.Join(ws, "missing")); code != 1 || errs == "" {
		t.Errorf("%d %s", code, errs)
	}
	if _, errs, code := run("ad"); code != 2 || !strings.Contains(errs, "add") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestConfigValidate(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	validate := func(args ...string) (string, string, int) {
		return runVerb(t, dir, dir, "", newConfigValidateCmd, args...)
	}
	good := file("policy.json", `{"execution": {"forbid_sandbox_bypass": true}, "extensions": {"skills": {}}}`)
	if out, errs, code := validate("--plane", "policy", "--file", good); code != 0 || !strings.Contains(out, "valid policy") || !strings.Contains(errs, "extensions.skills") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	for plane, text := range map[string]string{
		"policy":   `{"execution": {"forbid_everything": true}}`,
		"defaults": `{"schema_version": 1, "permissions": {"rules": [{"prefix": ["a"], "verdict": "x"}]}}`,
	} {
		if _, errs, code := validate("--plane", plane, "--file", file("bad.json", text)); code != 1 || !strings.Contains(errs, "bad.json:1:") {
			t.Errorf("%s: %d %s", plane, code, errs)
		}
	}
	if _, errs, code := validate("--plane", "defaults", "--file", file("ok.json", `{"schema_version": 1, "permissions": {"default_profile": ":read-only"}}`)); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
	for _, args := range [][]string{{}, {"--plane", "x", "--file", good}, {"--plane", "policy"}, {"--file", good}, {"--plane", "policy", "--file", dir + "/none"}} {
		if _, errs, code := validate(args...); code != 2 || errs == "" {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}

func TestConfigStatus(t *testing.T) {
	out, errs, code := runVerb(t, t.TempDir(), "/", "", newConfigStatusCmd)
	if strings.Contains(out, "active") || strings.Contains(out, "invalid") {
		t.Skip("this machine has enterprise files")
	}
	if code != 0 || !strings.Contains(out, "defaults: absent") || !strings.Contains(out, "policy: absent") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	var p planeStatus
	p.settle(context.Canceled)
	if p.State != "invalid" || p.Problem == "" {
		t.Errorf("%+v", p)
	}
}
