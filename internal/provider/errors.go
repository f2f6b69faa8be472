package provider

import (
	"fmt"
	"time"
)

// Class says what a failed attempt means for the next one.
type Class string

// The classes. RateLimit, Overloaded, Server and Network may be tried again;
// the others fail at once.
const (
	RateLimit      Class = "rate_limit"
	Overloaded     Class = "overloaded"
	Server         Class = "server_error"
	Network        Class = "network"
	Quota          Class = "quota"
	Billing        Class = "billing"
	Authentication Class = "authentication"
	InvalidRequest Class = "invalid_request"
	ModelNotFound  Class = "model_not_found"
	ContextLength  Class = "context_length"
	OutputLimit    Class = "max_output_tokens"
	// NotReachable is a network failure that waiting does not mend: the host
	// does not resolve or nothing listens there.
	NotReachable Class = "not_reachable"
	Cancelled    Class = "cancelled"
)

// Retryable reports whether another attempt may succeed.
func (c Class) Retryable() bool {
	switch c {
	case RateLimit, Overloaded, Server, Network:
		return true
	}
	return false
}

// Known reports whether c is one of the classes above.
func (c Class) Known() bool {
	switch c {
	case RateLimit, Overloaded, Server, Network, Quota, Billing, Authentication,
		InvalidRequest, ModelNotFound, ContextLength, OutputLimit, NotReachable, Cancelled:
		return true
	}
	return false
}

// Error is a failed attempt.
type Error struct {
	Class     Class
	Status    int    // HTTP status, 0 when there was none
	RequestID string // the service's id of the request, for its support
	Code      string // the service's own error code or type
	Message   string // the service's or the transport's words
	// RetryAfter is how long the service asked to wait; 0 when it did not say.
	RetryAfter time.Duration
	// QuotaScope and ResetAt are facts of a 429 as the service gave them; ""
	// means that it gave none (seed 002: unknown stays null).
	QuotaScope, ResetAt string
	Err                 error
}

// Error is the documented one-line form:
// "API error 402 [request_id=…]: message (code)".
func (e *Error) Error() string {
	text := e.Message
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	if e.Status > 0 {
		id := ""
		if e.RequestID != "" {
			id = fmt.Sprintf(" [request_id=%s]", e.RequestID)
		}
		text = fmt.Sprintf("API error %d%s: %s", e.Status, id, text)
	}
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }
