package muse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"
)

// Launch says what to start.
type Launch struct {
	Path string
	Args []string
	Env  []string // the whole environment; nil means the process's own
	Dir  string
	// Stderr receives a copy of what the process writes there; its tail is
	// kept either way.
	Stderr io.Writer
	// Grace is how long a stop waits after SIGINT, and again after SIGTERM,
	// before the next step. 0 means 5 s.
	Grace time.Duration
	// KeepGroup leaves processes of the group alive that outlive the leader.
	// By default they are killed: an attempt is over when nothing of it can
	// still change the workspace.
	KeepGroup bool
	Clock     Clock // of the grace periods; nil means the system's
}

const (
	defaultGrace = 5 * time.Second
	// heldGrace is how long output is awaited, after the process has exited,
	// from a descendant that kept the pipe open.
	heldGrace = 500 * time.Millisecond
	// heldLimit bounds what is read in that time. The leader's own output is
	// in the pipe by then, and no pipe holds more.
	heldLimit = 1 << 20
	// stderrTail is how much of stderr is kept.
	stderrTail = 64 << 10
)

// Process is a running command in a process group of its own. Its stdout must
// be read to the end; then Wait returns.
type Process struct {
	cmd    *exec.Cmd
	launch Launch
	group  processGroup
	stdout *heldPipe
	stderr *heldPipe
	tail   tailBuffer

	exited     chan struct{} // closed when the leader has exited
	done       chan struct{} // closed when exit is set and the group is dealt with
	stderrDone chan struct{}
	exit       Exit
	leftover   int
	stopOnce   sync.Once
	stopping   chan struct{} // closed by the first Stop
}

// Start starts a process with closed stdin. When ctx ends the process is
// stopped as by [Process.Stop].
func Start(ctx context.Context, l Launch) (*Process, error) {
	if l.Grace <= 0 {
		l.Grace = defaultGrace
	}
	if l.Clock == nil {
		l.Clock = SystemClock{}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Path, err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Path, err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Path, errors.Join(err, outR.Close(), outW.Close()))
	}
	p := &Process{
		launch: l, stdout: newHeldPipe(outR), stderr: newHeldPipe(errR),
		exited: make(chan struct{}), done: make(chan struct{}), stderrDone: make(chan struct{}), stopping: make(chan struct{}),
	}
	p.cmd = exec.Command(l.Path, l.Args...)
	p.cmd.Env, p.cmd.Dir = l.Env, l.Dir
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	p.group.prepare(p.cmd)
	err = p.cmd.Start()
	// The child has its copies; ours would keep the pipes open for ever.
	closeErr := errors.Join(outW.Close(), errW.Close())
	if err == nil {
		err = p.group.adopt(p.cmd)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Path, errors.Join(err, closeErr, outR.Close(), errR.Close()))
	}
	go p.drainStderr()
	go p.reap()
	go p.watch(ctx)
	return p, nil
}

// Pid is the process id of the leader, which is also the id of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stdout is the process's standard output. It ends when every holder has
// closed it, or soon after the leader's exit when a descendant keeps it open.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Held reports whether stdout was given up while a descendant still held it.
func (p *Process) Held() bool { return p.stdout.held.Load() }

// StderrTail is the end of what was written to stderr so far, at most 64 KiB.
func (p *Process) StderrTail() string { return p.tail.String() }

// Leftover is the number of processes of the group that were alive when the
// leader exited, where the platform can tell. Valid after Wait.
func (p *Process) Leftover() int { return p.leftover }

// Interrupt sends SIGINT to the group (Ctrl-Break on Windows).
func (p *Process) Interrupt() error { return p.group.interrupt() }

// Terminate sends SIGTERM to the group.
func (p *Process) Terminate() error { return p.group.terminate() }

// Kill ends the group and its descendants at once.
func (p *Process) Kill() error { return p.group.kill() }

// Stop interrupts the group, and terminates and then kills it when it does not
// go within the grace periods. It returns when the process is gone. Several
// calls are one stop.
func (p *Process) Stop() Exit {
	p.stopOnce.Do(func() {
		close(p.stopping)
		for _, step := range []func() error{p.group.interrupt, p.group.terminate} {
			// An error means that the group is gone already: the wait tells.
			_ = step()
			select {
			case <-p.exited:
				return
			case <-p.launch.Clock.After(p.launch.Grace):
			}
		}
		_ = p.group.kill() // as above
	})
	<-p.done
	return p.exit
}

