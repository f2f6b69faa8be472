package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/demo"
	"github.com/openmuse/muse/internal/mockmodel"
	"github.com/openmuse/muse/pkg/muse"
)

// builtDir holds the built binary until the tests are over.
var builtDir string

// builtMuse builds this module's own binary once.
var builtMuse = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "muse-built-*")
	if err != nil {
		return "", err
	}
	builtDir = dir
	bin := filepath.Join(dir, "muse")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	build := exec.Command("go", "build", "-o", bin, "./cmd/muse")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	if out, err := exec.Command(bin, "exec", "--help").CombinedOutput(); err != nil {
		return "", fmt.Errorf("exec --help: %w\n%s", err, out)
	}
	return bin, nil
})

// real are the options of a turn on the built binary in an empty home.
func realTurn(t *testing.T, provider string) TurnOptions {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	bin, err := builtMuse()
	if err != nil {
		t.Skipf("the binary is not there: %v", err)
	}
	home, workspace := t.TempDir(), t.TempDir()
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		t.Fatal(err)
	}
	root, err := muse.OpenTempRoot(filepath.Join(home, "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "META_API_KEY=", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "MUSE_MODEL=")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			env = append(env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	return TurnOptions{
		Binary: bin, BinaryFound: "own binary", Workspace: workspace, Prompt: "hello", Provider: provider, Artifacts: filepath.Join(home, "artifacts"), Env: env, Temp: root,
		Say: func(s string) { t.Log(s) },
	}
}

// quiet fails the test for any diagnostic.
func quiet(t *testing.T, res *Result) {
	t.Helper()
	for _, d := range res.Diagnostics {
		t.Errorf("diagnostic: %s", d)
	}
}

func TestRealEcho(t *testing.T) {
	o := realTurn(t, "echo")
	o.NoDirective = true
	res, err := Turn(context.Background(), o)
	if err != nil || !res.OK || res.Reply != "echo: hello" || res.SessionLog == "" {
		t.Fatalf("result %+v %v", res, err)
	}
	quiet(t, res)
	o.Strict = true
	if res, err = Turn(context.Background(), o); err != nil || !res.OK {
		t.Errorf("strict: %+v %v", res, err)
	}
	rep, err := Smoke(context.Background(), SmokeOptions{Binary: o.Binary, Provider: "echo", Env: o.Env, Temp: o.Temp})
	if err != nil || !rep.OK || rep.Binary.Product != "openmuse" {
		t.Errorf("smoke: %+v %v", rep, err)
	}
	doc := Doctor(context.Background(), DoctorOptions{Binary: o.Binary, Env: append(o.Env, muse.TempVariable+"="+o.Temp.Dir())})
	for _, c := range doc.Checks {
		if c.Verdict == VerdictFail {
			t.Errorf("doctor: %+v", c)
		}
	}
	o.Extra = []string{"--not-a-flag"}
	if res, err = Turn(context.Background(), o); err != nil || res.Class != muse.ClassUsage {
		t.Errorf("usage error: %+v %v", res, err)
	}
}

func goTest(t *testing.T, dir string) error {
	t.Helper()
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	return cmd.Run()
}

func TestRealScriptFixesTheSample(t *testing.T) {
	o := realTurn(t, "script")
	if err := demo.WriteSample(o.Workspace); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "model.json")
	// The recorded model calls bash, which the synchronous shell tool replaces.
	if err := os.WriteFile(script, demo.Model(), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Prompt, o.Extra, o.AsyncShell = demo.Prompt, []string{"--script", script}, true
	res, err := Turn(context.Background(), o)
	if err != nil || !res.OK {
		t.Fatalf("result %+v %v", res, err)
	}
	quiet(t, res)
	if err := goTest(t, o.Workspace); err != nil {
		t.Errorf("the sample's tests: %v", err)
	}
	if res.Tools.Total != 5 || res.Tools.Failures > 1 || res.Usage.InputTokens != 2100+2400+3300+3500+3600 || res.Usage.Calls != 5 {
		t.Errorf("tools %+v, usage %+v", res.Tools, res.Usage)
	}
	records, err := os.ReadFile(filepath.Join(o.Artifacts, fileToolCalls))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for line := range strings.Lines(string(records)) {
		var c muse.ToolCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		targets = append(targets, c.Tool+" "+c.TargetSource)
	}
	if got := strings.Join(targets, ", "); !strings.Contains(got, "bash result.command") || !strings.Contains(got, "edit_file edit_facts.path") || !strings.Contains(got, "read_file result_preview") {
		t.Errorf("targets: %s", got)
	}
}

