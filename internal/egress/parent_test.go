package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Behind a proxy of the host's the gate asks it for a tunnel, by a request of
// its own making.
func TestParentProxy(t *testing.T) {
	asked := make(chan string, 4)
	parent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI + " " + r.Header.Get("Proxy-Authorization") + r.Header.Get("X-Mine")
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n") // read by the gate
		if inner, err := http.ReadRequest(rw.Reader); err != nil || inner.Host != "example.org" {
			t.Errorf("through the tunnel: %+v, %v", inner, err)
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") // read by the client below
	}))
	t.Cleanup(parent.Close)
	w := newWorld(t)
	w.to["proxy.corp:3128"] = parent.Listener.Addr().String()
	o := w.options()
	o.Parent = &url.URL{Scheme: "http", Host: "proxy.corp:3128", User: url.UserPassword("u", "p")}
	o.Allow = []Rule{RuleFor(mustKey(t, "example.org:80:http"))}
	answer := raw(t, serve(t, o), "GET http://example.org/ HTTP/1.1\r\nHost: x\r\nX-Mine: y\r\nConnection: close\r\n\r\n")
	if got, want := <-asked, "CONNECT example.org:80 Basic dTpw"; got != want {
		t.Errorf("the parent was asked %q, want %q", got, want)
	}
	if len(answer) < 2 || answer[len(answer)-2:] != "hi" {
		t.Errorf("got %q", answer)
	}
	if resolved, _ := w.looked(); len(resolved) != 0 {
		t.Errorf("%v was resolved here", resolved)
	}
}
