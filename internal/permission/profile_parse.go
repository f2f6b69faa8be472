package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/config/jsondoc"
)

// Settings is the "permissions" object of settings.json: profiles and the
// profile to start with as in CLI.md 2.2, and our rules beside them.
type Settings struct {
	Profiles       Profiles // built-in ones first
	DefaultProfile string   // "" when the file does not say
	Rules          Rules
	// Strict switches the built-in rules for read-only commands off.
	Strict bool
}

// DefaultSettings is what holds without a file.
func DefaultSettings() Settings { return Settings{Profiles: BuiltInProfiles()} }

// ParseSettings reads the "permissions" object; nil stands for a file without
// one.
func ParseSettings(n *jsondoc.Node, file string) (Settings, error) {
	return DefaultSettings().Over(n, file)
}

// Over is s with what the "permissions" object of another file says over it:
// its default profile, its rules beside those of s, its profiles in the place
// of those with the same id. Whatever is not understood is an error: a mistake
// in a rule must not leave a door open.
func (s Settings) Over(n *jsondoc.Node, file string) (Settings, error) {
	out := s
	out.Profiles = slices.Clone(s.Profiles)
	if n == nil {
		return out, nil
	}
	if n.Kind() != '{' {
		return out, n.Mismatch("an object")
	}
	for _, m := range n.Members() {
		var err error
		switch m.Key() {
		case "schema_version":
			var v int64
			if v, err = m.Int(); err == nil && v != 1 {
				err = m.Errorf("write 1", "schema version %d is not known", v)
			}
		case "default_profile":
			out.DefaultProfile, err = m.Text()
		case "profiles":
			err = out.profiles(m, file)
		case "rules":
			var rules Rules
			rules, err = parseRules(m, file, ScopeUser)
			out.Rules = append(slices.Clip(out.Rules), rules...)
		case "read_only_rules":
			var on bool
			on, err = m.Bool()
			out.Strict = out.Strict || !on
		default:
			err = m.Errorf("remove it, or see the documentation of permissions", "unknown key %q", m.Key())
		}
		if err != nil {
			return out, err
		}
	}
	for _, p := range out.Profiles {
		if _, err := out.Profiles.Resolve(p.ID); err != nil {
			return out, fmt.Errorf("%s: %w", file, err)
		}
	}
	if out.DefaultProfile != "" {
		if _, ok := out.Profiles.Find(out.DefaultProfile); !ok {
			d := n.Get("default_profile")
			return out, d.Errorf("use one of "+strings.Join(out.Profiles.IDs(), ", "), "there is no profile %q", out.DefaultProfile)
		}
	}
	return out, nil
}

func (s *Settings) profiles(n *jsondoc.Node, file string) error {
	if n.Kind() != '{' {
		return n.Mismatch("an object of profiles by id")
	}
	if len(n.Members()) > maxProfiles {
		return n.Errorf("remove some", "more than %d profiles", maxProfiles)
	}
	for _, m := range n.Members() {
		p, err := parseProfile(m, file)
		if err != nil {
			return err
		}
		s.Profiles = slices.DeleteFunc(s.Profiles, func(old Profile) bool { return old.ID == p.ID })
		s.Profiles = append(s.Profiles, p)
	}
	return nil
}

