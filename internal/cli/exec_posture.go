package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/host"
)

// posture is the two layers as the flags set them. Both are on unless they
// were switched off in so many words; --yolo is the one word for all of it.
func (o *execOptions) posture(trusted bool) host.Posture {
	p := host.Posture{
		Approval: "on_request", Reviewer: "none", Sandbox: "enabled", Network: "proxy_only",
		Profile: host.ProfileName{ID: ":ask-me", DisplayName: "Ask me", Kind: "built_in"},
		Trusted: trusted,
	}
	switch {
	case o.yolo || o.disableApproval:
		p.Approval = "never"
	case o.approvalMode != "":
		p.Approval = map[string]string{"untrusted": "untrusted", "on-request": "on_request", "never": "never"}[o.approvalMode]
	}
	if o.yolo || o.disableSandbox {
		p.Sandbox = "disabled"
	}
	if o.sandboxNetwork != "" {
		p.Network = map[string]string{"restricted": "restricted", "enabled": "enabled", "proxy-only": "proxy_only"}[o.sandboxNetwork]
	}
	if o.yolo || o.disableApproval || o.disableSandbox || o.approvalMode != "" || o.sandboxNetwork != "" {
		p.Explicit = true
		p.Profile = host.ProfileName{ID: "flags", DisplayName: "Command line", Kind: "flags"}
	}
	return p
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
	if err != nil {
		if how == "explicit" {
			return "", "", execUsage("cannot use --workspace: %v", err)
		}
		return "", "", fmt.Errorf("cannot use the current directory as the workspace: %w", err)
	}
	return root, how, nil
}
