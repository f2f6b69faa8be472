package muse_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

// rig is a stand-in with its surroundings.
type rig struct {
	t    *testing.T
	env  string
	gate *musetest.Gate
	temp string
	data string
	opts muse.RunOptions
}

func newRig(t *testing.T, calls ...musetest.Call) *rig {
	t.Helper()
	r := &rig{t: t, gate: musetest.NewGate(t), temp: filepath.Join(t.TempDir(), "tmp"), data: t.TempDir()}
	bin, env := musetest.Install(t, musetest.Plan{Calls: calls, Gate: r.gate.Addr()})
	r.env = env
	root, err := muse.OpenTempRoot(r.temp)
	if err != nil {
		t.Fatal(err)
	}
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.opts = muse.RunOptions{
		Binary: bin, Profile: muse.Supervised{Model: "muse-spark-1.3"}, Prompt: prompt, Workspace: workspace, Temp: root,
		Env: append(os.Environ(), env, "XDG_DATA_HOME="+r.data), Grace: 10 * time.Second,
	}
	return r
}

func (r *rig) run(ctx context.Context) *muse.Result {
	r.t.Helper()
	res, err := muse.Run(ctx, r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	// The prompt file is gone whatever happened.
	if left, err := filepath.Glob(filepath.Join(r.temp, "run-*")); err != nil || len(left) > 0 {
		r.t.Errorf("left in the temporary root: %v %v", left, err)
	}
	return res
}

func has(list []muse.Diagnostic, kind muse.DiagnosticKind) bool {
	return slices.ContainsFunc(list, func(d muse.Diagnostic) bool { return d.Kind == kind })
}

func TestRunCompletes(t *testing.T) {
	r := newRig(t, musetest.Call{
		Reply: "all good", Deltas: []string{"all ", "good"}, Tools: []musetest.Tool{{Name: "bash", CallID: "call_1", Text: `{"command":"ls"}`}},
		Usage: &musetest.Usage{Model: "muse-spark-1.3", Input: 100, Output: 7, Read: 40, Write: 3}, Stderr: "muse: workspace root: x (explicit)\n",
	})
	r.opts.Env = append(r.opts.Env, muse.SyncCeilingVariable+"=7", muse.SoftCeilingVariable+"=3", "MUSE_SESSION_ID=outer")
	var raw, deltas bytes.Buffer
	var started muse.Started
	r.opts.Stdout = &raw
	r.opts.OnDelta = func(_, text string) { deltas.WriteString(text) }
	r.opts.OnStart = func(s muse.Started) { started = s }
	res := r.run(context.Background())
	if res.Class != muse.ClassCompleted || res.Failure != nil || res.Outcome.Reply != "all good" || deltas.String() != "all good" || res.Outcome.ToolCalls != 1 {
		t.Errorf("result %+v outcome %+v", res, res.Outcome)
	}
	if len(res.Diagnostics) > 0 {
		t.Errorf("diagnostics %v", res.Diagnostics)
	}
	if u := res.Usage.Total; u.InputTokens != 100 || u.OutputTokens != 7 || u.CacheReadTokens != 40 || u.CacheWriteTokens != 3 {
		t.Errorf("usage %+v", res.Usage)
	}
	if !strings.Contains(res.StderrTail, "workspace root") || bytes.Count(raw.Bytes(), []byte("\n")) != int(res.Outcome.Records) {
		t.Errorf("stderr %q, %d bytes of stdout", res.StderrTail, raw.Len())
	}
	call := musetest.Calls(t, r.env)[0]
	if call.Prompt != prompt || call.Stdin != "empty" || call.Dir != r.opts.Workspace || call.Flag("--session-id") != res.SessionID || !muse.ValidSessionID(res.SessionID) {
		t.Errorf("call %+v", call)
	}
	if runtime.GOOS != "windows" && call.PromptMode != "-rw-------" {
		t.Errorf("prompt file mode %s", call.PromptMode)
	}
	if started.Pid != call.Pid || started.SessionID != res.SessionID {
		t.Errorf("started %+v", started)
	}
	for name, want := range map[string]string{
		"MUSE_NO_AUTO_UPDATE": "1", muse.SyncCeilingVariable: "600", muse.SoftCeilingVariable: "", "MUSE_SESSION_ID": "", muse.RunVariable: res.RunMark,
	} {
		if got := call.Env[name]; got != want {
			t.Errorf("%s=%q in the run, want %q", name, got, want)
		}
	}
	for _, entry := range call.Env {
		if strings.Contains(entry, prompt) {
			t.Error("the prompt is in the environment")
		}
	}
}

// TestPromptIsNotInPs looks at the process list while a run is on.
func TestPromptIsNotInPs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no ps")
	}
	r := newRig(t, musetest.Call{Reply: "x", Gates: []string{"start"}})
	seen := make(chan string, 1)
	go func() {
		release := r.gate.Arrived("start")
		out, err := exec.Command("ps", "axww", "-o", "args").Output()
		if err != nil {
			out = []byte("no ps: " + err.Error())
			if cmdlines, globErr := filepath.Glob("/proc/[0-9]*/cmdline"); globErr == nil && len(cmdlines) > 0 {
				out = nil
				for _, path := range cmdlines {
					data, _ := os.ReadFile(path) // a process may be gone
					out = append(append(out, data...), '\n')
				}
			}
		}
		release()
		seen <- string(out)
	}()
	r.run(context.Background())
	out := <-seen
	if !strings.Contains(out, "prompt.md") {
		t.Errorf("the run is not in the process list: %.300s", out)
	}
	if strings.Contains(out, "secret prompt") {
		t.Error("the prompt is in the process list")
	}
}

