package cli

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"

	"github.com/openmuse/muse/internal/instructions"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/tui"
)

// rulebook is what holds in the workspace now. A session that is open has the
// rules with which it was opened.
func (r *tuiRun) rulebook(context.Context) (tui.Rulebook, error) {
	p := parts{env: r.env, opts: &r.opts.execOptions, setup: r.current(), root: r.root}
	if err := p.resolvePosture(); err != nil {
		return tui.Rulebook{}, err
	}
	s := p.setup
	files := instructions.Load(instructions.Options{
		Dir: r.root, ConfigDir: s.paths.Config, Home: s.paths.Home, CodexHome: s.CodexHome.V,
		Trusted: p.posture.trusted, NoForeign: !s.ForeignPersonalRules.V,
	})
	out := tui.Rulebook{Notes: files.Warnings}
	for _, b := range files.Blocks {
		out.Files = append(out.Files, tui.RulesFile{Path: b.Source, Bytes: len(b.Text)})
	}
	for _, rule := range append(p.posture.sources.rules, p.posture.profile.Rules()...) {
		origin := string(rule.Scope)
		switch rule.Scope {
		case permission.ScopeLocal:
			origin = "your answer, kept for this workspace"
		case permission.ScopeProject:
			origin = "project"
		}
		if rule.Source != "" {
			origin = s.paths.Tilde(rule.Source) + " (" + origin + ")"
		}
		out.Rules = append(out.Rules, tui.Rule{Text: rule.String(), Origin: cmp.Or(origin, "profile "+p.posture.Profile), Reason: rule.Reason})
	}
	if !p.posture.trusted {
		out.Notes = append(out.Notes, "the project's own rules are not loaded: "+p.posture.sources.untrustedReason)
	}
	return out, nil
}

// keptRules are the answers that hold "always, in this workspace".
func (r *tuiRun) keptRules() ([]tui.Kept, error) {
	kept := permission.Kept{Path: filepath.Join(r.setup.paths.Config, permission.KeptFile), Workspace: r.root}
	rules, err := kept.Read()
	if err != nil {
		return nil, err
	}
	var out []tui.Kept
	for i := range rules {
		out = append(out, tui.Kept{Text: rules[i].String(), Forget: func(ctx context.Context) error { return kept.Remove(ctx, i) }})
	}
	return out, nil
}

// explain writes out the settings in force, as `muse config explain` does.
func (r *tuiRun) explain(ctx context.Context, key string) (string, error) {
	var out bytes.Buffer
	env := *r.env
	env.Stdout = &out
	o := &r.opts.execOptions
	err := runConfigExplain(ctx, &env, configExplainOptions{
		key: key, given: o.given, provider: o.provider, model: o.model, preset: o.preset, effort: o.effort, baseURL: o.baseURL,
	})
	return out.String(), asTUIUsage(err)
}
