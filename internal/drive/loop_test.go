package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

// step is an attempt that leaves n in the file "step".
func step(n int) musetest.Call {
	return musetest.Call{Reply: fmt.Sprintf("reached %d", n), Write: map[string]string{"step": fmt.Sprint(n)}, Usage: &musetest.Usage{Model: "muse-spark-1.3", Input: 1_000_000}}
}

// atLeast is a check that passes when the file "step" says at least n.
func atLeast(n int) string {
	return fmt.Sprintf(`s=$(cat step 2>/dev/null || echo 0); echo "step is $s, want %d"; [ "$s" -ge %d ]`, n, n)
}

func newLoopRig(t *testing.T, until string, calls ...musetest.Call) (*rig, LoopOptions) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the checks of these tests are written for sh")
	}
	r := newRig(t, calls...)
	o := LoopOptions{Turn: r.opts, Until: until, State: filepath.Join(t.TempDir(), "state")}
	o.Turn.Retries = 0
	return r, o
}

func loopOnce(t *testing.T, o LoopOptions) *LoopResult {
	t.Helper()
	res, err := Loop(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestLoop(t *testing.T) {
	overloaded := musetest.Call{Deltas: []string{"x"}, Terminal: "failed", Reason: "API error 503: overloaded", Exit: 1}
	limited := func(extra map[string]any) musetest.Call {
		return musetest.Call{Terminal: "failed", Reason: "API error 429: rate limit", Extra: extra, Exit: 1}
	}
	tests := []struct {
		name     string
		until    string
		calls    []musetest.Call
		change   func(*LoopOptions)
		ok       bool
		stop     string
		reason   string
		attempts int
		says     string
		skip     []time.Duration // pauses to pass over
	}{
		{name: "three failing iterations, then done", until: atLeast(4), calls: []musetest.Call{step(1), step(2), step(3), step(4)}, ok: true, stop: StopDone, attempts: 4, says: "attempt 3: the check does not pass (exit 1)"},
		{name: "done at once", until: "true", calls: []musetest.Call{step(1)}, ok: true, stop: StopDone, attempts: 1},
		{name: "check first, and it passes", until: "true", calls: []musetest.Call{step(1)}, change: func(o *LoopOptions) { o.CheckFirst = true }, ok: true, stop: StopDone, attempts: 0},
		{name: "check first, and it does not", until: atLeast(1), calls: []musetest.Call{step(1)}, change: func(o *LoopOptions) { o.CheckFirst = true }, ok: true, stop: StopDone, attempts: 1},
		{name: "limit of iterations", until: atLeast(9), calls: []musetest.Call{step(1), step(2), step(3)}, change: func(o *LoopOptions) { o.MaxIterations = 3 }, stop: StopIterations, attempts: 3},
		{name: "no progress", until: atLeast(9), calls: []musetest.Call{step(1)}, stop: StopNoProgress, reason: "same work and the same failure as attempt 1", attempts: 2},
		{name: "no progress, more patience", until: atLeast(9), calls: []musetest.Call{step(1)}, change: func(o *LoopOptions) { o.NoProgress = 4 }, stop: StopNoProgress, attempts: 4},
		{name: "going round in circles", until: atLeast(9), calls: []musetest.Call{step(1), step(2), step(1)}, stop: StopNoProgress, reason: "as attempt 1", attempts: 3},
		{name: "another failure is progress of a kind", until: `echo x >> tries; [ $(wc -l < tries) -ge 3 ]`, calls: []musetest.Call{{Reply: "nothing"}}, ok: true, stop: StopDone, attempts: 3},
		{
			name: "the same failure with other numbers", until: `echo "took 0.$$ s"; false`, calls: []musetest.Call{{Reply: "nothing"}}, stop: StopNoProgress, attempts: 2,
		},
		{name: "usage error", until: "false", calls: []musetest.Call{step(1)}, change: func(o *LoopOptions) { o.Turn.Extra = []string{"--bogus"} }, stop: StopFailed, reason: "unknown option --bogus", attempts: 1},
		{name: "the agent does not start", until: "false", calls: []musetest.Call{{Stderr: "missing meta credentials\n", Exit: 1}}, stop: StopFailed, reason: "missing meta credentials", attempts: 1},
		{name: "a failed attempt whose work holds", until: atLeast(2), calls: []musetest.Call{step(1), with(step(2), func(c *musetest.Call) {
			c.Terminal, c.Reason, c.Exit = "failed", "model did not reach a terminal state within 9 step(s)", 1
		})}, ok: true, stop: StopDone, attempts: 2},
		{name: "overloaded, then done", until: atLeast(1), calls: []musetest.Call{overloaded, overloaded, step(1)}, ok: true, stop: StopDone, attempts: 3, says: "waiting 1m0s", skip: []time.Duration{30 * time.Second, time.Minute}},
		{
			name: "quota with a reset", until: atLeast(1), calls: []musetest.Call{limited(map[string]any{"reset_at": "2026-11-30T13:00:00Z"}), step(1)}, ok: true, stop: StopDone, attempts: 2,
			says: "waiting 1h0m0s, until 2026-11-30T13:00:00Z", skip: []time.Duration{time.Hour},
		},
		{
			name: "quota with a reset too far away", until: atLeast(1), calls: []musetest.Call{limited(map[string]any{"reset_at": "2026-12-02T12:00:00Z"})}, stop: StopQuota,
			reason: "reset at 2026-12-02T12:00:00Z", attempts: 1,
		},
		{name: "limit of cost", until: atLeast(9), calls: []musetest.Call{step(1), step(2), step(3)}, change: func(o *LoopOptions) { o.MaxCost = 2.5 }, stop: StopCost, reason: "$2.5000 were spent", attempts: 2},
		{name: "a cost that cannot be told", until: "false", calls: []musetest.Call{{Reply: "x"}, {Reply: "y"}}, change: func(o *LoopOptions) { o.MaxCost = 1 }, stop: StopCost, reason: "cannot be told", attempts: 1},
		{
			name: "a given price", until: "false", calls: []musetest.Call{{Reply: "x", Usage: &musetest.Usage{Model: "local", Input: 1_000_000}}}, stop: StopCost, reason: "$3.0000", attempts: 1,
			change: func(o *LoopOptions) { o.MaxCost, o.Turn.Price = 1, &muse.Price{Input: 3} },
		},
		{name: "answer by schema", change: schemaOf(`{"type":"object","required":["ok"],"properties":{"ok":{"const":true}}}`), calls: []musetest.Call{
			{Reply: "sure"}, {Reply: `{"ok":false}`}, {Reply: "Here it is:\n```json\n{\"ok\":true}\n```"},
		}, ok: true, stop: StopDone, attempts: 3, says: "the check does not pass"},
		{name: "both checks", until: atLeast(1), change: schemaOf(`{"type":"object"}`), calls: []musetest.Call{step(1), {Reply: `{}`}}, ok: true, stop: StopDone, attempts: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, o := newLoopRig(t, tt.until, tt.calls...)
			var said []string
			o.Turn.Say = func(s string) { said = append(said, s) }
			if tt.change != nil {
				tt.change(&o)
			}
			r.skip(tt.skip...)
			res := loopOnce(t, o)
			if res.OK != tt.ok || res.Stop != tt.stop || !strings.Contains(res.Reason, tt.reason) {
				t.Errorf("ok %v, stop %s: %s; want %v, %s: %s", res.OK, res.Stop, res.Reason, tt.ok, tt.stop, tt.reason)
			}
			if len(res.Iterations) != tt.attempts {
				t.Errorf("%d attempts, want %d", len(res.Iterations), tt.attempts)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, tt.says) {
				t.Errorf("said:\n%s\nwant %q", all, tt.says)
			}
			for _, it := range res.Iterations {
				if it.Phase != phaseOver || it.Process != nil {
					t.Errorf("attempt %d is left in phase %s", it.N, it.Phase)
				}
				if _, err := os.Stat(filepath.Join(it.Dir, fileResult)); err != nil {
					t.Errorf("attempt %d kept no output: %v", it.N, err)
				}
			}
		})
	}
}

func with(c musetest.Call, change func(*musetest.Call)) musetest.Call {
	change(&c)
	return c
}

func schemaOf(text string) func(*LoopOptions) {
	return func(o *LoopOptions) {
		o.UntilSchema = filepath.Join(o.Turn.Workspace, "..", "schema.json")
		if err := os.WriteFile(o.UntilSchema, []byte(text), 0o600); err != nil {
			panic(err)
		}
	}
}

func TestLoopPrompts(t *testing.T) {
	r, o := newLoopRig(t, atLeast(2), step(1), step(2))
	res := loopOnce(t, o)
	calls := musetest.Calls(t, r.env)
	for _, part := range []string{"fix the test", "this command exits with 0", `want 2"`} {
		if !strings.Contains(calls[0].Prompt, part) {
			t.Errorf("the first prompt lacks %q:\n%s", part, calls[0].Prompt)
		}
	}
	for _, part := range []string{"fix the test", "This is attempt 2", "step is 1, want 2", "(exit 1)", "reached 1", "do not start over"} {
		if !strings.Contains(calls[1].Prompt, part) {
			t.Errorf("the second prompt lacks %q:\n%s", part, calls[1].Prompt)
		}
	}
	if calls[0].Flag("--session-id") == calls[1].Flag("--session-id") {
		t.Error("fresh attempts share a session")
	}
	for _, it := range res.Iterations {
		if len(it.Transcript) != 1 {
			t.Errorf("attempt %d: transcripts %v, notes %v", it.N, it.Transcript, it.Notes)
		}
	}
	if res.Usage.InputTokens != 2_000_000 || res.CostUSD == nil || *res.CostUSD != 2.5 {
		t.Errorf("usage %+v cost %v", res.Usage, res.CostUSD)
	}
}

func TestLoopContinuesOneSession(t *testing.T) {
	r, o := newLoopRig(t, atLeast(2), step(1), step(2))
	o.Continue = true
	loopOnce(t, o)
	calls := musetest.Calls(t, r.env)
	if calls[0].Flag("--session-id") != calls[1].Flag("--session-id") {
		t.Error("the session changed")
	}
	if strings.Contains(calls[1].Prompt, "fix the test") || !strings.Contains(calls[1].Prompt, "step is 1, want 2") {
		t.Errorf("the second prompt:\n%s", calls[1].Prompt)
	}
}

func TestLoopTimeLimit(t *testing.T) {
	r, o := newLoopRig(t, "false", with(step(1), func(c *musetest.Call) { c.Gates = []string{"delta"} }))
	o.MaxTime = time.Hour
	go func() {
		r.gate.Arrived("delta")
		r.clock.AwaitAsked(2) // the limit and the observation
		r.clock.Advance(time.Hour)
	}()
	res := loopOnce(t, o)
	if res.Stop != StopTime || res.Iterations[0].Class != muse.ClassTimedOut || res.Iterations[0].Check == nil {
		t.Errorf("stop %s, attempt %+v", res.Stop, res.Iterations[0])
	}
}

func TestLoopCheckThatHangs(t *testing.T) {
	r, o := newLoopRig(t, "echo before; exec tail -f /dev/null", step(1), step(2))
	o.MaxIterations = 2
	o.at = func(point string) {
		if point == "check started" {
			r.clock.Advance(DefaultCheckTimeout)
		}
	}
	res := loopOnce(t, o)
	if c := res.Iterations[0].Check; res.Stop != StopIterations || !c.TimedOut || c.Passed || c.Seconds != 600 {
		t.Errorf("result %+v check %+v", res, c)
	}
}

func TestLoopWorktree(t *testing.T) {
	r, o := newLoopRig(t, atLeast(2), step(1), step(2))
	repo := o.Turn.Workspace
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput(); err != nil {
			t.Skipf("git does not work here: %v %s", err, out)
		}
	}
	o.Worktree = true
	res := loopOnce(t, o)
	if !res.OK || len(res.Iterations) != 2 || res.Worktree == "" {
		t.Fatalf("result %+v", res)
	}
	calls := musetest.Calls(t, r.env)
	if calls[0].Dir == calls[1].Dir || calls[0].Dir == repo || !strings.Contains(calls[1].Prompt, "begins from the same commit") {
		t.Errorf("workspaces %s, %s", calls[0].Dir, calls[1].Dir)
	}
	if _, err := os.Stat(filepath.Join(repo, "step")); err == nil {
		t.Error("an attempt wrote into the workspace itself")
	}
	for i, it := range res.Iterations {
		patch, err := os.ReadFile(it.Patch)
		if err != nil || !strings.Contains(string(patch), fmt.Sprintf("+%d", i+1)) {
			t.Errorf("patch of attempt %d: %s %v", it.N, patch, err)
		}
	}
	if _, err := os.Stat(res.Iterations[0].Worktree); !os.IsNotExist(err) {
		t.Errorf("the first worktree is still there: %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(res.Worktree, "step")); err != nil || string(got) != "2" {
		t.Errorf("the winning worktree: %q %v", got, err)
	}
}

func TestLoopWithoutExport(t *testing.T) {
	r, o := newLoopRig(t, "true", step(1))
	bin, env := musetest.Install(t, musetest.Plan{Calls: []musetest.Call{step(1)}, NoExport: true})
	o.Turn.Binary, o.Turn.Env = bin, append(o.Turn.Env, env)
	res := loopOnce(t, o)
	if it := res.Iterations[0]; !res.OK || len(it.Transcript) > 0 || len(it.Notes) != 1 || !strings.Contains(it.Notes[0], "transcript: ") {
		t.Errorf("attempt %+v", it)
	}
	_ = r
}

func TestLoopRefusals(t *testing.T) {
	for name, change := range map[string]func(*LoopOptions){
		"no check":               func(o *LoopOptions) { o.Until = "" },
		"negative limit":         func(o *LoopOptions) { o.MaxIterations = -1 },
		"one attempt's progress": func(o *LoopOptions) { o.NoProgress = 1 },
		"session and worktree":   func(o *LoopOptions) { o.Continue, o.Worktree = true, true },
		"schema file missing":    func(o *LoopOptions) { o.UntilSchema = "/nowhere.json" },
		"no repository":          func(o *LoopOptions) { o.Worktree = true },
		"export":                 func(o *LoopOptions) { o.Export = "pdf" },
		"pass-through":           func(o *LoopOptions) { o.Turn.Extra = []string{"-w"} },
		"check first what":       func(o *LoopOptions) { o.Until, o.UntilSchema, o.CheckFirst = "", "x", true },
	} {
		r, o := newLoopRig(t, "true", step(1))
		change(&o)
		if res, err := Loop(context.Background(), o); err == nil {
			t.Errorf("%s: %+v", name, res)
		}
		if len(musetest.Calls(t, r.env)) > 0 {
			t.Errorf("%s: an attempt was made", name)
		}
	}
}

func TestLoopIsExclusive(t *testing.T) {
	r, o := newLoopRig(t, "true", with(step(1), func(c *musetest.Call) { c.Gates = []string{"start"} }))
	done := make(chan error, 1)
	go func() {
		_, err := Loop(context.Background(), o)
		done <- err
	}()
	release := r.gate.Arrived("start")
	if _, err := Loop(context.Background(), o); !errors.Is(err, ErrLoopBusy) {
		t.Errorf("a second loop: %v", err)
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLoopAnew(t *testing.T) {
	_, o := newLoopRig(t, atLeast(1), step(1))
	first := loopOnce(t, o)
	second := loopOnce(t, o) // a finished loop is not gone on with
	if second.Resumed || first.State == second.State || len(second.Iterations) != 1 {
		t.Errorf("second loop %+v", second)
	}
}

func TestLoopInterruptedGoesOn(t *testing.T) {
	r, o := newLoopRig(t, atLeast(2), step(1), with(step(2), func(c *musetest.Call) { c.Gates = []string{"delta"} }), step(2))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		r.gate.Arrived("delta")
		cancel()
	}()
	res, err := Loop(ctx, o)
	if err != nil || res.Stop != StopInterrupted || len(res.Iterations) != 2 || res.Iterations[1].Class != muse.ClassInterrupted {
		t.Fatalf("result %+v %v", res, err)
	}
	res = loopOnce(t, o)
	if !res.OK || !res.Resumed || len(res.Iterations) != 3 {
		t.Errorf("result %+v", res)
	}
	if prompt := musetest.Calls(t, r.env)[2].Prompt; !strings.Contains(prompt, "cut off in the middle") || !strings.Contains(prompt, "step is 1") {
		t.Errorf("the prompt after the interruption:\n%s", prompt)
	}
}
