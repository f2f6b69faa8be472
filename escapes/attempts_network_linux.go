package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	network = "network proxy-only, first connection stops"
	patient = 5 * time.Second
)

func networkAttempts() []attempt {
	dial := func(kind, name string, to func(facts) string, works bool) attempt {
		return attempt{name: "network-" + name, promise: network, ws: "git", works: works, try: func(f facts) error {
			c, err := net.DialTimeout(kind, to(f), patient)
			if err != nil {
				return err
			}
			defer c.Close()
			if kind == "udp" {
				return askUDP(c)
			}
			return nil
		}}
	}
	host := func(f facts) string { return fmt.Sprintf("127.0.0.1:%d", f.Port) }
	socket := func(name string, domain, kind, proto int, works bool) attempt {
		return attempt{name: "socket-" + name, promise: processes, ws: "git", works: works, try: func(facts) error {
			_, err := unix.Socket(domain, kind, proto)
			return err
		}}
	}
	all := []attempt{
		dial("tcp", "tcp", host, true),
		dial("udp", "udp", host, true),
		dial("tcp6", "tcp6", func(f facts) string { return fmt.Sprintf("[::1]:%d", f.Port) }, false),
		dial("tcp", "outside", func(facts) string { return "192.0.2.1:80" }, false),
		dial("udp", "dns", func(facts) string { return "192.0.2.53:53" }, false),
		dial("unix", "unix-stream", func(f facts) string { return f.Stream }, true),
		dial("unixgram", "unix-datagram", func(f facts) string { return f.Datagram }, true),
		dial("unix", "unix-abstract", func(f facts) string { return "@" + f.Abstract }, true),
		dial("unix", "unix-workspace", func(facts) string { return "s.sock" }, true),
		socket("unix", unix.AF_UNIX, unix.SOCK_STREAM, 0, true),
		socket("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0, false),
		socket("packet", unix.AF_PACKET, unix.SOCK_RAW, 0, false),
		socket("raw", unix.AF_INET, unix.SOCK_RAW, 1, false),
		socket("alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, false),
		socket("audit", unix.AF_NETLINK, unix.SOCK_RAW, 9, true),
		socket("bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, false),
		{name: "socket-pair-datagram", promise: processes, ws: "git", works: true, try: func(f facts) error {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(p[0], []byte("x"), 0, &unix.SockaddrUnix{Name: f.Datagram})
		}},
		{name: "socket-pair-stream", promise: processes, ws: "git", try: func(f facts) error {
			p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			_ = unix.Close(p[1])
			return unix.Connect(p[0], &unix.SockaddrUnix{Name: f.Stream})
		}},
		{name: "network-interfaces", promise: network, ws: "git", works: false, try: func(facts) error {
			all, err := net.Interfaces()
			if err != nil {
				return err
			}
			for _, i := range all {
				if i.Flags&net.FlagLoopback == 0 {
					return nil
				}
			}
			return errors.New("only loopback")
		}},
	}
	// Through the proxy: every way to name the host's own loopback, a private
	// address, a metadata service, or two hosts at once.
	for name, target := range map[string]string{
		"loopback": "127.0.0.1:@PORT@", "hex": "0x7f.1:@PORT@", "number": "2130706433:@PORT@", "short": "127.1:@PORT@", "octal": "0177.0.0.1:@PORT@",
		"mapped": "[::ffff:127.0.0.1]:@PORT@", "six": "[::1]:@PORT@", "any": "0.0.0.0:@PORT@", "localhost": "localhost:@PORT@",
		"dot": "localhost.:@PORT@", "metadata": "169.254.169.254:80", "nat64": "[64:ff9b::7f00:1]:@PORT@", "unapproved": "example.org:443",
		"user": "example.org@127.0.0.1:@PORT@", "zone": "[fe80::1%lo]:@PORT@",
	} {
		all = append(all, attempt{name: "proxy-connect-" + name, promise: network, ws: "git", try: func(f facts) error {
			to := strings.ReplaceAll(target, "@PORT@", fmt.Sprint(f.Port))
			return viaProxy("CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n", " 200")
		}})
	}
	return append(all,
		attempt{name: "proxy-forward", promise: network, ws: "git", try: func(f facts) error {
			return viaProxy(fmt.Sprintf("GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: allowed.example\r\nConnection: close\r\n\r\n", f.Port), "HOST-SERVER")
		}},
		attempt{name: "proxy-origin-form", promise: network, ws: "git", try: func(f facts) error {
			return viaProxy(fmt.Sprintf("GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", f.Port), "HOST-SERVER")
		}},
		attempt{name: "proxy-smuggle", promise: network, ws: "git", try: func(f facts) error {
			inner := fmt.Sprintf("GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n", f.Port)
			return viaProxy(fmt.Sprintf("POST http://unapproved.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", inner), "HOST-SERVER")
		}},
		attempt{name: "proxy-socks-name", promise: network, ws: "git", try: func(f facts) error { return viaSocks("127.0.0.1", f.Port) }},
		attempt{name: "proxy-socks-nul", promise: network, ws: "git", try: func(f facts) error { return viaSocks("127.0.0.1\x00.allowed.example", f.Port) }},
		attempt{name: "proxy-socks-crlf", promise: network, ws: "git", try: func(f facts) error { return viaSocks("a\r\nHost: b", f.Port) }},
	)
}

func askUDP(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	var b [16]byte
	_, err := c.Read(b[:])
	return err
}

// viaProxy says something to the proxy; it got out when the answer holds want.
func viaProxy(say, want string) error {
	c, err := proxy()
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, say); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	first, err := r.ReadString('\n')
	if strings.HasPrefix(want, " ") && strings.Contains(first, want) {
		return nil
	}
	if !strings.HasPrefix(want, " ") {
		// All of it: a second answer may follow the first.
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		rest, _ := io.ReadAll(r) // ends by the deadline at the latest
		if strings.Contains(string(rest), want) {
			return nil
		}
	}
	return fmt.Errorf("the proxy answered %q, %v", strings.TrimSpace(first), err)
}

func proxy() (net.Conn, error) {
	addr, ok := strings.CutPrefix(os.Getenv("HTTP_PROXY"), "http://")
	if !ok {
		return nil, errors.New("no proxy")
	}
	c, err := net.DialTimeout("tcp", addr, patient)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(patient))
}

func viaSocks(name string, port int) error {
	c, err := proxy()
	if err != nil {
		return err
	}
	defer c.Close()
	say := "\x05\x01\x00\x05\x01\x00\x03" + string([]byte{byte(len(name))}) + name + string([]byte{byte(port >> 8), byte(port)})
	if _, err := io.WriteString(c, say); err != nil {
		return err
	}
	var b [12]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if b[3] != 0 {
		return fmt.Errorf("refused with %d", b[3])
	}
	return nil
}
