package egress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// socksAsk goes through the dialogue up to the reply, whose code it returns;
// -1 when the gate hung up.
func socksAsk(t *testing.T, addr string, command byte, target string) (net.Conn, int) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte{5, 2, 2, 0}); err != nil {
		t.Fatal(err)
	}
	var method [2]byte
	if _, err := io.ReadFull(c, method[:]); err != nil || method != [2]byte{5, 0} {
		t.Fatalf("method: %v %v", method, err)
	}
	if _, err := io.WriteString(c, string([]byte{5, command, 0})+target); err != nil {
		t.Fatal(err)
	}
	var reply [10]byte
	if _, err := io.ReadFull(c, reply[:]); err != nil {
		return c, -1
	}
	return c, int(reply[1])
}

func socksNamed(name string, port int) string {
	return string([]byte{socksName, byte(len(name))}) + name + string([]byte{byte(port >> 8), byte(port)})
}

func TestSocks(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "host="+r.Host) // the test reads it
	}))
	t.Cleanup(srv.Close)
	w := newWorld(t)
	w.name("example.org", public)
	w.name("rebind.example", "127.0.0.1")
	w.to[public+":8080"] = srv.Listener.Addr().String()
	w.to["127.0.0.1:8080"] = srv.Listener.Addr().String()
	o := w.options()
	for _, k := range []string{"example.org:8080:tcp", "127.0.0.1:8080:tcp", "rebind.example:8080:tcp", "gone.example:8080:tcp"} {
		o.Allow = append(o.Allow, RuleFor(mustKey(t, k)))
	}
	addr := serve(t, o)
	tests := []struct {
		name    string
		command byte
		target  string
		want    int
	}{
		{"name", 1, socksNamed("example.org", 8080), socksOK},
		{"name in capitals with a dot", 1, socksNamed("Example.ORG.", 8080), socksOK},
		{"address", 1, "\x01\x7f\x00\x00\x01\x1f\x90", socksOK},
		{"mapped address", 1, "\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x01\x1f\x90", socksOK},
		{"address as a name", 1, socksNamed("127.0.0.1", 8080), socksOK},
		{"not approved", 1, socksNamed("other.example", 8080), socksForbidden},
		{"another port", 1, socksNamed("example.org", 8081), socksForbidden},
		{"private by name", 1, socksNamed("rebind.example", 8080), socksForbidden},
		{"no such host", 1, socksNamed("gone.example", 8080), socksFailed},
		{"nul", 1, socksNamed("example.org\x00.evil.example", 8080), socksForbidden},
		{"line end", 1, socksNamed("a\r\nHost: b", 8080), socksForbidden},
		{"hexadecimal", 1, socksNamed("0x7f.1", 8080), socksForbidden},
		{"empty name", 1, socksNamed("", 8080), socksForbidden},
		{"port 0", 1, socksNamed("example.org", 0), socksForbidden},
		{"bind", 2, socksNamed("example.org", 8080), socksNoCommand},
		{"udp", 3, socksNamed("example.org", 8080), socksNoCommand},
		{"unknown address type", 1, "\x09\x00\x00", socksNoType},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, got := socksAsk(t, addr, tt.command, tt.target)
			if got != tt.want {
				t.Fatalf("got reply %d, want %d", got, tt.want)
			}
			if got != socksOK {
				return
			}
			if _, err := io.WriteString(c, "GET / HTTP/1.0\r\nHost: seen\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || string(text) != "host=seen" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

func TestSocksNeedsNoAuth(t *testing.T) {
	if got := raw(t, serve(t, Options{}), "\x05\x01\x02"); got != "\x05\xff" {
		t.Errorf("got %q", got)
	}
}

// A tunnel to 443 is checked for TLS whatever language it was asked for in.
func TestSocksToHTTPS(t *testing.T) {
	w := newWorld(t)
	w.name("example.org", public)
	w.behindTLS(public + ":443")
	o := w.options()
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:443:https"))}
	c, code := socksAsk(t, serve(t, o), 1, socksNamed("example.org", 443))
	if code != socksOK {
		t.Fatalf("reply %d", code)
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(c); len(answer) != 0 { // the gate hangs up
		t.Errorf("got %q", answer)
	}
	if got := w.kinds(); !strings.HasSuffix(got, "denied example.org:443:https") {
		t.Errorf("events: %s", got)
	}
}
