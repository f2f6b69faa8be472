package permission

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of custom profiles (CLI.md 7.2).
const (
	maxProfiles    = 64
	maxProfileID   = 64
	maxDescription = 255
	maxExtends     = 16
)

// Profile is a named set of the choices that make a session's permissions. A
// nil or empty field takes what the parents say.
type Profile struct {
	ID, DisplayName, Description string
	BuiltIn                      bool
	Extends                      []string
	Approval                     *Mode
	Reviewer                     *ReviewerKind
	Filesystem                   *Filesystem
	Network                      *NetworkProfile
	WorkspaceRoots               []string
	// Source is where the profile was read.
	Source string
}

// Filesystem is what files may be used.
type Filesystem struct {
	// Unrestricted switches the sandbox's boundary off; the file tools keep
	// theirs.
	Unrestricted bool
	// Access maps selectors to what is allowed: ":workspace", ":temp", a path
	// relative to the workspace, absolute, or below "~/".
	Access []PathAccess
}

// PathAccess is one entry of a profile's filesystem.
type PathAccess struct {
	Selector string
	Access   string // "read", "write", "deny"
}

// NetworkProfile is how commands reach the network.
type NetworkProfile struct {
	Mode        NetworkMode
	Targets     []string
	UnixSockets bool
}

// Built-in profiles (CLI.md 7.2). The default asks a person; the automated
// reviewer is on only where a profile says so.
const (
	ProfileReadOnly     = ":read-only"
	ProfileAskMe        = ":ask-me"
	ProfileAutoReview   = ":auto-review"
	ProfileUnrestricted = ":unrestricted"
)

// BuiltInProfiles lists the built-in profiles.
func BuiltInProfiles() []Profile {
	mode := func(m Mode) *Mode { return &m }
	who := func(r ReviewerKind) *ReviewerKind { return &r }
	return []Profile{
		{
			ID: ProfileReadOnly, DisplayName: "Read only", BuiltIn: true, Description: "Looks and never changes: no writes, no network, every other command asks.",
			Approval: mode(Untrusted), Reviewer: who(ReviewerHuman),
			Filesystem: &Filesystem{Access: []PathAccess{{":workspace", "read"}}}, Network: &NetworkProfile{Mode: NetworkRestricted},
		},
		{
			ID: ProfileAskMe, DisplayName: "Ask me", BuiltIn: true, Description: "Works in the workspace; what is dangerous asks a person.",
			Approval: mode(OnRequest), Reviewer: who(ReviewerHuman),
			Filesystem: &Filesystem{Access: []PathAccess{{":workspace", "write"}}}, Network: &NetworkProfile{Mode: NetworkProxyOnly},
		},
		{
			ID: ProfileAutoReview, DisplayName: "Auto-review", BuiltIn: true, Description: "As ask-me; an automated reviewer answers first and leaves the rest to a person.",
			Approval: mode(OnRequest), Reviewer: who(ReviewerAuto),
			Filesystem: &Filesystem{Access: []PathAccess{{":workspace", "write"}}}, Network: &NetworkProfile{Mode: NetworkProxyOnly},
		},
		{
			ID: ProfileUnrestricted, DisplayName: "Unrestricted", BuiltIn: true, Description: "Asks nothing and has no sandbox. Only for disposable places.",
			Approval: mode(Never), Reviewer: who(ReviewerNone),
			Filesystem: &Filesystem{Unrestricted: true}, Network: &NetworkProfile{Mode: NetworkEnabled},
		},
	}
}

// Profiles are the built-in ones and those of the settings.
type Profiles []Profile

// Find looks a profile up by its id.
func (ps Profiles) Find(id string) (*Profile, bool) {
	for i := range ps {
		if ps[i].ID == id {
			return &ps[i], true
		}
	}
	return nil, false
}

// IDs lists the ids.
func (ps Profiles) IDs() []string {
	out := make([]string, len(ps))
	for i := range ps {
		out[i] = ps[i].ID
	}
	return out
}

// Resolve gives a profile with everything it inherits. Of several parents the
// later one wins, and the profile itself over all of them.
func (ps Profiles) Resolve(id string) (Profile, error) {
	p, err := ps.resolve(id, nil)
	if err != nil {
		return p, err
	}
	var missing []string
	for _, m := range []struct {
		name string
		set  bool
	}{{"approval", p.Approval != nil}, {"reviewer", p.Reviewer != nil}, {"filesystem", p.Filesystem != nil}, {"network", p.Network != nil}} {
		if !m.set {
			missing = append(missing, m.name)
		}
	}
	if len(missing) > 0 {
		return p, fmt.Errorf("permission profile %q does not say %s; give it, or extend a profile that does", id, strings.Join(missing, ", "))
	}
	return p, nil
}

