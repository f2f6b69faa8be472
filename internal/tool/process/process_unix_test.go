//go:build unix

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// buffer is an output that a test can wait on.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newBuffer() *buffer { return &buffer{more: make(chan struct{}, 1)} }

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	b.text.Write(p)
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// await waits until the output holds want.
func (b *buffer) await(t *testing.T, want string) string {
	t.Helper()
	for {
		if s := b.String(); strings.Contains(s, want) {
			return s
		}
		select {
		case <-b.more:
		case <-t.Context().Done():
			t.Fatalf("%q never came: %q", want, b.String())
		case <-time.After(time.Minute):
			t.Fatalf("%q did not come: %q", want, b.String())
		}
	}
}

var markers int

func start(t *testing.T, script string, o Options) (*Process, *buffer) {
	t.Helper()
	markers++
	out := newBuffer()
	cmd := exec.Command("/bin/sh", "-c", script)
	o.Output = out
	o.Marker = fmt.Sprintf("MUSE_TEST_MARK=%d-%d", os.Getpid(), markers)
	cmd.Env = append(os.Environ(), o.Marker)
	p, err := Start(cmd, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop()
		<-p.eof
	})
	return p, out
}

func pidIn(t *testing.T, text, label string) int {
	t.Helper()
	_, rest, ok := strings.Cut(text, label+"=")
	if !ok {
		t.Fatalf("no %s in %q", label, text)
	}
	field, _, _ := strings.Cut(rest, "\n")
	pid, err := strconv.Atoi(field)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestExits(t *testing.T) {
	for script, want := range map[string]Exit{
		"exit 0":        {Code: 0, Status: "exit status: 0"},
		"exit 5":        {Code: 5, Status: "exit status: 5"},
		"kill -9 $$":    {Code: -1, Status: "signal: 9 (SIGKILL)"},
		"kill -TERM $$": {Code: -1, Status: "signal: 15 (SIGTERM)"},
	} {
		p, _ := start(t, script, Options{})
		<-p.Done()
		if got := p.Exit(); got != want {
			t.Errorf("%s: got %+v", script, got)
		}
	}
}

func TestOutputIsWholeAndInOrder(t *testing.T) {
	p, out := start(t, "echo a; echo b >&2; echo c; cat; echo d", Options{})
	<-p.Done()
	if out.String() != "a\nb\nc\nd\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestGrandchildHoldsOutput(t *testing.T) {
	p, out := start(t, "sleep 600 & echo pid=$!; head -c 50000 /dev/zero | tr '\\0' x; echo; echo end", Options{})
	<-p.Done()
	text := out.String()
	if !strings.HasSuffix(text, "\nend\n") {
		t.Errorf("the command's own output is not whole: %d bytes", len(text))
	}
	pid := pidIn(t, text, "pid")
	if syscall.Kill(pid, 0) != nil {
		t.Error("the background process did not survive its command")
	}
	if !p.HasRemains() {
		t.Error("the remains of the group are not seen")
	}
	p.EndGroup()
	gone(t, pid)
}

func TestStopEndsTheGroup(t *testing.T) {
	p, out := start(t, "trap '' TERM; sleep 600 & echo child=$!; echo self=$$; while :; do sleep 600; done", Options{})
	text := out.await(t, "self=")
	out.await(t, "\n")
	began := time.Now()
	p.Stop()
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("stopping took %v", d)
	}
	if !closed(p.Done()) || !p.Exit().Stopped {
		t.Error("not done after Stop")
	}
	gone(t, pidIn(t, text, "child"))
	p.Stop() // harmless
}

func TestStopIsPoliteFirst(t *testing.T) {
	p, out := start(t, "trap 'echo bye; exit 3' TERM; echo ready; sleep 600 & wait", Options{})
	out.await(t, "ready")
	p.Stop()
	if !strings.Contains(out.String(), "bye") || p.Exit().Code != 3 {
		t.Errorf("got %q, %+v", out.String(), p.Exit())
	}
}

func TestStopFindsThoseWhoLeftTheGroup(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("environments cannot be read here")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	file := filepath.Join(t.TempDir(), "pid")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	p, out := start(t, "setsid sh -c 'echo $$ > "+file+"; exec sleep 600' >/dev/null 2>&1 & read pid < "+file+"; echo pid=$pid; sleep 600", Options{})
	out.await(t, "pid=")
	text := out.await(t, "\n")
	p.Stop()
	gone(t, pidIn(t, text, "pid"))
}

func TestEndGroupSparesDaemons(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	file := filepath.Join(t.TempDir(), "pid")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	p, out := start(t, "setsid sh -c 'echo $$ > "+file+"; exec sleep 600' >/dev/null 2>&1 & read pid < "+file+"; echo pid=$pid", Options{})
	<-p.Done()
	pid := pidIn(t, out.String(), "pid")
	p.EndGroup()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("a process in a session of its own was ended: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	gone(t, pid)
}

func TestInterrupt(t *testing.T) {
	p, out := start(t, "trap 'echo caught; exit 7' INT; echo ready; sleep 600 & wait", Options{})
	out.await(t, "ready")
	p.Interrupt()
	<-p.Done()
	if p.Exit().Code != 7 {
		t.Errorf("got %+v %q", p.Exit(), out.String())
	}
}

func TestTerminal(t *testing.T) {
	p, out := start(t, "test -t 0 && test -t 1 && echo terminal; read line; echo got:$line; stty size", Options{TTY: true})
	out.await(t, "terminal")
	if err := p.Input("hello\n"); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	text := out.String()
	if !strings.Contains(text, "got:hello") || !strings.Contains(text, "40 120") {
		t.Errorf("got %q", text)
	}
}

func TestNoInputWithoutTerminal(t *testing.T) {
	p, _ := start(t, "sleep 600", Options{})
	if err := p.Input("x"); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("got %v", err)
	}
}

func TestReleaseIsCalledOnce(t *testing.T) {
	n := 0
	p, _ := start(t, "exit 0", Options{Release: func() error { n++; return errors.New("release") }})
	<-p.Done()
	p.Stop()
	if e := p.Exit(); n != 1 || e.Err == nil || e.Success() {
		t.Errorf("%d calls, %+v", n, e)
	}
	_, err := Start(&exec.Cmd{Path: "/nonexistent"}, Options{Output: newBuffer(), Release: func() error { n++; return nil }})
	if err == nil || n != 2 {
		t.Errorf("a failed start: %v, %d calls", err, n)
	}
}

func TestMuchOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	o := NewOutput(32<<10, spillInto(dir), nil)
	cmd := exec.Command("/bin/sh", "-c", "head -c 300000000 /dev/zero")
	p, err := Start(cmd, Options{Output: o})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	k := o.Take()
	if k.Total != 300000000 || len(k.Head)+len(k.Tail) != 32<<10 || k.FileBytes != maxSpill {
		t.Errorf("total %d, kept %d, spilled %d", k.Total, len(k.Head)+len(k.Tail), k.FileBytes)
	}
	if err := k.File.Close(); err != nil {
		t.Error(err)
	}
}
