package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// muse builds the program once and runs it in a home of its own.
func muse(t *testing.T, home, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t), args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "META_API_KEY=", "MUSE_MODEL=")
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 5 * time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !asExit(err, &exit) {
		t.Fatalf("muse %v: %v\n%s", args, err, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func asExit(err error, target **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*target = e
	return ok
}

var built string

func program(t *testing.T) string {
	t.Helper()
	if built != "" {
		return built
	}
	dir, err := os.MkdirTemp("", "muse-test-")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "muse")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-o", name, "../../cmd/muse").CombinedOutput()
	if err != nil {
		t.Skipf("the program does not build: %v\n%.2000s", err, out)
	}
	built = name
	return name
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

// script is a recorded model that uses tools, answers twice and is denied once.
const script = `{"schema_version":1,"replies":[
  {"text":"Let me look.","tool_calls":[{"name":"read_file","args":{"path":"hello.txt"}}],"usage":{"input":100,"output":10}},
  {"tool_calls":[{"name":"write_file","args":{"path":"new.txt","content":"goodbye\n"}}],"usage":{"input":120,"output":10}},
  {"tool_calls":[{"name":"bash","args":{"command":"curl http://example.org","description":"fetch"}}],"usage":{"input":130,"output":10}},
  {"text":"All done.","usage":{"input":140,"output":10}},
  {"tool_calls":[{"name":"read_file","args":{"path":"new.txt"}},{"name":"read_file","args":{"path":"none.txt"}}],"usage":{"input":150,"output":10}},
  {"text":"Still done.","usage":{"input":160,"output":10}}
]}`

// TestOwnLogs runs the program with a recorded model and reads its log: every
// prompt, answer, call, result and approval is there once, and nothing is
// reported.
func TestOwnLogs(t *testing.T) {
	home, ws := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"hello.txt": "hello\n", "model.json": script} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const id = "01a0f000-0000-7000-8000-0000000000ee"
	for _, prompt := range []string{"make it say goodbye", "and once more"} {
		_, errs, code := muse(t, home, "", "exec", "--provider", "script", "--script", filepath.Join(ws, "model.json"),
			"--workspace", ws, "--session-id", id, "--trust-workspace", prompt)
		if code != 0 {
			t.Skipf("exec does not run here: exit %d\n%s", code, errs)
		}
	}
	rows, stats := read(t, TimelineOptions{}, home)
	if stats.BadLines != 0 || len(stats.Problems) != 0 || len(stats.Foreign) != 0 {
		t.Errorf("reading reports %+v", stats)
	}
	log := findLog(t, home, id)
	want := counted(t, log)
	got := map[string]int{}
	for _, r := range rows {
		if r.Session != id || r.Project != ws {
			t.Errorf("%v of session %s in %s", r, r.Session, r.Project)
		}
		switch {
		case strings.HasPrefix(r.Text, "approval requested: "), strings.HasPrefix(r.Text, "permission decision: "):
			got["approval "+fmt.Sprint(r.Line)]++
		case r.Type != "system":
			got[r.Type+" "+fmt.Sprint(r.Line)]++
		}
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %d rows, want %d", k, got[k], n)
		}
		delete(got, k)
	}
	if len(got) > 0 {
		t.Errorf("rows of nothing: %v", got)
	}
	for _, kind := range []string{"user", "assistant", "tool_use", "tool_result"} {
		found := false
		for k := range want {
			found = found || strings.HasPrefix(k, kind+" ")
		}
		if !found {
			t.Errorf("the log has no %s", kind)
		}
	}
	checkOrder(t, rows)
}

func findLog(t *testing.T, home, id string) []byte {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(home, ".local/share/muse/sessions/*/*/*", id, "session.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("logs: %v, %v", found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// counted says, read with another decoder, how many rows each line must give.
func counted(t *testing.T, log []byte) map[string]int {
	t.Helper()
	want := map[string]int{}
	for i, line := range strings.Split(strings.TrimSuffix(string(log), "\n"), "\n") {
		var rec struct {
			Type    string `json:"payload_type"`
			Payload struct {
				Kind  string `json:"kind"`
				Event struct {
					Kind    string            `json:"kind"`
					Calls   []json.RawMessage `json:"tool_calls"`
					Results []json.RawMessage `json:"results"`
				} `json:"event"`
			} `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil || !jsonline.Valid([]byte(line)) {
			t.Fatalf("line %d of our log: %v", i+1, err)
		}
		key := func(kind string) string { return kind + " " + fmt.Sprint(i+1) }
		if rec.Type != "runtime.session" {
			continue
		}
		switch rec.Payload.Kind + " " + rec.Payload.Event.Kind {
		case "run started":
			want[key("user")] = 1
		case "run assistant_message_committed":
			want[key("assistant")] = 1
		case "run assistant_tool_calls_committed":
			want[key("tool_use")] = len(rec.Payload.Event.Calls)
		case "run tool_result_batch_committed":
			want[key("tool_result")] = len(rec.Payload.Event.Results)
		case "approval requested", "approval decision_applied", "approval automated_review_completed":
			want[key("approval")] = 1
		}
	}
	return want
}
