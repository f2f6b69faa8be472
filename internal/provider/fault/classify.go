package fault

import (
	"net/http"
	"strings"

	"github.com/openmuse/muse/internal/provider"
)

// classify decides what a failure means. status is 0 for an event of a stream
// that names none. The service's own code counts before its status: the same
// 429 stands for "slow down" and for "your plan is used up".
func classify(status int, d *details) provider.Class {
	code := strings.ToLower(d.code + " " + d.kind)
	message := strings.ToLower(d.message)
	switch {
	case has(code, "context_length", "exceed_context", "request_too_large", "string_above_max_length"):
		return provider.ContextLength
	case status != http.StatusTooManyRequests && !has(code, "rate_limit") && aboutContext(message):
		return provider.ContextLength
	case has(code, "billing", "payment", "credit"), has(message, "credit balance is too low"):
		return provider.Billing
	case has(code, "insufficient_quota", "quota_exceeded", "usage_limit", "exceeded_current_quota", "spend_limit"):
		return provider.Quota
	case status == http.StatusTooManyRequests:
		return tooMany(code, message, d)
	case has(code, "invalid_api_key", "authentication", "unauthorized", "unauthenticated", "permission"):
		return provider.Authentication
	case has(code, "overloaded", "slow_down"), status == 529:
		return provider.Overloaded
	case has(code, "rate_limit", "too_many_requests", "throttl"):
		return provider.RateLimit
	case has(code, "model_not_found"), aboutModel(status, message):
		return provider.ModelNotFound
	case has(code, "max_output_tokens"):
		return provider.OutputLimit
	}
	if status == 0 {
		return byCode(code)
	}
	return byStatus(status, message)
}

// tooMany tells the two kinds of 429 apart. Waiting helps against a rate
// limit, not against a used-up quota. A scope without a code is a quota's: a
// plain rate limit names none.
func tooMany(code, message string, d *details) provider.Class {
	switch {
	case has(code, "rate_limit", "too_many_requests", "throttl"):
		return provider.RateLimit
	case has(code, "overloaded", "slow_down"):
		return provider.Overloaded
	case has(code, "quota"), d.quotaScope != "":
		return provider.Quota
	case has(code, "resource_exhausted"):
		// Google says "quota" for limits of a minute too.
		return provider.RateLimit
	case has(message, "exceeded your current quota", "insufficient quota", "quota exceeded", "usage limit"):
		return provider.Quota
	}
	return provider.RateLimit
}

// byStatus is the class when neither code nor message says more.
func byStatus(status int, message string) provider.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return provider.Authentication
	case http.StatusPaymentRequired:
		return provider.Billing
	case http.StatusRequestEntityTooLarge:
		return provider.ContextLength
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return provider.Server
	case http.StatusServiceUnavailable:
		if has(message, "overloaded", "at capacity", "high demand") {
			return provider.Overloaded
		}
	}
	if status >= 500 {
		return provider.Server
	}
	return provider.InvalidRequest
}

// byCode is the class of an error event. A service that breaks off a stream it
// had accepted has a problem of its own unless it says otherwise.
func byCode(code string) provider.Class {
	switch {
	case has(code, "not_found"):
		return provider.ModelNotFound
	case has(code, "invalid_request", "invalid_prompt", "content_policy", "invalid_image"):
		return provider.InvalidRequest
	}
	return provider.Server
}

// aboutContext recognises the words for a request that is too long for the
// model, as services give them that have no code for it.
func aboutContext(message string) bool {
	return has(message,
		"maximum context length", "context length exceeded", "context window", "available context size",
		"exceeds the context", "exceed context limit", "prompt is too long", "input is too long",
		"maximum prompt length", "exceeds the maximum number of tokens", "input token count")
}

// aboutModel recognises an unknown model. A 404 that does not speak of a model
// is a wrong base URL.
func aboutModel(status int, message string) bool {
	if !strings.Contains(message, "model") {
		return false
	}
	switch status {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest, http.StatusForbidden, http.StatusUnprocessableEntity, 0:
		return has(message, "does not exist", "not found", "not a valid model", "invalid model", "unknown model", "no such model")
	}
	return false
}

// has reports whether s contains one of the words.
func has(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
