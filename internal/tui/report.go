package tui

import (
	"fmt"
	"strings"

	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/tui/text"
)

// row prints one fact.
func (u *ui) row(name, value string, style text.Style) {
	if value == "" {
		return
	}
	w, _ := u.screen.Size()
	u.out(text.Wrap(text.Pad(text.Of(text.Muted, "  "+name), 14).Add(style, value), w, text.Of(0, strings.Repeat(" ", 14)))...)
}

// status prints what holds for the session.
func (u *ui) status() {
	v := u.view
	st := v.fold.State()
	v.gap("remark")
	u.out(text.Of(text.Heading, "Status"))
	if u.session != nil {
		f := u.session.Facts()
		name := f.SessionID
		if st.Name != "" {
			name = st.Name + " (" + f.SessionID + ")"
		}
		u.row("session", name, text.Plain)
		u.row("log", u.tilde(f.Path), text.Plain)
		u.row("workspace", u.tilde(f.Workspace), text.Plain)
	}
	if b := st.Branch; b != nil && b.Branch != nil {
		u.row("branch", *b.Branch, text.Plain)
	}
	if m := st.EffectiveModel; m != nil {
		model := m.ModelID
		if m.ProviderID != nil {
			model = *m.ProviderID + "/" + model
		}
		u.row("model", model, text.Plain)
	}
	if e := st.ReasoningEffort; e != nil {
		u.row("effort", string(e.ReasoningEffort), text.Plain)
	}
	if p := v.profile; p != nil {
		mode := modeWord(v.fold.ApprovalMode().Mode)
		if mode == "" {
			mode = "allows everything"
		}
		u.row("approval", mode+", reviewer "+p.Snapshot.Reviewer, text.Plain)
		style := text.Plain
		if p.Snapshot.Sandbox == "disabled" {
			style = text.Bad
		}
		u.row("sandbox", p.Snapshot.Sandbox+", network "+strings.ReplaceAll(p.Snapshot.Network, "_", " "), style)
		u.row("profile", p.Source.DisplayName, text.Plain)
	}
	u.usageRows()
}

func (u *ui) usage() {
	u.view.gap("remark")
	u.out(text.Of(text.Heading, "Use"))
	u.usageRows()
}

func (u *ui) usageRows() {
	st := u.view.fold.State()
	t := st.TokenUsage
	line := fmt.Sprintf("%s in, %s out", count(t.PromptTokens), count(t.OutputTokens))
	if t.CacheReadTokens != nil && *t.CacheReadTokens > 0 {
		line += ", " + count(*t.CacheReadTokens) + " from the cache"
	}
	u.row("tokens", line, text.Plain)
	switch c := t.Cost; {
	case c == nil:
		u.row("cost", "the price of this model is not known", text.Muted)
	case c.Partial:
		u.row("cost", "at least "+dollars(c.USD)+": some calls have no known price", text.Plain)
	default:
		u.row("cost", dollars(c.USD), text.Plain)
	}
	if c := st.ContextUsage; c != nil {
		line := count(c.UsedTokens) + " tokens"
		if c.WindowTokens != nil && *c.WindowTokens > 0 {
			line = fmt.Sprintf("%s of %s tokens, %d%%", count(c.UsedTokens), count(*c.WindowTokens), c.UsedTokens*100 / *c.WindowTokens)
		}
		u.row("context", line, text.Plain)
	}
	u.row("turns", fmt.Sprint(u.view.turns), text.Plain)
	if t := &u.view.use; t.steps > 0 {
		line := fmt.Sprintf("%s, %s tokens", plural(t.steps, "model call", "model calls"), count(t.tokens))
		if c := t.cost(); c != "" {
			line += ", " + c
		}
		name := "last turn"
		if u.view.turn != "" {
			name = "this turn"
		}
		u.row(name, line, text.Plain)
	}
	for _, a := range u.allowances() {
		style := text.Plain
		if a.share >= nearBudget {
			style = text.Warn
		}
		u.row("budget", a.String()+" a turn", style)
	}
}

// tasks prints what runs.
func (u *ui) tasks() {
	u.view.gap("remark")
	background := u.inBackground()
	if len(u.view.open)+len(background) == 0 {
		u.say(text.Muted, "nothing runs")
		return
	}
	for _, i := range u.view.open {
		u.out(u.view.callLine(i)...)
	}
	for _, c := range background {
		u.say(text.Plain, "& "+oneLine(c.Command)+"  "+spent(u.Now().Sub(c.Began))+" in the background")
	}
	u.say(text.Muted, "/stop ends all of it")
}

// inBackground are the commands that run while no call waits for them.
func (u *ui) inBackground() []tool.InBackground {
	if u.session == nil {
		return nil
	}
	return u.session.InBackground()
}
