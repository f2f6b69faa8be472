package permission

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/openmuse/muse/internal/shell"
)

// Effect is what a rule does with what it matches.
type Effect string

// The effects. Deny beats ask, ask beats allow.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// RuleScope says where a rule comes from. It decides what the rule may do.
type RuleScope string

// The scopes, from the strongest.
const (
	ScopeEnterprise RuleScope = "enterprise"
	ScopeUser       RuleScope = "user"
	ScopeLocal      RuleScope = "local"   // remembered for one workspace
	ScopeProject    RuleScope = "project" // in the repository: may only narrow
	ScopeSession    RuleScope = "session"
)

// Rule matches actions of one kind: exactly one of Prefix, Tool, Path and
// Network is set.
type Rule struct {
	// Prefix matches shell stages whose effective command begins with these
	// words. Exact also wants the same number of words.
	Prefix []string
	Exact  bool
	// Tool matches tool calls by name; "*" stands for any characters.
	Tool string
	// Path matches file accesses: a pattern relative to the workspace,
	// absolute, or below "~/". Access is "read", "write" or "" for both.
	Path, Access string
	// Network matches connections: "host:port:protocol", each of which may be
	// "*"; a host may begin with "*.".
	Network string

	Effect Effect
	Scope  RuleScope
	// Reason is shown with a decision that the rule makes.
	Reason string
	// Source is where the rule was read, "FILE:LINE".
	Source string
}

// String renders the rule in one line.
func (r *Rule) String() string {
	what := ""
	switch {
	case len(r.Prefix) > 0:
		words := make([]string, len(r.Prefix))
		for i, w := range r.Prefix {
			words[i] = shell.Quote(w)
		}
		what = strings.Join(words, " ")
		if !r.Exact {
			what += " …"
		}
	case r.Tool != "":
		what = "tool " + r.Tool
	case r.Path != "":
		what = "path " + r.Path
		if r.Access != "" {
			what = r.Access + " " + r.Path
		}
	case r.Network != "":
		what = "network " + r.Network
	}
	return string(r.Effect) + " " + what
}

// Validate reports what is wrong with a rule as it was written.
func (r *Rule) Validate() error {
	kinds := 0
	for _, set := range []bool{len(r.Prefix) > 0, r.Tool != "", r.Path != "", r.Network != ""} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("a rule has exactly one of prefix, tool, path and network")
	}
	switch r.Effect {
	case Allow, Ask, Deny:
	case "":
		return fmt.Errorf("a rule needs a verdict: allow, ask or deny")
	default:
		return fmt.Errorf("unknown verdict %q: use allow, ask or deny", r.Effect)
	}
	if r.Exact && len(r.Prefix) == 0 {
		return fmt.Errorf("exact goes with prefix")
	}
	for i, w := range r.Prefix {
		if w == "" && i == 0 || strings.IndexFunc(w, unicode.IsControl) >= 0 {
			return fmt.Errorf("word %d of the prefix is empty or holds control characters", i+1)
		}
		if i == 0 && strings.ContainsAny(w, " \t") {
			return fmt.Errorf("prefix %q: write each word of the command apart, as [\"git\", \"push\"]", w)
		}
	}
	switch r.Access {
	case "", "read", "write":
	default:
		return fmt.Errorf("unknown access %q: use read or write", r.Access)
	}
	if r.Access != "" && r.Path == "" {
		return fmt.Errorf("access goes with path")
	}
	if r.Path != "" && !doublestar.ValidatePattern(r.Path) {
		return fmt.Errorf("path %q is not a pattern", r.Path)
	}
	if r.Tool != "" {
		if _, err := path.Match(r.Tool, ""); err != nil {
			return fmt.Errorf("tool %q is not a pattern", r.Tool)
		}
	}
	if r.Network != "" {
		if _, _, _, ok := splitTarget(r.Network); !ok {
			return fmt.Errorf("network %q is not host:port:protocol", r.Network)
		}
	}
	return nil
}

// Rules is a set of rules in force, strongest scope first.
type Rules []Rule

// decide finds the rule that decides among those that match: the first deny,
// else the first ask, else the first allow. Project rules never allow.
func (rs Rules) decide(match func(*Rule) bool) *Rule {
	var ask, allow *Rule
	for i := range rs {
		r := &rs[i]
		if r.Effect == Allow && r.Scope == ScopeProject || !match(r) {
			continue
		}
		switch r.Effect {
		case Deny:
			return r
		case Ask:
			if ask == nil {
				ask = r
			}
		case Allow:
			if allow == nil {
				allow = r
			}
		}
	}
	if ask != nil {
		return ask
	}
	return allow
}

// deniesShell reports whether a deny or ask rule for shell commands exists: then
// a line that hides its commands cannot be let through unseen.
func (rs Rules) deniesShell() bool {
	for i := range rs {
		if len(rs[i].Prefix) > 0 && rs[i].Effect != Allow {
			return true
		}
	}
	return false
}

// matchTool matches a tool's name.
func (r *Rule) matchTool(name string) bool {
	if r.Tool == "" {
		return false
	}
	ok, err := path.Match(r.Tool, name)
	return err == nil && ok
}

// matchPath matches a file access. p is absolute, rel relative to the
// workspace or "" when it lies outside.
func (r *Rule) matchPath(access, p, rel, home string) bool {
	if r.Path == "" || r.Access != "" && r.Access != access {
		return false
	}
	pattern, subject := r.Path, rel
	switch {
	case strings.HasPrefix(pattern, "~/"):
		if home == "" {
			return false
		}
		pattern, subject = home+pattern[1:], p
	case strings.HasPrefix(pattern, "/"):
		subject = p
	case rel == "":
		return false
	}
	if r.Effect == Deny {
		// A deny rule must hold where the file system ignores case, too.
		pattern, subject = strings.ToLower(pattern), strings.ToLower(subject)
	}
	if doublestar.MatchUnvalidated(pattern, subject) {
		return true
	}
	// A rule for a directory covers what lies below.
	return doublestar.MatchUnvalidated(strings.TrimSuffix(pattern, "/")+"/**", subject)
}

// splitTarget takes "host:port:protocol" apart; the host may be an IPv6
// address in brackets.
func splitTarget(s string) (host, port, protocol string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", "", false
	}
	s, protocol = s[:i], s[i+1:]
	if i = strings.LastIndexByte(s, ':'); i < 0 {
		return "", "", "", false
	}
	host, port = s[:i], s[i+1:]
	return host, port, protocol, host != "" && port != "" && protocol != "" && (strings.HasPrefix(host, "[") || !strings.Contains(host, ":"))
}

// matchNetwork matches a connection.
func (r *Rule) matchNetwork(t NetworkTarget) bool {
	if r.Network == "" {
		return false
	}
	host, port, protocol, ok := splitTarget(r.Network)
	if !ok {
		return false
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	wild := strings.HasPrefix(host, "*.") && strings.HasSuffix(t.Host, host[1:])
	return (host == "*" || wild || host == t.Host) &&
		(port == "*" || port == fmt.Sprint(t.Port)) && (protocol == "*" || protocol == t.Protocol)
}
