package cli

import (
	"context"
	"net/url"
	"path/filepath"

	"github.com/openmuse/muse/internal/egress"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/sandbox"
)

// grant is what the session may do at most under an approval mode.
func (r *parts) grant(mode permission.Mode) permission.Grant {
	p, o := r.posture, r.opts
	yes := true
	// Without the tools that write, commands still may (CLI.md 1.3): what a
	// session as a whole may write is for its profile to say.
	shell, write := !o.disableShell, p.profile.Write()
	// Before trust no program starts in the workspace. Whoever switches the
	// sandbox off in so many words has said that commands are to run here;
	// what a project brings along still does not load.
	programs := p.trusted || !p.Sandboxed
	grant := permission.GrantSpec{
		Mode: &mode, Sandboxed: &p.Sandboxed, Network: &p.Network, Shell: &shell, Write: &write, Trusted: &programs,
		Targets: p.profile.Network.Targets, Root: r.root,
	}
	if p.Sandboxed {
		grant.Escalate = &yes
	}
	if r.people != nil {
		grant.Remember = &yes
	}
	return permission.RootGrant(grant)
}

// openGuard puts permission and sandbox between the tools and the machine.
func (r *parts) openGuard() error {
	p := r.posture
	home := r.setup.paths.Home
	cfg := permission.Config{
		Workspace: r.root, Home: home, Temp: "/tmp", Path: r.env.Getenv("PATH"), Grant: r.grant(p.Mode), Reviewer: p.Reviewer,
		Strict: p.sources.settings.Strict, Rules: append(p.sources.rules, p.profile.Rules()...),
		Masks:    append([]string{r.setup.paths.Config}, sandbox.DefaultMasks(home)...),
		Answerer: r.opts.answerer(),
	}
	if r.people != nil {
		cfg.Answerer = r.people.Approvals
		cfg.Remember = r.keptFile().Add
	}
	if p.Reviewer == permission.ReviewerAuto {
		cfg.Judge = permission.ModelJudge{Run: host.Reviewer{
			Provider: r.provider, Model: r.modelID, Effort: r.setup.Effort, Dir: r.session.Dir(),
		}}
	}
	var box func() (*sandbox.Session, error)
	if p.Sandboxed {
		box = r.openSandbox
	}
	var err error
	r.guard, err = r.session.Guard(cfg, box)
	return err
}

// answerer is who answers a held action where nobody watches: no one, at once;
// no one, within a time; or the end of the run.
func (o *execOptions) answerer() permission.Answerer {
	switch {
	case o.onApproval == "fail":
		return permission.FailRun{}
	case o.approvalTimeout > 0:
		return permission.WaitFor{Timeout: o.approvalTimeout}
	}
	return permission.DenyAtOnce{}
}

// openSandbox opens the boundary for the session's commands.
func (r *parts) openSandbox() (*sandbox.Session, error) {
	spec, err := defaultSandboxSpec(r.env, r.root, r.setup.Sandbox)
	if err != nil {
		return nil, err
	}
	p := r.posture
	if spec.ReadOnly = !p.profile.Write(); spec.ReadOnly {
		spec.GitWrite = false
	}
	spec.Roots = p.profile.WritableRoots()
	spec.Masks = append(spec.Masks, p.profile.Masks()...)
	spec.Network, spec.UnixSockets = sandbox.Network(p.Network), p.profile.Network.UnixSockets
	if dir := r.session.Dir(); dir != "" {
		spec.Visible = append(spec.Visible, filepath.Join(dir, "tool-outputs"))
	}
	options := egress.Options{
		Observe: func(e egress.Event) { tellEgress(r.env.Stderr, e) },
		Ask:     func(ctx context.Context, q egress.Request) egress.Answer { return r.guard.Connect(ctx, q) },
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if u, err := url.Parse(r.env.Getenv(name)); err == nil && u.Scheme == "http" && u.Host != "" {
			options.Parent = u
		}
	}
	spec.Gate = egress.New(options)
	return sandbox.Open(spec)
}
