package host

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
)

// SetModel holds from the next model call on. provider "" keeps the present
// one.
func (l *Live) SetModel(ctx context.Context, c Command, providerID, model string) error {
	if model == "" {
		return badParams("the model has no name")
	}
	_, err := command(ctx, l, c, nil, func() (none, error) {
		previous := l.route()
		l.mu.Unlock()
		selected, err := l.gear.SelectModel(ctx, providerID, model)
		l.mu.Lock()
		if err != nil {
			if ctx.Err() != nil {
				return none{}, refuse(ReasonModelRefused, "the client went away while the model was looked for")
			}
			return none{}, l.unserved(c, providerID, model, err)
		}
		l.settings.Provider, l.settings.Model, l.label = selected.Provider, selected.Model, selected.Label
		if l.turn != nil {
			l.turn.inbox.use(l.settings)
		}
		change := event.ModelReconfigured{
			ApplyOutcome: "completed", CommandID: c.ID, Effective: l.route(), Previous: previous, Source: "user",
		}
		if change.Effective == change.Previous {
			change.ApplyOutcome = "noop"
		}
		return none{}, l.fact(change)
	})
	return err
}

// unserved records that a model has no provider here and refuses it.
func (l *Live) unserved(c Command, providerID, model string, cause error) error {
	if err := l.fact(event.ModelRouteUnserved{
		CommandID: c.ID, InstalledProviderID: l.settings.Provider.ID(), ModelID: model, ProviderID: providerID,
	}); err != nil {
		return err
	}
	return refuse(ReasonModelRefused, "model %s cannot be used: %v", oneLine(model, 80), cause)
}

func (l *Live) route() event.ModelRoute {
	label := l.label
	if label == "" {
		label = l.settings.Model.ID
	}
	return event.ModelRoute{DisplayLabel: label, ModelID: l.settings.Model.ID, ProviderID: l.settings.Provider.ID()}
}

// SetEffort holds for turns launched afterwards.
func (l *Live) SetEffort(ctx context.Context, c Command, effort string) error {
	_, err := command(ctx, l, c, nil, func() (none, error) {
		l.settings.Effort = provider.Effort(effort)
		return none{}, l.fact(event.EffortChanged{CommandID: c.ID, Effort: effort, Source: "user"})
	})
	return err
}

type modeChanged struct {
	Changed bool `json:"changed"`
}

// SetApprovalMode takes a mode as the session protocol spells it; false when
// it was in force already. It decides nothing that is pending.
func (l *Live) SetApprovalMode(ctx context.Context, c Command, wire string) (changed bool, err error) {
	mode, err := permission.ParseMode(wire)
	if err != nil || mode.WireName() != wire {
		return false, badParams("mode: %q is no approval mode", oneLine(wire, 40))
	}
	out, err := command(ctx, l, c, nil, func() (modeChanged, error) {
		st := l.s.state
		st.mu.Lock()
		present := st.mode
		st.mu.Unlock()
		if present == wire {
			return modeChanged{}, nil
		}
		if l.hub.opts.Ephemeral && !within(wire, l.mode) {
			return modeChanged{}, refuse(ReasonModeCeiling, "mode %s is above the approval-mode ceiling %s of this host", wire, l.mode)
		}
		grant, reviewer, err := l.gear.Regrant(mode)
		if err != nil {
			return modeChanged{}, refuse(ReasonModeDisallowed, "mode %s: %v", wire, err)
		}
		if err := l.gear.Guard.SetMode(grant, reviewer); err != nil {
			return modeChanged{}, refuse(ReasonModeDisallowed, "mode %s: %v", wire, err)
		}
		l.s.opts.Posture.Approval, l.s.opts.Posture.Explicit = mode.LogName(), true
		for _, body := range []event.Body{
			event.ApprovalModeChanged{ClientName: c.Client, CommandID: c.ID, Mode: wire, Source: "approvalReconfigure"},
			l.s.opts.Posture.securityMode(),
		} {
			if err := l.fact(body); err != nil {
				return modeChanged{}, err
			}
		}
		return modeChanged{Changed: true}, nil
	})
	return out.Changed, err
}

// within reports whether a mode lets nothing pass that the ceiling does not.
// onRequest cannot be compared with the others (MSP.md 4).
func within(mode, ceiling string) bool {
	if mode == ceiling {
		return true
	}
	order := map[string]int{"denyUnmatched": 1, "promptUnmatched": 2, "allowAll": 3}
	return order[mode] != 0 && order[ceiling] != 0 && order[mode] <= order[ceiling]
}

// The bounds of a name (CLI.md 13).
const (
	minName = 3
	maxName = 32
)

// normalName is a name in its normal form: spaces at the ends gone, those
// inside single.
func normalName(name string) (string, error) {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) && !unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
	}) {
		return "", badParams("a name has letters, digits, marks and spaces only")
	}
	name = strings.Join(strings.Fields(name), " ")
	if n := utf8.RuneCountInString(name); n < minName || n > maxName {
		return "", badParams("a name has %d to %d characters", minName, maxName)
	}
	return name, nil
}

type renamed struct {
	Name string `json:"name"`
}

// Rename gives the session a name and returns it in its normal form.
func (l *Live) Rename(ctx context.Context, c Command, name string) (string, error) {
	if l.hub.opts.Ephemeral {
		return "", notOnEphemeral("session/rename")
	}
	name, err := normalName(name)
	if err != nil {
		return "", err
	}
	out, err := command(ctx, l, c, nil, func() (renamed, error) {
		if names := l.hub.opts.Names; names != nil {
			if err := names.Claim(ctx, l.s.id, name); err != nil {
				return renamed{}, refuse(ReasonNameTaken, "the session cannot have this name: %v", err)
			}
		}
		l.s.state.mu.Lock()
		previous := l.s.state.name
		l.s.state.mu.Unlock()
		err := l.fact(event.NameChanged{
			NewName: name, OperationID: c.ID, PreviousName: previous, SessionID: l.s.id, Source: "user",
		})
		l.changed()
		return renamed{name}, err
	})
	return out.Name, err
}

func notOnEphemeral(method string) *Refusal {
	return &Refusal{Kind: MethodNotAvailable, Message: fmt.Sprintf("%s is not served by a host that keeps nothing", method)}
}
