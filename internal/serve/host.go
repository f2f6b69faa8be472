package serve

import (
	"context"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
)

// Host owns the sessions of one data root. Its methods may be called from
// several goroutines. A refusal is a *host.Refusal; every other error is a
// fault of this side.
type Host interface {
	// Start opens a new session.
	Start(ctx context.Context, c host.Command, r host.StartRequest) (Session, error)
	// Resume loads a stored session, or returns the one that is loaded.
	Resume(ctx context.Context, c host.Command, sessionID string) (Session, error)
	// Fork copies a session up to a turn, "" for all that is completed.
	Fork(ctx context.Context, c host.Command, sessionID, lastTurnID string) (Session, error)
	// SideChat opens a side session of a loaded one.
	SideChat(ctx context.Context, c host.Command, sessionID string) (Session, error)
	// Loaded is the session that this host has open; a refusal of kind
	// sessionNotLoaded or sessionNotFound otherwise.
	Loaded(sessionID string) (Session, error)
	// Stored is what can be said of a stored session without reading it: its id
	// and the path of its log.
	Stored(sessionID string) (host.Facts, error)
	// Replay shows the events of a stored session after the sequence from, in
	// log order, without a lease and without loading it.
	Replay(ctx context.Context, sessionID string, from int64, yield func(event.Recorded) error) error
	// Close cancels what runs, records the end of every session and gives the
	// leases back.
	Close(ctx context.Context) error
}

// Session is one loaded session; host.LiveSession says what each method does.
type Session interface {
	Facts() host.Facts
	Head() int64
	OpenedAt(c host.Command) int64
	Watch(ctx context.Context, from int64, show func(event.Recorded) error) error

	Submit(ctx context.Context, c host.Command, t host.TurnRequest) (host.TurnAck, error)
	Steer(ctx context.Context, c host.Command, expected string, t host.TurnRequest) (turnID string, err error)
	Interrupt(ctx context.Context, c host.Command, turnID string, retract bool) (string, error)
	Cancel(ctx context.Context, c host.Command, turnID string) (string, error)
	Unqueue(ctx context.Context, c host.Command, turnID string) error

	Decide(ctx context.Context, c host.Command, d host.Decision) (terminal bool, err error)
	Settle(ctx context.Context, c host.Command, s host.Settlement) error
	Engaged(userInputID string)

	SetModel(ctx context.Context, c host.Command, provider, model string) error
	SetEffort(ctx context.Context, c host.Command, effort string) error
	SetApprovalMode(ctx context.Context, c host.Command, mode string) (changed bool, err error)
	Rename(ctx context.Context, c host.Command, name string) (string, error)
	Goal(ctx context.Context, c host.Command, verb, objective string) (turnID string, err error)
	Compact(ctx context.Context, c host.Command, turnID string) (accepted bool, reason string, err error)
	UserShell(ctx context.Context, c host.Command, text string) error
	Background(ctx context.Context, c host.Command, taskID string) error
	Stop(ctx context.Context, c host.Command, taskID string) error
	StopAll(ctx context.Context, c host.Command) error
}
