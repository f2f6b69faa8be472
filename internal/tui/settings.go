package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/tui/screen"
	"github.com/openmuse/muse/internal/tui/text"
)

func (u *ui) model(words string) {
	if words != "" {
		// An id may be named with its provider, as /status shows it; ids have
		// slashes of their own.
		beside(u, func(ctx context.Context) ([]Model, error) {
			if u.Models == nil || !strings.Contains(words, "/") {
				return nil, nil
			}
			return u.Models(ctx)
		}, func(all []Model, err error) {
			provider, id, _ := strings.Cut(words, "/")
			if err == nil && slices.ContainsFunc(all, func(m Model) bool { return m.Provider == provider }) {
				u.setModelOf(provider, id)
				return
			}
			u.setModel(words)
		})
		return
	}
	if u.Models == nil {
		u.hint = "/model ID chooses a model"
		return
	}
	beside(u, u.Models, func(all []Model, err error) {
		if err != nil {
			u.fault(err)
			return
		}
		p := &picker{title: "Model"}
		p.chosen = func(r pickRow) {
			i := slices.IndexFunc(all, func(m Model) bool { return m.Provider+" "+m.ID == r.id })
			u.setModelOf(all[i].Provider, all[i].ID)
		}
		current := u.view.fold.State().EffectiveModel
		several := slices.ContainsFunc(all, func(m Model) bool { return m.Provider != all[0].Provider })
		for _, m := range all {
			r := pickRow{id: m.Provider + " " + m.ID, label: m.Label}
			if m.Label != m.ID {
				r.detail = m.ID
			}
			if several {
				r.detail = strings.TrimSpace(r.detail + "  " + m.Provider)
			}
			if current != nil && current.ModelID == m.ID && (current.ProviderID == nil || *current.ProviderID == m.Provider) {
				r.detail += "  in use"
				p.at = len(p.rows)
			}
			if m.Trains {
				r.detail, r.warn = r.detail+"  trains on what it is given", true
			}
			p.rows = append(p.rows, r)
		}
		u.pick = p
	})
}

func (u *ui) setModel(id string) { u.setModelOf("", id) }

func (u *ui) setModelOf(provider, id string) {
	u.send(msp.MethodSessionSetModel, func(command string) any {
		return msp.SessionSetModelParams{
			SessionID: u.session.Facts().SessionID, CommandID: command, Model: msp.ModelSelection{ModelID: id, ProviderID: provider},
		}
	}, func(ctx context.Context, s Session, c host.Command) error { return s.SetModel(ctx, c, provider, id) }, func(err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.remark(text.Muted, "model: "+id)
	})
}

func (u *ui) effort(words string) {
	levels := []string{"minimal", "low", "medium", "high", "xhigh", "max"}
	known := slices.Concat([]string{"none"}, levels, []string{"ultra"}) // what --reasoning-effort takes; the list offers the usual ones
	set := func(level string) {
		u.send(msp.MethodSessionSetReasoningEffort, func(id string) any {
			return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id, "reasoningEffort": level}
		}, func(ctx context.Context, s Session, c host.Command) error { return s.SetEffort(ctx, c, level) }, func(err error) {
			if err != nil {
				u.fault(err)
				return
			}
			u.view.remark(text.Muted, "effort: "+level+", from the next turn on")
		})
	}
	if words != "" {
		if !slices.Contains(known, words) {
			u.hint = fmt.Sprintf("there is no effort %q: there are %s", words, strings.Join(known, ", "))
			return
		}
		set(words)
		return
	}
	p := &picker{title: "Effort", chosen: func(r pickRow) {
		if r.id != "" {
			set(r.id)
		}
	}}
	e := u.view.fold.State().ReasoningEffort
	if e == nil {
		p.rows = append(p.rows, pickRow{label: "the model's own", detail: "in use"})
	}
	for _, l := range levels {
		r := pickRow{id: l, label: l}
		if e != nil && string(e.ReasoningEffort) == l {
			r.detail, p.at = "in use", len(p.rows)
		}
		p.rows = append(p.rows, r)
	}
	u.pick = p
}

// modes are the approval modes with what they mean.
func modes() []pickRow {
	return []pickRow{
		{id: string(msp.ApprovalModePromptUnmatched), label: "ask first", detail: "what no rule allows is put to you"},
		{id: string(msp.ApprovalModeOnRequest), label: "ask when needed", detail: "in the sandbox things run; what leaves it is put to you"},
		{id: string(msp.ApprovalModeDenyUnmatched), label: "deny the unknown", detail: "what no rule allows is refused"},
		{id: string(msp.ApprovalModeAllowAll), label: "allow everything", detail: "you are not asked", warn: true},
	}
}

func (u *ui) permissions(words string) {
	if words != "" {
		i := slices.IndexFunc(modes(), func(r pickRow) bool { return r.id == words || r.label == words })
		if i < 0 {
			u.hint = "the modes are ask first, ask when needed, deny the unknown, allow everything"
			return
		}
		u.chooseMode(modes()[i])
		return
	}
	p := &picker{title: "When are you asked?", rows: modes(), chosen: u.chooseMode}
	for n := range p.rows {
		if p.rows[n].id == string(u.view.fold.ApprovalMode().Mode) {
			p.rows[n].detail += "  in use"
			p.at = n
		}
	}
	u.pick = p
}

// chooseMode sets an approval mode; one without questions is asked about.
func (u *ui) chooseMode(r pickRow) {
	if r.id != string(msp.ApprovalModeAllowAll) {
		u.setMode(r.id, r.label)
		return
	}
	u.confirm = &confirmation{
		lines: []text.Line{
			text.Of(text.Bad|text.Bold, "Allow everything without asking?"),
			text.Of(text.Plain, "  Every action runs unless a rule denies it. The sandbox, where it is on, stays on."),
		},
		yes: func() { u.setMode(r.id, r.label) },
	}
}

func (u *ui) setMode(mode, label string) {
	u.send(msp.MethodSessionSetApprovalMode, func(id string) any {
		return map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id, "mode": mode}
	}, func(ctx context.Context, s Session, c host.Command) error {
		_, err := s.SetApprovalMode(ctx, c, mode)
		return err
	}, func(err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.remark(text.Muted, "approval: "+label)
	})
}

// nextMode goes through the modes that ask or deny.
func (u *ui) nextMode() {
	all := modes()[:3]
	i := slices.IndexFunc(all, func(r pickRow) bool { return r.id == string(u.view.fold.ApprovalMode().Mode) })
	next := all[(i+1)%len(all)]
	u.setMode(next.id, next.label)
}

func (u *ui) theme(words string) {
	set := func(name string) {
		t, err := screen.NewTheme(name)
		if err != nil {
			u.hint = err.Error()
			return
		}
		u.screen.SetTheme(t)
		u.say(text.Muted, `theme: `+name+`; "tui": {"theme": "`+name+`"} in settings.json keeps it`)
	}
	if words != "" {
		set(words)
		return
	}
	p := &picker{title: "Theme", chosen: func(r pickRow) { set(r.id) }}
	for n, name := range screen.Themes() {
		if name == u.screen.Theme().Name {
			p.at = n
		}
		p.rows = append(p.rows, pickRow{id: name, label: name})
	}
	u.pick = p
}

// explain prints the settings in force, or one of them.
func (u *ui) explain(key string) {
	beside(u, func(ctx context.Context) (string, error) { return u.Explain(ctx, key) }, func(all string, err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.gap("remark")
		for _, l := range text.Lines(text.Plain, strings.TrimRight(all, "\n")) {
			u.out(text.Wrap(append(text.Of(0, "  "), l...), u.view.width(), text.Of(0, "    "))...)
		}
	})
}

func (u *ui) goal(words string) {
	verb, objective, _ := strings.Cut(words, " ")
	switch verb {
	case "":
		if g := u.view.fold.Goal(); g != nil {
			u.say(text.Plain, fmt.Sprintf("goal: %s (%s)", g.Objective, g.Status))
		} else {
			u.say(text.Muted, "no goal; /goal set TEXT sets one")
		}
		return
	case "set", "edit":
		if strings.TrimSpace(objective) == "" {
			u.hint = "/goal " + verb + " TEXT"
			return
		}
	case "clear", "pause", "resume":
		objective = ""
	default:
		verb, objective = "set", words
	}
	u.send("goal/"+verb, func(id string) any {
		p := map[string]any{"sessionId": u.session.Facts().SessionID, "commandId": id}
		if objective != "" {
			p["objective"] = objective
		}
		return p
	}, func(ctx context.Context, s Session, c host.Command) error {
		_, err := s.Goal(ctx, c, verb, objective)
		return err
	}, func(err error) {
		if err != nil {
			u.fault(err)
			return
		}
		u.view.remark(text.Muted, "goal: "+verb)
	})
}
