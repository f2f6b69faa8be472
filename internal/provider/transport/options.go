package transport

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The limits that hold when the caller names none. 180 s without a byte is the
// documented idle limit (CLI.md 6). The first event may take longer: a local
// model reads a long prompt before it says anything.
const (
	DefaultIdle       = 180 * time.Second
	DefaultFirstEvent = 300 * time.Second
)

// Auth says how the key goes with a request.
type Auth string

// The forms of authorization. AuthNone sends no key.
const (
	AuthBearer Auth = "bearer"
	AuthAPIKey Auth = "x-api-key" // the Messages wire
	AuthNone   Auth = "none"
)

// Key is a secret and where it came from.
type Key struct {
	Value string
	// From is the source as errors call it: "META_API_KEY", "auth.json".
	From string
	// Stored says that the key was found, not given for this run: it is only
	// sent to Host (host or host:port), unless the settings pin the base URL.
	Stored bool
	Host   string
}

// String hides the value, so that no log or error can carry it by accident.
func (k Key) String() string {
	if k.Value == "" {
		return "no key"
	}
	return "key from " + k.From
}

// GoString hides the value as String does.
func (k Key) GoString() string { return k.String() }

// Options of a client.
type Options struct {
	// BaseURL is what paths are appended to: "https://api.meta.ai/v1". A query
	// is kept.
	BaseURL string
	// Pinned says that the settings name BaseURL (endpoint_transport.base_url,
	// CLI.md 2.2): the stored key may go there.
	Pinned bool
	Key    Key
	Auth   Auth // AuthBearer when empty
	// Headers go with every request. Their values count as secrets.
	Headers http.Header

	// Proxy is the settings' proxy URL (http, https, socks5). Without it the
	// variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count, in upper
	// or lower case. Loopback hosts are never asked through a proxy.
	Proxy  string
	Getenv func(string) string // nil: no environment

	// CABundle is a file of PEM certificates trusted beside the system's.
	CABundle string
	// ClientCert and ClientKey are PEM files; they exclude Proxy.
	ClientCert, ClientKey string

	// FirstEvent limits the time from sending a request to the first event of
	// its stream, Idle that between two reads of it. 0 means the default, a
	// negative duration no limit.
	FirstEvent, Idle time.Duration

	UserAgent string
	Now       func() time.Time // time.Now when nil
}

// base checks and splits the base URL.
func (o *Options) base() (*url.URL, error) {
	if o.BaseURL == "" {
		return nil, fmt.Errorf("no base URL")
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		// The text may hold a password: it is not repeated.
		return nil, fmt.Errorf("base URL is not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base URL needs http:// or https://")
	case u.Host == "":
		return nil, fmt.Errorf("base URL has no host")
	case u.User != nil:
		return nil, fmt.Errorf("base URL of %s carries credentials: give the key by itself", u.Host)
	case u.Fragment != "":
		return nil, fmt.Errorf("base URL of %s has a fragment", u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

// HeaderLines reads MUSE_CUSTOM_HEADERS: one "Name: value" a line, no
// authorization (CLI.md 3).
func HeaderLines(text string) (http.Header, error) {
	h := http.Header{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("line %d is not of the form Name: value", i+1)
		}
		if err := addHeader(h, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return h, nil
}

// HeaderMaps reads the settings' http_headers (name to value) and
// env_http_headers (name to the variable that holds the value; unset ones are
// left out).
func HeaderMaps(plain, fromEnv map[string]string, getenv func(string) string) (http.Header, error) {
	h := http.Header{}
	for name, value := range plain {
		if err := addHeader(h, name, value); err != nil {
			return nil, fmt.Errorf("http_headers: %w", err)
		}
	}
	for name, variable := range fromEnv {
		value := getenv(variable)
		if value == "" {
			continue
		}
		if err := addHeader(h, name, value); err != nil {
			return nil, fmt.Errorf("env_http_headers: %w", err)
		}
	}
	return h, nil
}

// addHeader refuses names and values that are not HTTP, and headers that are
// the client's own.
func addHeader(h http.Header, name, value string) error {
	if !token(name) {
		return fmt.Errorf("%q is not a header name", name)
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("the value of %s has a control character", name)
		}
	}
	switch strings.ToLower(name) {
	case "authorization", "x-api-key", "proxy-authorization":
		return fmt.Errorf("%s cannot be set as a header: give a key instead", name)
	case "host", "content-length", "transfer-encoding", "connection", "content-type", "accept", "te", "upgrade", "trailer":
		return fmt.Errorf("%s cannot be set", name)
	}
	h.Add(name, value)
	return nil
}

// token reports whether s is a header name (RFC 9110, 5.6.2).
func token(s string) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

// loopback reports whether host is this machine.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// origin is scheme, host and port of a URL, for comparing.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
