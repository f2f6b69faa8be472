//go:build unix

package tool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

func chunkOf(t *testing.T, r Result) chunk {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(r.Text), &c); err != nil {
		t.Fatalf("not a chunk: %v\n%s", err, r.Text)
	}
	return c
}

// until polls a running command until it has printed want, whatever the speed of
// the machine, and returns the last chunk with all the output since first.
func until(t *testing.T, s *Set, first chunk, want string) chunk {
	t.Helper()
	c, text := first, first.Output
	for !strings.Contains(text, want) {
		if c.SessionID == "" {
			t.Fatalf("it ended without printing %q: %q, %+v", want, text, c)
		}
		c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID, "yield_time_ms": 200}))
		text += c.Output
	}
	c.Output = text
	return c
}

// TestInBackground: a command is in the background while no call waits for it,
// and can be stopped by a person; the model is told who stopped it.
func TestInBackground(t *testing.T) {
	told := 0
	s, _ := newSet(t, func(o *Options) { o.BackgroundEnd = func(BackgroundEnd) { told++ } })
	if got := s.InBackground(); len(got) != 0 {
		t.Errorf("nothing was started, yet there is %+v", got)
	}
	c := chunkOf(t, call(t, s, "bash", m{"command": "echo up; sleep 600", "yield_time_ms": 100}))
	got := s.InBackground()
	if len(got) != 1 || got[0].SessionID != c.SessionID || got[0].Command != "echo up; sleep 600" || got[0].Began.IsZero() {
		t.Fatalf("in the background: %+v", got)
	}
	s.StopBackground()
	if got := s.InBackground(); len(got) != 0 {
		t.Errorf("still there: %+v", got)
	}
	end := call(t, s, "bash_input", m{"session_id": c.SessionID})
	if !strings.Contains(end.Text, "stopped by the person") || told != 0 {
		t.Errorf("told %d times of an end by itself; got %s", told, end.Text)
	}
}

func TestBashResultForm(t *testing.T) {
	s, _ := newSet(t, nil)
	r := call(t, s, "bash", m{"command": "echo musetooltest2", "description": "Echo test string"})
	want := `{
  "chunk_id": "exec-1-1",
  "command": "echo musetooltest2",
  "description": "Echo test string",
  "exit_code": 0,
  "terminal_status": "completed",
  "output": "musetooltest2\n",
  "original_output_bytes": 14,
  "original_output_tokens": 4,
  "truncated": false
}`
	if r.Text != want || r.Failed {
		t.Errorf("got %s", r.Text)
	}
	r = call(t, s, "bash", m{"command": "echo '<&>'; exit 5"})
	want = `{
  "chunk_id": "exec-2-1",
  "command": "echo '<&>'; exit 5",
  "description": "",
  "exit_code": 5,
  "terminal_status": "failed",
  "terminal_reason": "process exited with status exit status: 5",
  "output": "<&>\n",
  "original_output_bytes": 4,
  "original_output_tokens": 1,
  "truncated": false
}`
	if r.Text != want || r.Failed {
		t.Errorf("got %s", r.Text)
	}
}

