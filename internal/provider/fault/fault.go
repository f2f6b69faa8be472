// Package fault turns what a service or the network says about a failed attempt
// into a provider.Error with a class, so that one table decides what is tried
// again. It knows the error bodies of the three wires and of the servers that
// imitate them; it never fails itself: a body it cannot read is shown, cut
// short, as it is.
package fault

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
)

// MaxMessage is how much of a service's words is kept, in bytes.
const MaxMessage = 1000

// Response is the failure that a reply with an error status stands for.
func Response(status int, header http.Header, body []byte, now time.Time) *provider.Error {
	d := parse(body)
	e := d.failure(status)
	if d.message == "" {
		e.Message = plain(status, header, body)
	}
	finish(e, &d, header, now)
	return e
}

// Event is the failure that an error event of a stream stands for. raw is the
// event: an object with an error member, or the error itself. header is that
// of the reply the stream came in.
func Event(raw jsontext.Value, header http.Header, now time.Time) *provider.Error {
	d := parse(raw)
	e := d.failure(d.status)
	// The stream itself came with a 200: a status inside an event is the
	// service's word, not a fact of the wire.
	e.Status = 0
	if e.Message == "" {
		e.Message = "the service reported an error without details"
	}
	finish(e, &d, header, now)
	return e
}

func (d *details) failure(status int) *provider.Error {
	e := &provider.Error{
		Class: classify(status, d), Status: status, Code: d.code,
		Message: OneLine(d.message), QuotaScope: d.quotaScope, ResetAt: d.resetAt,
	}
	if e.Code == "" {
		e.Code = d.kind
	}
	return e
}

func finish(e *provider.Error, d *details, header http.Header, now time.Time) {
	e.RequestID = RequestID(header)
	if e.RequestID == "" {
		e.RequestID = d.requestID
	}
	switch e.Class {
	case provider.RateLimit, provider.Overloaded, provider.Server, provider.Quota, provider.Network:
		e.RetryAfter = retryAfter(header, now)
		if e.RetryAfter == 0 {
			e.RetryAfter = d.retryAfter
		}
		if e.RetryAfter == 0 && e.Class == provider.RateLimit {
			e.RetryAfter = tryAgainIn(d.message)
		}
	}
}

// RequestID is the service's id of a request, for its support; "" when the
// reply names none.
func RequestID(header http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Fb-Request-Id", "X-Trace-Id", "Cf-Ray"} {
		if v := header.Get(name); v != "" {
			return OneLine(v)
		}
	}
	return ""
}

// plain is what can be said about a body without an error object.
func plain(status int, header http.Header, body []byte) string {
	text := strings.TrimSpace(string(body))
	name := http.StatusText(status)
	if name == "" {
		name = "no details given"
	}
	if text == "" {
		return strings.ToLower(name)
	}
	if strings.Contains(header.Get("Content-Type"), "html") || text[0] == '<' {
		if title := htmlTitle(text); title != "" {
			return "the server answered with a web page: " + title
		}
		return "the server answered with a web page: " + strings.ToLower(name)
	}
	return OneLine(text)
}

// htmlTitle is the text of the first title element, "" when there is none.
func htmlTitle(page string) string {
	lower := strings.ToLower(page)
	// Lower-casing may change lengths outside ASCII; then positions are off
	// and the title is not worth the trouble.
	if len(lower) != len(page) {
		return ""
	}
	i := strings.Index(lower, "<title")
	if i < 0 {
		return ""
	}
	start := strings.IndexByte(lower[i:], '>')
	if start < 0 {
		return ""
	}
	start += i + 1
	end := strings.Index(lower[start:], "</title")
	if end < 0 {
		return ""
	}
	return OneLine(page[start : start+end])
}

// OneLine is s on one line without control characters, cut to MaxMessage bytes and valid UTF-8.
func OneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return -1 // a message must not steer a terminal
		}
		return r
	}, s)
	if len(s) <= MaxMessage {
		return s
	}
	cut := MaxMessage
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
