package fault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/sse"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestResponse(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		header map[string]string
		body   string
		want   provider.Error
	}{
		{
			name: "rate limit of the Responses wire", status: 429,
			header: map[string]string{"Retry-After": "7", "X-Request-Id": "req_1"},
			body:   `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`,
			want: provider.Error{Class: provider.RateLimit, Code: "rate_limit_exceeded", Message: "Rate limit reached",
				RequestID: "req_1", RetryAfter: 7 * time.Second},
		},
		{
			name: "used-up quota", status: 429, header: map[string]string{"Retry-After": "7"},
			body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			want: provider.Error{Class: provider.Quota, Code: "insufficient_quota", Message: "You exceeded your current quota", RetryAfter: 7 * time.Second},
		},
		{
			name: "quota with scope and reset", status: 429,
			body: `{"error":{"message":"Plan limit reached","type":"quota_exceeded","quota_scope":"account_5h","reset_at":"2026-11-30T15:00:00Z"}}`,
			want: provider.Error{Class: provider.Quota, Code: "quota_exceeded", Message: "Plan limit reached",
				QuotaScope: "account_5h", ResetAt: "2026-11-30T15:00:00Z"},
		},
		{
			name: "rate limit with scope and reset beside the error", status: 429,
			body: `{"error":{"message":"Slow down","code":"rate_limit_exceeded"},"quota_scope":"minute","reset_at":1796040000}`,
			want: provider.Error{Class: provider.RateLimit, Code: "rate_limit_exceeded", Message: "Slow down", QuotaScope: "minute", ResetAt: "1796040000"},
		},
		{
			name: "scope in data and no code", status: 429,
			body: `{"error":{"message":"limit","data":{"quota_scope":"plan","reset_at":"tomorrow"}}}`,
			want: provider.Error{Class: provider.Quota, Message: "limit", QuotaScope: "plan", ResetAt: "tomorrow"},
		},
		{
			name: "429 without a body", status: 429,
			want: provider.Error{Class: provider.RateLimit, Message: "too many requests"},
		},
		{
			name: "rate limit of the Messages wire", status: 429,
			header: map[string]string{
				"Anthropic-Ratelimit-Tokens-Remaining": "0", "Anthropic-Ratelimit-Tokens-Reset": "2026-11-30T12:00:30Z",
				"Anthropic-Ratelimit-Requests-Remaining": "5", "Anthropic-Ratelimit-Requests-Reset": "2026-11-30T13:00:00Z",
			},
			body: `{"type":"error","error":{"type":"rate_limit_error","message":"too fast"},"request_id":"req_9"}`,
			want: provider.Error{Class: provider.RateLimit, Code: "rate_limit_error", Message: "too fast", RequestID: "req_9", RetryAfter: 30 * time.Second},
		},
		{
			name: "overloaded", status: 529,
			body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			want: provider.Error{Class: provider.Overloaded, Code: "overloaded_error", Message: "Overloaded"},
		},
		{name: "529 without a body", status: 529, want: provider.Error{Class: provider.Overloaded, Message: "no details given"}},
		{
			name: "503 that is busy", status: 503, body: `{"error":{"message":"The engine is currently overloaded"}}`,
			want: provider.Error{Class: provider.Overloaded, Message: "The engine is currently overloaded"},
		},
		{name: "503", status: 503, want: provider.Error{Class: provider.Server, Message: "service unavailable"}},
		{name: "500", status: 500, body: `{"error":{"message":"boom","type":"server_error"}}`,
			want: provider.Error{Class: provider.Server, Code: "server_error", Message: "boom"}},
		{name: "501", status: 501, want: provider.Error{Class: provider.Server, Message: "not implemented"}},
		{
			name: "502 from a proxy", status: 502, header: map[string]string{"Content-Type": "text/html"},
			body: "<html><head><title>502 Bad\nGateway</title></head><body>" + strings.Repeat("x", 5000) + "</body></html>",
			want: provider.Error{Class: provider.Server, Message: "the server answered with a web page: 502 Bad Gateway"},
		},
		{name: "504", status: 504, body: "upstream timed out\n", want: provider.Error{Class: provider.Server, Message: "upstream timed out"}},
		{name: "520", status: 520, want: provider.Error{Class: provider.Server, Message: "no details given"}},
		{
			name: "401", status: 401, body: `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`,
			want: provider.Error{Class: provider.Authentication, Code: "invalid_api_key", Message: "Incorrect API key"},
		},
		{
			name: "403", status: 403, body: `{"error":{"message":"Country not supported","type":"permission_error"}}`,
			want: provider.Error{Class: provider.Authentication, Code: "permission_error", Message: "Country not supported"},
		},
		{
			name: "402", status: 402, header: map[string]string{"X-Request-Id": "r2"},
			body: `{"error":{"message":"Billing verification failed.","type":"billing_error"}}`,
			want: provider.Error{Class: provider.Billing, Code: "billing_error", Message: "Billing verification failed.", RequestID: "r2"},
		},
		{
			name: "no credit", status: 400,
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`,
			want: provider.Error{Class: provider.Billing, Code: "invalid_request_error", Message: "Your credit balance is too low to access the API"},
		},
		{
			name: "unknown model", status: 404, body: "{\"error\":{\"message\":\"The model `x` does not exist\",\"code\":\"model_not_found\"}}",
			want: provider.Error{Class: provider.ModelNotFound, Code: "model_not_found", Message: "The model `x` does not exist"},
		},
		{
			name: "unknown model of the Messages wire", status: 404,
			body: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`,
			want: provider.Error{Class: provider.ModelNotFound, Code: "not_found_error", Message: "model: claude-x"},
		},
		{
			name: "unknown model as a bad request", status: 400, body: `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`,
			want: provider.Error{Class: provider.ModelNotFound, Message: "foo/bar is not a valid model ID"},
		},
		{
			name: "wrong path", status: 404, header: map[string]string{"Content-Type": "text/plain"}, body: "404 page not found",
			want: provider.Error{Class: provider.InvalidRequest, Message: "404 page not found"},
		},
		{
			name: "context length", status: 400,
			body: `{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`,
			want: provider.Error{Class: provider.ContextLength, Code: "context_length_exceeded", Message: "This model's maximum context length is 8192 tokens"},
		},
		{
			name: "context length of the Messages wire", status: 400,
			body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`,
			want: provider.Error{Class: provider.ContextLength, Code: "invalid_request_error", Message: "prompt is too long: 208310 tokens > 200000 maximum"},
		},
		{
			name: "context length of llama.cpp", status: 400,
			body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`,
			want: provider.Error{Class: provider.ContextLength, Code: "exceed_context_size_error", Message: "the request exceeds the available context size"},
		},
		{name: "too large", status: 413, want: provider.Error{Class: provider.ContextLength, Message: "request entity too large"}},
		{
			name: "invalid request", status: 400, body: `{"error":{"message":"bad\n\tparameter","type":"invalid_request_error","param":"tools"}}`,
			want: provider.Error{Class: provider.InvalidRequest, Code: "invalid_request_error", Message: "bad parameter"},
		},
		{
			name: "validation list", status: 422, body: `{"detail":[{"loc":["body"],"msg":"field required"}]}`,
			want: provider.Error{Class: provider.InvalidRequest, Message: `{"detail":[{"loc":["body"],"msg":"field required"}]}`},
		},
		{name: "error as text", status: 400, body: `{"error":"no such thing"}`, want: provider.Error{Class: provider.InvalidRequest, Message: "no such thing"}},
		{name: "message alone", status: 500, body: `{"message":"oops"}`, want: provider.Error{Class: provider.Server, Message: "oops"}},
		{
			name: "Google's list", status: 429,
			body: `[{"error":{"code":429,"message":"Quota exceeded for requests per minute","status":"RESOURCE_EXHAUSTED"}}]`,
			want: provider.Error{Class: provider.RateLimit, Code: "RESOURCE_EXHAUSTED", Message: "Quota exceeded for requests per minute"},
		},
		{
			name: "gateway", status: 502,
			body: `{"error":{"code":502,"message":"Provider returned error","metadata":{"provider_name":"x","raw":"{\"error\":{\"message\":\"CUDA out of memory\"}}"}}}`,
			want: provider.Error{Class: provider.Server, Message: "Provider returned error: CUDA out of memory"},
		},
		{name: "408", status: 408, want: provider.Error{Class: provider.Server, Message: "request timeout"}},
		{name: "409", status: 409, want: provider.Error{Class: provider.Server, Message: "conflict"}},
		{name: "bad json", status: 500, body: `{"error":`, want: provider.Error{Class: provider.Server, Message: `{"error":`}},
		{name: "escape sequences", status: 500, body: "a\x1b[31mb\xff", want: provider.Error{Class: provider.Server, Message: "a[31mb\uFFFD"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tt.header {
				h.Set(k, v)
			}
			got := Response(tt.status, h, []byte(tt.body), now)
			tt.want.Status = tt.status
			if *got != tt.want {
				t.Errorf("got  %+v\nwant %+v", *got, tt.want)
			}
		})
	}
}