// modelScript is a recorded model whose one tool call edits tally.go.
func editScript(find, replace, say string) string {
	call, err := json.Marshal(map[string]any{"path": "tally.go", "find": find, "replace": replace})
	if err != nil {
		panic(err) // strings only
	}
	text, _ := json.Marshal(say) // a string
	return fmt.Sprintf(`{"tool_calls":[{"name":"edit_file","args":%s}],"usage":{"input":100,"output":10}},{"text":%s,"usage":{"input":120,"output":5}}`, call, text)
}

// sampleEdits are three wrong edits and the right one.
func sampleEdits() []string {
	const cmp0 = "\t\treturn counts[i].N > counts[j].N\n"
	wrong1 := "\t\treturn counts[i].N >= counts[j].N\n"
	wrong2 := "\t\treturn counts[i].Word < counts[j].Word\n"
	wrong3 := "\t\treturn counts[i].N < counts[j].N || counts[i].Word < counts[j].Word\n"
	right := "\t\tif counts[i].N != counts[j].N {\n\t\t\treturn counts[i].N > counts[j].N\n\t\t}\n\t\treturn counts[i].Word < counts[j].Word\n"
	return []string{
		editScript(cmp0, wrong1, "Made the comparison total."), editScript(wrong1, wrong2, "Sorted by word."),
		editScript(wrong2, wrong3, "Combined both."), editScript(wrong3, right, "By count, then by word."),
	}
}

func scriptFile(replies ...string) string {
	return `{"schema_version":1,"model":"recorded","replies":[` + strings.Join(replies, ",") + "]}"
}

func realLoop(t *testing.T) (o LoopOptions, script string) {
	t.Helper()
	turn := realTurn(t, "script")
	if err := demo.WriteSample(turn.Workspace); err != nil {
		t.Fatal(err)
	}
	script = filepath.Join(t.TempDir(), "model.json")
	turn.Prompt, turn.Extra = demo.Prompt, []string{"--script", script}
	return LoopOptions{Turn: turn, Until: "go test ./...", State: filepath.Join(t.TempDir(), "state"), MaxIterations: 12}, script
}

// TestRealLoopFixesTheSample lets the loop go through three failing attempts,
// each in a fresh session.
func TestRealLoopFixesTheSample(t *testing.T) {
	o, script := realLoop(t)
	edits := sampleEdits()
	n := 0
	o.at = func(point string) {
		if point == "attempt" {
			if err := os.WriteFile(script, []byte(scriptFile(edits[n])), 0o600); err != nil {
				t.Error(err)
			}
			n++
		}
	}
	res := loopOnce(t, o)
	if !res.OK || len(res.Iterations) != 4 {
		t.Fatalf("%s: %s after %d attempts", res.Stop, res.Reason, len(res.Iterations))
	}
	for i, it := range res.Iterations {
		if it.Check == nil || it.Check.Passed != (i == 3) || len(it.Transcript) != 1 || it.ToolCalls != 1 || len(it.Notes) > 0 {
			t.Errorf("attempt %d: %+v", it.N, it)
		}
	}
	if err := goTest(t, o.Turn.Workspace); err != nil {
		t.Errorf("the sample's tests: %v", err)
	}
}

// TestRealLoopContinuesASession does the same in one session, whose recorded
// model goes on from turn to turn.
func TestRealLoopContinuesASession(t *testing.T) {
	o, script := realLoop(t)
	o.Continue = true
	if err := os.WriteFile(script, []byte(scriptFile(sampleEdits()...)), 0o600); err != nil {
		t.Fatal(err)
	}
	res := loopOnce(t, o)
	if !res.OK || len(res.Iterations) != 4 {
		t.Fatalf("%s: %s after %d attempts", res.Stop, res.Reason, len(res.Iterations))
	}
	for _, it := range res.Iterations {
		if it.SessionID != res.Iterations[0].SessionID || it.Usage.InputTokens != 220 {
			t.Errorf("attempt %d: session %s, usage %+v", it.N, it.SessionID, it.Usage)
		}
	}
}

