package drive

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openmuse/muse/pkg/muse"
	"github.com/openmuse/muse/pkg/muse/musetest"
)

// TestTurn is the table of what a driven binary can do and what comes of it.
func TestTurn(t *testing.T) {
	transient := musetest.Call{Deltas: []string{"half done"}, Terminal: "failed", Reason: "API error 503: overloaded", Exit: 1}
	waiting := musetest.Call{Reply: "Started the tests. I'll wait for them to finish."}
	good := musetest.Call{Reply: "all done", Deltas: []string{"all ", "done"}, Usage: &musetest.Usage{Model: "muse-spark-1.3", Input: 1_000_000, Output: 1_000_000}}
	tests := []struct {
		name   string
		calls  []musetest.Call
		change func(*TurnOptions)

		class    muse.Class
		exit     int
		reply    string
		kinds    []string // of the attempts
		reason   string
		guard    int // lines of the wait-guard log
		live     int // dividers of live_reply.md
		says     string
		diag     muse.DiagnosticKind
		unixOnly bool
	}{
		{name: "normal", calls: []musetest.Call{good}, class: muse.ClassCompleted, reply: "all done", kinds: []string{kindFirst}, live: 1},
		{name: "reply without fragments", calls: []musetest.Call{{Reply: "at once", Deltas: []string{}}}, class: muse.ClassCompleted, reply: "at once", kinds: []string{kindFirst}, live: 1},
		{
			name: "waiting reply, then done", calls: []musetest.Call{waiting, good}, class: muse.ClassCompleted, reply: "all done",
			kinds: []string{kindFirst, kindWait}, guard: 1, live: 2, says: "1 of 2",
		},
		{
			name: "waiting reply, budget spent", calls: []musetest.Call{waiting}, class: ClassStrandedWait, exit: 1, reply: waiting.Reply,
			kinds: []string{kindFirst, kindWait, kindWait}, guard: 3, live: 3, reason: "after 2 continuations",
		},
		{
			name: "waiting reply, no budget", calls: []musetest.Call{waiting}, change: func(o *TurnOptions) { o.Continuations = 0 }, class: ClassStrandedWait, exit: 1,
			reply: waiting.Reply, kinds: []string{kindFirst}, guard: 1, live: 1, reason: "after 0 continuations",
		},
		{
			name: "waiting reply, guard off", calls: []musetest.Call{waiting}, change: func(o *TurnOptions) { o.Continuations = -1 }, class: muse.ClassCompleted,
			reply: waiting.Reply, kinds: []string{kindFirst}, live: 1,
		},
		{
			name: "a failed run that waits is not continued", calls: []musetest.Call{{Deltas: []string{"I'll wait."}, Terminal: "failed", Reason: "invalid request", Exit: 1}},
			class: muse.ClassFailed, exit: 1, reply: "I'll wait.", kinds: []string{kindFirst}, live: 1, reason: "invalid request",
		},
		{
			name: "transient failure, then done", calls: []musetest.Call{transient, good}, class: muse.ClassCompleted, reply: "all done",
			kinds: []string{kindFirst, kindRetry}, live: 2, says: "trying again in a fresh session in 5s (1 of 2)",
		},
		{
			name: "transient failure, budget spent", calls: []musetest.Call{transient}, class: muse.ClassFailed, exit: 1, reply: "half done",
			kinds: []string{kindFirst, kindRetry, kindRetry}, live: 3, reason: "503",
		},
		{
			name: "permanent failure", calls: []musetest.Call{{Terminal: "failed", Reason: "API error 401: authentication failed", Exit: 1}}, class: muse.ClassFailed, exit: 1,
			kinds: []string{kindFirst}, reason: "401",
		},
		{
			name: "a limit that outlasts the turn", calls: []musetest.Call{{Deltas: []string{"some"}, Terminal: "failed", Reason: "429 rate limit", Extra: map[string]any{"reset_at": "2026-11-30T18:00:00Z", "quota_scope": "account"}, Exit: 1}},
			class: muse.ClassFailed, exit: 1, reply: "some", kinds: []string{kindFirst}, live: 1, reason: "429",
		},
		{
			name: "a short limit", calls: []musetest.Call{{Terminal: "failed", Reason: "429 rate limit, retry-after: 20", Exit: 1}, good}, class: muse.ClassCompleted, reply: "all done",
			kinds: []string{kindFirst, kindRetry}, live: 1, says: "in 20s",
		},
		{
			name: "usage error", change: func(o *TurnOptions) { o.Extra = []string{"--bogus"} }, class: muse.ClassUsage, exit: 2, kinds: []string{kindFirst},
			reason: "unknown option --bogus",
		},
		{name: "no terminal", calls: []musetest.Call{{Deltas: []string{"cut off"}, Terminal: "none"}}, class: muse.ClassNoTerminal, exit: 1, reply: "cut off", kinds: []string{kindFirst}, live: 1, diag: muse.DiagMissingTerminal},
		{name: "SIGKILL", unixOnly: true, calls: []musetest.Call{{Deltas: []string{"cut off"}, Suicide: true}}, class: muse.ClassKilled, exit: 1, reply: "cut off", kinds: []string{kindFirst}, live: 1, diag: muse.DiagMissingTerminal},
		{name: "stdout noise", calls: []musetest.Call{{Reply: "fine", Noise: "hello\n{}\n[1]\n"}}, class: muse.ClassCompleted, reply: "fine", kinds: []string{kindFirst}, live: 1, diag: muse.DiagStdoutDecode},
		{name: "huge output", calls: []musetest.Call{{Reply: "fine", Lines: 5000}}, class: muse.ClassCompleted, reply: "fine", kinds: []string{kindFirst}, live: 1},
		{name: "grandchild holding stdout", calls: []musetest.Call{{Reply: "fine", Grandchild: "group"}}, class: muse.ClassCompleted, reply: "fine", kinds: []string{kindFirst}, live: 1},
		{
			name: "contributor model reached", calls: []musetest.Call{{Model: "muse-spark-1.3-contributor", Reply: "x"}}, change: func(o *TurnOptions) { o.Select = muse.Selection{} },
			class: muse.ClassCompleted, reply: "x", kinds: []string{kindFirst}, live: 1, says: "warning: muse-spark-1.3-contributor is a Contributor model",
		},
		{
			name: "contributor model denied", unixOnly: true, calls: []musetest.Call{{Model: "muse-spark-1.3-contributor", Reply: "x", Gates: []string{"end"}}},
			change: func(o *TurnOptions) { o.Select, o.DenyContributor = muse.Selection{}, true }, class: ClassRefused, exit: 1, reply: "x", kinds: []string{kindFirst}, live: 1, reason: "denied",
		},
		{name: "strict", calls: []musetest.Call{{Reply: "x", Noise: "noise\n"}}, change: func(o *TurnOptions) { o.Strict = true }, class: muse.ClassStrict, exit: 1, kinds: []string{kindFirst}, reason: "strict stream: line 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.unixOnly && runtime.GOOS == "windows" {
				t.Skip("no signals")
			}
			if tt.calls == nil {
				tt.calls = []musetest.Call{good}
			}
			r := newRig(t, tt.calls...)
			if tt.change != nil {
				tt.change(&r.opts)
			}
			r.skip(5*time.Second, 10*time.Second, 20*time.Second)
			res, err := Turn(context.Background(), r.opts)
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			sessions := map[string]bool{}
			for _, a := range res.Attempts {
				kinds = append(kinds, a.Kind)
				sessions[a.SessionID] = true
			}
			if res.Class != tt.class || res.ExitCode() != tt.exit || res.Reply != tt.reply || res.OK != (tt.class == muse.ClassCompleted) {
				t.Errorf("class %s, exit code %d, reply %q, ok %v; want %s, %d, %q", res.Class, res.ExitCode(), res.Reply, res.OK, tt.class, tt.exit, tt.reply)
			}
			if diff := cmp.Diff(tt.kinds, kinds); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if len(sessions) != len(kinds) {
				t.Errorf("%d sessions for %d attempts", len(sessions), len(kinds))
			}
			if tt.reason != "" && (res.Failure == nil || !strings.Contains(res.Failure.Reason, tt.reason)) {
				t.Errorf("failure %+v, want %q", res.Failure, tt.reason)
			}
			if got := strings.Count(r.read(fileWaitGuard), "\n"); got != tt.guard {
				t.Errorf("%d firings of the wait guard, want %d", got, tt.guard)
			}
			if got := strings.Count(r.read(fileLiveReply), "--- 2026-11-30 "); got != tt.live {
				t.Errorf("%d dividers in the live reply, want %d:\n%.500s", got, tt.live, r.read(fileLiveReply))
			}
			if said := strings.Join(r.said, "\n"); !strings.Contains(said, tt.says) {
				t.Errorf("said %q, want %q", said, tt.says)
			}
			if tt.diag != "" && !strings.Contains(r.read(fileResult), string(tt.diag)) {
				t.Errorf("no %s in %v", tt.diag, res.Diagnostics)
			}
			checkArtifacts(t, r, res)
		})
	}
}

