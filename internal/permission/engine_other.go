package permission

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openmuse/muse/internal/permission/paths"
	"github.com/openmuse/muse/internal/permission/review"
)

// decideRead judges a read by a file tool: inside the workspace it is free but
// for secrets, outside it is an approval of its own, and what is masked stays
// closed (THREATS.md 6).
func (e *Engine) decideRead(d *Decision, a *FileRead) {
	p, rel := e.located(a.Path)
	if rule := e.pathRule("read", p, rel); rule != nil {
		d.Rule = rule
		switch rule.Effect {
		case Deny:
			d.refuse(because(rule))
			return
		case Ask:
			e.hold(d, because(rule), e.pathChoice("read", p))
			return
		}
	}
	space := &e.place.Space
	secret := space.Secret(filepath.ToSlash(p))
	inside := space.In(filepath.ToSlash(p))
	switch {
	case secret != "" && (!inside || e.masked(p)):
		d.Class = review.Sensitive
		d.refuse(secret + ": it stays closed")
	case d.Rule != nil:
		d.allow(because(d.Rule))
	case secret != "":
		d.Class = review.Sensitive
		e.hold(d, secret, e.pathChoice("read", p))
	case inside || e.cfg.Grant.Unbounded():
		d.allow("inside the workspace")
	default:
		e.hold(d, "reads outside the workspace: "+p, e.pathChoice("read", p))
	}
}

// decideWrite judges a write by a file tool. The boundary holds whatever the
// sandbox setting; protected names are refused in every spelling.
func (e *Engine) decideWrite(d *Decision, a *FileWrite) {
	p, rel := e.located(a.Path)
	if !e.cfg.Grant.MayWrite() {
		d.refuse("this session may not write files")
		return
	}
	rule := e.pathRule("write", p, rel)
	if rule != nil && rule.Effect == Deny {
		d.Rule = rule
		d.refuse(because(rule))
		return
	}
	area := e.place.Space.Write(filepath.ToSlash(p))
	switch area {
	case paths.Protected:
		d.Class, d.Protected = review.Tampering, true
		d.refuse(".git, .muse and .agents are not written by tools: " + a.Path)
		return
	case paths.Outside, paths.Unknown, paths.Device, paths.Scratch:
		d.Class = review.Tampering
		d.refuse("writes outside the workspace: " + a.Path)
		return
	}
	d.Rule = rule
	switch {
	case rule != nil && rule.Effect == Allow:
		d.allow(because(rule))
	case rule != nil:
		e.hold(d, because(rule), e.pathChoice("write", p))
	case area == paths.Guarded:
		d.Class = review.Tampering
		e.hold(d, "other programs obey this file: "+a.Path, e.pathChoice("write", p))
	case e.cfg.Grant.Mode() == OnRequest || e.cfg.Grant.Mode() == Never:
		d.Class = review.Edit
		d.allow("inside the workspace")
	default:
		d.Class = review.Edit
		e.hold(d, "writes a file: "+a.Path, e.pathChoice("write", p))
	}
}

// located gives the absolute path of a file, and its path relative to the
// workspace or "" when it lies outside.
func (e *Engine) located(p string) (abs, rel string) {
	if !filepath.IsAbs(p) {
		p = filepath.Join(e.cfg.Workspace, p)
	}
	abs = filepath.Clean(p)
	real := abs
	if !e.cfg.Lexical {
		if r, err := paths.Links(p); err == nil {
			real = r
		}
	}
	if r, err := filepath.Rel(e.cfg.Workspace, real); err == nil && filepath.IsLocal(r) {
		rel = filepath.ToSlash(r)
	}
	return real, rel
}

func (e *Engine) masked(p string) bool {
	for _, m := range e.cfg.Masks {
		if r, err := filepath.Rel(m, p); err == nil && filepath.IsLocal(r) {
			return true
		}
	}
	return false
}

func (e *Engine) pathRule(access, p, rel string) *Rule {
	match := func(r *Rule) bool { return r.matchPath(access, filepath.ToSlash(p), rel, filepath.ToSlash(e.cfg.Home)) }
	return strongest(e.cfg.Rules.decide(match), e.session.decide(match))
}

