//go:build unix

package console

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const limit = 20 * time.Second

func open(t *testing.T, script string) *Console {
	t.Helper()
	c, err := Start(Spec{Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "TERM=xterm"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Quit(limit); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestConsole waits for what a program shows, types, and reads what it costs.
func TestConsole(t *testing.T) {
	c := open(t, `printf 'ready> '; read line; printf 'got %s' "$line"; read line`)
	at, err := c.Until(t.Context(), limit, "the prompt", Shows("ready>"))
	if err != nil {
		t.Fatal(err)
	}
	if at.Before(c.Started) {
		t.Errorf("shown %s before the start", c.Started.Sub(at))
	}
	// The terminal itself shows what is typed.
	if d, err := c.Echo(t.Context(), "word", "ready> word", limit); err != nil || d < 0 {
		t.Errorf("a key took %s, %v", d, err)
	}
	if err := c.Type("\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Until(t.Context(), limit, "the answer", Shows("got word")); err != nil {
		t.Fatal(err)
	}
	use, err := c.Use()
	if err != nil {
		t.Skipf("what a process uses is not known here: %v", err)
	}
	if use.Processes != 1 || use.Resident <= 0 || use.Largest != use.Resident {
		t.Errorf("the shell uses %+v", use)
	}
}

// TestConsoleEnds: a program that ends before it shows what is waited for is
// named with what it showed.
func TestConsoleEnds(t *testing.T) {
	c := open(t, `echo 'no such option'`)
	_, err := c.Until(t.Context(), limit, "the prompt", Shows("ready>"))
	if err == nil || !strings.Contains(err.Error(), "ended before it showed the prompt") || !strings.Contains(err.Error(), "no such option") {
		t.Errorf("got %v", err)
	}
}

// TestQuitEndsAll: nothing that the program started is left, even when it does
// not listen.
func TestQuitEndsAll(t *testing.T) {
	c, err := Start(Spec{
		Args: []string{"/bin/sh", "-c", `trap '' HUP; sleep 100 & echo "child $! is there"; wait`}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Until(t.Context(), limit, "the child", Shows("is there"))
	var child int
	if _, scan := fmt.Sscanf(c.Screen(), "child %d", &child); err != nil || scan != nil {
		t.Fatal(err, scan)
	}
	if err := c.Quit(50 * time.Millisecond); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only the program itself is known here")
	}
	// What nobody waits for stays as a zombie where the first process does not
	// care for it.
	for end := time.Now().Add(limit); ; runtime.Gosched() {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); err != nil || len(text) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", child)
		}
	}
}
