package msptest

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// errSenderClosed says that nothing can be sent any more.
var errSenderClosed = errors.New("the stream to the host is closed")

// sender writes lines in order without making those who send wait: a client
// that waited for a host that waits for the client to read would stand still.
type sender struct {
	mu     sync.Mutex
	wake   *sync.Cond
	queue  [][]byte
	closed bool
	err    error
}

func newSender(out io.WriteCloser) *sender {
	s := &sender{}
	s.wake = sync.NewCond(&s.mu)
	go s.run(out)
	return s
}

func (s *sender) send(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return fmt.Errorf("write to the host: %w", s.err)
	case s.closed:
		return errSenderClosed
	}
	s.queue = append(s.queue, line)
	s.wake.Signal()
	return nil
}

// close lets what is queued be written and then closes the stream.
func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.wake.Signal()
}

func (s *sender) run(out io.WriteCloser) {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.closed {
			s.wake.Wait()
		}
		lines := s.queue
		s.queue = nil
		s.mu.Unlock()
		if len(lines) == 0 {
			out.Close() // the host sees the end either way
			return
		}
		for _, line := range lines {
			if _, err := out.Write(line); err != nil {
				s.mu.Lock()
				s.err = err
				s.mu.Unlock()
				out.Close()
				return
			}
		}
	}
}
