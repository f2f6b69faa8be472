// Package musetest is a stand-in for a muse binary, for tests of programs that
// drive one. The test binary plays it by executing itself:
//
//	func TestMain(m *testing.M) {
//		if musetest.Active() {
//			os.Exit(musetest.Main())
//		}
//		os.Exit(m.Run())
//	}
//
// A [Plan] says what each invocation does; [Install] writes it to disk and
// returns the environment that makes the executed test binary follow it. Every
// invocation records what it was started with, to be read back with [Calls].
// Nothing sleeps: an invocation that must wait connects to a [Gate].
package musetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Variables of the stand-in.
const (
	planVariable = "MUSETEST_PLAN"
	roleVariable = "MUSETEST_ROLE"
)

// Plan is what a stand-in does.
type Plan struct {
	Banner string `json:"banner"` // of --version; "Muse Code 1.4.4 (1.4.4-R5419.1)" when empty
	Calls  []Call `json:"calls"`  // by order of `exec` invocations; the last one repeats
	Gate   string `json:"gate"`   // address of a Gate
	Dir    string `json:"dir"`    // filled by Install
	// HelpFlags are the flags that exec --help lists; nil means all known.
	HelpFlags []string `json:"help_flags"`
	// NoExport makes `export` an unknown command.
	NoExport bool `json:"no_export"`
}

// Call is one invocation of exec.
type Call struct {
	Model    string   `json:"model"`    // of run.model.configured
	Reply    string   `json:"reply"`    // terminal text
	Deltas   []string `json:"deltas"`   // nil: the reply in one piece; empty: none
	Terminal string   `json:"terminal"` // "completed" when empty; "none" leaves it out
	Reason   string   `json:"reason"`
	Extra    map[string]any
	NoText   bool   `json:"no_text"` // terminal text null
	Tools    []Tool `json:"tools"`
	Raw      string `json:"raw"` // printed instead of a stream
	Noise    string `json:"noise"`
	Stderr   string `json:"stderr"`
	Exit     int    `json:"exit"`
	Suicide  bool   `json:"suicide"` // ends itself by SIGKILL after the deltas
	// Lines prints that many deltas of about 1 KiB more.
	Lines int `json:"lines"`
	// Gates are waited at: "start" before any output, "delta" after the first
	// delta, "end" before the terminal.
	Gates []string `json:"gates"`
	// Grandchild leaves a process behind that holds stdout: "group" in the
	// same group, "session" in a session of its own.
	Grandchild string `json:"grandchild"`
	// IgnoreSignals makes it deaf to SIGINT and SIGTERM.
	IgnoreSignals bool `json:"ignore_signals"`
	// Write puts files into the workspace (path → content) before the terminal.
	Write map[string]string `json:"write"`
	// Log are lines written to the session log; "%SESSION%" and "%RUN%" are
	// replaced. Usage is shorthand for one model_completed line.
	Log   []string `json:"log"`
	Usage *Usage   `json:"usage"`
}

// Usage is one model call of the session log.
type Usage struct {
	Model                      string
	Input, Output, Read, Write int
}

// Record is what one invocation was started with.
type Record struct {
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"` // all of it
	Dir        string            `json:"dir"`
	Prompt     string            `json:"prompt"`      // content of the prompt file, or the word
	PromptMode string            `json:"prompt_mode"` // "-rw-------"
	PromptPath string            `json:"prompt_path"`
	Stdin      string            `json:"stdin"` // "empty" or "data"
	Pid        int               `json:"pid"`
}

// Flag returns the value of the first --name in the arguments.
func (r Record) Flag(name string) string {
	for i, a := range r.Args {
		if v, ok := strings.CutPrefix(a, name+"="); ok {
			return v
		}
		if a == name && i+1 < len(r.Args) {
			return r.Args[i+1]
		}
	}
	return ""
}

// Install writes the plan below a temporary directory and returns the path of
// the stand-in and the environment entry to add.
func Install(t testing.TB, plan Plan) (bin string, env string) {
	t.Helper()
	plan.Dir = t.TempDir()
	if plan.Banner == "" {
		plan.Banner = "Muse Code 1.4.4 (1.4.4-R5419.1)"
	}
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatalf("marshal plan: %v", err)
	}
	path := filepath.Join(plan.Dir, "plan.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatalf("write plan: %v", err)
	}
	if bin, err = os.Executable(); err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	return bin, planVariable + "=" + path
}

// Calls reads the records of the exec invocations made under an environment
// entry of Install, in order.
func Calls(t testing.TB, env string) []Record {
	t.Helper()
	dir := filepath.Dir(strings.TrimPrefix(env, planVariable+"="))
	var records []Record
	for n := 1; ; n++ {
		data, err := os.ReadFile(filepath.Join(dir, callName(n), "record.json"))
		if errors.Is(err, os.ErrNotExist) {
			return records
		}
		var r Record
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err != nil {
			t.Fatalf("read call %d: %v", n, err)
		}
		records = append(records, r)
	}
}

func callName(n int) string { return fmt.Sprintf("call-%03d", n) }