// checkArtifacts checks what holds for every turn.
func checkArtifacts(t *testing.T, r *rig, res *Result) {
	t.Helper()
	for _, d := range res.Diagnostics {
		if d.Kind == muse.DiagArtifact {
			t.Errorf("artifacts: %v", d)
		}
	}
	var meta RunMetadata
	if err := json.Unmarshal([]byte(r.read(fileMetadata)), &meta); err != nil {
		t.Fatalf("%s: %v", fileMetadata, err)
	}
	if meta.Binary.Banner != "Muse Code 1.4.4 (1.4.4-R5419.1)" || meta.Binary.Release != "1.4.4-R5419.1" || meta.Binary.Level != "1.4.4" || meta.Workspace != r.opts.Workspace {
		t.Errorf("metadata %+v", meta)
	}
	if r.read(fileReply) != res.Reply || r.read(filePrompt) != r.opts.Prompt {
		t.Errorf("reply file %q, prompt file %q", r.read(fileReply), r.read(filePrompt))
	}
	for i, call := range musetest.Calls(t, r.env) {
		a := res.Attempts[i]
		if diff := cmp.Diff(append([]string{r.opts.Binary}, call.Args...), a.Argv); diff != "" {
			t.Errorf("argv of attempt %d is not the exact one:\n%s", i, diff)
		}
		if _, err := os.Stat(call.PromptPath); !os.IsNotExist(err) {
			t.Errorf("prompt file %s: %v", call.PromptPath, err)
		}
	}
	entries, err := os.ReadDir(r.artifacts)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
			t.Errorf("%s has mode %v (%v)", e.Name(), info.Mode(), err)
		}
	}
}

