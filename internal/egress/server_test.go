package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what lies behind a gate in a test: names, and servers on loopback
// under any address that a name gives.
type world struct {
	t     *testing.T
	names map[string][]netip.Addr
	to    map[string]string // "address:port" as dialled → where it really is

	mu       sync.Mutex
	resolved []string
	dialled  []string
	events   []Event
}

func newWorld(t *testing.T) *world {
	return &world{t: t, names: map[string][]netip.Addr{}, to: map[string]string{}}
}

// public is an address that a name may have.
const public = "93.184.216.34"

func (w *world) name(host string, addrs ...string) {
	for _, a := range addrs {
		w.names[host] = append(w.names[host], netip.MustParseAddr(a))
	}
}

func (w *world) options() Options {
	return Options{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.resolved = append(w.resolved, host)
			if a, ok := w.names[host]; ok {
				return a, nil
			}
			return nil, errors.New("no such host")
		},
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			w.mu.Lock()
			w.dialled = append(w.dialled, addr)
			real, ok := w.to[addr]
			w.mu.Unlock()
			if !ok {
				return nil, errors.New("connection refused")
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", real)
		},
		Observe: func(e Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.events = append(w.events, e)
		},
	}
}

// kinds are the events seen so far.
func (w *world) kinds() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var k []string
	for _, e := range w.events {
		k = append(k, e.Kind+" "+e.Request.Key.String())
	}
	return strings.Join(k, ", ")
}

func (w *world) looked() (resolved, dialled []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.resolved...), append([]string{}, w.dialled...)
}

// serve starts a gate on loopback and returns its address.
func serve(t *testing.T, o Options) string {
	t.Helper()
	return serveGate(t, New(o), Origin{CallID: "call-1"})
}

func serveGate(t *testing.T, g *Gate, o Origin) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := g.Serve(l, o)
	t.Cleanup(s.Close)
	return l.Addr().String()
}

// client is an HTTP client behind the proxy at addr.
func client(t *testing.T, addr string) *http.Client {
	t.Helper()
	tr := &http.Transport{
		Proxy:           http.ProxyURL(&url.URL{Scheme: "http", Host: addr}),
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test's own server
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 20 * time.Second}
}

func get(t *testing.T, c *http.Client, url string) (code int, mark, body string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatalf("get %s: %v", url, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get(reviewHeader), string(text)
}

// behind starts an HTTP server that tells which host it was asked for.
func (w *world) behind(addr string) {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Proxy-") || name == "Connection" || strings.HasPrefix(name, "X-Forwarded") {
				fmt.Fprintf(rw, "header %s; ", name)
			}
		}
		fmt.Fprintf(rw, "host=%s path=%s", r.Host, r.URL.Path)
	}))
	w.t.Cleanup(srv.Close)
	w.to[addr] = srv.Listener.Addr().String()
}

func (w *world) behindTLS(addr string) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "tls host=%s sni=%s", r.Host, r.TLS.ServerName)
	}))
	w.t.Cleanup(srv.Close)
	w.to[addr] = srv.Listener.Addr().String()
}

