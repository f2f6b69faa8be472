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
	// Origins are where the key may be sent: "https://api.meta.ai". nil means
	// that it was given for this run and goes where the run goes; a key that
	// was found in a file has a list.
	Origins []string
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
	Key     Key
	Auth    Auth // AuthBearer when empty
	// Headers go with every request, but not in the place of the key's. Their
	// values count as secrets.
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

// loopback reports whether host is this machine.
func loopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// origin is scheme, host and port of a URL, for comparing; the scheme's own
// port is left out.
func origin(u *url.URL) string {
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	return strings.ToLower(u.Scheme) + "://" + host
}

// allowed reports whether the key may be sent to base.
func (k *Key) allowed(base *url.URL) bool {
	if k.Origins == nil {
		return true
	}
	for _, raw := range k.Origins {
		if u, err := url.Parse(raw); err == nil && origin(u) == origin(base) {
			return true
		}
	}
	return false
}
