package tool

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// InBackground is a command that runs while no call waits for it.
type InBackground struct {
	SessionID string // what bash_input takes
	CallID    string // the bash call that started it
	Command   string
	Began     time.Time
}

// InBackground lists the commands in the background, the oldest first.
func (s *Set) InBackground() []InBackground {
	var out []InBackground
	for _, c := range s.cmds.unattended() {
		out = append(out, InBackground{SessionID: c.id, CallID: c.owner.ID, Command: c.line, Began: c.began})
	}
	slices.SortFunc(out, func(a, b InBackground) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.SessionID, b.SessionID))
	})
	return out
}

// StopBackground ends the commands in the background. What they have put out is
// kept for a bash_input call, which is told that a person stopped them.
func (s *Set) StopBackground() {
	var wait sync.WaitGroup
	for _, c := range s.cmds.unattended() {
		wait.Go(func() { c.stop("stopped by the person") })
	}
	wait.Wait()
}

// unattended are the running commands that no call waits for.
func (m *commands) unattended() []*command {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*command
	for _, c := range m.running {
		if c.unattended() {
			out = append(out, c)
		}
	}
	return out
}

func (c *command) unattended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		return false
	default:
		return c.waited == 0
	}
}
