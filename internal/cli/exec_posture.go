package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/permission"
)

// posture is what the run may do: the profile, what the flags change of it,
// and what an organisation's policy leaves of that.
type posture struct {
	permission.Posture
	profile permission.Profile
	sources permissionSources
	trusted bool
}

// resolvePosture reads the sources of permissions and settles the two layers.
// Both are on unless they were switched off in so many words.
func (r *parts) resolvePosture() error {
	o := r.opts
	sources, err := loadPermissions(r.env, r.root)
	if err != nil {
		return err
	}
	p := &posture{sources: sources, trusted: sources.trusted || o.trustWorkspace || o.yolo}
	r.posture = p
	if sources.lapsed && !p.trusted {
		r.setup.warn("this workspace is not trusted any more: " + sources.untrustedReason + "; look at them, then trust it again with muse trust add")
	}
	p.Profile = permission.ProfileAskMe
	if sources.settings.DefaultProfile != "" {
		p.Profile = sources.settings.DefaultProfile
	}
	if o.permissionProfile != "" {
		if _, ok := sources.settings.Profiles.Find(o.permissionProfile); !ok {
			return execUsage("unknown permission profile %q: there are %s", o.permissionProfile, strings.Join(sources.settings.Profiles.IDs(), ", "))
		}
		p.Profile = o.permissionProfile
		p.Asked = append(p.Asked, "profile")
	}
	if err := p.fromProfile(); err != nil {
		return err
	}
	if err := p.fromFlags(o, r.env.Getenv); err != nil {
		return err
	}
	settled, notes, err := sources.policy.Apply(p.Posture)
	if err != nil {
		return err
	}
	if settled.Profile != p.Profile {
		// The policy's fallback profile stands for all of its own values.
		p.Profile = settled.Profile
		if err := p.fromProfile(); err != nil {
			return err
		}
		settled, _, err = sources.policy.Apply(p.Posture)
		if err != nil {
			return err
		}
	}
	p.Posture = settled
	r.setup.warn(notes...)
	return nil
}

// fromProfile takes the values of the profile.
func (p *posture) fromProfile() error {
	var err error
	if p.profile, err = p.sources.settings.Profiles.Resolve(p.Profile); err != nil {
		return err
	}
	p.Mode, p.Reviewer, p.Network = *p.profile.Approval, *p.profile.Reviewer, p.profile.Network.Mode
	p.Sandboxed = !p.profile.Filesystem.Unrestricted
	return nil
}

// fromFlags takes what the command line says in so many words.
func (p *posture) fromFlags(o *execOptions, getenv func(string) string) error {
	ask := func(what string) { p.Asked = append(p.Asked, what) }
	var err error
	if o.approvalMode != "" {
		if p.Mode, err = permission.ParseMode(o.approvalMode); err != nil {
			return execUsage("%v", err)
		}
		ask("mode")
	}
	if o.disableApproval || o.yolo {
		p.Mode = permission.Never
		ask("mode")
	}
	if o.disableSandbox || o.yolo {
		p.Sandboxed = false
		ask("sandbox")
	}
	if o.sandboxNetwork != "" {
		if p.Network, err = permission.ParseNetworkMode(o.sandboxNetwork); err != nil {
			return execUsage("%v", err)
		}
		ask("network")
	}
	switch {
	case o.approvalJudge == "on":
		p.Reviewer = permission.ReviewerAuto
		ask("reviewer")
	case p.Reviewer == permission.ReviewerAuto && (o.approvalJudge == "off" || getenv("MUSE_DISABLE_APPROVAL_JUDGE") != ""):
		p.Reviewer = permission.ReviewerHuman
	}
	return nil
}

// explicitly reports whether the command line decided something.
func (p *posture) explicitly() bool { return len(p.Asked) > 0 }

// logged is the posture as the session's log names it.
func (p *posture) logged() host.Posture {
	out := host.Posture{
		Approval: p.Mode.LogName(), Reviewer: string(p.Reviewer), Sandbox: "enabled",
		Network:  strings.ReplaceAll(string(p.Network), "-", "_"),
		Profile:  host.ProfileName{ID: p.profile.ID, DisplayName: p.profile.DisplayName, Kind: "built_in"},
		Explicit: p.explicitly(), Trusted: p.trusted,
	}
	if !p.Sandboxed {
		out.Sandbox = "disabled"
	}
	if !p.profile.BuiltIn {
		out.Profile.Kind = "custom"
	}
	if slices.ContainsFunc(p.Asked, func(what string) bool { return what != "profile" }) {
		out.Profile = host.ProfileName{ID: "flags", DisplayName: "Command line over " + p.profile.ID, Kind: "flags"}
	}
	return out
}

// workspaceRoot is the real path of the workspace and how it was chosen.
func (o *execOptions) workspaceRoot(env *Env) (root, how string, err error) {
	dir, how := o.workspace, "explicit"
	if dir == "" {
		how = "cwd default"
		if dir, err = env.Getwd(); err != nil {
			return "", "", fmt.Errorf("find the current directory: %w", err)
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", fmt.Errorf("find the workspace: %w", err)
	}
	root, err = filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(root); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", root)
		}
	}
	if err == nil && !utf8.ValidString(root) {
		err = fmt.Errorf("its path %q is not valid UTF-8, and session logs are", root)
	}
	if err != nil {
		if how == "explicit" {
			return "", "", execUsage("cannot use --workspace: %v", err)
		}
		return "", "", fmt.Errorf("cannot use the current directory as the workspace: %w", err)
	}
	return root, how, nil
}
