package tui

import (
	"context"
	_ "embed"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/text"
)

// Rulebook is everything that holds in a workspace without being said anew.
type Rulebook struct {
	// Files are the rules files that the model reads, the strongest last.
	Files []RulesFile
	// Rules are the permission rules, the strongest scope first.
	Rules []Rule
	// Notes say what is not in force and why.
	Notes []string
}

// RulesFile is one file of instructions.
type RulesFile struct {
	Path  string
	Bytes int
}

// Rule is one permission rule and where it comes from.
type Rule struct{ Text, Origin, Reason string }

// Kept is a rule that an answer kept for this workspace, and how to forget it.
type Kept struct {
	Text   string
	Forget func(context.Context) error
}

// granted notes an answer that holds for the session. Answers die with the
// process that was given them, so those of before are not in force.
func (v *conversation) granted(p *msp.ApprovalResolvedParams) {
	if p.PolicyResult != msp.ApprovalPolicyResultAllow || p.Decision != msp.ApprovalDecisionApprovedForSession {
		return
	}
	rule := "what was asked"
	if p.Amendment != nil {
		rule = p.Amendment.RulePreview
	}
	id := v.u.session.Facts().SessionID
	if v.u.grants == nil {
		v.u.grants = map[string][]string{}
	}
	v.u.grants[id] = append(v.u.grants[id], rule)
}

func (u *ui) sessionGrants() []string {
	if u.session == nil {
		return nil
	}
	return u.grants[u.session.Facts().SessionID]
}

// rules lists the rules in force, or takes some of them back.
func (u *ui) rules(words string) {
	switch words {
	case "":
		u.listRules()
	case "remove":
		u.removeRule()
	default:
		u.hint = "/rules lists them, /rules remove takes back what you kept"
	}
}

func (u *ui) listRules() {
	beside(u, u.Rules, func(b Rulebook, err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.gap("remark")
		u.out(text.Of(text.Heading, "What the agent is told").Add(text.Muted, "  later files go before earlier ones"))
		for _, f := range b.Files {
			u.out(text.Of(text.Plain, "  "+u.tilde(f.Path)).Add(text.Muted, "  "+bytesWord(f.Bytes)))
		}
		if len(b.Files) == 0 {
			u.say(text.Muted, "no rules file; /init writes one")
		}
		u.out(nil, text.Of(text.Heading, "What may run").Add(text.Muted, "  deny before ask before allow"))
		for _, r := range b.Rules {
			u.ruleRow(r)
		}
		for _, g := range u.sessionGrants() {
			u.ruleRow(Rule{Text: "allow " + g, Origin: "your answer, until this session is closed"})
		}
		if len(b.Rules)+len(u.sessionGrants()) == 0 {
			u.say(text.Muted, "no rule beside the built-in ones; muse permission rules --programs lists those")
		}
		for _, n := range b.Notes {
			u.say(text.Warn, n)
		}
		if len(u.removable()) > 0 {
			u.say(text.Muted, "/rules remove takes back what you kept")
		}
	})
}

func (u *ui) ruleRow(r Rule) {
	style := text.Plain
	switch {
	case strings.HasPrefix(r.Text, "deny "):
		style = text.Bad
	case strings.HasPrefix(r.Text, "ask "):
		style = text.Warn
	}
	line := text.Of(style, "  "+oneLine(r.Text)).Add(text.Muted, "  "+oneLine(u.tilde(r.Origin)))
	if r.Reason != "" {
		line = line.Add(text.Muted, ": "+oneLine(r.Reason))
	}
	u.out(text.Wrap(line, u.view.width(), text.Of(0, "    "))...)
}

// removable are the answers that can be taken back.
func (u *ui) removable() []pickRow {
	var rows []pickRow
	if u.KeptRules != nil {
		kept, err := u.KeptRules()
		if err != nil {
			u.fault(err)
		}
		for n, k := range kept {
			rows = append(rows, pickRow{id: strconv.Itoa(n), label: oneLine(k.Text), detail: "kept for this workspace; open sessions have it until they end"})
		}
	}
	return rows
}

func (u *ui) removeRule() {
	p := &picker{title: "Take back", rows: u.removable()}
	if len(p.rows) == 0 {
		u.hint = "no answer was kept for this workspace; one for a session ends with it"
		return
	}
	p.chosen = func(r pickRow) {
		n, err := strconv.Atoi(r.id)
		if err != nil {
			u.fault(err)
			return
		}
		kept, err := u.KeptRules()
		if err != nil || n >= len(kept) || oneLine(kept[n].Text) != r.label {
			u.hint = "the kept rules have changed meanwhile; /rules remove again"
			return
		}
		beside(u, func(ctx context.Context) (struct{}, error) { return struct{}{}, kept[n].Forget(ctx) }, func(_ struct{}, err error) {
			if err != nil {
				u.fault(err)
				return
			}
			u.say(text.Muted, "taken back: "+r.label+"; sessions that are open have it until they end")
		})
	}
	u.pick = p
}

//go:embed init.md
var initPrompt string

// initialise has the agent write AGENTS.md, in a turn like any other.
func (u *ui) initialise() {
	if u.session == nil {
		u.hint = "the session is still being opened"
		return
	}
	u.submit(outgoing{words: strings.TrimSpace(initPrompt), display: "/init"}, host.Queue)
}
