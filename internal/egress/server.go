package egress

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server is the gate's side of one command's listener.
type Server struct {
	gate   *Gate
	origin Origin
	own    *grants

	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // client side; nil once closed
	http  *forwarder            // made for the first HTTP client
}

// Serve accepts connections on l until Close. Every one is attributed to o.
func (g *Gate) Serve(l net.Listener, o Origin) *Server {
	s := &Server{gate: g, origin: o, own: newGrants(), listener: l, conns: map[net.Conn]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Add(1)
	go s.accept()
	return s
}

// Close ends the listener and every connection, and returns when nothing of
// the server is left.
func (s *Server) Close() {
	s.cancel()
	_ = s.listener.Close() // nothing more is accepted, whatever it says
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close() // the command is over: nobody reads what is left
	}
	s.conns = nil
	h := s.http
	s.mu.Unlock()
	if h != nil {
		h.close()
	}
	s.work.Wait()
}

// maxConns bounds the connections of one command at a time.
const maxConns = 256

func (s *Server) accept() {
	defer s.work.Done()
	slots := make(chan struct{}, maxConns)
	for {
		select {
		case slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		c, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil {
				return
			}
			<-slots
			continue // a client that went away before it was accepted
		}
		if !s.track(c) {
			_ = c.Close() // too late
			return
		}
		s.work.Add(1)
		go func() {
			defer s.work.Done()
			defer func() { <-slots }()
			s.handle(c)
		}()
	}
}

func (s *Server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// headerLimit is how long a client may take to say what it wants.
const headerLimit = 30 * time.Second

// socksVersion begins a SOCKS5 dialogue; HTTP begins with a letter.
const socksVersion = 5

// handle tells the protocols apart by their first byte.
func (s *Server) handle(c net.Conn) {
	defer s.forget(c)
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(headerLimit)); err != nil {
		return
	}
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		s.socks(c, r)
		return
	}
	if first[0] < 'A' || first[0] > 'Z' {
		return // neither: a request begins with its method
	}
	done := make(chan struct{})
	if h := s.forwarder(); h != nil && h.take(&pending{buffered: buffered{c, r}, done: done}) {
		<-done
	}
}

// forwarder is the HTTP server behind the listener.
func (s *Server) forwarder() *forwarder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return nil
	}
	if s.http == nil {
		s.http = newForwarder(s)
	}
	return s.http
}

// admit decides about a connection of this command.
func (s *Server) admit(ctx context.Context, k Key, url string) error {
	return s.gate.admit(ctx, Request{Key: k, URL: url, Origin: s.origin}, s.own)
}

// admitTunnel decides about a tunnel and returns the protocol that is
// enforced in it. What was allowed as it is stands; otherwise the port says
// what to ask for.
func (s *Server) admitTunnel(ctx context.Context, k Key) (Key, error) {
	raw, tls := k, k
	raw.Protocol, tls.Protocol = TCP, HTTPS
	if s.gate.standing(raw, s.own) == yes {
		return raw, s.admit(ctx, raw, "")
	}
	if s.gate.standing(tls, s.own) == yes || k.Port == httpsPort {
		return tls, s.admit(ctx, tls, "")
	}
	return raw, s.admit(ctx, raw, "")
}

// httpsPort is where a tunnel is expected to carry TLS.
const httpsPort = 443

// pending is an accepted connection on its way to the HTTP server.
type pending struct {
	buffered
	once sync.Once
	done chan struct{} // closed with the connection
}

func (p *pending) Close() error {
	err := p.Conn.Close()
	p.once.Do(func() { close(p.done) })
	return err
}

// feed is the listener that the HTTP server accepts from.
type feed struct {
	conns  chan net.Conn
	closed chan struct{}
	addr   net.Addr
}

func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.closed:
		return nil, http.ErrServerClosed
	}
}

func (f *feed) Close() error   { return nil } // ended by forwarder.close
func (f *feed) Addr() net.Addr { return f.addr }
