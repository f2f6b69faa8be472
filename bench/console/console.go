//go:build unix

// Package console runs a program on a terminal of its own, types into it and
// reads its screen: what a person who sits there would wait for is measured.
//
// The time of a frame is the time at which the bytes that complete it were read
// from the terminal, whatever the reader does with them afterwards.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/openmuse/muse/internal/tui/vt"
)

// Width and Height are the size of the terminal.
const (
	Width  = 120
	Height = 40
)

// Spec is what to run.
type Spec struct {
	Args []string // the program, absolute, and its arguments
	Env  []string // the whole environment
	Dir  string
}

// Console is a program on a terminal. It is for one goroutine.
type Console struct {
	Started time.Time // just before the program was started

	tty   *os.File
	cmd   *exec.Cmd
	ended chan struct{}

	mu    sync.Mutex
	vt    *vt.Terminal
	watch *watch
}

// watch waits for something on the screen.
type watch struct {
	shows func(screen string) bool
	at    chan time.Time
}

// Start starts a program. The caller closes the console.
func Start(s Spec) (*Console, error) {
	c := &Console{vt: vt.New(Width, Height), ended: make(chan struct{})}
	c.cmd = &exec.Cmd{Path: s.Args[0], Args: s.Args, Env: s.Env, Dir: s.Dir}
	var err error
	c.Started = time.Now()
	if c.tty, err = pty.StartWithSize(c.cmd, &pty.Winsize{Rows: Height, Cols: Width}); err != nil {
		return nil, fmt.Errorf("start %s on a terminal: %w", s.Args[0], err)
	}
	c.vt.Answer(c.tty)
	go c.read()
	return c, nil
}

func (c *Console) read() {
	defer close(c.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := c.tty.Read(buf)
		at := time.Now()
		c.mu.Lock()
		_, _ = c.vt.Write(buf[:n]) // it takes everything
		if w := c.watch; w != nil && w.shows(c.vt.Screen()) {
			w.at <- at
			c.watch = nil
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Await returns when the screen shows something, and at what time it did. It is
// to be called before what makes it appear: what is there already counts as
// shown at once.
func (c *Console) Await(shows func(screen string) bool) <-chan time.Time {
	w := &watch{shows, make(chan time.Time, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if shows(c.vt.Screen()) {
		w.at <- time.Now()
		return w.at
	}
	c.watch = w
	return w.at
}

// Until waits for something on the screen.
func (c *Console) Until(ctx context.Context, limit time.Duration, what string, shows func(screen string) bool) (time.Time, error) {
	return c.wait(ctx, limit, what, c.Await(shows))
}

func (c *Console) wait(ctx context.Context, limit time.Duration, what string, at <-chan time.Time) (time.Time, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var why error
	select {
	case t := <-at:
		return t, nil
	case <-timer.C:
		why = fmt.Errorf("nothing showed %s within %s", what, limit)
	case <-c.ended:
		why = fmt.Errorf("the program ended before it showed %s", what)
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	return time.Time{}, fmt.Errorf("%w; the screen: %s", why, c.gist())
}

// gist is the screen in a line or two.
func (c *Console) gist() string {
	var out []string
	for l := range strings.Lines(c.Screen()) {
		if l = strings.Join(strings.Fields(l), " "); l != "" {
			out = append(out, l)
		}
	}
	return fmt.Sprintf("%q", strings.Join(out[max(0, len(out)-12):], " / "))
}

// Screen is what the terminal shows.
func (c *Console) Screen() string { return c.vt.Screen() }

// Type types.
func (c *Console) Type(s string) error {
	if _, err := io.WriteString(c.tty, s); err != nil {
		return fmt.Errorf("type: %w", err)
	}
	return nil
}

// Echo types a key and says how long it took until the screen showed what it
// made. It is an error when that was there before.
func (c *Console) Echo(ctx context.Context, key, shown string, limit time.Duration) (time.Duration, error) {
	if Shows(shown)(c.Screen()) {
		return 0, fmt.Errorf("%q is on the screen before its key is pressed; the screen: %s", shown, c.gist())
	}
	at := c.Await(Shows(shown))
	before := time.Now()
	if err := c.Type(key); err != nil {
		return 0, err
	}
	t, err := c.wait(ctx, limit, fmt.Sprintf("%q", shown), at)
	return t.Sub(before), err
}

// Shows reports whether a screen has a text on it.
func Shows(what string) func(string) bool {
	return func(screen string) bool { return strings.Contains(screen, what) }
}

// Use is what the program and all that it started cost so far and hold now.
func (c *Console) Use() (Use, error) { return usage(c.cmd.Process.Pid) }

// Use is what processes cost and hold.
type Use struct {
	CPU       time.Duration
	Resident  int64 // of all, bytes; shared pages count in each
	Largest   int64 // of the largest one
	Processes int
}

// Signal sends a signal to the program.
func (c *Console) Signal(s os.Signal) error { return c.cmd.Process.Signal(s) }

// Quit asks the program to end as a person who closes the terminal does, and
// makes sure that it and all that it started are gone.
func (c *Console) Quit(within time.Duration) error {
	left := tree(c.cmd.Process.Pid)
	_ = c.cmd.Process.Signal(syscall.SIGHUP) // it may have ended
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	var err error
	select {
	case err = <-done:
	case <-timer.C:
		_ = c.cmd.Process.Kill() // ends in Wait
		err = <-done
	}
	for _, p := range left {
		if p != c.cmd.Process.Pid {
			_ = syscall.Kill(p, syscall.SIGKILL) // most are gone
		}
	}
	_ = c.tty.Close() // nothing is written any more
	<-c.ended
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil // how it ended is its own affair
	}
	return err
}
