package fault

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxWait bounds what a header can ask for: a wait beyond a year is a mistake
// or an attack, and durations must not overflow.
const maxWait = 365 * 24 * time.Hour

// retryAfter is how long a reply asks to wait, 0 when it does not say. The
// exact headers come first; a limit's reset time counts only when that limit
// is the one used up.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return span(ms, time.Millisecond)
	}
	if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil {
			return span(s, time.Second)
		}
		if at, err := http.ParseTime(v); err == nil {
			return until(at, now)
		}
	}
	var longest time.Duration
	for _, limit := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		if h.Get("Anthropic-Ratelimit-"+limit+"-Remaining") == "0" {
			longest = max(longest, moment(h.Get("Anthropic-Ratelimit-"+limit+"-Reset"), now))
		}
		if h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			longest = max(longest, moment(h.Get("X-Ratelimit-Reset-"+limit), now))
		}
	}
	if longest == 0 {
		if left := h.Get("X-Ratelimit-Remaining"); left == "0" || left == "" {
			longest = moment(h.Get("X-Ratelimit-Reset"), now)
		}
	}
	return longest
}

// moment reads a reset time in any form in use: an RFC 3339 or HTTP date, a
// duration ("6m0s"), seconds or milliseconds since the epoch, or seconds.
func moment(v string, now time.Time) time.Duration {
	v = strings.TrimSpace(v)
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		switch {
		case n > 1e11:
			return until(time.UnixMilli(int64(min(n, 1e15))), now)
		case n > 1e9:
			return until(time.Unix(int64(n), 0), now)
		}
		return span(n, time.Second)
	}
	if d, err := time.ParseDuration(v); err == nil {
		return min(max(d, 0), maxWait)
	}
	if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
		return until(at, now)
	}
	if at, err := http.ParseTime(v); err == nil {
		return until(at, now)
	}
	return 0
}

// tryAgainIn finds "try again in 1.2s" in a message, the only place where some
// replies say how long a rate limit lasts.
func tryAgainIn(message string) time.Duration {
	lower := strings.ToLower(message)
	_, rest, ok := strings.Cut(lower, "try again in ")
	if !ok {
		return 0
	}
	word, rest, _ := strings.Cut(rest, " ")
	word = strings.TrimRight(word, ".,;)")
	if d, err := time.ParseDuration(word); err == nil {
		return min(max(d, 0), maxWait)
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0
	}
	switch {
	case strings.HasPrefix(rest, "second"):
		return span(n, time.Second)
	case strings.HasPrefix(rest, "minute"):
		return span(n, time.Minute)
	case strings.HasPrefix(rest, "hour"):
		return span(n, time.Hour)
	}
	return 0
}

// span is n units, kept between 0 and maxWait.
func span(n float64, unit time.Duration) time.Duration {
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	if n > float64(maxWait)/float64(unit) {
		return maxWait
	}
	return time.Duration(n * float64(unit))
}

func until(at, now time.Time) time.Duration {
	return min(max(at.Sub(now), 0), maxWait)
}
