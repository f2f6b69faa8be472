package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/pkg/muse/musetest"
)

// The test binary plays the driven one when it is started as such.
func init() {
	if musetest.Active() {
		os.Exit(musetest.Main())
	}
}

// driveRig runs drive and loop in process against a stand-in.
type driveRig struct {
	t         *testing.T
	standin   string
	vars      map[string]string
	workspace string
	stdin     string
	tty       bool
}

func newDriveRig(t *testing.T, plan musetest.Plan) *driveRig {
	t.Helper()
	bin, env := musetest.Install(t, plan)
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(env, "=")
	home := t.TempDir()
	return &driveRig{t: t, standin: env, workspace: workspace, vars: map[string]string{
		name: value, "MUSE_PATH": bin, "HOME": home, "XDG_DATA_HOME": filepath.Join(home, "data"), "PATH": os.Getenv("PATH"), "MUSE_DRIVE_TMP": filepath.Join(home, "tmp"),
		"SYSTEMROOT": os.Getenv("SYSTEMROOT"),
	}}
}

func (r *driveRig) run(args ...string) (code int, stdout, stderr string) {
	r.t.Helper()
	var out, errOut bytes.Buffer
	env := &Env{
		Stdin: strings.NewReader(r.stdin), Stdout: &out, Stderr: &errOut, StderrTTY: r.tty,
		Getenv: func(name string) string { return r.vars[name] },
		Environ: func() []string {
			var list []string
			for k, v := range r.vars {
				list = append(list, k+"="+v)
			}
			return list
		},
		Getwd: func() (string, error) { return r.workspace, nil },
	}
	root := &cobra.Command{Use: "muse", SilenceErrors: true, SilenceUsage: true}
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{Command: cmd.CommandPath(), Message: flagErrorText(err)}
	})
	root.AddCommand(newDriveCmd(env), newLoopCmd(env))
	for _, c := range root.Commands() {
		strictFlags(c)
	}
	root.SetArgs(args)
	code = exitCode(root.ExecuteContext(context.Background()), env)
	return code, out.String(), errOut.String()
}

func (r *driveRig) calls() []musetest.Record { return musetest.Calls(r.t, r.standin) }

func TestDriveAnswers(t *testing.T) {
	r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "the answer"}}})
	code, stdout, stderr := r.run("drive", "--model", "small", "--effort", "low", "what is it?")
	if code != 0 || stdout != "the answer\n" || stderr != "" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	call := r.calls()[0]
	if call.Flag("--model") != "muse-spark-1.3" || call.Flag("--reasoning-effort") != "low" || call.Dir != r.workspace || !strings.Contains(call.Prompt, "what is it?") {
		t.Errorf("call %+v", call)
	}
	if strings.Contains(strings.Join(call.Args, " "), "what is it?") {
		t.Error("the prompt is on the command line")
	}
}