// TestLiveReplyIsFlushed reads the live reply while the run is on.
func TestLiveReplyIsFlushed(t *testing.T) {
	r := newRig(t, musetest.Call{Reply: "slowly", Deltas: []string{"slo", "wly"}, Gates: []string{"delta"}})
	go func() {
		release := r.gate.Arrived("delta")
		for !strings.HasSuffix(r.read(fileLiveReply), "\n\nslo") {
			runtime.Gosched()
		}
		release()
	}()
	res, err := Turn(context.Background(), r.opts)
	if err != nil || !res.OK || !strings.HasSuffix(r.read(fileLiveReply), "\n\nslowly\n") {
		t.Errorf("result %+v %v\n%s", res, err, r.read(fileLiveReply))
	}
}

func TestTurnPrompts(t *testing.T) {
	transient := musetest.Call{Deltas: []string{"half done"}, Terminal: "failed", Reason: "API error 503", Exit: 1}
	waiting := musetest.Call{Reply: "I'll wait for the build to finish."}
	r := newRig(t, transient, waiting, musetest.Call{Reply: "done"})
	r.opts.Ceilings = Ceilings{LongCommand: "jobs start", Soft: 4 * time.Minute}
	r.skip(5 * time.Second)
	if _, err := Turn(context.Background(), r.opts); err != nil {
		t.Fatal(err)
	}
	calls := musetest.Calls(t, r.env)
	if len(calls) != 3 {
		t.Fatalf("%d calls", len(calls))
	}
	for i, c := range calls {
		for _, part := range []string{"10 minutes", "timeout 540", "`jobs start`", "more than 4 minutes", "fix the test"} {
			if !strings.Contains(c.Prompt, part) {
				t.Errorf("prompt %d lacks %q:\n%s", i, part, c.Prompt)
			}
		}
		if c.Env[muse.SyncCeilingVariable] != "600" || c.Env[muse.SoftCeilingVariable] != "240" {
			t.Errorf("ceilings %s %s", c.Env[muse.SyncCeilingVariable], c.Env[muse.SoftCeilingVariable])
		}
	}
	order := func(text string, parts ...string) {
		t.Helper()
		at := -1
		for _, p := range parts {
			i := strings.Index(text, p)
			if i <= at {
				t.Errorf("%q is not where it should be in:\n%s", p, text)
			}
			at = i
		}
	}
	order(calls[0].Prompt, "running unattended", "fix the test")
	order(calls[1].Prompt, "An earlier attempt", "running unattended", "fix the test", "half done")
	order(calls[2].Prompt, "running unattended", "fix the test", "I'll wait for the build to finish.", "Nothing will wake you", "hand it to `jobs start`")
	if !strings.HasPrefix(calls[1].Prompt, resumeNudge) {
		t.Error("the resume nudge does not stand first")
	}
}

