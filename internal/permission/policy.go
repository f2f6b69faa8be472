package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/plainfile"
)

// Policy is enterprise-policy.json: what an organisation forbids or forces, as
// data (CLI.md 2.3). It is above every other source, and it only ever narrows.
// A nil field says nothing.
type Policy struct {
	File string

	ForbidApprovalBypass, ForbidSandboxBypass bool
	ForceAgentDefinitionSafeMode              bool
	PermissionProfiles                        *Limit
	ApprovalModes                             *Limit
	ApprovalReviewers                         *Limit
	NetworkModes                              *Limit
	// ToolRules are rules of scope enterprise, for tools by name.
	ToolRules Rules
	// Rules are rules of scope enterprise of any kind; they are ours.
	Rules                                                Rules
	AllowProjectConfiguration, AllowForeignConfiguration *bool
	StopHookContinuations                                *int64

	AllowedProviders, AllowedModels []string
	ModelFallback                   string
	WebSearchOff, WebFetchOff       bool

	// Forced are the privacy switches that are forced off, by name.
	Forced []string
	// NotActive are fields that are understood and have no effect in this
	// version; status says so instead of letting an administrator believe.
	NotActive []string
}

// Limit is a set of allowed values and what is taken when a default is not in
// it.
type Limit struct {
	Allowed  []string
	Fallback string
}

// Planes are the two files of an organisation.
type Planes struct{ Defaults, Policy string }

// PlaneFiles are the places where an organisation puts its files. They belong
// to the administrator: no environment variable moves them.
func PlaneFiles(goos string, getenv func(string) string) Planes {
	dir := "/etc/muse"
	switch goos {
	case "darwin":
		dir = "/Library/Application Support/muse"
	case "windows":
		root := getenv("ProgramData")
		if root == "" {
			root = `C:\ProgramData`
		}
		dir = filepath.Join(root, "Muse")
	}
	return Planes{filepath.Join(dir, "enterprise-defaults.json"), filepath.Join(dir, "enterprise-policy.json")}
}

// ReadPolicy reads the policy file. No file is no policy; a file that cannot be
// read or understood is an error, and nothing may start then.
func ReadPolicy(path string) (*Policy, error) {
	data, err := plainfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the enterprise policy: %w", err)
	}
	return ParsePolicy(path, data)
}

// Models is what the policy says about models and personal files, for the
// resolution of settings; nil without a policy.
func (p *Policy) Models() *config.Policy {
	if p == nil {
		return nil
	}
	foreign := p.AllowForeignConfiguration == nil || *p.AllowForeignConfiguration
	return &config.Policy{
		File: p.File, AllowedProviders: p.AllowedProviders, AllowedModels: p.AllowedModels, ModelFallback: p.ModelFallback,
		ForeignPersonalRulesOff:  !foreign || slices.Contains(p.Forced, "foreign_personal_rules"),
		ForeignPersonalSkillsOff: !foreign || slices.Contains(p.Forced, "foreign_personal_skills"),
	}
}

// Posture is what flags, settings and profile ask for, before policy.
type Posture struct {
	Profile   string
	Mode      Mode
	Reviewer  ReviewerKind
	Network   NetworkMode
	Sandboxed bool
	// Asked names the values that somebody asked for in so many words ("mode",
	// "reviewer", "network", "sandbox", "profile"): policy refuses them instead
	// of replacing them.
	Asked []string
}

// Apply holds a posture against the policy. A value that was asked for and is
// not allowed is an error; a default is replaced by the fallback, and the note
// says so.
func (p *Policy) Apply(in Posture) (out Posture, notes []string, err error) {
	out = in
	if p == nil {
		return out, nil, nil
	}
	asked := func(what string) bool { return slices.Contains(in.Asked, what) }
	settle := func(what, value string, l *Limit, set func(string) error) {
		if l == nil || slices.Contains(l.Allowed, value) || err != nil {
			return
		}
		switch {
		case asked(what):
			err = fmt.Errorf("%s %q is not allowed by the enterprise policy %s; allowed: %s", what, value, p.File, strings.Join(l.Allowed, ", "))
		case l.Fallback == "":
			err = fmt.Errorf("%s %q is not allowed by the enterprise policy %s, which names no fallback", what, value, p.File)
		default:
			if err = set(l.Fallback); err == nil {
				notes = append(notes, fmt.Sprintf("%s is %s instead of %s: enterprise policy", what, l.Fallback, value))
			}
		}
	}
	if p.ForbidApprovalBypass && out.Mode == Never {
		if asked("mode") {
			return out, notes, fmt.Errorf("the enterprise policy %s forbids to run without approval", p.File)
		}
		out.Mode = OnRequest
		notes = append(notes, "the approval mode is on-request instead of never: enterprise policy")
	}
	if p.ForbidSandboxBypass && !out.Sandboxed {
		if asked("sandbox") {
			return out, notes, fmt.Errorf("the enterprise policy %s forbids to run without the sandbox", p.File)
		}
		out.Sandboxed = true
		notes = append(notes, "the sandbox stays on: enterprise policy")
	}
	settle("profile", out.Profile, p.PermissionProfiles, func(s string) error { out.Profile = s; return nil })
	settle("mode", string(out.Mode), p.ApprovalModes, func(s string) (err error) { out.Mode, err = ParseMode(s); return err })
	settle("reviewer", string(out.Reviewer), p.ApprovalReviewers, func(s string) (err error) { out.Reviewer, err = ParseReviewer(s); return err })
	settle("network", string(out.Network), p.NetworkModes, func(s string) (err error) { out.Network, err = ParseNetworkMode(s); return err })
	return out, notes, err
}

// EnterpriseRules are the policy's rules, strongest of all.
func (p *Policy) EnterpriseRules() Rules {
	if p == nil {
		return nil
	}
	return slices.Concat(p.Rules, p.ToolRules)
}

// ProjectConfiguration reports whether files of a trusted project may load.
func (p *Policy) ProjectConfiguration() bool {
	return p == nil || p.AllowProjectConfiguration == nil || *p.AllowProjectConfiguration
}
