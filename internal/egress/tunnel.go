package egress

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// carry moves bytes both ways until both sides are done. In an HTTPS tunnel
// nothing reaches the far side before the client has shown that it is a TLS
// client asking for the host that was decided about.
func (s *Server) carry(k Key, client *buffered, far net.Conn) {
	first, err := s.opening(k, client)
	if err != nil {
		s.gate.observe(Event{Kind: "denied", Request: Request{Key: k, Origin: s.origin}, Reason: err.Error()})
		return
	}
	if err := client.SetDeadline(time.Time{}); err != nil {
		return
	}
	if len(first) > 0 {
		if _, err := far.Write(first); err != nil {
			return
		}
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, err := io.Copy(far, client)
		finish(far, client, err)
	})
	both.Go(func() {
		_, err := io.Copy(client, far)
		finish(client, far, err)
	})
	both.Wait()
}

// finish passes the end of one direction on. After an error there is nothing
// more to expect from either side.
func finish(to, from net.Conn, err error) {
	if err == nil && closeWrite(to) == nil {
		return
	}
	_ = errors.Join(to.Close(), from.Close()) // closing is all that is left to do
}

var errHalfClose = errors.New("the connection cannot be closed in one direction")

func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return errHalfClose
}

// errNotTLS and errName say why a tunnel was closed again.
var (
	errNotTLS = errors.New("the tunnel was to carry TLS and does not")
	errName   = errors.New("the TLS client asks for another host than the tunnel was opened to")
)

// opening reads and checks what an HTTPS client says first.
func (s *Server) opening(k Key, client *buffered) ([]byte, error) {
	if k.Protocol != HTTPS {
		return nil, nil
	}
	if err := client.SetReadDeadline(time.Now().Add(headerLimit)); err != nil {
		return nil, err
	}
	raw, name, err := readClientHello(client)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return raw, nil
	}
	if _, err := netip.ParseAddr(k.Host); err == nil || strings.TrimSuffix(lower(name), ".") != k.Host {
		return nil, errName
	}
	return raw, nil
}
