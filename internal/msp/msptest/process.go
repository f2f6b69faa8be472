package msptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// Command is how to start a host. Env is complete: nothing is inherited.
type Command struct {
	Path string
	Args []string
	Dir  string
	Env  []string
}

// Exit is how a host ended: a code, or -1 and a signal.
type Exit struct {
	Code   int
	Signal string
}

// Process is a host in a process of its own, the leader of its own group, as
// the published SDK starts it (MSP.md 3).
type Process struct {
	*Client

	cmd    *exec.Cmd
	stderr lockedBuffer
	ended  chan struct{} // closed when exit is set
	exit   Exit
}

// Launch starts a host. Every host must be ended with End or Kill.
func Launch(c Command) (*Process, error) {
	p := &Process{cmd: exec.Command(c.Path, c.Args...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = c.Dir, c.Env, &p.stderr
	ownGroup(p.cmd)
	p.cmd.WaitDelay = 2 * time.Second // a grandchild may keep stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open the host's input: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the host's output: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the host: %w", err)
	}
	client, err := New(in, out)
	if err != nil {
		return nil, errors.Join(err, killGroup(p.cmd), p.cmd.Wait())
	}
	p.Client = client
	go p.reap()
	return p, nil
}

// reap waits until the output has ended, which a process of the host that keeps
// it open delays, and then for the host.
func (p *Process) reap() {
	<-p.done
	err := p.cmd.Wait()
	p.exit = Exit{Code: p.cmd.ProcessState.ExitCode()}
	if _, ok := errors.AsType[*exec.ExitError](err); ok || err == nil {
		p.exit.Signal = signalOf(p.cmd.ProcessState)
	} else {
		p.exit.Code = -1
	}
	close(p.ended)
}

// End closes the input and waits for the host to end by itself; when ctx is done
// first, the host is killed and the error says so.
func (p *Process) End(ctx context.Context) (Exit, error) {
	p.CloseInput()
	select {
	case <-p.ended:
		return p.exit, nil
	case <-ctx.Done():
		exit, err := p.Kill()
		return exit, errors.Join(fmt.Errorf("the host did not end after its input did: %w", ctx.Err()), err)
	}
}

// AwaitExit waits for the host to end without doing anything to that end.
func (p *Process) AwaitExit(ctx context.Context) (Exit, error) {
	select {
	case <-p.ended:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{Code: -1}, fmt.Errorf("wait for the host to end: %w", ctx.Err())
	}
}

// Kill ends the host and its whole group at once, as a crash would.
func (p *Process) Kill() (Exit, error) {
	err := killGroup(p.cmd)
	select {
	case <-p.ended:
		return p.exit, nil // a group that is gone already cannot be killed
	case <-time.After(20 * time.Second):
		return Exit{Code: -1}, errors.Join(errors.New("the host survived being killed"), err)
	}
}

// PID is the id of the host's process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr is what the host said to people so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// lockedBuffer is a buffer that one writes while others read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
