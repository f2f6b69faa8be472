package muse

import "time"

// Clock is where time comes from. [SystemClock] is the real one; tests hand in
// their own.
type Clock interface {
	Now() time.Time
	// After delivers the time once, at least d later. A caller that no longer
	// needs it may leave it unread.
	After(d time.Duration) <-chan time.Time
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now() }

// After implements [Clock].
func (SystemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