func TestDriveJSONAndArtifacts(t *testing.T) {
	r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x", Usage: &musetest.Usage{Model: "muse-spark-1.3", Input: 1_000_000}}}})
	artifacts := filepath.Join(t.TempDir(), "a")
	r.vars["MUSE_DRIVE_ARTIFACTS_DIR"] = artifacts
	code, stdout, _ := r.run("drive", "--json", "p")
	var res struct {
		Type      string   `json:"type"`
		OK        bool     `json:"ok"`
		Reply     string   `json:"reply"`
		CostUSD   *float64 `json:"cost_usd"`
		Artifacts string   `json:"artifacts"`
	}
	if err := json.Unmarshal([]byte(stdout), &res); err != nil || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("stdout %q: %v", stdout, err)
	}
	if code != 0 || res.Type != "muse.drive.result" || !res.OK || res.Reply != "x" || res.CostUSD == nil || *res.CostUSD != 1.25 || res.Artifacts != artifacts {
		t.Errorf("exit %d, result %+v", code, res)
	}
	for _, name := range []string{"live_reply.md", "tool_calls.jsonl", "run_metadata.json", "usage.json", "stderr_tail.txt", "result.json", "prompt.md", "stream-001.jsonl"} {
		if _, err := os.Stat(filepath.Join(artifacts, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestDriveFailures(t *testing.T) {
	tests := []struct {
		name   string
		call   musetest.Call
		args   []string
		code   int
		stderr string
	}{
		{"failed", musetest.Call{Terminal: "failed", Reason: "model `x` does not exist", Exit: 1}, nil, 1, "drive: failed: model `x` does not exist"},
		{"driven usage error", musetest.Call{}, []string{"--args=--bogus"}, 2, "drive: usage_error: unknown option --bogus"},
		{"waiting", musetest.Call{Reply: "I'll wait."}, []string{"--wait-continuations", "0"}, 1, "drive: stranded_wait"},
		{"cancelled", musetest.Call{Terminal: "cancelled", Exit: 1}, nil, 1, "drive: cancelled"},
		{"startup", musetest.Call{Stderr: "missing meta credentials\n", Exit: 1}, nil, 1, "missing meta credentials"},
		{"strict", musetest.Call{Reply: "x", Noise: "noise\n"}, []string{"--strict"}, 1, "drive: strict_violation"},
		{"denied", musetest.Call{Reply: "x"}, []string{"--model", "spark-contributor", "--deny-contributor"}, 2, "contributor"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{tt.call}})
			code, stdout, stderr := r.run(append(append([]string{"drive"}, tt.args...), "p")...)
			if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

func TestDrivePassThrough(t *testing.T) {
	tests := []struct {
		name  string
		args  []string
		extra []string
	}{
		{"prompt first", []string{"the prompt", "--args", "--max-model-steps", "5"}, []string{"--max-model-steps", "5"}},
		{"prompt after --", []string{"--args", "--max-model-steps", "5", "--", "the prompt"}, []string{"--max-model-steps", "5"}},
		{"prompt last", []string{"--args", "--max-model-steps", "5", "the prompt"}, []string{"--max-model-steps", "5"}},
		{"as one word", []string{"--args=--preset 'a b'", "the prompt"}, []string{"--preset", "a b"}},
		{"of the tier", []string{"--model", "large", "the prompt"}, []string{"--disable-web-tools"}},
		{"instead of the tier's", []string{"--model", "large", "the prompt", "--args", "--yolo"}, []string{"--yolo"}},
		{"none", []string{"--", "the prompt"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x"}}})
			r.vars["MUSE_DRIVE_LLM_LARGE_ARGS"] = "--disable-web-tools"
			if code, _, stderr := r.run(append([]string{"drive"}, tt.args...)...); code != 0 {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			call := r.calls()[0]
			at := slices.Index(call.Args, call.PromptPath)
			if diff := cmp.Diff(tt.extra, append([]string(nil), call.Args[at+1:]...)); diff != "" {
				t.Errorf("pass-through (-want +got):\n%s", diff)
			}
			if !strings.HasSuffix(call.Prompt, "the prompt") {
				t.Errorf("prompt %q", call.Prompt)
			}
		})
	}
}

func TestDriveUsageErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"no prompt": {}, "empty prompt": {" "}, "two prompts": {"a", "b"}, "prompt twice": {"--prompt-file", "x", "a"}, "unknown flag": {"--bogus", "a"},
		"doubled flag": {"--strict", "--strict", "a"}, "missing file": {"--prompt-file", "/nowhere", "--retries", "1"}, "bad sandbox": {"--sandbox", "maybe", "a"},
		"bad binary": {"--bin", "/nowhere/muse", "a"}, "bad workspace": {"--workspace", "/nowhere", "a"}, "bad price": {"--price", "1", "a"}, "bad number": {"--retries", "-1", "a"},
		"bad session": {"--session-id", "x", "a"}, "reserved": {"a", "--args", "--session-id", "x"}, "open quote": {"--args='", "a"}, "nothing to go on from": {"--resume-from", "/nowhere"},
		"bad profile": {"--profile", "x", "a"}, "direct without bounds": {"--profile", "direct", "a"}, "bad policy": {"--data-policy", "allow", "a"}, "bad time": {"--quiet-after", "soon", "a"},
	} {
		r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x"}}})
		code, stdout, stderr := r.run(append([]string{"drive"}, args...)...)
		if code != 2 || stdout != "" || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "muse drive --help") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
		if len(r.calls()) > 0 {
			t.Errorf("%s: a run was made", name)
		}
	}
	r := newDriveRig(t, musetest.Plan{})
	r.vars["MUSE_DRIVE_MAX_WAIT_CONTINUATIONS"] = "many"
	if code, _, stderr := r.run("drive", "a"); code != 2 || !strings.Contains(stderr, "MUSE_DRIVE_MAX_WAIT_CONTINUATIONS") {
		t.Errorf("exit %d, stderr %q", code, stderr)
	}
}

func TestDrivePromptSources(t *testing.T) {
	r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x"}}})
	file := filepath.Join(t.TempDir(), "p.md")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.stdin = "from stdin"
	for _, args := range [][]string{{"--prompt-file", file}, {"--prompt-file", "-"}, {"--no-directive", "--", "--dashed"}} {
		if code, _, stderr := r.run(append([]string{"drive"}, args...)...); code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, stderr)
		}
	}
	for i, want := range []string{"from a file", "from stdin", "--dashed"} {
		if got := r.calls()[i].Prompt; !strings.HasSuffix(got, want) {
			t.Errorf("prompt %d is %q", i, got)
		}
	}
	if got := r.calls()[2].Prompt; got != "--dashed" {
		t.Errorf("without the directive: %q", got)
	}
}

func TestDriveTimer(t *testing.T) {
	r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x", Model: "muse-spark-1.3-contributor"}}})
	r.tty = true
	code, stdout, stderr := r.run("drive", "p")
	if code != 0 || stdout != "x\n" || !strings.Contains(stderr, "\r\x1b[KWaiting for Muse Code  0s") || !strings.HasSuffix(stderr, "\r\x1b[K") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if !strings.Contains(stderr, "muse: warning: muse-spark-1.3-contributor is a Contributor model") {
		t.Errorf("no advisory in %q", stderr)
	}
	r.tty = false
	if _, _, stderr = r.run("drive", "p"); strings.Contains(stderr, "\x1b") || strings.Contains(stderr, "Waiting") {
		t.Errorf("piped stderr %q", stderr)
	}
}

