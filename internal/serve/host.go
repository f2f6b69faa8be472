package serve

import (
	"context"
	"time"

	"github.com/openmuse/muse/internal/event"
)

// Command is what every state-changing call carries. The host makes it durable
// before it answers; the same id with the same digest is answered as it was
// the first time, also by another process; the same id with another digest is
// a conflict (MSP.md 5).
type Command struct {
	ID     string // UUIDv7, chosen by the client
	Method string
	Digest string // SHA-256 of the method and its params in canonical form
	Client string // clientInfo.name of the connection
}

// Host owns the sessions of one data root. Its methods may be called from
// several goroutines. A refusal is a *Refusal; every other error is a fault of
// this side.
type Host interface {
	// Start opens a new session.
	Start(ctx context.Context, c Command, r StartRequest) (Session, error)
	// Resume loads a stored session, or returns the one that is loaded.
	Resume(ctx context.Context, c Command, sessionID string) (Session, error)
	// Fork copies a session up to a turn, "" for all that is completed.
	Fork(ctx context.Context, c Command, sessionID, lastTurnID string) (Session, error)
	// SideChat opens a side session of a loaded one.
	SideChat(ctx context.Context, c Command, sessionID string) (Session, error)
	// Loaded is the session that this host has open; a Refusal of kind
	// sessionNotLoaded or sessionNotFound otherwise.
	Loaded(ctx context.Context, sessionID string) (Session, error)
	// Replay shows every event of a stored session in log order, without a
	// lease and without loading it.
	Replay(ctx context.Context, sessionID string, yield func(event.Recorded) error) (Facts, error)
	// Close cancels what runs, records the end of every session and gives the
	// leases back.
	Close(ctx context.Context) error
}

// StartRequest says what a new session is.
type StartRequest struct {
	SessionID    string // "" mints one
	Workspace    string // absolute, "" for the host's
	Provider     string // "" for the default
	Model        string
	ApprovalMode string // wire name, "" for the default
}

// Facts are what a session's row says beyond its fold.
type Facts struct {
	SessionID string
	Path      string // of the log, "" when nothing is kept
	Workspace string
	CreatedAt time.Time
	Name      string
}

// Session is one loaded session.
type Session interface {
	Facts() Facts
	// Head is the sequence of the newest recorded event.
	Head() int64
	// Watch shows every event after the sequence from, recorded ones first,
	// until ctx ends. It returns when show fails or the session is unloaded.
	Watch(ctx context.Context, from int64, show func(event.Recorded) error) error

	Submit(ctx context.Context, c Command, t TurnRequest) (TurnAck, error)
	Steer(ctx context.Context, c Command, expected string, t TurnRequest) (string, error)
	// Interrupt stops a turn, "" for the current one, and returns its id.
	Interrupt(ctx context.Context, c Command, turnID string, retract bool) (string, error)
	Cancel(ctx context.Context, c Command, turnID string) (string, error)
	Unqueue(ctx context.Context, c Command, turnID string) error

	Decide(ctx context.Context, c Command, d Decision) (terminal bool, err error)
	Settle(ctx context.Context, c Command, s Settlement) error
	// Engaged stops the timer of a user input request.
	Engaged(userInputID string)

	SetModel(ctx context.Context, c Command, provider, model string) error
	SetEffort(ctx context.Context, c Command, effort string) error
	SetApprovalMode(ctx context.Context, c Command, mode string) (changed bool, err error)
	Rename(ctx context.Context, c Command, name string) (string, error)
	// Goal carries out set, edit, clear, pause or resume, and names the turn
	// that it woke or joined.
	Goal(ctx context.Context, c Command, verb, objective string) (turnID string, err error)
	// Compact reports false and why when there was nothing to do.
	Compact(ctx context.Context, c Command, turnID string) (accepted bool, reason string, err error)
	UserShell(ctx context.Context, c Command, text string) error
	// Background and Stop act on one task; StopAll on all of them.
	Background(ctx context.Context, c Command, taskID string) error
	Stop(ctx context.Context, c Command, taskID string) error
	StopAll(ctx context.Context, c Command) error
}

// TurnRequest is a prompt.
type TurnRequest struct {
	Text        string
	DisplayText string
	Images      []Image
	IfBusy      string // "queue", "steer", "replace"
	Effort      string
}

// Image is a picture of a prompt.
type Image struct {
	MediaType string
	Data      []byte
}

// TurnAck says what became of a prompt.
type TurnAck struct {
	TurnID      string
	Disposition string // "started", "queued", "steered"
}

// Decision answers one stage of an approval.
type Decision struct {
	ApprovalID    string
	RequirementID string // approval id of the stage
	SourceIndex   int
	ChoiceID      string
	Feedback      string
}

// Settlement ends a user input request: with answers, with a clarification,
// cancelled or interrupted.
type Settlement struct {
	UserInputID   string
	Outcome       string // "answered", "cancelled", "clarified", "interrupted"
	Answers       []Answer
	Clarification string
	Reason        string
}

// Answer answers one question.
type Answer struct {
	QuestionID     string
	SelectedLabels []string
	FreeText       string
	Note           string
}
