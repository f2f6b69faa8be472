package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/openmuse/muse/internal/egress"
)

// Command is one program to start inside.
type Command struct {
	Path string   // absolute
	Args []string // with the program's name first
	Dir  string   // absolute; "" is the workspace
	Env  []string // the allowed names of it are passed on
	// Origin names the tool call that the command's connections belong to.
	Origin egress.Origin
}

// Session is one boundary, kept for an agent session. Its methods are safe
// for concurrent use, and commands may run beside each other.
type Session struct {
	spec     *settled
	settings []string // environment that every command gets
	system

	mu      sync.Mutex
	closed  bool
	running map[*run]struct{}
	idle    *sync.Cond
}

// errClosed says that the session is over.
var errClosed = errors.New("the sandbox session is closed")

// Open checks spec and prepares a session. It starts no process; the first
// Command, or Confirm, finds out whether the boundary can be made. Errors
// satisfy ErrUnavailable.
func Open(spec Spec) (*Session, error) {
	set, err := spec.settle()
	if err != nil {
		return nil, unavailable(err)
	}
	s := &Session{spec: set, running: map[*run]struct{}{}}
	s.idle = sync.NewCond(&s.mu)
	if err := s.open(); err != nil {
		return nil, unavailable(err)
	}
	return s, nil
}

// Command builds a process inside the boundary. It is not started yet: the
// caller sets its standard streams, which should be pipes or a terminal of
// its own, starts it at once, and must not touch its other fields but for
// the process group or session in SysProcAttr.
//
// The boundary is confirmed between the start of the process and the start of
// the command. When it cannot be, the command is not started and release
// returns an error that satisfies ErrUnavailable; whatever the process's exit
// code was, it says nothing then.
//
// release must be called exactly once the process has ended, also when it
// could not be started: it clears away what was kept for the command. ctx
// limits the confirmation; it does not end a command that runs.
func (s *Session) Command(ctx context.Context, c Command) (cmd *exec.Cmd, release func() error, err error) {
	if !filepath.IsAbs(c.Path) || len(c.Args) == 0 {
		return nil, nil, unavailable(fmt.Errorf("the command %q is not an absolute path with arguments", c.Path))
	}
	if c.Dir == "" {
		c.Dir = s.spec.Workspace
	}
	r := &run{session: s, command: c}
	if err := s.enter(r); err != nil {
		return nil, nil, unavailable(err)
	}
	cmd, err = r.prepare(ctx)
	if err != nil {
		return nil, nil, unavailable(also(err, r.finish()))
	}
	var once sync.Once
	var result error
	return cmd, func() error {
		once.Do(func() { result = r.finish() })
		return result
	}, nil
}

func (s *Session) enter(r *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.running[r] = struct{}{}
	return nil
}

func (s *Session) leave(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, r)
	if len(s.running) == 0 {
		s.idle.Broadcast()
	}
}

// Close waits for the release of every command and removes what the session
// kept. Commands that are still running must be ended by the caller.
func (s *Session) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for len(s.running) > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if err := s.close(); err != nil {
		return fmt.Errorf("close the sandbox session: %w", err)
	}
	return nil
}

func (s *Session) notify(kind, path, format string, args ...any) {
	if s.spec.Notify != nil {
		s.spec.Notify(Notice{Kind: kind, Path: path, Text: fmt.Sprintf(format, args...)})
	}
}
