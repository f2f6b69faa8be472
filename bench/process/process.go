// Package process runs one program to its end and says what the whole of it
// cost: wall time, processor time with its children, the memory of its largest
// process.
//
// The program is not a child of the caller but of a launcher, a small process
// that the calling binary starts as itself with [LauncherArg]: on Linux a new
// process inherits the peak memory of the one it was forked from, so one that
// holds a recorded conversation would lend its size to everything it measures.
package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// LauncherArg is the argument under which the binary has to call [Launch].
const LauncherArg = "launch"

// Spec is what to run.
type Spec struct {
	Args []string // the program, absolute, and its arguments
	Env  []string // the whole environment
	Dir  string
	// Stdout and Stderr are files that take the output; "" discards it.
	Stdout, Stderr string
	// Limit ends the program and all that it started.
	Limit time.Duration
}

// Cost is what a run took.
type Cost struct {
	Started time.Time // just before the program was started
	Wall    time.Duration
	User    time.Duration // with children that were waited for
	System  time.Duration
	// PeakRSS is the most memory that one process of the run had resident, in
	// bytes; 0 where the system does not tell.
	PeakRSS int64
	// Switches is how often the program gave up the processor to wait.
	Switches int64
	Exit     int  // exit code, -1 when a signal ended it
	TimedOut bool // Limit was reached
	// Left is how many processes still ran when the program had ended. They
	// were ended.
	Left int
}

// CPU is all processor time.
func (c Cost) CPU() time.Duration { return c.User + c.System }

// Run runs a program through the launcher. A program that fails is no error:
// its exit code is in the cost.
func Run(ctx context.Context, s Spec) (Cost, error) {
	var c Cost
	self, err := os.Executable()
	if err != nil {
		return c, fmt.Errorf("find the launcher: %w", err)
	}
	in, err := json.Marshal(s)
	if err != nil {
		return c, fmt.Errorf("describe the run: %w", err)
	}
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, self, LauncherArg)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &stderr
	cmd.Env = os.Environ()
	// The launcher ends what it started when it is asked to.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return c, fmt.Errorf("launch %s: %w: %s", s.Args[0], err, strings.TrimSpace(stderr.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		return c, fmt.Errorf("launch %s: read the cost: %w", s.Args[0], err)
	}
	return c, nil
}

// Launch is the launcher: it reads a [Spec], carries it out and writes the
// [Cost].
func Launch(in io.Reader, out io.Writer) error {
	var s Spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, stopSignals...)
	c, err := launch(s, stop)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(c); err != nil {
		return fmt.Errorf("write the cost: %w", err)
	}
	return nil
}

func launch(s Spec, stop <-chan os.Signal) (Cost, error) {
	var c Cost
	cmd := &exec.Cmd{Path: s.Args[0], Args: s.Args, Env: s.Env, Dir: s.Dir}
	for _, o := range []struct {
		path string
		to   *io.Writer
	}{{s.Stdout, &cmd.Stdout}, {s.Stderr, &cmd.Stderr}} {
		if o.path == "" {
			continue // exec gives it the null device
		}
		f, err := os.Create(o.path)
		if err != nil {
			return c, err
		}
		defer f.Close()
		*o.to = f
	}
	isolate(cmd)
	timer := time.NewTimer(s.Limit)
	defer timer.Stop()
	c.Started = time.Now()
	if err := cmd.Start(); err != nil {
		return c, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	stopped := false
	select {
	case err = <-ended:
	case <-timer.C:
		c.TimedOut = true
	case <-stop:
		stopped = true
	}
	if c.TimedOut || stopped {
		endGroup(cmd.Process)
		err = <-ended
	}
	c.Wall = time.Since(c.Started)
	c.Left = endOrphans(cmd.Process)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return c, err
	}
	if stopped {
		return c, errors.New("interrupted")
	}
	c.User, c.System = cmd.ProcessState.UserTime(), cmd.ProcessState.SystemTime()
	c.PeakRSS, c.Switches = usage(cmd.ProcessState)
	c.Exit = cmd.ProcessState.ExitCode()
	return c, nil
}
