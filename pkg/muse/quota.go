package muse

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// QuotaFacts are what a provider reported with a 429 answer (seed 002). They
// are observations of an untrusted party: they say when to try again, they do
// not establish whose quota it is. A fact that was not reported is nil.
type QuotaFacts struct {
	// RateLimited is true when anything said 429, a rate limit or a quota.
	RateLimited bool           `json:"rate_limited"`
	Scope       *string        `json:"quota_scope"`
	ResetAt     *time.Time     `json:"reset_at"`
	RetryAfter  *time.Duration `json:"-"`
	// RetryAt is a Retry-After given as an HTTP date.
	RetryAt *time.Time `json:"retry_at"`
	// RetryAfterSeconds mirrors RetryAfter for JSON.
	RetryAfterSeconds *float64 `json:"retry_after_seconds"`
}

// quotaDepth bounds how deep structured facts are looked for.
const quotaDepth = 8

// Wait returns how long to pause before the next attempt. known is false when
// no usable time was reported; a time that has passed gives zero.
func (q QuotaFacts) Wait(now time.Time) (pause time.Duration, known bool) {
	switch {
	case q.ResetAt != nil:
		return max(0, q.ResetAt.Sub(now)), true
	case q.RetryAt != nil:
		return max(0, q.RetryAt.Sub(now)), true
	case q.RetryAfter != nil:
		return *q.RetryAfter, true
	default:
		return 0, false
	}
}

// merge fills what q does not know from other.
func (q *QuotaFacts) merge(other QuotaFacts) {
	q.RateLimited = q.RateLimited || other.RateLimited
	if q.Scope == nil {
		q.Scope = other.Scope
	}
	if q.ResetAt == nil {
		q.ResetAt = other.ResetAt
	}
	if q.RetryAt == nil {
		q.RetryAt = other.RetryAt
	}
	if q.RetryAfter == nil {
		q.RetryAfter, q.RetryAfterSeconds = other.RetryAfter, other.RetryAfterSeconds
	}
}

func (q *QuotaFacts) setRetryAfter(d time.Duration) {
	if d < 0 || q.RetryAfter != nil {
		return
	}
	s := d.Seconds()
	q.RetryAfter, q.RetryAfterSeconds = &d, &s
}

// AddReason adds what the text of a failure says: the facts of its structured
// fields win over those of the text. A text that does not speak of a limit
// contributes nothing, so that a timestamp in it is not taken for a reset.
func (q *QuotaFacts) AddReason(reason string) {
	if !mentionsRateLimit(reason) && !q.RateLimited {
		return
	}
	q.RateLimited = true
	lower := strings.ToLower(reason)
	if q.Scope == nil {
		if word := valueAfter(lower, reason, "quota_scope"); word != "" && word != "null" {
			q.Scope = &word
		}
	}
	if q.ResetAt == nil {
		if t, ok := firstTimestamp(reason); ok {
			q.ResetAt = &t
		} else if word := valueAfter(lower, reason, "reset_at"); word != "" {
			if n, err := strconv.ParseFloat(word, 64); err == nil {
				q.setReset(n)
			}
		}
	}
	for _, phrase := range []string{"retry-after", "retry_after", "retry after", "try again in", "retry in"} {
		at := strings.Index(lower, phrase)
		if at < 0 || q.RetryAfter != nil || q.RetryAt != nil {
			continue
		}
		q.addRetryText(strings.TrimLeft(reason[at+len(phrase):], `:=" `))
	}
}

// addRetryText reads "30", "1.5s", "2 minutes", or an HTTP date.
func (q *QuotaFacts) addRetryText(text string) {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' && end > 0) {
		end++
	}
	if end > 0 {
		n, err := strconv.ParseFloat(strings.TrimRight(text[:end], "."), 64)
		if err != nil {
			return
		}
		unit := strings.ToLower(strings.TrimLeft(text[end:], " "))
		scale := time.Second
		switch {
		case strings.HasPrefix(unit, "ms"), strings.HasPrefix(unit, "millis"):
			scale = time.Millisecond
		case strings.HasPrefix(unit, "m"):
			scale = time.Minute
		case strings.HasPrefix(unit, "h"):
			scale = time.Hour
		}
		q.setRetryAfter(seconds(n * scale.Seconds()))
		return
	}
	if end = strings.Index(text, "GMT"); end > 0 {
		if t, err := http.ParseTime(text[:end+3]); err == nil {
			q.RetryAt = &t
		}
	}
}

// seconds converts with saturation; a negative or absurd number gives -1.
func seconds(n float64) time.Duration {
	if math.IsNaN(n) || n < 0 || n > 10*365*24*3600 {
		return -1
	}
	return time.Duration(n * float64(time.Second))
}