func validProfileID(id string) bool {
	return id != "" && len(id) <= maxProfileID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func parseProfile(n *jsondoc.Node, file string) (Profile, error) {
	p := Profile{ID: n.Key(), Source: place(n, file)}
	if !validProfileID(p.ID) {
		return p, n.Errorf("use a-z, 0-9, _ and -, at most 64", "profile id %q is not valid", p.ID)
	}
	if n.Kind() != '{' {
		return p, n.Mismatch("an object")
	}
	for _, m := range n.Members() {
		var err error
		switch m.Key() {
		case "description":
			if p.Description, err = m.Text(); err == nil && len([]rune(p.Description)) > maxDescription {
				err = m.Errorf("shorten it", "longer than %d characters", maxDescription)
			}
		case "display_name":
			p.DisplayName, err = m.Text()
		case "extends":
			p.Extends, err = textOrList(m)
			if err == nil && len(p.Extends) > maxExtends {
				err = m.Errorf("extend fewer", "more than %d parents", maxExtends)
			}
		case "approval":
			var mode Mode
			if mode, err = parsed(m, ParseMode); err == nil {
				p.Approval = &mode
			}
		case "reviewer":
			var r ReviewerKind
			if r, err = parsed(m, ParseReviewer); err == nil {
				p.Reviewer = &r
			}
		case "filesystem":
			p.Filesystem, err = parseFilesystem(m)
		case "network":
			p.Network, err = parseNetwork(m)
		case "workspace_roots":
			p.WorkspaceRoots, err = textOrList(m)
		default:
			err = m.Errorf("remove it", "unknown key %q in a profile", m.Key())
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// parsed reads a string with one of this package's parsers.
func parsed[T any](n *jsondoc.Node, parse func(string) (T, error)) (T, error) {
	var zero T
	text, err := n.Text()
	if err != nil {
		return zero, err
	}
	v, err := parse(text)
	if err != nil {
		return zero, n.Errorf("", "%s", err.Error())
	}
	return v, nil
}

func textOrList(n *jsondoc.Node) ([]string, error) {
	if n.Kind() == '"' {
		s, err := n.Text()
		return []string{s}, err
	}
	if n.Kind() != '[' {
		return nil, n.Mismatch("a string or an array of strings")
	}
	out := []string{}
	for _, m := range n.Members() {
		s, err := m.Text()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func parseFilesystem(n *jsondoc.Node) (*Filesystem, error) {
	if n.Kind() == '"' {
		s, err := n.Text()
		if err == nil && s != "unrestricted" {
			err = n.Errorf(`write "unrestricted" or an object`, "unknown filesystem %q", s)
		}
		return &Filesystem{Unrestricted: true}, err
	}
	if n.Kind() != '{' {
		return nil, n.Mismatch(`"unrestricted" or an object`)
	}
	out := &Filesystem{}
	for _, m := range n.Members() {
		access, err := m.Text()
		if err != nil {
			return nil, err
		}
		switch access {
		case "read", "write", "deny":
		default:
			return nil, m.Errorf("use read, write or deny", "unknown access %q", access)
		}
		sel := m.Key()
		if sel == "" || strings.HasPrefix(sel, ":") && sel != ":workspace" && sel != ":temp" {
			return nil, m.Errorf("use :workspace, :temp or a path", "unknown selector %q", sel)
		}
		if !strings.HasPrefix(sel, ":") {
			rule := Rule{Path: strings.TrimPrefix(sel, "./"), Effect: Deny}
			if err := rule.Validate(); sel != "." && err != nil {
				return nil, m.Errorf("", "%s", err.Error())
			}
		}
		out.Access = append(out.Access, PathAccess{sel, access})
	}
	return out, nil
}

func parseNetwork(n *jsondoc.Node) (*NetworkProfile, error) {
	if n.Kind() != '{' {
		return nil, n.Mismatch("an object")
	}
	out := &NetworkProfile{Mode: NetworkProxyOnly}
	for _, m := range n.Members() {
		var err error
		switch m.Key() {
		case "mode":
			out.Mode, err = parsed(m, ParseNetworkMode)
		case "targets":
			if out.Targets, err = textOrList(m); err == nil {
				for _, t := range out.Targets {
					if _, _, _, ok := splitTarget(t); !ok || strings.Contains(t, "*") {
						err = m.Errorf("write host:port:protocol", "target %q", t)
						break
					}
				}
			}
		case "unix_sockets":
			out.UnixSockets, err = m.Bool()
		default:
			err = m.Errorf("remove it", "unknown key %q in network", m.Key())
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseRules reads a list of rules.
func parseRules(n *jsondoc.Node, file string, scope RuleScope) (Rules, error) {
	if n.Kind() != '[' {
		return nil, n.Mismatch("an array of rules")
	}
	var out Rules
	for _, m := range n.Members() {
		r, err := parseRule(m)
		if err != nil {
			return nil, err
		}
		r.Scope, r.Source = scope, place(m, file)
		if scope == ScopeProject && r.Effect == Allow {
			return nil, m.Errorf("only ask and deny belong here", "a rule of the project may not allow anything")
		}
		out = append(out, r)
	}
	return out, nil
}

func parseRule(n *jsondoc.Node) (Rule, error) {
	var r Rule
	if n.Kind() != '{' {
		return r, n.Mismatch("an object")
	}
	for _, m := range n.Members() {
		var err error
		var s string
		switch m.Key() {
		case "prefix":
			if m.Kind() != '[' {
				return r, m.Mismatch(`an array of words, as ["git", "push"]`)
			}
			r.Prefix, err = textOrList(m)
		case "exact":
			r.Exact, err = m.Bool()
		case "tool":
			r.Tool, err = m.Text()
		case "path":
			r.Path, err = m.Text()
		case "access":
			r.Access, err = m.Text()
		case "network":
			r.Network, err = m.Text()
		case "verdict", "decision":
			s, err = m.Text()
			r.Effect = Effect(s)
		case "reason":
			r.Reason, err = m.Text()
		default:
			err = m.Errorf("use prefix, exact, tool, path, access, network, verdict, reason", "unknown key %q in a rule", m.Key())
		}
		if err != nil {
			return r, err
		}
	}
	if err := r.Validate(); err != nil {
		return r, n.Errorf("", "%s", err.Error())
	}
	return r, nil
}

func place(n *jsondoc.Node, file string) string {
	line, _ := n.Pos()
	return fmt.Sprintf("%s:%d", file, line)
}
