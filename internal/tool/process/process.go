// Package process runs one command for a tool: in a process group of its own,
// with its output collected while it runs, ended as a group, and never waited
// for longer than the command itself lives. A grandchild that keeps the output
// open does not hold the call, and a killed command leaves nothing behind.
//
// Nothing here polls: everything waits for an exit, for output or for a timer.
package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Times of ending a command. Together they stay below the second that
// tool.Tool promises.
const (
	// termGrace is how long a group has after the polite signal.
	termGrace = 400 * time.Millisecond
	// killGrace is how long the system may take to end a killed command.
	killGrace = 400 * time.Millisecond
	// drainGrace is how long output is awaited from helpers of a command that
	// has ended, such as a process substitution, before the result is made.
	drainGrace = 100 * time.Millisecond
)

// Process is one started command.
type Process struct {
	cmd     *exec.Cmd
	release func() error
	out     io.Writer
	master  *os.File // the terminal's side of ours, nil without a terminal
	marker  string   // environment entry that every process of the call carries
	group   group

	exited  chan struct{} // the command itself has ended
	drained chan struct{} // what was in the pipe at some time after that is read
	eof     chan struct{} // nobody holds the output open any more
	done    chan struct{} // ended, and its own output is collected

	mu      sync.Mutex
	state   *os.ProcessState
	waitErr error
	stopped bool
}

// Options of Start.
type Options struct {
	// Output takes stdout and stderr as they come. Required.
	Output io.Writer
	// TTY gives the command a terminal of its own, which is also its input.
	TTY bool
	// Marker is an entry NAME=value of the command's environment that no other
	// command has. It finds processes that left the group.
	Marker string
	// Release is called once after the command has ended; may be nil.
	Release func() error
}

// Start starts cmd, whose standard streams must not be set. On an error
// nothing runs and Release has been called.
func Start(cmd *exec.Cmd, o Options) (*Process, error) {
	p := &Process{
		cmd: cmd, release: o.Release, out: o.Output, marker: o.Marker,
		exited: make(chan struct{}), drained: make(chan struct{}),
		eof: make(chan struct{}), done: make(chan struct{}),
	}
	reader, err := p.connect(o.TTY)
	if err != nil {
		return nil, errors.Join(err, p.callRelease())
	}
	go p.read(reader)
	go p.wait(reader)
	return p, nil
}

// connect sets the streams and starts the command.
func (p *Process) connect(tty bool) (*os.File, error) {
	if tty {
		master, err := startOnTerminal(p.cmd)
		if err != nil {
			return nil, err
		}
		p.master = master
		p.group = groupOf(p.cmd.Process)
		return master, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make output pipe: %w", err)
	}
	defer w.Close()
	// Without a terminal the input is empty: a program that reads it ends
	// instead of hanging.
	p.cmd.Stdout, p.cmd.Stderr = w, w
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		_ = r.Close() // nothing was read from it
		return nil, err
	}
	p.group = groupOf(p.cmd.Process)
	return r, nil
}

// read copies output until nobody can write any more. After the command's end
// it goes on for as long as some process holds the pipe, so that a server
// started with & is not killed by a broken pipe.
func (p *Process) read(r *os.File) {
	defer close(p.eof)
	defer r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			_, _ = p.out.Write(buf[:n]) // Output.Write does not fail
		}
		if errors.Is(err, os.ErrDeadlineExceeded) { // wait wants to know when the pipe is empty
			if err = r.SetReadDeadline(time.Time{}); err == nil {
				err = emptyPipe(r, buf, p.out)
				close(p.drained)
			}
		}
		if err != nil {
			return // EOF, or EIO when a terminal's last user is gone
		}
	}
}

func (p *Process) wait(r *os.File) {
	err := p.cmd.Wait()
	close(p.exited)
	timer := time.NewTimer(drainGrace)
	select {
	case <-p.eof:
	case <-timer.C:
		// Somebody else holds the pipe. What the command itself printed is in
		// it by now: take that and wait no longer.
		if r.SetReadDeadline(time.Unix(1, 0)) == nil {
			select {
			case <-p.drained:
			case <-p.eof:
			}
		}
	}
	timer.Stop()
	if e := p.callRelease(); err == nil {
		err = e
	}
	p.mu.Lock()
	p.state, p.waitErr = p.cmd.ProcessState, err
	p.mu.Unlock()
	close(p.done)
}

func (p *Process) callRelease() error {
	if p.release == nil {
		return nil
	}
	return p.release()
}

// Done is closed when the command has ended and what it printed is collected.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the command ended. It may be called once Done is closed.
func (p *Process) Exit() Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		return Exit{Code: -1, Err: p.waitErr}
	}
	e := Exit{Code: p.state.ExitCode(), Status: exitStatus(p.state), Stopped: p.stopped}
	var failed *exec.ExitError
	if p.waitErr != nil && !errors.As(p.waitErr, &failed) {
		e.Err = p.waitErr
	}
	return e
}

// Exit is the end of a command.
type Exit struct {
	Code    int    // -1 when a signal ended it
	Status  string // "exit status: 5", "signal: 9 (SIGKILL)"
	Stopped bool   // Stop was called
	Err     error  // a failure of waiting, not of the command
}

// Success reports exit status 0.
func (e Exit) Success() bool { return e.Code == 0 && e.Err == nil }

// Stop ends the command with everything it started and returns when it is
// gone, within a second: first politely, then not. Calling it again, or after
// the end, does no harm.
func (p *Process) Stop() {
	p.mu.Lock()
	p.stopped = p.stopped || !closed(p.done)
	p.mu.Unlock()
	p.group.terminate()
	timer := time.NewTimer(termGrace)
	defer timer.Stop()
	select {
	case <-p.eof:
		select {
		case <-p.exited:
		case <-timer.C:
		}
	case <-timer.C:
	}
	p.group.kill()
	killMarked(p.marker)
	timer.Reset(killGrace)
	select {
	case <-p.done:
	case <-timer.C: // a process that not even SIGKILL ends at once
	}
}

// HasRemains reports whether processes of the command's group live on after it.
func (p *Process) HasRemains() bool { return closed(p.exited) && p.group.alive() }

// EndGroup kills what the command left running in its own process group after
// it ended by itself. Processes that moved to a session of their own were
// meant to outlive it and stay.
func (p *Process) EndGroup() {
	if closed(p.exited) {
		p.group.killRemains(p.marker)
	}
}

// Interrupt does what Ctrl-C does in a terminal.
func (p *Process) Interrupt() { p.group.interrupt() }

// inputLimit is how long a terminal may take to accept input.
const inputLimit = 2 * time.Second

// ErrNoTerminal says that a command has no input to write to.
var ErrNoTerminal = errors.New("the command was started without tty: it has no input")

// Input types text into the command's terminal.
func (p *Process) Input(text string) error {
	if p.master == nil {
		return ErrNoTerminal
	}
	if err := p.master.SetWriteDeadline(time.Now().Add(inputLimit)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return fmt.Errorf("write to terminal: %w", err)
	}
	if _, err := io.WriteString(p.master, text); err != nil {
		return fmt.Errorf("write to terminal: %w", err)
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
