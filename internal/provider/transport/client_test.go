package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/provider"
)

const secret = "sk-test-0123456789abcdef"

func explicit() Key { return Key{Value: secret, From: "META_API_KEY"} }
func stored(origins ...string) Key {
	return Key{Value: secret, From: "auth.json", Origins: origins}
}

func TestWhereTheKeyGoes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		opts   Options
		header string // of the request
		note   string
	}{
		{"explicit", Options{BaseURL: "https://api.meta.ai/v1", Key: explicit(), Headers: http.Header{"Authorization": {"Basic x"}}}, "Bearer " + secret, ""},
		{"explicit, changed base URL", Options{BaseURL: "https://example.test/v1", Key: explicit()}, "Bearer " + secret, ""},
		{"explicit, loopback without TLS", Options{BaseURL: "http://127.0.0.1:1/v1", Key: explicit()}, "Bearer " + secret, ""},
		{"explicit, localhost without TLS", Options{BaseURL: "http://localhost:1/v1", Key: explicit()}, "Bearer " + secret, ""},
		{"explicit, elsewhere without TLS", Options{BaseURL: "http://example.test/v1", Key: explicit()}, "Bearer " + secret, "not encrypted"},
		{"stored", Options{BaseURL: "https://api.meta.ai/v1", Key: stored("https://api.meta.ai")}, "Bearer " + secret, ""},
		{"stored, other case", Options{BaseURL: "https://API.meta.ai/v1", Key: stored("https://api.meta.ai")}, "Bearer " + secret, ""},
		{"stored, port spelled out", Options{BaseURL: "https://api.meta.ai:443/v1", Key: stored("https://api.meta.ai")}, "Bearer " + secret, ""},
		{"stored, changed base URL", Options{BaseURL: "https://example.test/v1", Key: stored("https://api.meta.ai")}, "", "belongs to https://api.meta.ai"},
		{"stored, a name that begins alike", Options{BaseURL: "https://api.meta.ai.example.test/v1", Key: stored("https://api.meta.ai")}, "", "belongs to"},
		{"stored, other port", Options{BaseURL: "https://api.meta.ai:8443/v1", Key: stored("https://api.meta.ai")}, "", "belongs to"},
		{"stored, without TLS", Options{BaseURL: "http://api.meta.ai/v1", Key: stored("https://api.meta.ai")}, "", "belongs to"},
		{"stored, a second origin", Options{BaseURL: "http://127.0.0.1:1", Key: stored("https://api.meta.ai", "http://127.0.0.1:1")}, "Bearer " + secret, ""},
		{"stored, for nobody", Options{BaseURL: "https://api.meta.ai/v1", Key: Key{Value: secret, Origins: []string{}}}, "", "belongs to"},
		{"none", Options{BaseURL: "https://example.test/v1"}, "", ""},
		{"auth none", Options{BaseURL: "https://example.test/v1", Key: explicit(), Auth: AuthNone}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := New(tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			req := httptest.NewRequest(http.MethodPost, c.address("responses"), nil)
			c.dress(req, "x", nil)
			if got := req.Header.Get("Authorization"); got != tt.header {
				t.Errorf("authorization = %q, want %q", got, tt.header)
			}
			if c.HasKey() != (tt.header != "") {
				t.Errorf("HasKey = %v", c.HasKey())
			}
			notes := strings.Join(c.Notes(), "\n")
			if (notes == "") != (tt.note == "") || !strings.Contains(notes, tt.note) {
				t.Errorf("notes = %q, want %q", notes, tt.note)
			}
			if strings.Contains(notes, secret) {
				t.Error("the key is in a note")
			}
		})
	}
}

func TestAPIKeyHeader(t *testing.T) {
	c, err := New(Options{BaseURL: "https://example.test", Key: explicit(), Auth: AuthAPIKey})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, c.address("v1/messages"), nil)
	c.dress(req, "x", nil)
	if req.Header.Get("X-Api-Key") != secret || req.Header.Get("Authorization") != "" {
		t.Errorf("headers = %v", req.Header)
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, explicit()); strings.Contains(text, secret) {
			t.Errorf("%s: %s", format, text)
		}
		if text := fmt.Sprintf(format, Options{Key: explicit()}); strings.Contains(text, secret) {
			t.Errorf("%s of options: %s", format, text)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no base":              {},
		"no scheme":            {BaseURL: "api.meta.ai/v1"},
		"file":                 {BaseURL: "file:///etc/passwd"},
		"no host":              {BaseURL: "https:///v1"},
		"credentials":          {BaseURL: "https://u:" + secret + "@example.test"},
		"not a URL":            {BaseURL: "https://u:" + secret + "@exa mple.test"},
		"fragment":             {BaseURL: "https://example.test/#a"},
		"key with a newline":   {BaseURL: "https://example.test", Key: Key{Value: secret + "\n", From: "x"}},
		"proxy scheme":         {BaseURL: "https://example.test", Proxy: "ftp://p"},
		"proxy is no URL":      {BaseURL: "https://example.test", Proxy: "p:1:2"},
		"proxy and client":     {BaseURL: "https://example.test", Proxy: "http://p", ClientCert: "c", ClientKey: "k"},
		"certificate, no key":  {BaseURL: "https://example.test", ClientCert: "c"},
		"missing certificate":  {BaseURL: "https://example.test", ClientCert: "/none/c", ClientKey: "/none/k"},
		"missing CA bundle":    {BaseURL: "https://example.test", CABundle: "/none/ca"},
		"CA bundle of nothing": {BaseURL: "https://example.test", CABundle: "client_test.go"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(o)
			if err == nil {
				t.Fatal("no error")
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error carries a secret: %v", err)
			}
		})
	}
}