// strongest picks between the rules of two sets: deny, ask, allow.
func strongest(a, b *Rule) *Rule {
	order := func(r *Rule) int {
		switch {
		case r == nil:
			return 0
		case r.Effect == Allow:
			return 1
		case r.Effect == Ask:
			return 2
		}
		return 3
	}
	if order(b) > order(a) {
		return b
	}
	return a
}

// pathChoice allows one file for the session.
func (e *Engine) pathChoice(access, p string) Choice {
	rule := &Rule{Path: escapePattern(filepath.ToSlash(p)), Access: access, Effect: Allow}
	return Choice{
		ID: AllowSession, Label: "Allow for this session", Decision: DecisionSession, Scope: Session,
		Preview: access + " " + p, rule: rule,
	}
}

// escapePattern makes a path match only itself.
func escapePattern(p string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(p)
}

// decideTarget judges the first connection to a target (THREATS.md 5).
func (e *Engine) decideTarget(d *Decision, a *NetworkTarget) {
	g := e.cfg.Grant
	if metadata(a.Host) {
		d.refuse("addresses of machine metadata are never reached: " + a.Host)
		return
	}
	match := func(r *Rule) bool { return r.matchNetwork(*a) }
	rule := strongest(e.cfg.Rules.decide(match), e.session.decide(match))
	d.Rule = rule
	switch {
	case rule != nil && rule.Effect == Deny:
		d.refuse(because(rule))
	case g.Network() == NetworkRestricted:
		d.refuse("this session has no network")
	case rule != nil && rule.Effect == Ask:
		e.holdTarget(d, a, because(rule))
	case rule != nil:
		d.allow(because(rule))
	case g.Network() == NetworkEnabled, g.AllowsTarget(a.Key()):
		d.allow("the network is open to " + a.Key())
	case e.targets[a.Key()]:
		d.allow("allowed for this session")
	default:
		e.holdTarget(d, a, "first connection to "+a.Key())
	}
}

func (e *Engine) holdTarget(d *Decision, a *NetworkTarget, reason string) {
	choices := []Choice{{
		ID: AllowSession, Label: "Allow for this session", Decision: DecisionSession, Scope: Session, Preview: a.Key(),
	}}
	if e.cfg.Remember != nil && e.cfg.Grant.MayRemember() {
		rule := &Rule{Network: a.Key(), Effect: Allow, Scope: ScopeLocal}
		choices = append(choices, Choice{
			ID: AllowAlways, Label: "Always allow in this workspace", Decision: DecisionAmendment, Scope: LocalPersistent,
			Preview: a.Key(), rule: rule,
		})
	}
	e.hold(d, reason, choices...)
}

// metadata reports the addresses at which clouds hand credentials to whoever
// asks. No approval opens them.
func metadata(host string) bool {
	switch host {
	case "169.254.169.254", "fd00:ec2::254", "169.254.170.2", "metadata.google.internal", "100.100.100.200", "metadata":
		return true
	}
	return false
}

// decideTool judges a call that does not run in the sandbox.
func (e *Engine) decideTool(d *Decision, a *ToolCall) {
	g := e.cfg.Grant
	if !g.AllowsTool(a.Name) {
		d.refuse(fmt.Sprintf("this session has no tool %s", a.Name))
		return
	}
	rule := e.toolRule(a.Name)
	d.Rule = rule
	session := Choice{
		ID: AllowSession, Label: "Allow this tool for the session", Decision: DecisionSession, Scope: Session, Preview: "tool " + a.Name,
		rule: &Rule{Tool: escapePattern(a.Name), Effect: Allow},
	}
	switch {
	case rule != nil && rule.Effect == Deny:
		d.refuse(because(rule))
	case !g.Trusted() && strings.HasPrefix(a.Name, "mcp__") && rule == nil:
		e.hold(d, "the workspace is not trusted", session)
	case rule != nil && rule.Effect == Ask:
		e.hold(d, because(rule), session)
	case rule != nil:
		d.allow(because(rule))
	case a.ReadOnly && g.Mode() != DenyUnmatched:
		d.allow("the tool says that it only reads")
	case g.Mode() == Never && !g.Sandboxed():
		d.allow("the approval mode never asks and there is no sandbox")
	default:
		d.Class = review.External
		e.hold(d, "runs outside the sandbox: "+a.Name, session)
	}
}
