package egress

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
)

// SOCKS5 (RFC 1928).
const (
	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4

	socksNoAuth    = 0
	socksNoMethod  = 0xff
	socksOK        = 0
	socksFailed    = 1
	socksForbidden = 2
	socksNoCommand = 7
	socksNoType    = 8
)

// socks serves one SOCKS5 client.
func (s *Server) socks(c net.Conn, r *bufio.Reader) {
	k, code, err := readSocks(c, r)
	if err != nil {
		if code != 0 {
			_ = socksReply(c, code) // the connection ends either way
		}
		return
	}
	// The client waits without a limit of ours while somebody thinks; a
	// client that goes away is noticed when the answer is there.
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	k, err = s.admitTunnel(s.ctx, k)
	if err != nil {
		_ = socksReply(c, socksForbidden) // as above
		return
	}
	far, err := s.gate.connect(s.ctx, k)
	if err != nil {
		code := byte(socksFailed)
		var address *addressError
		if errors.As(err, &address) {
			code = socksForbidden
		}
		_ = socksReply(c, code) // as above
		return
	}
	defer far.Close()
	if socksReply(c, socksOK) != nil {
		return
	}
	s.carry(k, &buffered{c, r}, far)
}

func socksReply(c net.Conn, code byte) error {
	// The bound address is nobody's business.
	_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

var errSocks = errors.New("not a SOCKS5 request that the gate serves")

// readSocks reads greeting and request. A code other than 0 is to be
// answered.
func readSocks(c net.Conn, r *bufio.Reader) (k Key, code byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return k, 0, err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(r, methods); err != nil {
		return k, 0, err
	}
	chosen := byte(socksNoMethod)
	for _, m := range methods {
		if m == socksNoAuth {
			chosen = socksNoAuth
		}
	}
	if _, err := c.Write([]byte{socksVersion, chosen}); err != nil {
		return k, 0, err
	}
	if chosen == socksNoMethod {
		return k, 0, errSocks
	}
	var req [4]byte
	if _, err := io.ReadFull(r, req[:]); err != nil {
		return k, 0, err
	}
	if req[0] != socksVersion {
		return k, socksFailed, errSocks
	}
	if k.Host, code, err = readSocksHost(r, req[3]); err != nil {
		return k, code, err
	}
	var port [2]byte
	if _, err := io.ReadFull(r, port[:]); err != nil {
		return k, 0, err
	}
	k.Port = binary.BigEndian.Uint16(port[:])
	if req[1] != socksConnect {
		return k, socksNoCommand, errSocks
	}
	if k.Port == 0 {
		return k, socksForbidden, errPort
	}
	return k, 0, nil
}

func readSocksHost(r *bufio.Reader, kind byte) (host string, code byte, err error) {
	size := 0
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		n, err := r.ReadByte()
		if err != nil {
			return "", 0, err
		}
		size = int(n)
	default:
		return "", socksNoType, errSocks
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(r, raw); err != nil {
		return "", 0, err
	}
	if kind != socksName {
		addr, _ := netip.AddrFromSlice(raw) // 4 or 16 bytes are an address
		host, err := addressHost(addr)
		return host, socksForbidden, err
	}
	host, err = parseHost(string(raw))
	return host, socksForbidden, err
}