func TestRunClasses(t *testing.T) {
	tests := []struct {
		name      string
		call      musetest.Call
		extra     []string
		class     muse.Class
		reply     string
		reason    string
		transient bool
		diag      muse.DiagnosticKind
	}{
		{name: "failed, transient", call: musetest.Call{Deltas: []string{"half"}, Terminal: "failed", Reason: "API error 503: overloaded", Exit: 1}, class: muse.ClassFailed, reply: "half", reason: "503", transient: true},
		{name: "failed for good", call: musetest.Call{Terminal: "failed", Reason: "model `x` does not exist or you lack access", Exit: 1}, class: muse.ClassFailed, reason: "does not exist"},
		{name: "step limit", call: musetest.Call{Terminal: "failed", Reason: "model did not reach a terminal state within 2 step(s)", Exit: 1}, class: muse.ClassFailed, reason: "2 step(s)"},
		{name: "cancelled", call: musetest.Call{Terminal: "cancelled", Exit: 1}, class: muse.ClassCancelled, reason: "no reason was given"},
		{name: "usage error", extra: []string{"--not-a-flag"}, class: muse.ClassUsage, reason: "unknown option --not-a-flag"},
		{name: "startup failure", call: musetest.Call{Stderr: "missing meta credentials\n", Exit: 1}, class: muse.ClassStartup, reason: "missing meta credentials"},
		{name: "no terminal", call: musetest.Call{Deltas: []string{"half an ", "answer"}, Terminal: "none"}, class: muse.ClassNoTerminal, reply: "half an answer", diag: muse.DiagMissingTerminal},
		{name: "killed", call: musetest.Call{Deltas: []string{"half"}, Suicide: true}, class: muse.ClassKilled, reply: "half", diag: muse.DiagMissingTerminal},
		{name: "noise", call: musetest.Call{Reply: "fine", Noise: "npm WARN something\n{\"level\":\"info\"}\n"}, class: muse.ClassCompleted, reply: "fine", diag: muse.DiagStdoutDecode},
		{name: "huge output", call: musetest.Call{Reply: "fine", Lines: 20_000}, class: muse.ClassCompleted, reply: "fine"},
		{name: "empty reply", call: musetest.Call{Deltas: []string{}}, class: muse.ClassCompleted, diag: muse.DiagEmptyReply},
		{name: "completed but exit 1", call: musetest.Call{Reply: "fine", Exit: 1}, class: muse.ClassMismatch, reply: "fine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.class == muse.ClassKilled && runtime.GOOS == "windows" {
				t.Skip("no signals")
			}
			r := newRig(t, tt.call)
			r.opts.Profile = muse.Supervised{Extra: tt.extra}
			res := r.run(context.Background())
			if res.Class != tt.class || res.Outcome.Reply != tt.reply {
				t.Errorf("class %s, reply %q; want %s, %q (exit %s)", res.Class, res.Outcome.Reply, tt.class, tt.reply, res.Exit)
			}
			if (res.Failure == nil) != (tt.class == muse.ClassCompleted) {
				t.Fatalf("failure %+v", res.Failure)
			}
			if res.Failure != nil && (!strings.Contains(res.Failure.Reason, tt.reason) || res.Failure.Transient != tt.transient) {
				t.Errorf("failure %+v", res.Failure)
			}
			if tt.diag != "" && !has(res.Diagnostics, tt.diag) {
				t.Errorf("no %s in %v", tt.diag, res.Diagnostics)
			}
		})
	}
}