func (ps Profiles) resolve(id string, chain []string) (Profile, error) {
	if slices.Contains(chain, id) {
		return Profile{}, fmt.Errorf("permission profiles extend each other in a circle: %s", strings.Join(append(chain, id), " → "))
	}
	if len(chain) > maxExtends {
		return Profile{}, fmt.Errorf("permission profile %q extends more than %d profiles in a row", chain[0], maxExtends)
	}
	own, ok := ps.Find(id)
	if !ok {
		return Profile{}, fmt.Errorf("there is no permission profile %q; there are %s", id, strings.Join(ps.IDs(), ", "))
	}
	out := Profile{}
	for _, parent := range own.Extends {
		p, err := ps.resolve(parent, append(slices.Clip(chain), id))
		if err != nil {
			return Profile{}, err
		}
		out.overlay(&p)
	}
	out.overlay(own)
	out.ID, out.DisplayName, out.Description, out.BuiltIn, out.Source, out.Extends = own.ID, own.DisplayName, own.Description, own.BuiltIn, own.Source, own.Extends
	if out.DisplayName == "" {
		out.DisplayName = own.ID
	}
	return out, nil
}

// overlay takes what p says over what is there.
func (out *Profile) overlay(p *Profile) {
	if p.Approval != nil {
		out.Approval = p.Approval
	}
	if p.Reviewer != nil {
		out.Reviewer = p.Reviewer
	}
	if p.Filesystem != nil {
		merged := &Filesystem{Unrestricted: p.Filesystem.Unrestricted}
		if out.Filesystem != nil && !p.Filesystem.Unrestricted {
			// Entries add up; of the same selector the later one counts, but a
			// place that a parent closed stays closed.
			merged.Access = slices.Clone(out.Filesystem.Access)
		}
		for _, a := range p.Filesystem.Access {
			i := slices.IndexFunc(merged.Access, func(x PathAccess) bool { return x.Selector == a.Selector })
			switch {
			case i < 0:
				merged.Access = append(merged.Access, a)
			case merged.Access[i].Access != "deny":
				merged.Access[i] = a
			}
		}
		out.Filesystem = merged
	}
	if p.Network != nil {
		out.Network = p.Network
	}
	if p.WorkspaceRoots != nil {
		out.WorkspaceRoots = p.WorkspaceRoots
	}
}

// Write reports whether the profile lets the workspace be written.
func (p *Profile) Write() bool {
	if p.Filesystem == nil {
		return false
	}
	if p.Filesystem.Unrestricted {
		return true
	}
	for _, a := range p.Filesystem.Access {
		if a.Selector == ":workspace" || a.Selector == "." {
			return a.Access == "write"
		}
	}
	return false
}

// Rules are the path rules that the profile's filesystem means for file tools.
func (p *Profile) Rules() Rules {
	var out Rules
	if p.Filesystem == nil {
		return nil
	}
	for _, a := range p.Filesystem.Access {
		if strings.HasPrefix(a.Selector, ":") || a.Selector == "." {
			continue
		}
		pattern := strings.TrimPrefix(a.Selector, "./")
		rule := Rule{Path: pattern, Scope: ScopeUser, Source: "profile " + p.ID}
		switch a.Access {
		case "deny":
			rule.Effect = Deny
		case "read":
			rule.Effect, rule.Access = Deny, "write"
			out = append(out, rule)
			rule.Effect, rule.Access = Allow, "read"
		case "write":
			rule.Effect = Allow
		}
		out = append(out, rule)
	}
	return out
}

// WritableRoots are places beside the workspace that the sandbox lets commands
// write: workspace_roots, and absolute selectors with write access.
func (p *Profile) WritableRoots() []string {
	out := slices.Clone(p.WorkspaceRoots)
	if p.Filesystem == nil {
		return out
	}
	for _, a := range p.Filesystem.Access {
		if a.Access == "write" && (strings.HasPrefix(a.Selector, "/") || strings.HasPrefix(a.Selector, "~/")) && !strings.ContainsAny(a.Selector, "*?[{") {
			out = append(out, a.Selector)
		}
	}
	return out
}

// Masks are places that the sandbox closes: selectors with "deny".
func (p *Profile) Masks() []string {
	var out []string
	if p.Filesystem == nil {
		return nil
	}
	for _, a := range p.Filesystem.Access {
		if a.Access == "deny" && !strings.HasPrefix(a.Selector, ":") && !strings.ContainsAny(a.Selector, "*?[{") {
			out = append(out, a.Selector)
		}
	}
	return out
}