// setReset takes an epoch time in seconds, milliseconds or microseconds, told
// apart by its size.
func (q *QuotaFacts) setReset(n float64) {
	switch {
	case n >= 1e9 && n < 1e11:
	case n >= 1e12 && n < 1e14:
		n /= 1e3
	case n >= 1e15 && n < 1e17:
		n /= 1e6
	default:
		return
	}
	whole, frac := math.Modf(n)
	t := time.Unix(int64(whole), int64(frac*1e9)).UTC()
	q.ResetAt = &t
}

// addJSON looks for structured facts anywhere in one JSON value.
func (q *QuotaFacts) addJSON(raw []byte) {
	s := scanner{data: raw}
	if s.open() {
		q.addObject(&s, 0)
	}
}

func (q *QuotaFacts) addObject(s *scanner, depth int) {
	for first := true; ; first = false {
		name, more, err := s.key(first)
		if err != nil || !more {
			return
		}
		v, err := s.value(0)
		if err != nil {
			return
		}
		q.addMember(string(name.raw), v, depth)
	}
}

func (q *QuotaFacts) addMember(name string, v value, depth int) {
	switch strings.ReplaceAll(strings.ToLower(name), "-", "_") {
	case "quota_scope":
		if text := v.text(); text != "" && q.Scope == nil {
			q.Scope, q.RateLimited = &text, true
		}
	case "reset_at", "resets_at":
		q.RateLimited = true
		if t, ok := firstTimestamp(v.text()); ok {
			q.ResetAt = &t
		} else if n, err := strconv.ParseFloat(scalar(v), 64); err == nil && q.ResetAt == nil {
			q.setReset(n)
		}
	case "retry_after", "retry_after_s", "retry_after_secs", "retry_after_seconds":
		q.addRetryText(scalar(v))
	case "retry_after_ms":
		if n, err := strconv.ParseFloat(scalar(v), 64); err == nil {
			q.setRetryAfter(seconds(n / 1e3))
		}
	case "status", "status_code", "http_status", "code":
		if scalar(v) == "429" {
			q.RateLimited = true
		}
	default:
		if depth >= quotaDepth {
			return
		}
		switch inner := (scanner{data: v.raw}); v.kind {
		case kindObject:
			inner.pos++
			q.addObject(&inner, depth+1)
		case kindArray:
			q.addArray(&inner, depth+1)
		}
	}
}

func (q *QuotaFacts) addArray(s *scanner, depth int) {
	s.pos++
	for {
		s.space()
		if s.pos >= len(s.data) || s.data[s.pos] == ']' {
			return
		}
		if s.data[s.pos] == ',' {
			s.pos++
			continue
		}
		v, err := s.value(0)
		if err != nil {
			return
		}
		if v.kind == kindObject && depth < quotaDepth {
			q.addObject(&scanner{data: v.raw, pos: 1}, depth+1)
		}
	}
}

// scalar is the text of a string or the digits of a number.
func scalar(v value) string {
	if v.kind == kindNumber {
		return string(v.raw)
	}
	return v.text()
}

// mentionsRateLimit reports whether a failure text speaks of a 429.
func mentionsRateLimit(text string) bool {
	lower := strings.ToLower(text)
	for _, phrase := range []string{"rate limit", "rate_limit", "rate-limit", "ratelimit", "too many requests", "quota_scope", "quota exceeded", "quota_exceeded", "exceeded your quota", "usage limit"} {
		if strings.Contains(lower, phrase) {
			return true
		}
	}
	return hasNumber(lower, "429")
}

// hasNumber reports whether number stands in text as a word of its own.
func hasNumber(text, number string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], number)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(number)
		if (i == 0 || !wordByte(text[i-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		from = end
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
}

// valueAfter returns the word that follows name and a separator in text. lower
// is text in lower case.
func valueAfter(lower, text, name string) string {
	at := strings.Index(lower, name)
	if at < 0 || len(lower) != len(text) {
		return ""
	}
	rest := strings.TrimLeft(text[at+len(name):], `"': =`)
	end := strings.IndexAny(rest, "\"', ;)]}\t\n")
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}

// firstTimestamp finds the first ISO 8601 date-time with a zone in text.
func firstTimestamp(text string) (time.Time, bool) {
	for i := 0; i+20 <= len(text); i++ {
		if text[i] < '0' || text[i] > '9' || text[i+4] != '-' || text[i+7] != '-' || text[i+10] != 'T' && text[i+10] != ' ' {
			continue
		}
		end := i + 11
		for end < len(text) && strings.IndexByte("0123456789:.+-", text[end]) >= 0 {
			end++
		}
		if end < len(text) && (text[end] == 'Z' || text[end] == 'z') {
			end++
		}
		stamp := []byte(strings.ToUpper(strings.TrimRight(text[i:end], ".:-")))
		stamp[10] = 'T'
		if t, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