func mustKey(t *testing.T, s string) Key {
	t.Helper()
	k, err := ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestUnapprovedIsRefusedUnseen(t *testing.T) {
	w := newWorld(t)
	w.name("example.org", public)
	w.behind(public + ":80")
	addr := serve(t, w.options())
	code, mark, body := get(t, client(t, addr), "http://example.org/")
	if code != http.StatusForbidden || mark != "needs-review" || !strings.Contains(body, "example.org:80:http") {
		t.Errorf("got %d %q %q", code, mark, body)
	}
	if got := w.kinds(); got != "held example.org:80:http, denied example.org:80:http" {
		t.Errorf("events: %s", got)
	}
	// A name lookup is a message to whoever owns the name.
	if resolved, dialled := w.looked(); len(resolved)+len(dialled) != 0 {
		t.Errorf("before any approval %v was resolved and %v dialled", resolved, dialled)
	}
}

func TestApprovedForward(t *testing.T) {
	w := newWorld(t)
	w.name("example.org", public)
	w.behind(public + ":80")
	w.behind(public + ":8080")
	o := w.options()
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:80:http")), RuleFor(mustKey(t, "example.org:8080:http"))}
	c := client(t, serve(t, o))
	for url, want := range map[string]string{
		"http://example.org/a":      "host=example.org path=/a",
		"http://EXAMPLE.org.:80/b":  "host=example.org path=/b",
		"http://example.org:8080/c": "host=example.org:8080 path=/c",
	} {
		if code, _, body := get(t, c, url); code != 200 || body != want {
			t.Errorf("%s: got %d %q, want %q", url, code, body, want)
		}
	}
	if code, _, _ := get(t, c, "http://example.org:81/"); code != http.StatusForbidden {
		t.Errorf("another port: got %d", code)
	}
}

// The Host header, and headers meant for the proxy, are not passed on.
func TestRequestIsRebuilt(t *testing.T) {
	w := newWorld(t)
	w.name("example.org", public)
	w.behind(public + ":80")
	o := w.options()
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:80:http"))}
	answer := raw(t, serve(t, o), "GET http://example.org/x HTTP/1.1\r\nHost: internal.example\r\n"+
		"Proxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n\r\n")
	if !strings.HasSuffix(answer, "host=example.org path=/x") {
		t.Errorf("got %q", answer)
	}
}

// raw sends text and returns everything that comes back.
func raw(t *testing.T, addr, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(c) // a reset after the answer is an end as well
	return string(answer)
}

func TestMalformedTargets(t *testing.T) {
	w := newWorld(t)
	w.to["127.0.0.1:80"] = "127.0.0.1:1"
	o := w.options()
	addr := serve(t, o)
	for name, text := range map[string]string{
		"origin form":         "GET /x HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n",
		"https to forward":    "GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n",
		"ftp":                 "GET ftp://example.org/ HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n",
		"hexadecimal host":    "GET http://0x7f.1/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"one number":          "GET http://2130706433/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"connect hexadecimal": "CONNECT 0x7f.1:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"connect no port":     "CONNECT example.org HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"connect user":        "CONNECT a@example.org:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"connect url":         "CONNECT http://example.org:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"no proxy language":   "\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
	} {
		t.Run(name, func(t *testing.T) {
			answer := raw(t, addr, text)
			if strings.Contains(answer, " 200 ") || answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 4") {
				t.Errorf("got %q", answer)
			}
		})
	}
	if resolved, dialled := w.looked(); len(resolved)+len(dialled) != 0 {
		t.Errorf("%v was resolved and %v dialled", resolved, dialled)
	}
}

func TestLiterals(t *testing.T) {
	w := newWorld(t)
	w.behind("127.0.0.1:8000")
	w.behind("[::1]:8000")
	w.behind("169.254.169.254:80")
	o := w.options()
	addr := serve(t, o)
	c := client(t, addr)
	for _, url := range []string{"http://127.0.0.1:8000/", "http://[::ffff:127.0.0.1]:8000/", "http://[::1]:8000/"} {
		if code, _, _ := get(t, c, url); code != http.StatusForbidden {
			t.Errorf("%s without an approval: got %d", url, code)
		}
	}
	// An approval is for the address, however it is written.
	o.Allow = []Rule{RuleFor(mustKey(t, "127.0.0.1:8000:http")), RuleFor(mustKey(t, "169.254.169.254:80:http"))}
	c = client(t, serve(t, o))
	for _, url := range []string{"http://127.0.0.1:8000/", "http://[::ffff:127.0.0.1]:8000/"} {
		if code, _, _ := get(t, c, url); code != 200 {
			t.Errorf("%s with an approval: got %d", url, code)
		}
	}
	if code, _, _ := get(t, c, "http://[::1]:8000/"); code != http.StatusForbidden {
		t.Errorf("another loopback address: got %d", code)
	}
	// Never, even with an approval.
	if code, mark, _ := get(t, c, "http://169.254.169.254/"); code != http.StatusForbidden || mark != "denied" {
		t.Errorf("metadata service: got %d %q", code, mark)
	}
}

// A name is in its owner's hands: wherever it leads that is not public is
// refused, also when only one of its addresses is not.
func TestNamesToPrivateAddresses(t *testing.T) {
	for _, addrs := range [][]string{
		{"127.0.0.1"}, {"::1"}, {"10.0.0.1"}, {"169.254.169.254"}, {"::ffff:192.168.0.1"}, {"0.0.0.0"}, {public, "127.0.0.1"}, {"64:ff9b::7f00:1"},
	} {
		t.Run(strings.Join(addrs, " "), func(t *testing.T) {
			w := newWorld(t)
			w.name("rebind.example", addrs...)
			for _, a := range append(addrs, "127.0.0.1") {
				w.behind(netip.AddrPortFrom(netip.MustParseAddr(a).Unmap(), 80).String())
			}
			o := w.options()
			o.Allow = []Rule{RuleFor(mustKey(t, "rebind.example:80:http"))}
			code, mark, body := get(t, client(t, serve(t, o)), "http://rebind.example/")
			if code != http.StatusForbidden || mark != "refused" {
				t.Errorf("got %d %q %q", code, mark, body)
			}
			if _, dialled := w.looked(); len(dialled) != 0 {
				t.Errorf("%v was dialled", dialled)
			}
		})
	}
}

