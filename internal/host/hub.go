package host

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/journal"
)

// HubOptions say what a hub is for.
type HubOptions struct {
	DataRoot string // absolute
	// Workspace is where sessions live that name no other place; absolute.
	Workspace string
	// Ephemeral keeps nothing on disk: sessions cannot be resumed, forked or
	// renamed (MSP.md 4).
	Ephemeral bool
	Program   string // who holds the leases, in words: "muse serve"
	Build     event.Build
	Factory   Factory
	// Names is told of names that people give to sessions; nil asks nobody.
	Names Names
	// NameSessions gives sessions that nobody named a name, as people expect it
	// of a terminal UI (CLI.md 13, /name). A program that drives sessions names
	// them itself, and is told of no name that it did not give.
	NameSessions bool
	// Presence is told which sessions are open; nil tells nobody.
	Presence Presence
	Now      func() time.Time
	// After is the clock of questions that answer themselves and of idle
	// sessions; nil is time.After.
	After func(time.Duration) <-chan time.Time
	// IdleUnload is how long a session without watchers, runs and questions
	// stays loaded; 0 keeps sessions until Close.
	IdleUnload time.Duration
	// Cursor spells a place of a session's view; nil for "v:<id>:<sequence>".
	Cursor func(sessionID string, sequence int64) string
	// Closed is told that a session was unloaded in order, after its last
	// record; it may be nil. reason is "idle" or "hostShutdown".
	Closed func(sessionID, reason string, head int64)
	// OpenLog replaces the journals' files, for tests that make them fail.
	OpenLog func(path string, flag int, perm os.FileMode) (journal.File, error)
}

// Names keeps the names of sessions apart.
type Names interface {
	// Claim gives name to a session. An error is why it cannot have it.
	Claim(ctx context.Context, sessionID, name string) error
	// Automatic gives a name to a session that has none. written says that the
	// session's log has it; without it the name becomes free again.
	Automatic(ctx context.Context, sessionID string) (name AutomaticName, written func(context.Context) error, err error)
}

// AutomaticName is a name that nobody chose, as session.name.changed has it
// (seed 000, Session-level records).
type AutomaticName struct{ Name, OperationID, AuthorityID string }

// Presence tells others which sessions are open here. Its methods return at
// once; they may be called with the session's lock held.
type Presence interface {
	// Opened is told of a session that was opened; facts are its facts as they
	// are when they are asked for.
	Opened(facts func() Facts)
	// Changed is told that a turn ended or the name changed.
	Changed(Facts)
	Closed(sessionID string)
}

// Hub owns the open sessions of one data root: it opens them, holds their
// leases and closes them. It is safe for concurrent use; several front ends
// may share it. A refusal is a *Refusal; every other error is a fault of this
// side.
type Hub struct {
	opts HubOptions

	mu      sync.Mutex
	live    map[string]*Live
	opening map[string]chan struct{} // sessions that a call opens or closes
	lost    []error                  // of sessions whose log failed
	closed  bool
}

// ErrClosed is returned for work on a hub or session that was closed.
var ErrClosed = errors.New("the session host is closed")

// NewHub makes a hub. Nothing on disk is touched before a session is opened.
func NewHub(opts HubOptions) *Hub {
	if opts.After == nil {
		opts.After = time.After
	}
	return &Hub{opts: opts, live: map[string]*Live{}, opening: map[string]chan struct{}{}}
}

// StartRequest says what a new session is.
type StartRequest struct {
	SessionID    string // "" mints one
	Workspace    string // absolute; "" for the hub's
	Provider     string // "" for the default
	Model        string // "" for the default
	ApprovalMode string // as the session protocol spells it; "" for the default
}
