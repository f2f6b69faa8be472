package tool

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/workspace"
)

// newSet builds the tools on an empty workspace with real commands.
func newSet(t *testing.T, change func(*Options)) (*Set, string) {
	t.Helper()
	dir := t.TempDir()
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Workspace: ws, Launcher: Unsandboxed{}, SessionID: "s-1", ThreadID: "t-1",
		Environ:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir},
		OutputDir: filepath.Join(t.TempDir(), "tool-outputs"),
	}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, ws.Dir()
}

// call runs one tool with arguments given as a value.
func call(t *testing.T, s *Set, name string, args any) Result {
	t.Helper()
	return callCtx(t, t.Context(), s, name, args)
}

func callCtx(t *testing.T, ctx context.Context, s *Set, name string, args any) Result {
	t.Helper()
	raw, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return s.Run(ctx, Call{ID: "call_" + strings.ReplaceAll(t.Name(), "/", "_"), TaskID: "task-1", Name: name, Args: jsontext.Value(raw)})
}

type m = map[string]any

func chunkOf(t *testing.T, r Result) chunk {
	t.Helper()
	var c chunk
	if err := json.Unmarshal([]byte(r.Text), &c); err != nil {
		t.Fatalf("not a chunk: %v\n%s", err, r.Text)
	}
	return c
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
	r = call(t, s, "bash", m{"command": "exit 5"})
	c := chunkOf(t, r)
	if c.ChunkID != "exec-2-1" || *c.ExitCode != 5 || c.TerminalStatus != "failed" ||
		c.TerminalReason != "process exited with status exit status: 5" {
		t.Errorf("got %s", r.Text)
	}
}

func TestBashHeldOutput(t *testing.T) {
	s, _ := newSet(t, nil)
	start := time.Now()
	r := call(t, s, "bash", m{"command": "sleep 300 & echo started", "yield_time_ms": 60000})
	c := chunkOf(t, r)
	if c.Output != "started\n" || *c.ExitCode != 0 {
		t.Errorf("got %s", r.Text)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("the call was held for %v", d)
	}
}