func TestSlowOutput(t *testing.T) {
	r := newRig(t, musetest.Call{Reply: "slowly", Deltas: []string{"slow", "ly"}, Gates: []string{"start", "delta", "end"}})
	first := make(chan string, 10)
	r.opts.OnDelta = func(_, text string) { first <- text }
	go func() {
		r.gate.Arrived("start")()
		release := r.gate.Arrived("delta")
		// The fragment is handed on while the process still works.
		if text := <-first; text != "slow" {
			t.Errorf("first fragment %q", text)
		}
		release()
		r.gate.Arrived("end")()
	}()
	if res := r.run(context.Background()); res.Class != muse.ClassCompleted || res.Outcome.Reply != "slowly" {
		t.Errorf("result %+v", res)
	}
}

func TestGrandchildHoldsStdout(t *testing.T) {
	for _, kind := range []string{"group", "session"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, musetest.Call{Reply: "fine", Grandchild: kind})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			res := r.run(ctx)
			if res.Class != muse.ClassCompleted || res.Outcome.Reply != "fine" {
				t.Fatalf("result %+v", res)
			}
			if runtime.GOOS != "linux" {
				return
			}
			// In the group it was ended; in a session of its own it lives on,
			// and stdout was given up.
			if want := kind == "group"; (res.Leftover == 1) != want || has(res.Diagnostics, muse.DiagLeftover) != want || has(res.Diagnostics, muse.DiagStdoutHeld) == want {
				t.Errorf("leftover %d, diagnostics %v", res.Leftover, res.Diagnostics)
			}
			n, err := muse.KillRun(res.RunMark, 0, "")
			if err != nil || (n == 1) != (kind == "session") {
				t.Errorf("%d marked processes, %v", n, err)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaf %v", deaf), func(t *testing.T) {
			r := newRig(t, musetest.Call{Deltas: []string{"half"}, Gates: []string{"delta"}, IgnoreSignals: deaf, Grandchild: "group"})
			clock := musetest.NewClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
			r.opts.Clock = clock
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				r.gate.Arrived("delta")
				asked := clock.AwaitAsked(1) // the observer's timer
				cancel()
				// Whoever is deaf to SIGINT sees SIGTERM after one grace
				// period and SIGKILL after another.
				for step := 1; deaf && step <= 2; step++ {
					clock.AwaitAsked(asked + step)
					clock.Advance(r.opts.Grace)
				}
			}()
			res := r.run(ctx)
			want := 2
			if deaf {
				want = 9
			}
			if res.Class != muse.ClassInterrupted || res.Exit.Signal != want || res.Outcome.Reply != "half" {
				t.Errorf("class %s, exit %s, reply %q", res.Class, res.Exit, res.Outcome.Reply)
			}
		})
	}
}

func TestDeadlineAndStall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	t.Run("deadline", func(t *testing.T) {
		r := newRig(t, musetest.Call{Deltas: []string{"half"}, Gates: []string{"delta"}})
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			r.gate.Arrived("delta")
			cancel(context.DeadlineExceeded)
		}()
		if res := r.run(ctx); res.Class != muse.ClassTimedOut {
			t.Errorf("class %s", res.Class)
		}
	})
	t.Run("stalled", func(t *testing.T) {
		r := newRig(t, musetest.Call{Deltas: []string{"half"}, Gates: []string{"delta"}})
		clock := musetest.NewClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
		r.opts.Clock = clock
		r.opts.Watch = muse.WatchOptions{QuietAfter: 20 * time.Second, StallAfter: 60 * time.Second, Interval: 10 * time.Second}
		var phases []muse.Phase
		r.opts.OnHealth = func(h muse.Health) bool {
			phases = append(phases, h.Phase)
			return h.Phase == muse.PhaseStalled
		}
		half := make(chan struct{})
		r.opts.OnDelta = func(string, string) { close(half) }
		go func() {
			<-half
			for n := 1; n <= 6; n++ {
				clock.AwaitAsked(n)
				clock.Advance(10 * time.Second)
			}
		}()
		res := r.run(context.Background())
		if res.Class != muse.ClassStalled || !res.Failure.Transient {
			t.Errorf("class %s %+v", res.Class, res.Failure)
		}
		if want := []muse.Phase{muse.PhaseActive, muse.PhaseQuiet, muse.PhaseQuiet, muse.PhaseQuiet, muse.PhaseQuiet, muse.PhaseStalled}; !slices.Equal(phases, want) {
			t.Errorf("phases %v", phases)
		}
	})
}

func TestStrictRun(t *testing.T) {
	for name, call := range map[string]musetest.Call{
		"noise":     {Reply: "x", Noise: "warning\n", Gates: []string{"end"}},
		"no text":   {NoText: true, Deltas: []string{"x"}},
		"two lines": {Raw: "{}\n{}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, call)
			r.opts.Strict = true
			if res := r.run(context.Background()); res.Class != muse.ClassStrict || !strings.HasPrefix(res.Failure.Reason, "strict stream") {
				t.Errorf("class %s %+v", res.Class, res.Failure)
			}
		})
	}
	r := newRig(t, musetest.Call{Reply: "x"})
	r.opts.Strict = true
	if res := r.run(context.Background()); res.Class != muse.ClassCompleted {
		t.Errorf("class %s %+v", res.Class, res.Failure)
	}
}

