package tool

import (
	"context"
	"time"
)

// RunForPerson runs a command line that a person typed, to its end or for at
// most limit. It asks the gate like any other command; the result has the form
// of bash's. It may run beside the calls of a turn.
func (s *Set) RunForPerson(ctx context.Context, call Call, line string, limit time.Duration) Result {
	c, no := s.start(ctx, call, startOptions{command: line, limit: limit})
	if no != nil {
		return *no
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
		c.stop("cancelled")
	}
	return validResult(c.report(call, "bash", 0))
}

// Background lets the bash call with this task id return while its command
// goes on; false when no such call waits.
func (s *Set) Background(task string) bool {
	s.cmds.mu.Lock()
	defer s.cmds.mu.Unlock()
	yielded, ok := s.cmds.waiting[task]
	if ok {
		delete(s.cmds.waiting, task)
		close(yielded)
	}
	return ok
}

// await registers a call that waits; done must be called when it does no more.
func (m *commands) await(task string) (yielded <-chan struct{}, done func()) {
	ch := make(chan struct{})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = map[string]chan struct{}{}
	}
	m.waiting[task] = ch
	return ch, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiting, task)
	}
}