func TestTurnUsageAndCost(t *testing.T) {
	usage := &musetest.Usage{Model: "muse-spark-1.3", Input: 1_000_000, Output: 1_000_000, Read: 400_000}
	r := newRig(t, musetest.Call{Reply: "I'll wait.", Usage: usage}, musetest.Call{Reply: "done", Usage: usage})
	res, err := Turn(context.Background(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if res.Usage.InputTokens != 2_000_000 || res.Usage.Calls != 2 || res.CostUSD == nil {
		t.Fatalf("usage %+v cost %v", res.Usage, res.CostUSD)
	}
	if want := 2 * (0.6*1.25 + 0.4*0.15 + 4.25); *res.CostUSD < want-1e-9 || *res.CostUSD > want+1e-9 {
		t.Errorf("cost %v, want %v", *res.CostUSD, want)
	}
	r = newRig(t, musetest.Call{Reply: "done"}) // writes no log
	if res, err = Turn(context.Background(), r.opts); err != nil || res.CostUSD != nil {
		t.Errorf("a missing log gives the cost %v (%v)", res.CostUSD, err)
	}
	usage.Model = "somebody's model"
	r = newRig(t, musetest.Call{Reply: "done", Usage: usage})
	if res, err = Turn(context.Background(), r.opts); err != nil || res.CostUSD != nil {
		t.Errorf("an unknown price gives the cost %v (%v)", res.CostUSD, err)
	}
	r.opts.Price = &muse.Price{Input: 1}
	if res, err = Turn(context.Background(), r.opts); err != nil || res.CostUSD == nil || *res.CostUSD != 0.6 {
		t.Errorf("a given price is not used: %v (%v)", res.CostUSD, err)
	}
}

func TestTurnToolCalls(t *testing.T) {
	r := newRig(t, musetest.Call{Reply: "done", Tools: []musetest.Tool{
		{Name: "edit_file", CallID: "call_1", Text: "edited", EditPath: "a.go", Added: 1},
		{Name: "shell", CallID: "call_2", Text: "tool timed out", Outcome: "timeout"},
	}})
	res, err := Turn(context.Background(), r.opts)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(r.read(fileToolCalls)), "\n")
	if len(lines) != 2 || res.Tools != (ToolCounts{2, 1}) {
		t.Fatalf("%d records, counts %+v", len(lines), res.Tools)
	}
	var second muse.ToolCall
	if err := json.Unmarshal([]byte(lines[1]), &second); err != nil {
		t.Fatal(err)
	}
	if second.Display != "Bash" || second.Status != muse.CallFailure || second.Summary != "tool timed out" || second.Command != "" || second.Runtime != "muse" || second.Source != "stream" {
		t.Errorf("record %+v", second)
	}
}

func TestInterruptedTurnIsContinued(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	r := newRig(t, musetest.Call{Deltas: []string{"found the cause"}, Gates: []string{"delta"}}, musetest.Call{Reply: "done"})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		r.gate.Arrived("delta")
		cancel()
	}()
	res, err := Turn(ctx, r.opts)
	if err != nil || res.Class != muse.ClassInterrupted || res.ExitCode() != 130 || res.Reply != "found the cause" {
		t.Fatalf("result %+v %v", res, err)
	}
	if r.opts.Resume, err = LoadResume(r.artifacts); err != nil {
		t.Fatal(err)
	}
	r.opts.Prompt = "and mind the docs"
	if res, err = Turn(context.Background(), r.opts); err != nil || !res.OK || res.Attempts[0].Kind != kindInterrupt {
		t.Fatalf("result %+v %v", res, err)
	}
	prompt := musetest.Calls(t, r.env)[1].Prompt
	for _, part := range []string{interruptNudge, "fix the test", "found the cause", "and mind the docs"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the continuation lacks %q:\n%s", part, prompt)
		}
	}
	if live := r.read(fileLiveReply); strings.Count(live, "--- ") != 2 || !strings.Contains(live, "found the cause\n\n--- ") {
		t.Errorf("live reply:\n%s", live)
	}
	if _, err := LoadResume(r.artifacts); err == nil {
		t.Error("a complete turn was continued")
	}
}