func TestTunnel(t *testing.T) {
	w := newWorld(t)
	w.name("example.org", public)
	w.name("other.example", public)
	w.behindTLS(public + ":443")
	w.behindTLS(public + ":8443")
	o := w.options()
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:443:https")), RuleFor(mustKey(t, "example.org:8443:tcp"))}
	c := client(t, serve(t, o))
	if code, _, body := get(t, c, "https://example.org/"); code != 200 || body != "tls host=example.org sni=example.org" {
		t.Errorf("got %d %q", code, body)
	}
	if code, _, body := get(t, c, "https://example.org:8443/"); code != 200 || !strings.HasPrefix(body, "tls host=example.org:8443") {
		t.Errorf("got %d %q", code, body)
	}
	if resp, err := c.Get("https://other.example/"); err == nil {
		resp.Body.Close()
		t.Errorf("a host that was not approved answered %s", resp.Status)
	}
}

// In an https tunnel the client must be a TLS client that asks for the host.
func TestTunnelContent(t *testing.T) {
	heard := make(chan string, 16)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(c) // whatever came before the end counts
			heard <- string(text)
			c.Close()
		}
	})
	t.Cleanup(conns.Wait)
	t.Cleanup(func() { l.Close() })
	w := newWorld(t)
	w.name("example.org", public)
	w.to[public+":443"] = l.Addr().String()
	w.to["127.0.0.1:443"] = l.Addr().String()
	o := w.options()
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:443:https")), RuleFor(mustKey(t, "127.0.0.1:443:https"))}
	addr := serve(t, o)

	hello := func(name string) string { return string(clientHelloFor(t, name)) }
	split := func(s string) string { // the same message in two records
		body := s[5:]
		one, two := body[:40], body[40:]
		rec := func(b string) string { return s[:3] + string([]byte{byte(len(b) >> 8), byte(len(b))}) + b }
		return rec(one) + rec(two)
	}
	tests := []struct {
		name, target, first string
		passes              bool
	}{
		{"the host", "example.org:443", hello("example.org"), true},
		{"the host in capitals", "example.org:443", hello("EXAMPLE.org"), true},
		{"no name", "example.org:443", hello(""), true},
		{"two records", "example.org:443", split(hello("example.org")), true},
		{"another host", "example.org:443", hello("internal.example"), false},
		{"another host in two records", "example.org:443", split(hello("internal.example")), false},
		{"a name to an address", "127.0.0.1:443", hello("example.org"), false},
		{"no TLS", "example.org:443", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"SSH", "example.org:443", "SSH-2.0-x\r\n", false},
		{"half a hello", "example.org:443", hello("example.org")[:60], false},
		{"a hello and more", "example.org:443", grow(hello("example.org"), "more"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", tt.target)
			r := bufio.NewReader(c)
			resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("tunnel: %v %v", resp, err)
			}
			if _, err := io.WriteString(c, tt.first); err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got := <-heard
			if tt.passes && got != tt.first {
				t.Errorf("the server got %d bytes, want the %d that were sent", len(got), len(tt.first))
			}
			if !tt.passes && got != "" {
				t.Errorf("the server got %q", got)
			}
		})
	}
}

// grow adds bytes to the record that holds a client hello.
func grow(hello, more string) string {
	n := len(hello) - 5 + len(more)
	return hello[:3] + string([]byte{byte(n >> 8), byte(n)}) + hello[5:] + more
}

// clientHelloFor is what Go's TLS client says first.
func clientHelloFor(t *testing.T, name string) []byte {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conf := &tls.Config{ServerName: name, InsecureSkipVerify: true} //nolint:gosec // only the first message is wanted
		_ = tls.Client(near, conf).Handshake()                          // nobody answers
	}()
	buf := make([]byte, 8192)
	n, err := far.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	near.Close()
	far.Close()
	<-done
	return buf[:n]
}
