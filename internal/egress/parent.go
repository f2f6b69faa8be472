package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// connectThroughParent asks the host's own proxy for a tunnel. The request is
// built from the checked key; nothing of what the client sent is in it.
func (g *Gate) connectThroughParent(ctx context.Context, k Key) (net.Conn, error) {
	parent := g.opt.Parent
	if parent.Scheme != "http" {
		return nil, fmt.Errorf("the host's proxy %s is not an http proxy", parent.Redacted())
	}
	addr := parent.Host
	if parent.Port() == "" {
		addr = net.JoinHostPort(parent.Hostname(), "80")
	}
	c, err := g.opt.Dial(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("reach the host's proxy: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // wakes the reader below
	tunnel, err := openTunnel(c, k, parent.User)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close() // nothing was carried
		return nil, fmt.Errorf("open a tunnel through the host's proxy: %w", err)
	}
	return tunnel, nil
}

func openTunnel(c net.Conn, k Key, user *url.Userinfo) (net.Conn, error) {
	head := "CONNECT " + k.hostPort() + " HTTP/1.1\r\nHost: " + k.hostPort() + "\r\n"
	if user != nil {
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password(user))) + "\r\n"
	}
	if _, err := c.Write([]byte(head + "\r\n")); err != nil {
		return nil, err
	}
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close() // a tunnel's answer has none
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New("it answered " + resp.Status)
	}
	return &buffered{Conn: c, r: r}, nil
}

func password(u *url.Userinfo) string {
	p, _ := u.Password() // none is the empty one
	return p
}

// buffered is a connection of which some bytes were read ahead.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite passes a half-close on where the connection knows one.
func (b *buffered) CloseWrite() error { return closeWrite(b.Conn) }
