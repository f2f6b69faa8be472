package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Protocol is how a connection is used.
type Protocol string

// The protocols.
const (
	// HTTP is a plain request that the gate makes itself.
	HTTP Protocol = "http"
	// HTTPS is a tunnel in which the gate saw a TLS client ask for the host.
	HTTPS Protocol = "https"
	// TCP is a tunnel whose content is not looked at.
	TCP Protocol = "tcp"
)

// Key is what is decided about.
type Key struct {
	Host     string // lower case, or an address in canonical form
	Port     uint16
	Protocol Protocol
}

// String is "host:port:protocol", with an IPv6 address in brackets.
func (k Key) String() string { return k.hostPort() + ":" + string(k.Protocol) }

func (k Key) hostPort() string {
	port := strconv.Itoa(int(k.Port))
	if strings.Contains(k.Host, ":") {
		return "[" + k.Host + "]:" + port
	}
	return k.Host + ":" + port
}

// ParseKey reads what String writes.
func ParseKey(s string) (Key, error) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return Key{}, fmt.Errorf("%q is not host:port:protocol", s)
	}
	p, err := parseProtocol(s[at+1:])
	if err != nil {
		return Key{}, fmt.Errorf("%q: %w", s, err)
	}
	k, err := parseHostPort(s[:at])
	if err != nil {
		return Key{}, fmt.Errorf("%q: %w", s, err)
	}
	k.Protocol = p
	return k, nil
}

func parseProtocol(s string) (Protocol, error) {
	switch p := Protocol(s); p {
	case HTTP, HTTPS, TCP:
		return p, nil
	}
	return "", fmt.Errorf("unknown protocol %q: it is http, https or tcp", s)
}

// Errors of reading a host.
var (
	errHost = errors.New("not a host name or address that the gate accepts")
	errPort = errors.New("not a port from 1 to 65535")
)

// parseHostPort reads "host:port" with no protocol yet. Nothing is made up:
// both parts must be there.
func parseHostPort(s string) (Key, error) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return Key{}, errPort
	}
	host, port := s[:at], s[at+1:]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(host, ":") {
			return Key{}, errHost
		}
	} else if strings.Contains(host, ":") {
		return Key{}, errHost
	}
	n, err := parsePort(port)
	if err != nil {
		return Key{}, err
	}
	h, err := parseHost(host)
	return Key{Host: h, Port: n}, err
}

// parsePort takes plain digits only.
func parsePort(s string) (uint16, error) {
	if s == "" || s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, errPort
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, errPort
	}
	return uint16(n), nil
}

// Limits of a host name (RFC 1035, 2.3.4).
const (
	maxName  = 253
	maxLabel = 63
)

// parseHost brings a host into the one form that is compared. Whatever some
// resolver might take for an address in another notation (0x7f.1,
// 2130706433, 127.1) is refused: a last label that begins with a digit is an
// address or nothing.
func parseHost(s string) (string, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addressHost(addr)
	}
	name := strings.TrimSuffix(lower(s), ".")
	if name == "" || len(name) > maxName {
		return "", errHost
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" || len(l) > maxLabel || l[0] == '-' || l[len(l)-1] == '-' || !nameBytes(l) {
			return "", errHost
		}
	}
	if last := labels[len(labels)-1]; last[0] >= '0' && last[0] <= '9' {
		return "", errHost
	}
	return name, nil
}

func addressHost(addr netip.Addr) (string, error) {
	if addr.Zone() != "" {
		return "", errHost
	}
	return addr.Unmap().String(), nil
}

// lower folds ASCII only: other letters are refused anyway.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func nameBytes(s string) bool {
	for _, c := range []byte(s) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
