package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// forwarder is the HTTP side of a server: it forwards plain requests and
// opens tunnels.
type forwarder struct {
	server    *Server
	http      *http.Server
	transport *http.Transport
	proxy     *httputil.ReverseProxy
	feed      *feed
	served    chan struct{}
}

// Limits on what a client sends before it is let through.
const (
	maxHeader = 64 << 10
	idleLimit = 2 * time.Minute
)

func newForwarder(s *Server) *forwarder {
	f := &forwarder{server: s, served: make(chan struct{})}
	f.feed = &feed{conns: make(chan net.Conn), closed: make(chan struct{}), addr: s.listener.Addr()}
	quiet := log.New(io.Discard, "", 0) // clients that misbehave are no news
	f.transport = &http.Transport{
		DialContext: f.dial, DisableCompression: true, MaxIdleConnsPerHost: 4,
		IdleConnTimeout: idleLimit, ResponseHeaderTimeout: 0, TLSNextProto: nil,
	}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: f.transport, FlushInterval: -1, ErrorLog: quiet,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { answerError(w, err) },
	}
	f.http = &http.Server{
		Handler: f, ReadHeaderTimeout: headerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader, ErrorLog: quiet,
		BaseContext: func(net.Listener) context.Context { return s.ctx },
	}
	go func() {
		defer close(f.served)
		_ = f.http.Serve(f.feed) // ends with ErrServerClosed
	}()
	return f
}

// take hands a connection to the server; false when it is over.
func (f *forwarder) take(c net.Conn) bool {
	select {
	case f.feed.conns <- c:
		return true
	case <-f.feed.closed:
		return false
	}
}

func (f *forwarder) close() {
	close(f.feed.closed)
	_ = f.http.Close() // connections are closed by the server as well
	<-f.served
	f.transport.CloseIdleConnections()
}

// ServeHTTP decides about one request.
func (f *forwarder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		f.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.Opaque != "" {
		http.Error(w, "muse: this is a proxy: a request must name an http:// URL", http.StatusBadRequest)
		return
	}
	k, err := urlKey(r)
	if err != nil {
		refuseHost(w, r.URL.Host, err)
		return
	}
	shown := *r.URL
	shown.RawQuery, shown.Fragment, shown.User = "", "", nil
	if err := f.server.admit(r.Context(), k, shown.String()); err != nil {
		answerError(w, err)
		return
	}
	// From here on the host is the one that was decided about, in the one
	// form that was compared.
	r.URL.Host, r.Host = k.hostPort(), k.hostPort()
	if k.Port == 80 {
		r.Host = hostOnly(k)
	}
	r.URL.User = nil
	r.Header.Del("Upgrade")
	f.proxy.ServeHTTP(w, r)
}

func urlKey(r *http.Request) (Key, error) {
	target := r.URL.Host
	if r.URL.Port() == "" {
		target += ":80"
	}
	k, err := parseHostPort(target)
	k.Protocol = HTTP
	return k, err
}

func hostOnly(k Key) string {
	hp := k.hostPort()
	return hp[:len(hp)-len(":80")]
}

// rewrite runs after the reverse proxy has dropped the headers that are
// between two neighbours.
func rewrite(p *httputil.ProxyRequest) {
	p.Out.URL = p.In.URL
	p.Out.Host = p.In.Host
}

// dial serves the transport. The address is one that ServeHTTP wrote.
func (f *forwarder) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	k, err := parseHostPort(addr)
	if err != nil {
		return nil, err
	}
	k.Protocol = HTTP
	return f.server.gate.connect(ctx, k)
}

// tunnel answers CONNECT.
func (f *forwarder) tunnel(w http.ResponseWriter, r *http.Request) {
	k, err := parseHostPort(r.RequestURI)
	if err != nil {
		refuseHost(w, r.RequestURI, err)
		return
	}
	k, err = f.server.admitTunnel(r.Context(), k)
	if err != nil {
		answerError(w, err)
		return
	}
	far, err := f.server.gate.connect(r.Context(), k)
	if err != nil {
		answerError(w, err)
		return
	}
	defer far.Close()
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		answerError(w, err)
		return
	}
	defer c.Close()
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	f.server.carry(k, &buffered{c, rw.Reader}, far)
}

// refuseHost answers a target that is not well formed.
func refuseHost(w http.ResponseWriter, target string, err error) {
	w.Header().Set(reviewHeader, "refused")
	http.Error(w, fmt.Sprintf("muse: connection to %q refused: %v", target, err), http.StatusForbidden)
}

// reviewHeader tells a client, and who reads its output, why it was refused.
const reviewHeader = "X-Muse-Proxy"

func answerError(w http.ResponseWriter, err error) {
	var refused *RefusedError
	var address *addressError
	code, mark := http.StatusBadGateway, "failed"
	text := fmt.Sprintf("muse: %v", err)
	switch {
	case errors.As(err, &refused) && refused.Unanswered:
		code, mark = http.StatusForbidden, "needs-review"
		text = fmt.Sprintf("muse: connection to %s refused: %s. A new host, port or protocol has to be approved first; trying again does not help.", refused.Key, refused.Reason)
	case errors.As(err, &refused):
		code, mark = http.StatusForbidden, "denied"
		text = fmt.Sprintf("muse: connection to %s refused: %s", refused.Key, refused.Reason)
	case errors.As(err, &address):
		code, mark = http.StatusForbidden, "refused"
		text = fmt.Sprintf("muse: connection refused: %v", err)
	}
	w.Header().Set(reviewHeader, mark)
	http.Error(w, text, code)
}
