package index

import (
	"context"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/store"
)

// Change is a row that is new or not as it was. Of a session that is gone only
// the id is set.
type Change struct {
	Row     Row
	Removed bool
}

// pollShare is how many times as long as a look the time between two is.
const pollShare = 50

// Changes are the changes since a moment. Of a session that changes more than
// once before it is asked for, only the newest state is kept: a slow reader
// costs no more than one row a session.
type Changes struct {
	from *watchers
	end  func() // of the looks at the logs

	mu      sync.Mutex
	order   []string
	pending map[string]Change
	closed  bool
	wake    chan struct{} // holds one
}

// Watch gives the changes from now on, until they are closed. While there are
// any, the logs are looked at now and then for what other processes did.
func (x *Index) Watch() *Changes {
	c := &Changes{from: &x.watch, pending: map[string]Change{}, wake: make(chan struct{}, 1)}
	ctx, end := context.WithCancel(x.ctx)
	c.end = end
	x.watch.add(c)
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begin(func() { x.poll(ctx) }) {
		c.finish()
	}
	return c
}

// poll looks at the logs now and then. Where that takes long it is done less
// often, so that it never costs more than a small part of a processor.
func (x *Index) poll(ctx context.Context) {
	wait := x.opts.Poll
	for {
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		begun := time.Now()
		if p := x.look(); p != nil {
			select {
			case <-p.done:
			case <-ctx.Done():
				return
			}
		}
		wait = max(x.opts.Poll, pollShare*time.Since(begun))
	}
}

// Next waits for a change. After Close, of the changes or of the index, the
// error is ErrClosed.
func (c *Changes) Next(ctx context.Context) (Change, error) {
	for {
		c.mu.Lock()
		if len(c.order) > 0 {
			id := c.order[0]
			c.order = c.order[1:]
			change := c.pending[id]
			delete(c.pending, id)
			c.mu.Unlock()
			return change, nil
		}
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return Change{}, ErrClosed
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return Change{}, ctx.Err()
		}
	}
}

// Close ends the watching.
func (c *Changes) Close() {
	c.from.remove(c)
	c.finish()
}

func (c *Changes) finish() {
	c.end()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.signal()
}

func (c *Changes) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Changes) publish(change Change) {
	c.mu.Lock()
	if !c.closed {
		if _, waiting := c.pending[change.Row.ID]; !waiting {
			c.order = append(c.order, change.Row.ID)
		}
		c.pending[change.Row.ID] = change
	}
	c.mu.Unlock()
	c.signal()
}

// watchers are those who watch an index.
type watchers struct {
	mu  sync.Mutex
	all map[*Changes]bool
}

func (w *watchers) add(c *Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[*Changes]bool{}
	}
	w.all[c] = true
}

func (w *watchers) remove(c *Changes) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c)
}

func (w *watchers) publish(change Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		c.publish(change)
	}
}

func (w *watchers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		c.finish()
	}
}

// Touch says that a session's log was written to. It returns at once; what was
// added is read in the background.
func (x *Index) Touch(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.touched[id] = true
	if x.busy {
		return
	}
	x.busy = x.begin(x.takeTouched)
}

func (x *Index) takeTouched() {
	for {
		x.mu.Lock()
		ids := x.touched
		x.touched = map[string]bool{}
		x.busy = len(ids) > 0 && x.ctx.Err() == nil
		busy := x.busy
		x.mu.Unlock()
		if !busy {
			return
		}
		var found []store.Started
		for id := range ids {
			s, err := store.Find(x.opts.Root, id)
			if err == nil {
				var ok bool
				if ok, err = s.Started(); ok {
					found = append(found, store.Started{ID: s.ID, Shard: s.Shard()})
				}
			}
			if err != nil {
				x.opts.Trace.Warn("touched session is not to be found", "id", id, "error", err)
			}
		}
		if err := x.update(x.ctx, found); err != nil && x.ctx.Err() == nil {
			x.opts.Trace.Warn("session index is behind", "error", err)
			x.stale()
		}
	}
}
