package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/trust"
)

// permissionSources are the rules in force for a workspace and where they come
// from.
type permissionSources struct {
	settings permission.Settings
	policy   *permission.Policy
	rules    permission.Rules
	trusted  bool
	// untrustedReason says why the project's own rules are not among them.
	untrustedReason string
	// lapsed says that somebody trusted the workspace as it was before.
	lapsed bool
}

// loadPermissions reads every source of rules. A source that cannot be read or
// understood is an error: what refuses something must not be lost in silence.
func loadPermissions(env *Env, workspace string) (permissionSources, error) {
	out := permissionSources{settings: permission.DefaultSettings()}
	var err error
	if out.policy, err = permission.ReadPolicy(env.Planes.Policy); err != nil {
		return out, err
	}
	out.rules = append(out.rules, out.policy.EnterpriseRules()...)
	defaults, err := config.ReadDefaults(env.Planes.Defaults)
	if err != nil {
		return out, err
	}
	if out.settings, err = out.settings.Over(defaults.Node("permissions"), env.Planes.Defaults); err != nil {
		return out, err
	}
	out.rules = append(out.rules, out.settings.Rules...)
	dirs, err := config.Locate(env.Getenv)
	if err != nil {
		// Without a configuration directory there is nothing of the user's.
		out.untrustedReason = err.Error()
		return out, nil
	}
	settings, err := config.ReadSettings(dirs.SettingsFile())
	if err != nil {
		return out, err
	}
	out.settings.Rules = nil
	if out.settings, err = out.settings.Over(settings.Node("permissions"), dirs.SettingsFile()); err != nil {
		return out, err
	}
	out.rules = append(out.rules, out.settings.Rules...)
	kept, err := permission.Kept{Path: filepath.Join(dirs.Config, permission.KeptFile), Workspace: workspace}.Read()
	if err != nil {
		return out, err
	}
	out.rules = append(out.rules, kept...)
	if info, err := os.Stat(workspace); err != nil || !info.IsDir() {
		out.untrustedReason = "the workspace does not exist"
		return out, nil
	}
	status, err := trust.Store{Path: dirs.TrustFile()}.Check(workspace)
	out.trusted, out.untrustedReason = status.Trusted, status.Reason
	out.lapsed = !status.Trusted && status.Decision == trust.Trusted
	if err != nil {
		// A record that cannot be read trusts nothing.
		out.trusted, out.untrustedReason = false, err.Error()
	}
	if !out.trusted || !out.policy.ProjectConfiguration() {
		return out, nil
	}
	project, err := permission.ReadProjectRules(workspace)
	if err != nil {
		return out, err
	}
	out.rules = append(out.rules, project...)
	return out, nil
}

// judgedWorkspace is the workspace that lines are judged against: the given
// one or the current directory, by its real path when it exists.
func judgedWorkspace(env *Env, given string) (dir string, exists bool, err error) {
	if given == "" {
		if given, err = env.Getwd(); err != nil {
			return "", false, fmt.Errorf("find the current directory: %w", err)
		}
	}
	if given, err = filepath.Abs(given); err != nil {
		return "", false, fmt.Errorf("find the workspace: %w", err)
	}
	if root, err := trust.Root(given); err == nil {
		return root, true, nil
	}
	return filepath.Clean(given), false, nil
}
