package egress

import (
	"fmt"
	"strings"
)

// Rule matches keys.
type Rule struct {
	// Host is a host, "*.example.org" for every name below one, or "*".
	Host     string
	Port     uint16   // 0 matches every port
	Protocol Protocol // "" matches every protocol
}

// RuleFor matches one key.
func RuleFor(k Key) Rule { return Rule(k) }

// ParseRule reads "host:port:protocol", where the host may be "*.name" and
// port and protocol may be "*". A rule for every host is accepted only by
// lists that refuse (see ParseDenyRule).
func ParseRule(s string) (Rule, error) {
	r, err := parseRule(s)
	if err == nil && r.Host == "*" {
		return Rule{}, fmt.Errorf("%q allows every host", s)
	}
	return r, err
}

// ParseDenyRule is ParseRule for a list of what is never allowed: there "*"
// may stand for every host.
func ParseDenyRule(s string) (Rule, error) { return parseRule(s) }

func parseRule(s string) (Rule, error) {
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return Rule{}, fmt.Errorf("%q is not host:port:protocol", s)
	}
	rest, proto := s[:at], s[at+1:]
	var r Rule
	var err error
	if proto != "*" {
		if r.Protocol, err = parseProtocol(proto); err != nil {
			return Rule{}, fmt.Errorf("%q: %w", s, err)
		}
	}
	at = strings.LastIndexByte(rest, ':')
	if at < 0 {
		return Rule{}, fmt.Errorf("%q is not host:port:protocol", s)
	}
	host, port := rest[:at], rest[at+1:]
	if port != "*" {
		if r.Port, err = parsePort(port); err != nil {
			return Rule{}, fmt.Errorf("%q: %w", s, err)
		}
	}
	if r.Host, err = ruleHost(host); err != nil {
		return Rule{}, fmt.Errorf("%q: %w", s, err)
	}
	return r, nil
}

func ruleHost(host string) (string, error) {
	if host == "*" {
		return host, nil
	}
	if name, ok := strings.CutPrefix(host, "*."); ok {
		name, err := parseHost(name)
		if err != nil || !strings.Contains(name, ".") {
			return "", errHost // "*.org" is no rule about anybody's hosts
		}
		return "*." + name, nil
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	return parseHost(host)
}

// Match reports whether the rule is about k.
func (r Rule) Match(k Key) bool {
	if r.Port != 0 && r.Port != k.Port || r.Protocol != "" && r.Protocol != k.Protocol {
		return false
	}
	if r.Host == "*" || r.Host == k.Host {
		return true
	}
	suffix, ok := strings.CutPrefix(r.Host, "*")
	return ok && strings.HasSuffix(k.Host, suffix) && len(k.Host) > len(suffix)
}