// TestRealLoopKilled kills the loop, and with it nothing else, at instants of
// a seeded random order. The agent counts its own attempts in the workspace
// and makes the right change in the fourth.
func TestRealLoopKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent's commands are written for sh")
	}
	o, script := realLoop(t)
	right := filepath.Join(t.TempDir(), "right.go")
	source, err := os.ReadFile(filepath.Join(o.Turn.Workspace, "tally.go"))
	if err != nil {
		t.Fatal(err)
	}
	fixed := strings.Replace(string(source), "return counts[i].N > counts[j].N", "if counts[i].N != counts[j].N {\n\t\t\treturn counts[i].N > counts[j].N\n\t\t}\n\t\treturn counts[i].Word < counts[j].Word", 1)
	if err := os.WriteFile(right, []byte(fixed), 0o600); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf(`n=$(($(cat attempts 2>/dev/null || echo 0) + 1)); echo $n > attempts; if [ $n -ge 4 ]; then cp %s tally.go; fi`, right)
	call, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	text := scriptFile(fmt.Sprintf(`{"tool_calls":[{"name":"shell","args":%s}]},{"text":"One step further."}`, call))
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	order := helperOrder{
		Binary: o.Turn.Binary, Workspace: o.Turn.Workspace, State: o.State, Until: o.Until, Temp: filepath.Join(t.TempDir(), "tmp"), Env: o.Turn.Env,
		Provider: "script", Extra: o.Turn.Extra, Prompt: o.Turn.Prompt, Iterations: 40,
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	for range 3 {
		// Any instant will do: nothing depends on which one it is.
		instant := time.Duration(random.IntN(1500)) * time.Millisecond
		if !killedAt(t, order, func() { <-time.After(instant) }) {
			t.Logf("seed %d: the loop was done before it was killed", seed)
			return
		}
		kills++
	}
	o.MaxIterations = 40
	res := loopOnce(t, o)
	t.Logf("seed %d: killed %d times, %d attempts", seed, kills, len(res.Iterations))
	if !res.OK {
		t.Fatalf("seed %d: %s: %s", seed, res.Stop, res.Reason)
	}
	if err := goTest(t, o.Turn.Workspace); err != nil {
		t.Errorf("seed %d: the sample's tests: %v", seed, err)
	}
}

// TestRealMockWires drives the binary against a model server that limits,
// overloads and answers, over each wire that needs no catalogue.
func TestRealMockWires(t *testing.T) {
	for _, provider := range []string{"openai", "openai-chat", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			o := realTurn(t, provider)
			server, err := mockmodel.New(mockmodel.Options{Steps: 1, Answer: "Wired."})
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			o.Select.Model, o.Extra, o.AsyncShell = "mock-1", []string{"--base-url", server.URL() + "/v1"}, true
			o.Env = append(o.Env, "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k")
			res, err := Turn(context.Background(), o)
			if err != nil || !res.OK || res.Reply != "Wired." || res.Tools.Total != 1 || res.Usage.Calls != 2 {
				t.Fatalf("result %+v %v", res, err)
			}
			quiet(t, res)
		})
	}
}

// TestRealQuotaFacts checks that a limit reported on the wire reaches the
// driver's facts.
func TestRealQuotaFacts(t *testing.T) {
	o := realTurn(t, "openai")
	failure := mockmodel.Failure{Status: 429, Header: map[string]string{"Retry-After": "86400"}, Body: `{"error":{"type":"rate_limit_error","message":"Rate limit reached","quota_scope":"account","reset_at":"2099-01-02T03:04:05Z"}}`}
	var failures []mockmodel.Failure
	for range 40 {
		failures = append(failures, failure)
	}
	server, err := mockmodel.New(mockmodel.Options{Failures: failures})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	o.Select.Model, o.Extra = "mock-1", []string{"--base-url", server.URL() + "/v1"}
	o.Env = append(o.Env, "OPENAI_API_KEY=k")
	settings := filepath.Join(muse.ConfigHome(func(name string) string { return muse.Lookup(o.Env, name) }), "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"schema_version":1,"provider_retry":{"max_attempts":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := Turn(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if q := res.Quota; res.OK || q == nil || q.Scope == nil || *q.Scope != "account" || q.ResetAt == nil || q.ResetAt.Year() != 2099 {
		t.Errorf("class %s, failure %+v, quota %+v", res.Class, res.Failure, res.Quota)
	}
}