func TestContinueSession(t *testing.T) {
	r := newRig(t, musetest.Call{Reply: "done"})
	r.opts.SessionID, r.opts.Continue = muse.NewSessionID(), true
	res, err := Turn(context.Background(), r.opts)
	if err != nil || res.SessionID != r.opts.SessionID || musetest.Calls(t, r.env)[0].Flag("--session-id") != r.opts.SessionID {
		t.Errorf("result %+v %v", res, err)
	}
}

func TestTurnRefusals(t *testing.T) {
	for name, change := range map[string]func(*TurnOptions){
		"empty prompt":           func(o *TurnOptions) { o.Prompt = " \n" },
		"relative workspace":     func(o *TurnOptions) { o.Workspace = "x" },
		"continue what":          func(o *TurnOptions) { o.Continue = true },
		"session id":             func(o *TurnOptions) { o.SessionID = "x" },
		"unknown profile":        func(o *TurnOptions) { o.Profile = "x" },
		"direct with extra":      func(o *TurnOptions) { o.Profile, o.Extra = ProfileDirect, []string{"--yolo"} },
		"direct without bounds":  func(o *TurnOptions) { o.Profile = ProfileDirect },
		"denied contributor":     func(o *TurnOptions) { o.Select.Model, o.DenyContributor = "muse-spark-1.3-contributor", true },
		"missing binary":         func(o *TurnOptions) { o.Binary = "/nowhere/muse" },
		"artifacts in the way":   func(o *TurnOptions) { o.Artifacts = filepath.Join(o.Binary, "x") },
		"reserved pass-through":  func(o *TurnOptions) { o.Extra = []string{"--session-id", "x"} },
		"another vendor's flags": func(o *TurnOptions) { o.Effort = "--yolo" },
	} {
		r := newRig(t, musetest.Call{Reply: "x"})
		change(&r.opts)
		if res, err := Turn(context.Background(), r.opts); err == nil {
			t.Errorf("%s: %+v", name, res)
		}
		if calls := musetest.Calls(t, r.env); len(calls) > 0 {
			t.Errorf("%s: a run was made", name)
		}
	}
}