func TestDriveHelp(t *testing.T) {
	r := newDriveRig(t, musetest.Plan{})
	for _, args := range [][]string{{"drive", "--help"}, {"loop", "-h"}, {"drive", "smoke", "--help"}} {
		if code, stdout, _ := r.run(args...); code != 0 || !strings.Contains(stdout, "EXIT STATUS") {
			t.Errorf("%v: exit %d\n%s", args, code, stdout)
		}
	}
}

func TestDriveChecksVerbs(t *testing.T) {
	r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "OK"}, {NoText: true}}})
	if code, stdout, _ := r.run("drive", "doctor"); code != 0 || !strings.Contains(stdout, "contract") || !strings.Contains(stdout, "-> sign in") {
		t.Errorf("doctor: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ := r.run("drive", "smoke"); code != 0 || strings.Count(stdout, "pass  ") != 4 || !strings.Contains(stdout, "Muse Code 1.4.4 (1.4.4-R5419.1)") {
		t.Errorf("smoke: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ := r.run("drive", "smoke", "--json"); code != 1 || !strings.Contains(stdout, `"name":"final_text","passed":false`) {
		t.Errorf("smoke: exit %d\n%s", code, stdout)
	}
	skill := filepath.Join(r.vars["HOME"], ".config", "muse", "skills", "driven-run", "SKILL.md")
	if code, stdout, _ := r.run("drive", "skills", "deploy"); code != 0 || !strings.HasPrefix(stdout, "created    driven-run/SKILL.md") {
		t.Errorf("deploy: exit %d\n%s", code, stdout)
	}
	if err := os.WriteFile(skill, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, _ := r.run("drive", "skills", "deploy"); code != 1 || !strings.Contains(stdout, "refused") {
		t.Errorf("deploy: exit %d\n%s", code, stdout)
	}
	if code, _, _ := r.run("drive", "skills", "bogus"); code != 2 {
		t.Errorf("unknown subcommand: exit %d", code)
	}
	r.vars["MUSE_PATH"] = "/nowhere/muse"
	if code, stdout, _ := r.run("drive", "doctor", "--json"); code != 1 || !strings.Contains(stdout, `"ok":false`) {
		t.Errorf("doctor without a binary: exit %d\n%s", code, stdout)
	}
}

func TestLoopVerb(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the check is written for sh")
	}
	step := func(n string) musetest.Call {
		return musetest.Call{Reply: "reached " + n, Write: map[string]string{"step": n}}
	}
	r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{step("1"), step("2")}})
	code, stdout, stderr := r.run("loop", "--until", "grep -q 2 step", "fix it")
	if code != 0 || stdout != "reached 2\n" || !strings.Contains(stderr, "muse: loop done: the check passed after 2 attempts") || !strings.Contains(stderr, "muse: attempt 1: the check does not pass") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, _ = r.run("loop", "--until", "false", "--json", "fix it")
	var res struct {
		Stop string `json:"stop"`
	}
	if err := json.Unmarshal([]byte(stdout), &res); code != 1 || err != nil || res.Stop != "no_progress" {
		t.Errorf("exit %d, %v: %s", code, err, stdout)
	}
}

func TestLoopSwitch(t *testing.T) {
	for _, value := range []string{"0", "false", "no", "off"} {
		r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x"}}})
		r.vars["MUSE_DRIVE_LOOP_ENABLED"] = value
		if code, _, stderr := r.run("loop", "--until", "true", "p"); code != 2 || !strings.Contains(stderr, "MUSE_DRIVE_LOOP_ENABLED") || len(r.calls()) > 0 {
			t.Errorf("%s: exit %d, stderr %q", value, code, stderr)
		}
		if code, stdout, _ := r.run("drive", "p"); code != 0 || stdout != "x\n" {
			t.Errorf("%s: drive is affected: exit %d", value, code)
		}
	}
}

func TestLoopUsageErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"no check": {"p"}, "no prompt": {"--until", "true"}, "both modes": {"--until", "true", "--fresh", "--continue", "p"}, "zero": {"--until", "true", "--max-iterations", "0", "p"},
		"schema": {"--until-schema", "/nowhere", "p"}, "no turn limit here": {"--until", "true", "--timeout", "1s", "p"}, "export": {"--until", "true", "--export", "pdf", "p"}, "cooldown": {"--until", "true", "--max-cooldown", "-1s", "p"},
	} {
		r := newDriveRig(t, musetest.Plan{Calls: []musetest.Call{{Reply: "x"}}})
		code, stdout, stderr := r.run(append([]string{"loop"}, args...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, "muse loop --help") || len(r.calls()) > 0 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
	}
}
