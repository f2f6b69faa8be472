package provider

import (
	"math"
	"time"
)

// Policy says how often a failed model call is tried and how long to wait in
// between. It decides; the loop waits, because every wait is an event.
type Policy struct {
	// MaxAttempts counts the first attempt too. The documented display is
	// "attempt n/10" (STREAM.md (a), status.details), the settings'
	// provider_retry.max_attempts overrides it.
	MaxAttempts int
	// Base is the mean of the first wait's range and doubles with every
	// attempt up to Cap.
	Base, Cap time.Duration
	// RetryAfterCap is the longest wait that a service can ask for; a longer
	// one is cut to it (CLI.md 6).
	RetryAfterCap time.Duration
}

// DefaultPolicy is the policy without settings.
func DefaultPolicy() Policy {
	return Policy{MaxAttempts: 10, Base: 500 * time.Millisecond, Cap: 30 * time.Second, RetryAfterCap: time.Minute}
}

// Again reports whether a call whose attempt (from 1) failed with e is tried
// once more.
func (p Policy) Again(attempt int, e *Error) bool {
	return attempt < p.MaxAttempts && e.Class.Retryable()
}

// Delay is how long to wait after failed attempt number attempt (from 1).
// random gives numbers in [0, 1).
//
// Without a word from the service the wait is drawn from the whole range
// [0, 2·Base·2^(attempt-1)), cut at Cap, so that clients that failed together
// do not return together. A service's Retry-After is a floor, not to be
// undercut below the cap, and up to a tenth is added for the same reason.
func (p Policy) Delay(attempt int, e *Error, random func() float64) time.Duration {
	if e.RetryAfter > 0 {
		asked := min(e.RetryAfter, p.RetryAfterCap)
		return min(asked+time.Duration(random()*float64(asked)/10), p.RetryAfterCap)
	}
	// Beyond 2^60 the product is past every cap; the exponent must not wrap.
	top := 2 * float64(p.Base) * math.Pow(2, float64(min(max(attempt, 1), 60)-1))
	return time.Duration(random() * min(top, float64(p.Cap)))
}
