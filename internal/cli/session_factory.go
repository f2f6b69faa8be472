package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/wires"
	"github.com/openmuse/muse/internal/tool"
)

// factory puts together what each session of a host runs with. It implements
// host.Factory.
type factory struct {
	env  *Env
	opts *execOptions
	base *setup // for sessions that choose nothing
}

func newFactory(env *Env, opts *execOptions, base *setup) (*factory, error) {
	if opts.given == nil {
		return nil, errors.New("the command line was not read")
	}
	return &factory{env: env, opts: opts, base: base}, nil
}

var _ host.Factory = (*factory)(nil)

// plan is one session that can be opened. It implements host.Plan.
type plan struct {
	parts
	factory *factory

	mu sync.Mutex // guards closers and setup once the session is live
}

// Plan implements host.Factory.
func (f *factory) Plan(ctx context.Context, w host.Wanted) (host.Plan, error) {
	p := &plan{factory: f, parts: parts{env: f.env, opts: f.opts, root: w.Workspace}}
	var err error
	if p.setup, err = f.settings(ctx, w.Provider, w.Model); err != nil {
		return nil, refusedConfiguration(err)
	}
	if err := p.openProvider(); err != nil {
		return nil, refusedConfiguration(err)
	}
	if err := p.resolvePosture(); err != nil {
		p.release()
		return nil, refusedConfiguration(err)
	}
	mode := w.Mode
	if mode == "" && !slices.Contains(p.posture.Asked, "mode") && p.posture.sources.settings.DefaultProfile == "" {
		// Somebody is there to be asked: what no rule allows is put to them
		// (MSP.md 4).
		mode = permission.Untrusted
	}
	if mode != "" && mode != p.posture.Mode {
		if err := p.allowed(mode); err != nil {
			if w.Mode != "" {
				p.release()
				return nil, refusedConfiguration(err)
			}
		} else {
			p.posture.Mode = mode
		}
	}
	return p, nil
}

// settings resolves the settings for a model; "" leaves the choice to them.
func (f *factory) settings(ctx context.Context, providerID, model string) (*setup, error) {
	flags := f.opts.configFlags()
	if providerID == "" && model == "" && f.base.loggedOut == nil {
		return f.base, nil
	}
	if providerID != "" {
		flags.Provider = &providerID
	}
	if model != "" {
		flags.Model = &model
	}
	return newServeSetup(ctx, f.env, flags)
}

// loggedOut stands in for the model of a service that there is no key for:
// every turn ends with what is missing.
type loggedOut struct {
	id      string
	missing *config.MissingKeyError
}

// ID implements provider.Provider.
func (l loggedOut) ID() string { return l.id }

// Stream implements provider.Provider.
func (l loggedOut) Stream(context.Context, *provider.Request, func(provider.Part) error) error {
	return &provider.Error{Class: provider.Authentication, Message: "not logged in: " + l.missing.Error()}
}

// refusedConfiguration is a wrong choice of a client or of the settings as the
// host tells it.
func refusedConfiguration(err error) error {
	return &host.Refusal{Kind: host.RefusedCommand, Reason: host.ReasonConfiguration, Message: err.Error()}
}

// allowed reports why an approval mode cannot be had.
func (p *plan) allowed(mode permission.Mode) error {
	want := p.posture.Posture
	want.Mode, want.Asked = mode, append(slices.Clone(want.Asked), "mode")
	settled, _, err := p.posture.sources.policy.Apply(want)
	if err != nil {
		return err
	}
	if settled.Mode != mode {
		return fmt.Errorf("the organisation's policy does not allow approval mode %s", mode.WireName())
	}
	return nil
}

// Mode implements host.Plan.
func (p *plan) Mode() permission.Mode { return p.posture.Mode }

// Discard implements host.Plan.
func (p *plan) Discard() { p.release() }

// Equip implements host.Plan.
func (p *plan) Equip(s *host.Session, people host.People) (*host.Equipment, error) {
	p.people = &people
	if err := p.equip(s); err != nil {
		p.release()
		return nil, err
	}
	gear := &host.Equipment{
		Loop: p.loopConfig(), Guard: p.guard, Branch: p.branch, SelectModel: p.selectModel, Regrant: p.regrant,
		Background: p.tools.Background, InBackground: p.tools.InBackground, StopBackground: p.tools.StopBackground,
		Close: p.close,
	}
	if !p.opts.disableShell {
		gear.UserShell = p.userShell
	}
	return gear, nil
}

func (p *plan) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.release()
	return nil
}

// regrant is the session's grant under another approval mode.
func (p *plan) regrant(mode permission.Mode) (permission.Grant, permission.ReviewerKind, error) {
	if err := p.allowed(mode); err != nil {
		return permission.Grant{}, "", err
	}
	return p.grant(mode), p.posture.Reviewer, nil
}

// selectModel opens another model.
func (p *plan) selectModel(ctx context.Context, providerID, model string) (host.Selected, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if providerID == "" {
		providerID = p.setup.Endpoint.ID
	}
	next := &parts{env: p.env, opts: p.opts, root: p.root}
	var err error
	if next.setup, err = p.factory.settings(ctx, providerID, model); err != nil {
		return host.Selected{}, err
	}
	if next.setup.Endpoint.Wire == wires.Script && p.setup.Endpoint.Wire == wires.Script {
		// A recorded model goes on where it is, under another name.
		next.provider, next.modelID = p.provider, model
	} else if err := next.openProvider(); err != nil {
		return host.Selected{}, err
	}
	p.closers = append(p.closers, next.closers...)
	p.setup, p.provider, p.modelID = next.setup, next.provider, next.modelID
	return host.Selected{
		Provider: next.provider, Model: next.setup.model(next.modelID), Label: next.setup.label(next.modelID),
		Efforts: efforts(next.setup.ModelInfo.Efforts),
	}, nil
}

// label is a model's name for people.
func (s *setup) label(id string) string {
	if s.ModelInfo.Label != "" {
		return s.ModelInfo.Label
	}
	return id
}

// personLimit bounds a command line that a person runs beside the agent.
const personLimit = 30 * time.Minute

// userShell runs a person's command line.
func (p *plan) userShell(ctx context.Context, c tool.Call, line string) tool.Result {
	c.Name = "bash"
	p.guard.AllowPerson(c.ID, line)
	return p.tools.RunForPerson(ctx, c, line, personLimit)
}

var _ host.Plan = (*plan)(nil)

// keptFile is where answers that hold "always, in this workspace" are kept.
func (r *parts) keptFile() permission.Kept {
	return permission.Kept{Path: filepath.Join(r.setup.paths.Config, permission.KeptFile), Workspace: r.root}
}
