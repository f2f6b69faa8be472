package host

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/openmuse/muse/internal/event"
)

var errEnough = errors.New("read far enough")

// maxWaiting bounds the events that wait for a slow watcher. What is dropped
// beyond it is read from the log again.
const maxWaiting = 1024

// subscription is one watcher's queue. Its methods are safe for concurrent
// use; put is called with the recorder's lock held.
type subscription struct {
	mu      sync.Mutex
	waiting []event.Recorded
	over    bool // kept events were dropped
	ended   bool
	ready   chan struct{} // has room for one
}

func (s *subscription) put(r event.Recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) >= maxWaiting {
		s.waiting, s.over = nil, true
	}
	if !s.over {
		s.waiting = append(s.waiting, r)
	}
	s.wake()
}

func (s *subscription) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

func (s *subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *subscription) take() (batch []event.Recorded, over, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, over, ended = s.waiting, s.over, s.ended
	s.waiting = nil
	return batch, over, ended
}

// again starts a subscription over that had dropped events.
func (s *subscription) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.over = nil, false
}

// head is the sequence of the newest kept event.
func (r *recorder) head() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headLocked()
}

// headLocked is the newest kept event, 0 while this process has recorded none:
// an open session begins with some.
func (r *recorder) headLocked() int64 { return r.newest }

// follow shows every event after from, those of the log first, until ctx ends,
// show fails or the recorder ends (ErrClosed). path is the log's.
func (r *recorder) follow(ctx context.Context, path string, from int64, show func(event.Recorded) error) error {
	sub := &subscription{ready: make(chan struct{}, 1)}
	r.mu.Lock()
	if r.subs == nil {
		r.subs = map[*subscription]struct{}{}
	}
	r.subs[sub] = struct{}{}
	sub.ended = r.ended
	head := r.headLocked()
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.subs, sub)
		r.mu.Unlock()
	}()
	seen := min(from, head)
	guarded := func(e event.Recorded) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		seen = max(seen, e.Sequence)
		return show(e)
	}
	if err := r.past(path, seen, head, guarded); err != nil {
		return err
	}
	seen = max(seen, head)
	for {
		batch, over, ended := sub.take()
		if over {
			r.mu.Lock()
			sub.again()
			head = r.headLocked()
			r.mu.Unlock()
			if err := r.past(path, seen, head, guarded); err != nil {
				return err
			}
			seen = max(seen, head)
			continue
		}
		for _, e := range batch {
			if e.Sequence != 0 && e.Sequence <= seen {
				continue // the log had it
			}
			if err := guarded(e); err != nil {
				return err
			}
		}
		if len(batch) > 0 {
			continue
		}
		if ended {
			return ErrClosed
		}
		select {
		case <-sub.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// past shows the kept events with from < sequence ≤ to.
func (r *recorder) past(path string, from, to int64, show func(event.Recorded) error) error {
	if from >= to {
		return nil
	}
	r.mu.Lock()
	kept, logged := r.kept, r.log != nil
	r.mu.Unlock()
	if logged {
		return readEvents(path, from, to, show)
	}
	for _, e := range kept {
		if e.Sequence > from && e.Sequence <= to {
			if err := show(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// all is the end of every log.
const all = math.MaxInt64

// end tells every watcher that nothing more will be shown.
func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	for s := range r.subs {
		s.end()
	}
}