func TestEvent(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		class     provider.Class
		code      string
		message   string
	}{
		{"Messages", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.Overloaded, "overloaded_error", "Overloaded"},
		{"Messages, own fault", `{"type":"error","error":{"type":"api_error","message":"Internal"}}`, provider.Server, "api_error", "Internal"},
		{"Messages, request", `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, provider.InvalidRequest, "invalid_request_error", "no"},
		{"Responses", `{"type":"error","code":"rate_limit_exceeded","message":"Slow","param":null,"sequence_number":3}`, provider.RateLimit, "rate_limit_exceeded", "Slow"},
		{"Responses, null code", `{"type":"error","code":null,"message":"Odd","param":null}`, provider.Server, "", "Odd"},
		{"failed response", `{"type":"response.failed","response":{"id":"r","error":{"code":"server_error","message":"Sorry"}}}`, provider.Server, "server_error", "Sorry"},
		{"failed response, context", `{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"too long"}}}`, provider.ContextLength, "context_length_exceeded", "too long"},
		{"failed response, quota", `{"type":"response.failed","response":{"error":{"code":"insufficient_quota","message":"none left"}}}`, provider.Quota, "insufficient_quota", "none left"},
		{"failed response without an error", `{"type":"response.failed","response":{"error":null}}`, provider.Server, "", "the service reported an error without details"},
		{"gateway chunk", `{"error":{"code":429,"message":"upstream busy"},"choices":[]}`, provider.RateLimit, "", "upstream busy"},
		{"gateway chunk, text code", `{"error":{"code":"502","message":"bad gateway"}}`, provider.Server, "502", "bad gateway"},
		{"text", `{"error":"boom"}`, provider.Server, "", "boom"},
		{"unknown", `{}`, provider.Server, "", "the service reported an error without details"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Event([]byte(tt.raw), http.Header{"X-Request-Id": {"q"}}, now)
			want := provider.Error{Class: tt.class, Code: tt.code, Message: tt.message, RequestID: "q"}
			if *got != want {
				t.Errorf("got  %+v\nwant %+v", *got, want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"none", nil, `{}`, 0},
		{"seconds", map[string]string{"Retry-After": "3"}, `{}`, 3 * time.Second},
		{"fraction", map[string]string{"Retry-After": "0.5"}, `{}`, 500 * time.Millisecond},
		{"date", map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:01:00 GMT"}, `{}`, time.Minute},
		{"date in the past", map[string]string{"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT"}, `{}`, 0},
		{"negative", map[string]string{"Retry-After": "-5"}, `{}`, 0},
		{"not a number", map[string]string{"Retry-After": "NaN"}, `{}`, 0},
		{"huge", map[string]string{"Retry-After": "1e300"}, `{}`, maxWait},
		{"nonsense", map[string]string{"Retry-After": "soon"}, `{}`, 0},
		{"milliseconds first", map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, `{}`, 250 * time.Millisecond},
		{"a limit that is used up", map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "6m0s"}, `{}`, 6 * time.Minute},
		{"a limit that is not", map[string]string{"X-Ratelimit-Remaining-Requests": "3", "X-Ratelimit-Reset-Requests": "6m0s"}, `{}`, 0},
		{"epoch milliseconds", map[string]string{"X-Ratelimit-Reset": fmt.Sprint(now.Add(20 * time.Second).UnixMilli())}, `{}`, 20 * time.Second},
		{"epoch seconds", map[string]string{"X-Ratelimit-Reset": fmt.Sprint(now.Add(20 * time.Second).Unix())}, `{}`, 20 * time.Second},
		{"seconds to go", map[string]string{"X-Ratelimit-Reset": "15"}, `{}`, 15 * time.Second},
		{"body", nil, `{"error":{"retry_after":2}}`, 2 * time.Second},
		{"body, milliseconds", nil, `{"error":{"retry_after_ms":200}}`, 200 * time.Millisecond},
		{"message, duration", nil, `{"error":{"message":"Please try again in 1.5s. Bye"}}`, 1500 * time.Millisecond},
		{"message, words", nil, `{"error":{"message":"Try again in 2 minutes."}}`, 2 * time.Minute},
		{"message, nonsense", nil, `{"error":{"message":"try again in a while"}}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			for k, v := range tt.header {
				h.Set(k, v)
			}
			if got := Response(429, h, []byte(tt.body), now).RetryAfter; got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	wrap := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://user:secret@example.test/v1?key=secret", Err: err}
	}
	for _, tt := range []struct {
		name  string
		err   error
		class provider.Class
		words string
	}{
		{"no such host", wrap(&net.DNSError{Err: "no such host", Name: "example.test", IsNotFound: true}), provider.NotReachable, "does not exist"},
		{"no resolver", wrap(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), provider.NotReachable, "name lookup failed"},
		{"slow resolver", wrap(&net.DNSError{Err: "i/o timeout", IsTimeout: true}), provider.Network, "timed out"},
		{"refused", wrap(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", refusedErrno)}), provider.NotReachable, "refused"},
		{"reset", wrap(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), provider.Network, "reset"},
		{"cut", wrap(io.ErrUnexpectedEOF), provider.Network, "closed before the reply was complete"},
		{"cut event", sse.ErrTruncated, provider.Network, "closed before the reply was complete"},
		{"not utf-8", sse.ErrNotUTF8, provider.Server, "not valid UTF-8"},
		{"too long", sse.ErrTooLong, provider.Server, "too long"},
		{"dial timeout", wrap(&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}), provider.Network, "timed out"},
		{"authority", wrap(x509.UnknownAuthorityError{}), provider.NotReachable, "not trusted"},
		{"plain http", wrap(errors.New("http: server gave HTTP response to HTTPS client")), provider.NotReachable, "TLS"},
		{"other", wrap(errors.New("strange")), provider.Network, "strange"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Network(t.Context(), tt.err, "example.test")
			if got.Class != tt.class || !strings.Contains(got.Message, tt.words) || !strings.HasPrefix(got.Message, "example.test: ") {
				t.Errorf("got %s %q, want %s with %q", got.Class, got.Message, tt.class, tt.words)
			}
			if strings.Contains(got.Error(), "secret") {
				t.Errorf("the message carries the URL: %q", got.Error())
			}
			if !errors.Is(got, tt.err) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestCancelledByTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := Network(ctx, errors.New("whatever"), "h")
	if got.Class != provider.Cancelled || !errors.Is(got, context.Canceled) {
		t.Errorf("got %+v", got)
	}
}

func TestKnownErrorsPass(t *testing.T) {
	known := &provider.Error{Class: provider.Billing}
	if got := Network(t.Context(), fmt.Errorf("read: %w", known), "h"); got != known {
		t.Errorf("got %+v", got)
	}
}

func TestMessagesAreCut(t *testing.T) {
	got := Response(500, http.Header{}, []byte(strings.Repeat("é", 5000)), now).Message
	if len(got) > MaxMessage+4 || !strings.HasSuffix(got, "é…") || !utf8.ValidString(got) {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-8:])
	}
}

// The documented forms of a failed run's reason (STREAM.md (a)).
func TestErrorText(t *testing.T) {
	got := Response(402, http.Header{"X-Request-Id": {"abc"}},
		[]byte(`{"error":{"message":"Billing verification failed.","type":"billing_error"}}`), now)
	if want := "API error 402 [request_id=abc]: Billing verification failed. (billing_error)"; got.Error() != want {
		t.Errorf("got %q, want %q", got.Error(), want)
	}
}
