package tui

import (
	"context"
	"io"
	"time"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/prompts"
	"github.com/openmuse/muse/internal/tui/screen"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/view/session"
)

// Session is one open session.
type Session interface {
	host.LiveSession
	Notes() []string
}

// Host opens sessions.
type Host interface {
	Start(ctx context.Context, c host.Command, r host.StartRequest) (Session, error)
	Resume(ctx context.Context, c host.Command, id string) (Session, error)
	Fork(ctx context.Context, c host.Command, id, lastTurnID string) (Session, error)
}

// Terminal is what the UI is drawn on and typed into.
type Terminal interface {
	io.Writer
	Events() <-chan term.Event
	Resized() <-chan struct{}
	Ended() <-chan error
	Size() (width, height int)
	// Lend gives the terminal to another program while use runs.
	Lend(use func() error) error
	Suspend() error
}

// Stored is a session of before, in a list.
type Stored struct {
	ID, Name, Title string
	Updated         time.Time
	Turns           int64
}

// Model is a model that can be chosen.
type Model struct {
	ID, Label string
	Provider  string
	Efforts   []string // nil when not known
	Current   bool
	Trains    bool // its provider trains on what it is given
}

// TrustQuestion asks whether the files of a workspace may take part.
type TrustQuestion struct {
	Files   []string // that would be loaded
	Changed []string // that differ from those that were trusted
	Decide  func(ctx context.Context, yes bool) error
}

// Options are what the UI works with. Functions that are nil are features that
// are not there: their commands are not listed.
type Options struct {
	Host      Host
	Resume    string // the session to go on with, "" starts one
	SessionID string // of a session to start, "" mints one
	// UseModel is the model that a session which is gone on with is to have, ""
	// for the one it had; UseProvider is its provider, "" for the present one.
	UseModel, UseProvider string

	PickFirst bool      // the person chooses from a list which session to go on with
	Prompt    string    // sent at once, "" for none
	Budget    Budget    // of one turn
	Images    []Picture // that go with it, or wait in the composer for a prompt
	Workspace string    // absolute
	Home      string    // shown as ~
	Version   string

	Theme   screen.Theme
	Keys    *keymap.Map
	Faults  []string // of the settings, named at the start
	History *prompts.File
	Drafts  *prompts.Drafts // what is being written, nil keeps nothing
	Views   session.Cache   // of what the logs of long sessions say
	Plain   bool            // text alone, for screen readers: Terminal is read by lines
	Verbose bool            // open every tool call

	// Stored lists the sessions of the workspace that have words in them,
	// newest first.
	Stored func(ctx context.Context, words string) ([]Stored, error)
	// Find is the id of the session with a name, or an id's beginning.
	Find func(ctx context.Context, name string) (string, error)
	// Models are those that can be chosen.
	Models func(ctx context.Context) ([]Model, error)
	// Export writes the session as a document and says where.
	Export func(ctx context.Context, sessionID, path string) (string, error)
	// Trusted says that programs may start in the workspace.
	Trusted bool
	// Diff is what the workspace's files differ in from its version control.
	Diff func(ctx context.Context) (string, error)
	// Files lists the files of the workspace, relative with slashes.
	Files func(ctx context.Context) ([]string, error)
	// Picture reads a picture; an error says why the file is none.
	Picture func(path string) (Picture, error)
	// ClipboardPicture is the picture on the clipboard.
	ClipboardPicture func(ctx context.Context) (Picture, error)
	// Sees reports whether a model takes pictures.
	Sees func(provider, model string) bool
	// Edit opens a file in the person's editor and waits for it.
	Edit func(path string) error
	// Trust is what is asked before anything of the workspace is loaded; a nil
	// question asks nothing.
	Trust func() (*TrustQuestion, error)
	// SignIn sets up a model; nil where that cannot be done.
	SignIn *SignIn
	// Rules are the rules in force, without those of the session.
	Rules func(ctx context.Context) (Rulebook, error)
	// KeptRules are those of them that answers kept, and that can be forgotten.
	KeptRules func() ([]Kept, error)
	// Explain writes out the settings in force, or those that a key names.
	Explain func(ctx context.Context, key string) (string, error)
	// NoWrite says that the agent has no tools that write files.
	NoWrite bool
	// Remarks is told when there is something to tell a person from elsewhere;
	// TakeRemarks is what it is, a line each.
	Remarks     <-chan struct{}
	TakeRemarks func() []string

	// Now is the time of day; After a timer.
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}