func TestContinuedSessionCountsItsTurnOnly(t *testing.T) {
	r := newRig(t, musetest.Call{Reply: "x", Usage: &musetest.Usage{Model: "m", Input: 10}}, musetest.Call{Reply: "y", Usage: &musetest.Usage{Model: "m", Input: 5}})
	first := r.run(context.Background())
	r.opts.SessionID, r.opts.Continue = first.SessionID, true
	second := r.run(context.Background())
	if first.Usage.Total.InputTokens != 10 || second.Usage.Total.InputTokens != 5 || second.SessionID != first.SessionID {
		t.Errorf("usage %+v, then %+v", first.Usage.Total, second.Usage.Total)
	}
}

func TestRunThatCannotStart(t *testing.T) {
	r := newRig(t)
	for name, change := range map[string]func(*muse.RunOptions){
		"no binary":       func(o *muse.RunOptions) { o.Binary = "/nowhere/muse" },
		"no workspace":    func(o *muse.RunOptions) { o.Workspace = "/nowhere/at/all" },
		"refused profile": func(o *muse.RunOptions) { o.Profile = muse.Direct{} },
	} {
		opts := r.opts
		change(&opts)
		if res, err := muse.Run(context.Background(), opts); err == nil {
			t.Errorf("%s: %+v", name, res)
		}
		if left, _ := filepath.Glob(filepath.Join(r.temp, "run-*")); len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

func TestTempRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	root, err := muse.OpenTempRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	mine, err := root.NewRun()
	if err != nil {
		t.Fatal(err)
	}
	path, err := mine.WriteFile("prompt.md", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", ".", "..", "a/b", "../x"} {
		if p, err := mine.WriteFile(bad, nil); err == nil {
			t.Errorf("wrote %s", p)
		}
	}
	// What a killed process leaves: a directory, and its lock without a holder.
	dead := filepath.Join(dir, "run-dead")
	for _, err := range []error{os.Mkdir(dead, 0o700), os.WriteFile(filepath.Join(dead, "prompt.md"), []byte("x"), 0o600), os.WriteFile(dead+".lock", nil, 0o600), os.Mkdir(filepath.Join(dir, "run-unlocked"), 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := muse.OpenTempRoot(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a living run was swept: %v", err)
	}
	for _, gone := range []string{dead, dead + ".lock", filepath.Join(dir, "run-unlocked")} {
		if _, err := os.Lstat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was not swept: %v", gone, err)
		}
	}
	if err := errors.Join(mine.Close(), mine.Close()); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestTempRootRefusals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits")
	}
	base := t.TempDir()
	open, link, file := filepath.Join(base, "open"), filepath.Join(base, "link"), filepath.Join(base, "file")
	private := filepath.Join(base, "private")
	for _, err := range []error{os.Mkdir(open, 0o755), os.Mkdir(private, 0o700), os.Symlink(private, link), os.WriteFile(file, nil, 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{open, link, file} {
		if _, err := muse.OpenTempRoot(dir); err == nil {
			t.Errorf("%s was accepted", dir)
		}
	}
}

// TestSweepAfterSIGKILL kills a supervisor in the middle of a run; the next
// one to start finds nothing of the prompt left.
func TestSweepAfterSIGKILL(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	r := newRig(t, musetest.Call{Reply: "x", Gates: []string{"start"}})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", "^TestSupervisorHelper$")
	cmd.Env = append(os.Environ(), "MUSE_TEST_SUPERVISOR="+r.env, muse.TempVariable+"="+r.temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.gate.Arrived("start")
	prompts, _ := filepath.Glob(filepath.Join(r.temp, "run-*", "prompt.md"))
	if len(prompts) != 1 {
		t.Fatalf("prompt files during the run: %v", prompts)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.Stat(prompts[0]); err != nil {
		t.Fatalf("the kill already removed the file: %v", err)
	}
	if _, err := muse.OpenTempRoot(r.temp); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.temp, "run-*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestSupervisorHelper is the supervisor that TestSweepAfterSIGKILL kills.
func TestSupervisorHelper(t *testing.T) {
	env := os.Getenv("MUSE_TEST_SUPERVISOR")
	if env == "" {
		t.Skip("only run by TestSweepAfterSIGKILL")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = muse.Run(context.Background(), muse.RunOptions{
		Binary: self, Profile: muse.Supervised{}, Prompt: prompt, Workspace: t.TempDir(), Env: append(os.Environ(), env),
	})
	t.Logf("run ended: %v", err)
}