func TestBashBackground(t *testing.T) {
	ends := make(chan BackgroundEnd, 1)
	s, dir := newSet(t, func(o *Options) { o.BackgroundEnd = func(e BackgroundEnd) { ends <- e } })
	gate := filepath.Join(dir, "gate")
	if out, err := exec.Command("mkfifo", gate).CombinedOutput(); err != nil {
		t.Skipf("no FIFOs here: %v %s", err, out)
	}
	c := chunkOf(t, call(t, s, "bash", m{"command": "echo first; read x < gate; echo second; exit 3", "yield_time_ms": 100}))
	if c.ChunkID != "exec-1-1" || c.TerminalStatus != "running" || c.SessionID != "exec-1" || c.ExitCode != nil {
		t.Fatalf("got %+v", c)
	}
	if c = until(t, s, c, "first\n"); c.Output != "first\n" {
		t.Errorf("got %+v", c)
	}
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": "exec-1", "yield_time_ms": 0}))
	if c.ChunkID == "exec-1-1" || !strings.HasPrefix(c.ChunkID, "exec-1-") || c.TerminalStatus != "running" || c.Output != "" {
		t.Errorf("a poll: %+v", c)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	end := <-ends
	if end.SessionID != "exec-1" || end.ExitCode != 3 || end.Status != "exit status: 3" {
		t.Errorf("told %+v", end)
	}
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": "exec-1"}))
	if *c.ExitCode != 3 || c.Output != "second\n" || c.TerminalStatus != "failed" || c.SessionID != "" {
		t.Errorf("the end: %+v", c)
	}
	r := call(t, s, "bash_input", m{"session_id": "exec-1"})
	if !r.Failed || !strings.Contains(r.Text, `no command with session_id "exec-1" is running`) {
		t.Errorf("got %s", r.Text)
	}
}

func TestBashInputTerminates(t *testing.T) {
	s, _ := newSet(t, nil)
	c := chunkOf(t, call(t, s, "bash", m{"command": "echo up; sleep 600", "yield_time_ms": 200}))
	if c.SessionID == "" {
		t.Fatalf("got %+v", c)
	}
	r := call(t, s, "bash_input", m{"session_id": "exec-9", "terminate": true})
	if !r.Failed || !strings.Contains(r.Text, "running: exec-1") {
		t.Errorf("got %s", r.Text)
	}
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID, "terminate": true}))
	if c.TerminalStatus != "failed" || c.TerminalReason != "terminated by bash_input" || c.ExitCode != nil || c.SessionID != "" {
		t.Errorf("got %+v", c)
	}
}

func TestBashTerminal(t *testing.T) {
	s, _ := newSet(t, nil)
	c := chunkOf(t, call(t, s, "bash", m{"command": "printf 'name? '; read n; echo \"hello $n\"; sleep 600", "tty": true, "yield_time_ms": 100}))
	c = until(t, s, c, "name? ")
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID, "chars": "world\n", "yield_time_ms": 60000}))
	c = until(t, s, c, "hello world\n")
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID, "chars": "\x03", "yield_time_ms": 60000}))
	for c.SessionID != "" {
		c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID}))
	}
	if c.TerminalStatus != "failed" {
		t.Errorf("after Ctrl-C: %+v", c)
	}
}

func TestBashInputWithoutTerminal(t *testing.T) {
	s, _ := newSet(t, nil)
	c := chunkOf(t, call(t, s, "bash", m{"command": "trap 'echo caught; exit 7' INT; echo ready; sleep 600 & wait", "yield_time_ms": 100}))
	c = until(t, s, c, "ready")
	r := call(t, s, "bash_input", m{"session_id": c.SessionID, "chars": "x"})
	if !r.Failed || !strings.Contains(r.Text, "tty: true") {
		t.Errorf("got %s", r.Text)
	}
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID, "chars": "\x03", "yield_time_ms": 300000}))
	if c.ExitCode == nil || *c.ExitCode != 7 || !strings.Contains(c.Output, "caught") {
		t.Errorf("got %+v", c)
	}
}

func TestBashReadsNoInput(t *testing.T) {
	s, _ := newSet(t, nil)
	if c := chunkOf(t, call(t, s, "bash", m{"command": "cat; echo end"})); c.Output != "end\n" {
		t.Errorf("got %+v", c)
	}
}

func TestBashTimeoutKeepsOutput(t *testing.T) {
	s, _ := newSet(t, nil)
	c := chunkOf(t, call(t, s, "bash", m{"command": "echo so far; sleep 600", "timeout_ms": 2000, "yield_time_ms": 300000}))
	if c.Output != "so far\n" || c.TerminalStatus != "failed" || c.TerminalReason != "timed out after 2000 ms and was killed" {
		t.Errorf("got %+v", c)
	}
}