func TestDirectTurn(t *testing.T) {
	schema := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(schema, []byte(`{"type":"object","required":["ok"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	direct := func(reply string) (*rig, *TurnOptions) {
		r := newRig(t, musetest.Call{Reply: reply})
		o := &r.opts
		o.Profile, o.Effort, o.MaxSteps, o.OutputSchema = ProfileDirect, "low", 3, schema
		o.Policy = muse.DirectPolicy{Boundary: "container", Data: muse.DataPolicy{Processing: "allow", Improvement: "deny", Retention: "deny"}, Pin: "1.4.4-R5419.1"}
		return r, o
	}
	r, o := direct(`{"ok":true}`)
	res, err := Turn(context.Background(), *o)
	if err != nil || !res.OK {
		t.Fatalf("result %+v %v", res, err)
	}
	call := musetest.Calls(t, r.env)[0]
	if call.Flag("--approval-judge") != "off" || call.Flag("--max-model-steps") != "3" || call.Flag("--provider") != "meta" || call.Flag("--output-schema") != schema {
		t.Errorf("arguments %v", call.Args)
	}
	for _, reply := range []string{"done", `{"ok":1,"ok":2}`, `{"no":1}`, "```json\n{\"ok\":true}\n```"} {
		_, o = direct(reply)
		if res, err = Turn(context.Background(), *o); err != nil || res.Class != muse.ClassStrict || !strings.Contains(res.Failure.Reason, "final text") {
			t.Errorf("%s: class %s %+v %v", reply, res.Class, res.Failure, err)
		}
	}
	r, o = direct("x")
	o.Policy.Pin = "1.4.5"
	if _, err = Turn(context.Background(), *o); err == nil || len(musetest.Calls(t, r.env)) > 0 {
		t.Errorf("another release was run: %v", err)
	}
}

func TestTimer(t *testing.T) {
	clock := musetest.NewClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	var out strings.Builder
	stop := Timer{W: &out, Clock: clock, Label: "Muse Code"}.Start()
	clock.AwaitAsked(1)
	clock.Advance(61 * time.Second)
	clock.AwaitAsked(2)
	stop()
	for _, part := range []string{"\r\x1b[KWaiting for Muse Code  0s", "Waiting for Muse Code  1m01s"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q lacks %q", out.String(), part)
		}
	}
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("the line stays: %q", out.String())
	}
}

func TestDirectiveIsShort(t *testing.T) {
	if n := len(Directive(Ceilings{Soft: time.Minute, LongCommand: "jobs start"})); n > 1200 {
		t.Errorf("%d bytes before every prompt", n)
	}
	if d := Directive(Ceilings{}); strings.Contains(d, "{{") || strings.Contains(d, "\n\n\n") {
		t.Errorf("directive:\n%s", d)
	}
}

func TestEnvironmentOptions(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	args, err := TierArgs(muse.TierLarge, env(map[string]string{"MUSE_DRIVE_LARGE_ARGS": "--a", "MUSE_DRIVE_LLM_LARGE_ARGS": "--b 'c d'"}))
	if err != nil || !cmp.Equal(args, []string{"--b", "c d"}) {
		t.Errorf("the generic variable does not win: %q %v", args, err)
	}
	if args, err = TierArgs(muse.TierSmall, env(map[string]string{"MUSE_DRIVE_SMALL_ARGS": "--a"})); err != nil || !cmp.Equal(args, []string{"--a"}) {
		t.Errorf("the fallback is not used: %q %v", args, err)
	}
	if _, err = TierArgs(muse.TierSmall, env(map[string]string{"MUSE_DRIVE_SMALL_ARGS": "'"})); err == nil {
		t.Error("an open quote was accepted")
	}
	for value, want := range map[string]muse.SandboxPosture{"": muse.SandboxOff, "on": muse.SandboxOn, "ON": muse.SandboxOn, "off": muse.SandboxOff} {
		if got, err := SandboxFromEnv(env(map[string]string{VarSandbox: value})); err != nil || got != want {
			t.Errorf("%s=%q: %v %v", VarSandbox, value, got, err)
		}
	}
	if _, err := SandboxFromEnv(env(map[string]string{VarSandbox: "maybe"})); err == nil {
		t.Error("maybe")
	}
	for value, want := range map[string]int{"": 2, "0": 0, "5": 5} {
		if got, err := ContinuationsFromEnv(env(map[string]string{VarContinuations: value})); err != nil || got != want {
			t.Errorf("%s=%q: %v %v", VarContinuations, value, got, err)
		}
	}
	for value, want := range map[string]bool{"": true, "1": true, "0": false, "false": false, "No": false, "OFF": false} {
		if got := LoopEnabled(env(map[string]string{VarLoopEnabled: value})); got != want {
			t.Errorf("%s=%q: %v", VarLoopEnabled, value, got)
		}
	}
	a := Aliases(env(map[string]string{"MUSE_DRIVE_ALIAS_LARGE": "muse-wonder-1.0-contributor", "MUSE_DRIVE_ALIAS_M": "x"}))
	if _, err := a.Resolve("large"); err == nil {
		t.Error("a tier reached a contributor model through the environment")
	}
	if sel, err := a.Resolve("m"); err != nil || sel.Model != "x" {
		t.Errorf("size override: %+v %v", sel, err)
	}
}