// Wait returns how the process ended, after stdout was read to its end by the
// caller and stderr here.
func (p *Process) Wait() Exit {
	<-p.done
	<-p.stderrDone
	return p.exit
}

// Done is closed when the process has exited and its group was dealt with.
func (p *Process) Done() <-chan struct{} { return p.done }

func (p *Process) watch(ctx context.Context) {
	select {
	case <-ctx.Done():
		p.Stop()
	case <-p.done:
	}
}

// reap waits for the leader, then deals with what it left behind while its id
// cannot be reused, then collects its status.
func (p *Process) reap() {
	defer close(p.done)
	p.group.awaitExit(p.cmd)
	stopped := false
	select {
	case <-p.stopping:
		stopped = true
	default:
	}
	if !p.launch.KeepGroup || stopped {
		p.leftover = p.group.sweep(stopped)
	}
	err := p.cmd.Wait()
	close(p.exited)
	p.exit = exitOf(p.cmd, err)
	p.group.release()
	p.stdout.leaderExited()
	p.stderr.leaderExited()
}

func (p *Process) drainStderr() {
	defer close(p.stderrDone)
	var dst io.Writer = &p.tail
	if p.launch.Stderr != nil {
		dst = io.MultiWriter(&p.tail, p.launch.Stderr)
	}
	if _, err := io.Copy(dst, p.stderr); err != nil {
		// A failing copy must not block the child: read on without it.
		_, _ = io.Copy(&p.tail, p.stderr) // the tail cannot fail; a read error ends it
	}
	_ = p.stderr.close() // read side: nothing is lost
}

func exitOf(cmd *exec.Cmd, err error) Exit {
	state := cmd.ProcessState
	if state == nil {
		return Exit{Code: -1, Name: fmt.Sprint(err)}
	}
	e := Exit{Code: state.ExitCode()}
	e.Signal, e.Name = signalOf(state)
	return e
}

// heldPipe is the read end of a child's pipe. After the child's exit it waits
// only a little for others that hold the write end.
type heldPipe struct {
	f      *os.File
	exited atomic.Bool
	held   atomic.Bool
	after  int
	final  error // of the last Read; further ones repeat it
	closed sync.Once
}

func newHeldPipe(f *os.File) *heldPipe { return &heldPipe{f: f} }

func (h *heldPipe) leaderExited() {
	h.exited.Store(true)
	// Wake a blocked read; it then goes on with a deadline of its own.
	if err := h.f.SetReadDeadline(time.Now()); err != nil {
		// No deadlines on this platform's pipes: closing is the only way.
		time.AfterFunc(heldGrace, func() { h.held.Store(true); _ = h.close() })
	}
}

// Read implements io.Reader. It gives up the pipe when a descendant holds it.
func (h *heldPipe) Read(b []byte) (int, error) {
	for h.final == nil {
		exited := h.exited.Load()
		if exited {
			if h.after >= heldLimit {
				h.held.Store(true)
				return 0, h.end(io.EOF)
			}
			// An error means the fallback of leaderExited is in charge.
			_ = h.f.SetReadDeadline(time.Now().Add(heldGrace))
		}
		n, err := h.f.Read(b)
		if exited {
			h.after += n
		}
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded) && !exited:
			continue // woken by the exit: what is in the pipe is still wanted
		case errors.Is(err, os.ErrDeadlineExceeded):
			h.held.Store(true)
			return 0, h.end(io.EOF)
		case errors.Is(err, os.ErrClosed) && h.held.Load():
			return 0, h.end(io.EOF)
		default:
			return 0, h.end(err)
		}
	}
	return 0, h.final
}

func (h *heldPipe) end(err error) error {
	_ = h.close() // read side: nothing is lost
	h.final = err
	return err
}

func (h *heldPipe) close() (err error) {
	h.closed.Do(func() { err = h.f.Close() })
	return err
}

// tailBuffer keeps the last bytes written to it. It never fails and is safe
// for concurrent use.
type tailBuffer struct {
	mu   sync.Mutex
	buf  []byte
	lost bool
}

func (t *tailBuffer) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if len(b) > stderrTail {
		b, t.lost = b[len(b)-stderrTail:], true
		t.buf = t.buf[:0]
	}
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - stderrTail; over > 0 {
		t.lost = true
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return n, nil
}

func (t *tailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