func TestBashCancel(t *testing.T) {
	s, dir := newSet(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var once sync.Once
	watch := Call{ID: "call_cancel", TaskID: "task-1", Name: "bash",
		Args:     []byte(`{"command":"sleep 600 & echo $! > child; echo started; wait","yield_time_ms":300000}`),
		Progress: func(string) { once.Do(cancel) }}
	c := chunkOf(t, s.Run(ctx, watch))
	if c.TerminalStatus != "failed" || c.TerminalReason != "cancelled" || c.Output != "started\n" {
		t.Errorf("got %+v", c)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	gone(t, strings.TrimSpace(string(pid)))
}

func TestBashHeldOutput(t *testing.T) {
	s, _ := newSet(t, nil)
	c := chunkOf(t, call(t, s, "bash", m{"command": "sleep 300 & echo started", "yield_time_ms": 300000}))
	if c.Output != "started\n" || c.ExitCode == nil || *c.ExitCode != 0 {
		t.Errorf("got %+v", c)
	}
}

func TestBashLongOutput(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.MaxOutputBytes = 1000 })
	r := call(t, s, "bash", m{"command": "seq 1 100000"})
	c := chunkOf(t, r)
	if !c.Truncated || c.OriginalOutputBytes != 588895 || c.OriginalOutputTokens != 147224 {
		t.Errorf("got %+v", c)
	}
	if !strings.HasPrefix(c.Output, "1\n2\n") || !strings.Contains(c.Output, "99999\n100000\n") || len(c.Output) > 1300 {
		t.Errorf("got %d bytes: %s", len(c.Output), c.Output)
	}
	if r.Spill == nil || r.Spill.Bytes != 588895 || r.Spill.Name != "tool-outputs/task-1/call_TestBashLongOutput-bash.txt" ||
		!strings.HasPrefix(r.Spill.SHA, "sha256:") || r.Spill.Kind != "bash" {
		t.Fatalf("spill %+v", r.Spill)
	}
	if !strings.HasSuffix(c.Output, "\nFull output saved to: "+r.Spill.Path) {
		t.Errorf("the file is not named: %s", c.Output)
	}
	page := call(t, s, "read_file", m{"path": r.Spill.Path, "offset": 50000, "limit": 1})
	if !strings.Contains(page.Text, "\n50000|50000") {
		t.Errorf("the model cannot read it: %s", page.Text)
	}
	if r := call(t, s, "write_file", m{"path": r.Spill.Path, "content": "x"}); !r.Failed {
		t.Errorf("the model can write it: %s", r.Text)
	}
	c = chunkOf(t, call(t, s, "bash", m{"command": "echo 0123456789012345678901234567890123456789", "max_output_tokens": 5}))
	if !c.Truncated || !strings.HasPrefix(c.Output, "0123456789\n[… 21 bytes left out …]\n123456789\n") {
		t.Errorf("got %+v", c)
	}
}

func TestBashSpoolIsLeftEmpty(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.MaxOutputBytes = 100 })
	call(t, s, "bash", m{"command": "seq 1 1000"})
	chunkOf(t, call(t, s, "bash", m{"command": "seq 1 1000; sleep 600", "yield_time_ms": 300}))
	spool := filepath.Join(s.opt.OutputDir, ".spool")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(spool); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the spool directory is left: %v", err)
	}
}

func TestBashOutputText(t *testing.T) {
	s, _ := newSet(t, nil)
	c := chunkOf(t, call(t, s, "bash", m{"command": `printf 'a\xffb\0c'`}))
	if c.Output != "a\uFFFDb\uFFFDc" || c.OriginalOutputBytes != 5 {
		t.Errorf("got %+v", c)
	}
}

