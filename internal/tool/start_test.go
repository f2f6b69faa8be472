//go:build unix

package tool

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOutputTokensWithoutBound(t *testing.T) {
	s, _ := newSet(t, nil)
	for _, n := range []int64{math.MaxInt64, math.MaxInt64/4 + 1, 1 << 62, 1 << 61, 8000, 8001} {
		if c := chunkOf(t, call(t, s, "bash", m{"command": "echo all of it", "max_output_tokens": n})); c.Output != "all of it\n" || c.Truncated {
			t.Errorf("%d: got %+v", n, c)
		}
	}
	c := chunkOf(t, call(t, s, "bash", m{"command": "sleep 60", "yield_time_ms": 0}))
	c = chunkOf(t, call(t, s, "bash_input", m{"session_id": c.SessionID, "terminate": true, "max_output_tokens": int64(math.MaxInt64)}))
	if c.TerminalStatus != "failed" || c.Truncated {
		t.Errorf("bash_input: got %+v", c)
	}
}

// A number of milliseconds that no clock holds is no limit, not a passed one.
func TestTimeoutWithoutBound(t *testing.T) {
	s, _ := newSet(t, nil)
	for _, ms := range []int64{math.MaxInt64, 18446744073710, 1 << 62} {
		if c := chunkOf(t, call(t, s, "bash", m{"command": "echo done", "timeout_ms": ms})); c.TerminalStatus != "completed" {
			t.Errorf("%d: got %+v", ms, c)
		}
	}
}

// failing refuses or starts what cannot be started.
type failing struct{ err error }

func (f failing) Command(context.Context, Command) (*exec.Cmd, func() error, error) {
	return nil, nil, f.err
}

// Only what no other call could mend is told as such.
func TestWhatKeepsACommandFromStarting(t *testing.T) {
	const final = "environment failure: "
	for _, tc := range []struct {
		name   string
		change func(*Options)
		args   m
		before func(t *testing.T, dir string)
		want   string // beginning of the reason
	}{
		{name: "NUL", args: m{"command": "echo a\x00b"}, want: "command: a NUL character cannot be part of a command"},
		{name: "NUL in workdir", args: m{"command": "true", "workdir": "a\x00b"}, want: "the path holds a NUL character"},
		{name: "workspace gone", args: m{"command": "true"}, before: remove, want: "workspace: No such file or directory (os error 2)"},
		{name: "workspace gone, named", args: m{"command": "true", "workdir": "."}, before: remove, want: "workdir: No such file or directory (os error 2)"},
		{name: "directory in it gone", args: m{"command": "true", "workdir": "sub"}, before: remove, want: "workdir: No such file or directory (os error 2)"},
		{name: "too long", args: m{"command": ": " + strings.Repeat("x", 4<<20)}, want: "no command was started: start the command: "},
		{name: "launcher", args: m{"command": "true"}, change: func(o *Options) { o.Launcher = failing{errors.New("reviewed for another directory")} },
			want: "no command was started: reviewed for another directory"},
		{name: "gone while it is prepared", args: m{"command": "true"}, change: func(o *Options) { o.Launcher = removing{o.Workspace.Dir()} },
			want: "workdir: No such file or directory (os error 2)"},
		{name: "no sandbox", args: m{"command": "true"}, change: func(o *Options) { o.Launcher = nil }, want: final},
		{name: "no shell", args: m{"command": "true"}, change: func(o *Options) { o.Shell = "/nonexistent/bash" }, want: final},
	} {
		for _, name := range []string{"bash", "shell"} {
			t.Run(tc.name+" "+name, func(t *testing.T) {
				if name == "shell" && tc.args["workdir"] != nil {
					t.Skip("shell has no workdir")
				}
				s, dir := newSet(t, func(o *Options) {
					o.EnableShellTool = name == "shell"
					if tc.change != nil {
						tc.change(o)
					}
				})
				if tc.before != nil {
					tc.before(t, dir)
				}
				r := call(t, s, name, tc.args)
				if !r.Failed || !strings.HasPrefix(r.Reason, tc.want) {
					t.Fatalf("got %.300q", r.Reason)
				}
				if told := strings.Contains(r.Text, "Do not try again"); told != (tc.want == final) {
					t.Errorf("got %.300q", r.Text)
				}
			})
		}
	}
}

func remove(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Clean(dir)); err != nil {
		t.Fatal(err)
	}
}

// removing takes the directory away before the command starts in it.
type removing struct{ dir string }

func (r removing) Command(ctx context.Context, c Command) (*exec.Cmd, func() error, error) {
	if err := os.RemoveAll(r.dir); err != nil {
		return nil, nil, err
	}
	return Unsandboxed{}.Command(ctx, c)
}
