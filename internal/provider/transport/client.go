// Package transport is the HTTP client of the model wires: one kept connection
// to one service, its key, proxy, certificates and limits.
//
// Two rules hold whatever a service answers. The key goes to the host it is
// meant for and to no other: a redirect to another host is refused, and a key
// with a list of origins stays at home when the base URL was changed. And no secret is in
// an error: what a service says is searched for the key before it is shown.
package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/fault"
)

// Client speaks to one service. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	http    *http.Client
	headers http.Header // sent with every request, authorization included
	key     Key         // the key that is sent; empty when none is
	notes   []string
	secrets []string
	first   time.Duration
	idle    time.Duration
	now     func() time.Time
}

// New checks the options and returns a client. Nothing is sent.
func New(o Options) (*Client, error) {
	base, err := o.base()
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	rt, err := o.roundTripper()
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, now: o.Now,
		first: limit(o.FirstEvent, DefaultFirstEvent), idle: limit(o.Idle, DefaultIdle),
		headers: http.Header{},
	}
	c.http = &http.Client{Transport: rt, CheckRedirect: c.redirect}
	for name, values := range o.Headers {
		c.headers[http.CanonicalHeaderKey(name)] = values
		c.secrets = append(c.secrets, values...)
	}
	if o.UserAgent != "" {
		c.headers.Set("User-Agent", o.UserAgent)
	}
	if err := c.authorize(&o); err != nil {
		return nil, err
	}
	if u, err := url.Parse(o.Proxy); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			c.secrets = append(c.secrets, password)
		}
	}
	return c, nil
}

func limit(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return max(d, 0)
}

// authorize decides whether the key may go to the base URL's host.
func (c *Client) authorize(o *Options) error {
	if o.Key.Value == "" || o.Auth == AuthNone {
		return nil
	}
	for _, b := range []byte(o.Key.Value) {
		if b <= ' ' || b >= 0x7f {
			return fmt.Errorf("the %s has a character that no key has (a space or a line break?)", o.Key)
		}
	}
	// Withheld or not, the value must not show up anywhere.
	c.secrets = append(c.secrets, o.Key.Value)
	if !o.Key.allowed(c.base) {
		c.notes = append(c.notes, fmt.Sprintf("the %s is not sent to %s: it belongs to %s", o.Key, origin(c.base), strings.Join(o.Key.Origins, ", ")))
		return nil
	}
	if c.base.Scheme == "http" && !loopback(c.base.Hostname()) {
		c.notes = append(c.notes, fmt.Sprintf("the %s is sent to %s over a connection that is not encrypted", o.Key, c.base.Host))
	}
	c.key = o.Key
	if o.Auth == AuthAPIKey {
		c.headers.Set("X-Api-Key", o.Key.Value)
	} else {
		c.headers.Set("Authorization", "Bearer "+o.Key.Value)
	}
	return nil
}

// Notes are warnings for the person, one line each: a key that is withheld or
// sent in the clear.
func (c *Client) Notes() []string { return c.notes }

// HasKey reports whether requests carry a key.
func (c *Client) HasKey() bool { return c.key.Value != "" }

// KeyFrom is the source of the key that is sent, "" without one.
func (c *Client) KeyFrom() string { return c.key.From }

// Host is the service's host as errors call it.
func (c *Client) Host() string { return c.base.Host }

// Path is the path of the base URL without a slash at its end.
func (c *Client) Path() string { return c.base.Path }

// Now is the client's clock.
func (c *Client) Now() time.Time { return c.now() }

// CloseIdle closes the kept connection.
func (c *Client) CloseIdle() { c.http.CloseIdleConnections() }

// redirect follows a redirect only to the origin the request was for, with its
// method kept: anything else would hand key or prompt to someone else.
func (c *Client) redirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	refuse := func(why string) error {
		return &provider.Error{Class: provider.InvalidRequest, Message: fmt.Sprintf(
			"%s: redirect to %s refused (%s): check the base URL", c.base.Host, next.URL.Host, why)}
	}
	switch {
	case origin(next.URL) != origin(first.URL):
		return refuse("the request and its key are meant for this host only")
	case next.Method != first.Method:
		return refuse("it would turn the request into a " + next.Method)
	case len(via) > 3:
		return refuse("too many of them")
	}
	return nil
}

// maxErrorBody is how much of a failed reply is read, maxBody how much of a
// document.
const (
	maxErrorBody = 64 << 10
	maxBody      = 16 << 20
)

// Get fetches a document at path below the host's root, when path begins with
// a slash, else below the base URL. Failures are *provider.Error.
func (c *Client) Get(ctx context.Context, path string, timeout time.Duration) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodGet, c.address(path), nil)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.base.Host, err)
	}
	c.dress(req, "application/json", nil)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, c.refused(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if len(body) > maxBody {
		return nil, &provider.Error{Class: provider.Server, Message: c.base.Host + ": the document is too long"}
	}
	return body, nil
}

// address is the URL of a path.
func (c *Client) address(path string) string {
	u := *c.base
	if strings.HasPrefix(path, "/") {
		u.Path, u.RawQuery = path, ""
	} else {
		u.Path += "/" + path
	}
	return u.String()
}

func (c *Client) dress(req *http.Request, accept string, extra http.Header) {
	for name, values := range c.headers {
		req.Header[name] = values
	}
	for name, values := range extra {
		req.Header[name] = values
	}
	req.Header.Set("Accept", accept)
	if req.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
}

// post sends body to path below the base URL. Cancelling ctx ends the reply.
func (c *Client) post(ctx context.Context, path string, body []byte, extra http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address(path), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.base.Host, err)
	}
	c.dress(req, "text/event-stream", extra)
	return c.http.Do(req)
}

// refused is the failure that a reply with an error status stands for.
func (c *Client) refused(resp *http.Response) *provider.Error {
	// A body that cannot be read leaves the status, which says enough.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := fault.Response(resp.StatusCode, resp.Header, body, c.now())
	if resp.StatusCode == http.StatusUnauthorized && c.key.From != "" {
		e.Message += "; your API key from " + c.key.From + " was rejected"
	}
	return c.redact(e)
}

// failed is the failure that a transport error stands for.
func (c *Client) failed(ctx context.Context, err error) *provider.Error {
	return c.redact(fault.Network(ctx, err, c.base.Host))
}

// redact removes the client's secrets from what may be shown.
func (c *Client) redact(e *provider.Error) *provider.Error {
	for _, secret := range c.secrets {
		if len(secret) < 6 { // a short word is no secret and would garble texts
			continue
		}
		for _, field := range []*string{&e.Message, &e.Code, &e.RequestID, &e.QuotaScope, &e.ResetAt} {
			*field = strings.ReplaceAll(*field, secret, "[redacted]")
		}
	}
	return e
}