func TestAddress(t *testing.T) {
	for _, tt := range []struct{ base, path, want string }{
		{"https://api.meta.ai/v1", "responses", "https://api.meta.ai/v1/responses"},
		{"https://api.meta.ai/v1/", "responses", "https://api.meta.ai/v1/responses"},
		{"https://api.meta.ai/v1", "/muse-code/models", "https://api.meta.ai/muse-code/models"},
		{"http://127.0.0.1:80", "responses", "http://127.0.0.1:80/responses"},
		{"https://x.test/a/b?api-version=1", "responses", "https://x.test/a/b/responses?api-version=1"},
	} {
		c, err := New(Options{BaseURL: tt.base})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.address(tt.path); got != tt.want {
			t.Errorf("%s + %s = %s, want %s", tt.base, tt.path, got, tt.want)
		}
	}
}

// serve runs a server and a client of it.
func serve(t *testing.T, o Options, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	o.BaseURL = server.URL + "/v1"
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

func failure(t *testing.T, err error) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v (%T), want *provider.Error", err, err)
	}
	return e
}

func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host was asked: %v", r.Header)
	}))
	defer other.Close()
	var seen []string
	c := serve(t, Options{Key: explicit()}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body)+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/v1/away":
			http.Redirect(w, r, other.URL+"/v1/x", http.StatusTemporaryRedirect)
		case "/v1/get":
			http.Redirect(w, r, "/v1/end", http.StatusFound)
		case "/v1/round":
			http.Redirect(w, r, "/v1/round", http.StatusPermanentRedirect)
		case "/v1/same":
			http.Redirect(w, r, "/v1/end", http.StatusTemporaryRedirect)
		default:
			fmt.Fprint(w, "data: ok\n\n")
		}
	})
	for path, words := range map[string]string{"away": "meant for this host only", "get": "into a GET", "round": "too many"} {
		seen = nil
		_, err := c.Post(t.Context(), path, []byte("{}"), nil)
		e := failure(t, err)
		if e.Class != provider.InvalidRequest || !strings.Contains(e.Message, words) {
			t.Errorf("%s: %v", path, e)
		}
	}
	seen = nil
	s, err := c.Post(t.Context(), "same", []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if len(seen) != 2 || seen[1] != "POST /v1/end {} Bearer "+secret {
		t.Errorf("requests = %q", seen)
	}
}

func TestSecretsAreRedacted(t *testing.T) {
	h := http.Header{"X-Team": {"team-secret-value"}}
	c := serve(t, Options{Key: explicit(), Headers: h}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Team") != "team-secret-value" {
			t.Errorf("headers = %v", r.Header)
		}
		if r.URL.Path == "/v1/stream" {
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"key %s\"}}\n\n", secret)
			return
		}
		w.Header().Set("X-Request-Id", secret)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"bad key %s of team-secret-value","code":"%s"}}`, secret, secret)
	})
	_, err := c.Post(t.Context(), "x", nil, nil)
	e := failure(t, err)
	if strings.Contains(e.Error(), secret) || strings.Contains(e.Error(), "team-secret-value") {
		t.Errorf("a secret is shown: %v", e)
	}
	if e.Class != provider.Authentication || !strings.Contains(e.Message, "key from META_API_KEY was rejected") {
		t.Errorf("error = %v", e)
	}
	s, err := c.Post(t.Context(), "stream", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ev, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	if e := s.Reported(ev.Data); e.Message != "key [redacted]" {
		t.Errorf("event error = %v", e)
	}
}

func TestGet(t *testing.T) {
	c := serve(t, Options{Key: explicit(), UserAgent: "openmuse/1"}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/root":
			fmt.Fprint(w, r.Header.Get("Authorization"), " ", r.Header.Get("User-Agent"), " ", r.Header.Get("Accept"))
		default:
			http.NotFound(w, r)
		}
	})
	body, err := c.Get(t.Context(), "/root", time.Minute)
	if err != nil || string(body) != "Bearer "+secret+" openmuse/1 application/json" {
		t.Errorf("body %q, %v", body, err)
	}
	_, err = c.Get(t.Context(), "models", time.Minute)
	if e := failure(t, err); e.Status != 404 {
		t.Errorf("error = %v", e)
	}
}

func TestGetIsLimited(t *testing.T) {
	release := make(chan struct{})
	c := serve(t, Options{}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	_, err := c.Get(t.Context(), "/x", time.Millisecond)
	if e := failure(t, err); e.Class != provider.Network {
		t.Errorf("error = %v", e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Get(ctx, "/x", time.Minute)
	if e := failure(t, err); e.Class != provider.Cancelled {
		t.Errorf("error = %v", e)
	}
}