func TestBashEnvironment(t *testing.T) {
	s, dir := newSet(t, func(o *Options) {
		o.SessionLog = "/log/session.jsonl"
		o.KeepEnv = []string{"KEPT_TOKEN"}
		o.Environ = append(o.Environ, "META_API_KEY=k1", "OPENAI_API_KEY=k2", "GH_TOKEN=k3", "DB_PASSWORD=k4", "AWS_SECRET_ACCESS_KEY=k5",
			"KEPT_TOKEN=k6", "TOKENIZERS=ok", "MONKEY=ok", "SSL_KEY_FILE=ok", "BASH_ENV=/evil", "BASH_FUNC_ls%%=() { evil; }", "MUSE_SESSION_ID=old")
	})
	c := chunkOf(t, call(t, s, "bash", m{"command": "env; pwd"}))
	for _, want := range []string{"MUSE_SESSION_ID=s-1\n", "MUSE_THREAD_ID=t-1\n", "MUSE_TOOL_USE_ID=call_TestBashEnvironment\n",
		"MUSE_CURRENT_SESSION_LOG=/log/session.jsonl\n", "KEPT_TOKEN=k6\n", "TOKENIZERS=ok\n", "MONKEY=ok\n", "SSL_KEY_FILE=ok\n", "\n" + dir + "\n"} {
		if !strings.Contains(c.Output, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, secret := range []string{"k1", "k2", "k3", "k4", "k5", "evil", "=old"} {
		if strings.Contains(c.Output, secret) {
			t.Errorf("%q is there", secret)
		}
	}
}

func TestBashWorkdir(t *testing.T) {
	s, dir := newSet(t, nil)
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for workdir, want := range map[string]string{"sub": dir + "/sub", dir + "/sub": dir + "/sub", ".": dir} {
		c := chunkOf(t, call(t, s, "bash", m{"command": "pwd", "workdir": workdir}))
		if c.Output != want+"\n" {
			t.Errorf("%s: %q", workdir, c.Output)
		}
	}
	for _, workdir := range []string{"/", "..", "missing", "/etc"} {
		if r := call(t, s, "bash", m{"command": "pwd", "workdir": workdir}); !r.Failed {
			t.Errorf("%s: %s", workdir, r.Text)
		}
	}
}

func TestNoSandboxRunsNothing(t *testing.T) {
	s, dir := newSet(t, func(o *Options) { o.Launcher = NoSandbox{Cause: "bubblewrap not found"} })
	r := call(t, s, "bash", m{"command": "touch ran"})
	if !r.Failed || !r.NoOutput || !strings.HasPrefix(r.Text, "tool failed: environment failure: sandbox enforcement unavailable: bubblewrap not found\n") {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran")
	}
	s, _ = newSet(t, func(o *Options) { o.Launcher = nil })
	if r := call(t, s, "bash", m{"command": "true"}); !strings.Contains(r.Text, "sandbox enforcement unavailable") {
		t.Errorf("without a launcher: %s", r.Text)
	}
}

func TestCloseEndsBackgroundCommands(t *testing.T) {
	s, dir := newSet(t, nil)
	chunkOf(t, call(t, s, "bash", m{"command": "sleep 600 & echo $! > left; true"}))
	until(t, s, chunkOf(t, call(t, s, "bash", m{"command": "echo $$ > running; echo up; sleep 600", "yield_time_ms": 100})), "up")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"left", "running"} {
		pid, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		gone(t, strings.TrimSpace(string(pid)))
	}
	if r := call(t, s, "bash", m{"command": "true"}); !r.Failed {
		t.Errorf("a command after the end: %s", r.Text)
	}
}

func TestShell(t *testing.T) {
	s, _ := newSet(t, func(o *Options) { o.EnableShellTool, o.ShellLimit = true, 3*time.Second })
	if _, ok := s.Lookup("bash"); ok {
		t.Error("shell stands in the place of bash")
	}
	for _, tc := range []struct {
		command, text, reason string
		failed                bool
	}{
		{"echo sase-shell-fixture", "sase-shell-fixture\n", "", false},
		{"false", "tool failed: exit status: 1", "exit status: 1", true},
		{"echo why; exit 2", "tool failed: exit status: 2\nwhy\n", "exit status: 2", true},
		{"echo so far; sleep 600", "tool failed: tool timed out after 3s and was killed; what it had printed follows\nso far\n", "tool timed out after 3s and was killed", true},
	} {
		r := call(t, s, "shell", m{"command": tc.command})
		if r.Text != tc.text || r.Failed != tc.failed || r.Reason != tc.reason {
			t.Errorf("%s: %+v", tc.command, r)
		}
	}
}

func TestProgressIsPassedOn(t *testing.T) {
	s, dir := newSet(t, nil)
	gate := filepath.Join(dir, "gate")
	if out, err := exec.Command("mkfifo", gate).CombinedOutput(); err != nil {
		t.Skipf("no FIFOs here: %v %s", err, out)
	}
	var got strings.Builder
	var once sync.Once
	r := s.Run(t.Context(), Call{ID: "call_p", TaskID: "t", Name: "bash",
		Args: []byte(`{"command":"echo early; read x < gate; echo late","yield_time_ms":300000}`),
		Progress: func(text string) {
			got.WriteString(text)
			once.Do(func() {
				if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
					t.Error(err)
				}
			})
		}})
	if c := chunkOf(t, r); c.Output != "early\nlate\n" {
		t.Errorf("got %+v", c)
	}
	if !strings.HasPrefix(got.String(), "early\n") {
		t.Errorf("progress was %q", got.String())
	}
}
