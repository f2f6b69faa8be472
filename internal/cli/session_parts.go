package cli

import (
	"fmt"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/workspace"
)

// parts are what one session runs with, put together from the command line,
// the settings and the workspace. exec and serve share them.
type parts struct {
	env      *Env
	opts     *execOptions
	setup    *setup
	root     string // workspace
	posture  *posture
	guard    *host.Guard
	provider provider.Provider
	modelID  string
	work     *workspace.Workspace
	tools    *tool.Set
	session  *host.Session
	schema   *agent.OutputSchema
	people   *host.People // who answers what is asked; nil in a run that nobody watches
	closers  []func()
}

// note writes one line for people in the documented form.
func (r *parts) note(format string, args ...any) {
	fmt.Fprintf(r.env.Stderr, "muse: %s\n", oneLine(fmt.Sprintf(format, args...), 2000))
}

// Fill sets what the session's log says of its parts.
func (r *parts) Fill(o *host.Options) {
	cwd, err := r.env.Getwd()
	if err != nil {
		cwd = r.root
	}
	o.Provider, o.Model, o.Posture = r.provider.ID(), r.modelID, r.posture.logged()
	o.CredentialBackend, o.Cwd = r.setup.credentialBackend(), cwd
}

// equip builds guard and tools around an open session.
func (r *parts) equip(session *host.Session) error {
	var err error
	if r.work, err = workspace.Open(r.root); err != nil {
		return fmt.Errorf("open workspace: %w", err)
	}
	r.session = session
	if err := r.openGuard(); err != nil {
		return err
	}
	return r.openTools()
}

func (r *parts) release() {
	if r.tools != nil {
		if err := r.tools.Close(); err != nil {
			r.setup.warn(err.Error())
		}
	}
	if r.guard != nil {
		if err := r.guard.Close(); err != nil {
			r.setup.warn(err.Error())
		}
	}
	if r.work != nil {
		r.work.Close()
	}
	for _, done := range r.closers {
		done()
	}
}
