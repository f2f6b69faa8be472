package host

import (
	"context"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tool"
)

// Factory puts together what a session runs with: settings, model, tools,
// permission and sandbox. The host knows sessions; where these come from is
// the business of the program.
type Factory interface {
	// Plan resolves what a session is to run with, before anything on disk is
	// touched. An error is a wrong configuration, in words for a person.
	Plan(ctx context.Context, w Wanted) (Plan, error)
}

// Wanted says which session is to be put together.
type Wanted struct {
	Workspace string          // absolute, symlinks resolved
	Provider  string          // "" for the settings'
	Model     string          // "" for the settings'
	Mode      permission.Mode // "" for the settings'
}

// Plan is a session that can be opened.
type Plan interface {
	// Fill sets what the session's log says of the plan: provider, model,
	// posture, credential backend, working directory, Git.
	Fill(o *Options)
	// Mode is the approval mode the session starts with.
	Mode() permission.Mode
	// Discard gives back what was opened for a session that is not.
	Discard()
	// Equip builds tools and loop around an open session. After an error nothing
	// of the plan is left open.
	Equip(s *Session, p People) (*Equipment, error)
}

// People are who answers what a session asks.
type People struct {
	Approvals  permission.Answerer
	UserInputs tool.Asker
	// BackgroundEnd is told of commands that ended by themselves.
	BackgroundEnd func(tool.BackgroundEnd)
}

// Equipment is what a session runs with. Its functions may be called from
// several goroutines.
type Equipment struct {
	Loop  agent.Config
	Guard *Guard
	// Branch observes the workspace's version control before a turn.
	Branch func(run string) (event.WorkspaceBranch, bool)
	// SelectModel opens another model; provider "" keeps the present one.
	SelectModel func(ctx context.Context, provider, model string) (Selected, error)
	// Regrant is the session's grant under another approval mode, or why the
	// mode cannot be had.
	Regrant func(permission.Mode) (permission.Grant, permission.ReviewerKind, error)
	// Background lets a call return while its command goes on; false when it
	// cannot.
	Background func(task string) bool
	// InBackground lists the commands that run while no call waits for them, and
	// StopBackground ends them; nil where no commands run.
	InBackground   func() []tool.InBackground
	StopBackground func()
	// UserShell runs a person's command line; nil where no commands run.
	UserShell func(ctx context.Context, c tool.Call, line string) tool.Result
	// Close ends what runs in the background and removes what was temporary.
	Close func() error
}

// Selected is a model that was opened.
type Selected struct {
	Provider provider.Provider
	Model    agent.Model
	Label    string
	Efforts  []provider.Effort // nil when not known
}
