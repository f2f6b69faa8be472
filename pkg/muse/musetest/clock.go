package musetest

import (
	"sync"
	"time"
)

// Clock is a clock that moves when told. It implements muse.Clock.
type Clock struct {
	mu     sync.Mutex
	cond   *sync.Cond
	now    time.Time
	timers []timer
	// asked counts calls of After.
	asked int
	auto  func(time.Duration) bool
}

type timer struct {
	at time.Time
	c  chan time.Time
}

// NewClock returns a clock that stands at start.
func NewClock(start time.Time) *Clock {
	c := &Clock{now: start}
	c.cond = sync.NewCond(&c.mu)
	return c
}

// Now implements muse.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Auto makes timers of the durations that match pass at once: the clock jumps
// to their end when they are asked for.
func (c *Clock) Auto(match func(time.Duration) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.auto = match
}

// After implements muse.Clock.
func (c *Clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	if c.auto != nil && c.auto(d) {
		c.mu.Unlock()
		c.Advance(d)
		c.mu.Lock()
		d = 0
	}
	defer c.mu.Unlock()
	t := timer{at: c.now.Add(d), c: make(chan time.Time, 1)}
	c.asked++
	if d <= 0 {
		t.c <- c.now
	} else {
		c.timers = append(c.timers, t)
	}
	c.cond.Broadcast()
	return t.c
}

// Advance moves the clock and fires what is due.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	kept := c.timers[:0]
	for _, t := range c.timers {
		if t.at.After(c.now) {
			kept = append(kept, t)
		} else {
			t.c <- c.now
		}
	}
	c.timers = kept
}

// AwaitAsked blocks until After was called at least n times in all, and
// returns how often it was.
func (c *Clock) AwaitAsked(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.asked < n {
		c.cond.Wait()
	}
	return c.asked
}
