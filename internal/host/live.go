package host

import (
	"context"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/tool"
)

// Facts are what can be said of a session without reading what happened in it.
type Facts struct {
	SessionID string
	Path      string // of the log, "" when nothing is kept
	Workspace string
	CreatedAt time.Time
	Name      string
}

// Image is a picture of a prompt.
type Image struct {
	MediaType string
	Data      []byte
}

// What is done with a prompt while another turn runs.
const (
	Queue   = "queue"   // run it afterwards
	Steer   = "steer"   // hand it to the running turn at its next model call
	Replace = "replace" // stop the running turn, then run it
)

// TurnRequest is a prompt.
type TurnRequest struct {
	Text string
	// DisplayText is what people are shown in its place; "" shows Text.
	DisplayText string
	Images      []Image
	IfBusy      string // Queue, Steer or Replace; "" queues
	Effort      string // for this turn only; "" is the session's
}

// What became of a prompt.
const (
	Started = "started"
	Queued  = "queued"
	Steered = "steered"
)

// TurnAck says what became of a prompt. TurnID is the command's id, or the
// running turn's for Steered.
type TurnAck struct {
	TurnID      string `json:"turn_id"`
	Disposition string `json:"disposition"`
}

// Decision answers an approval.
type Decision struct {
	ApprovalID string
	// RequirementID and SourceIndex name the stage that is answered: it must be
	// the current one.
	RequirementID string
	SourceIndex   int
	ChoiceID      string
	Feedback      string
}

// Outcomes of user inputs (MSP.md 13, UserInputOutcome).
const (
	Answered    = "answered"
	Cancelled   = "cancelled"
	Interrupted = "interrupted"
	Clarified   = "clarified"
	TimedOut    = "timedOut"
	Aborted     = "aborted"
)

// Settlement ends a user input: with answers, with a clarification, cancelled,
// or interrupted together with its turn.
type Settlement struct {
	UserInputID   string
	Outcome       string // Answered, Cancelled, Clarified or Interrupted
	Answers       []Answer
	Clarification string
	Reason        string
}

// Answer answers one question: exactly one of SelectedLabels and FreeText is
// given.
type Answer struct {
	QuestionID string `json:"question_id"`
	// Many says that the client sent a list of labels, be it of one.
	Many           bool     `json:"many,omitempty"`
	SelectedLabels []string `json:"selected_labels,omitempty"`
	FreeText       string   `json:"free_text,omitempty"`
	Note           string   `json:"note,omitempty"`
}

// LiveSession is what a front end does with a loaded session. *Live implements
// it, with these signatures.
type LiveSession interface {
	Facts() Facts
	// Head is the sequence of the newest kept event.
	Head() int64
	// OpenedAt is the sequence of the record that answered the command which
	// opened the session: the view up to there is the view that was answered.
	OpenedAt(c Command) int64
	// Watch shows every event after the sequence from, those of the log first,
	// in order and without a gap among kept events, until ctx ends, show fails
	// or the session is unloaded (ErrClosed). A watcher that is slow loses
	// live-only events (deltas) and nothing else; memory stays bounded.
	Watch(ctx context.Context, from int64, show func(event.Recorded) error) error

	Submit(ctx context.Context, c Command, t TurnRequest) (TurnAck, error)
	// Steer hands a prompt to the running turn, which must be expected.
	Steer(ctx context.Context, c Command, expected string, t TurnRequest) (turnID string, err error)
	// Interrupt stops a turn, "" for the running one, and returns its id. With
	// retract the prompt is taken back if nothing was answered yet.
	Interrupt(ctx context.Context, c Command, turnID string, retract bool) (string, error)
	Cancel(ctx context.Context, c Command, turnID string) (string, error)
	// Unqueue takes back a prompt that waits.
	Unqueue(ctx context.Context, c Command, turnID string) error

	Decide(ctx context.Context, c Command, d Decision) (terminal bool, err error)
	Settle(ctx context.Context, c Command, s Settlement) error
	// Engaged stops the timer of a user input: somebody is typing.
	Engaged(userInputID string)

	// SetModel holds from the next model call on.
	SetModel(ctx context.Context, c Command, provider, model string) error
	// SetEffort holds for turns launched afterwards.
	SetEffort(ctx context.Context, c Command, effort string) error
	// SetApprovalMode takes a mode as the session protocol spells it; false
	// when it was in force already. It decides nothing that is pending.
	SetApprovalMode(ctx context.Context, c Command, mode string) (changed bool, err error)
	// Rename returns the name in its normal form.
	Rename(ctx context.Context, c Command, name string) (string, error)
	// Goal carries out "set", "edit", "clear", "pause" or "resume" and names
	// the turn it woke or joined, "" for none.
	Goal(ctx context.Context, c Command, verb, objective string) (turnID string, err error)
	// Compact makes the conversation shorter; false and why when there is
	// nothing to shorten.
	Compact(ctx context.Context, c Command, turnID string) (accepted bool, reason string, err error)
	// UserShell runs a person's own command line; the outcome is an event.
	UserShell(ctx context.Context, c Command, text string) error
	// Background and Stop act on one running task of a turn; StopAll on all.
	Background(ctx context.Context, c Command, taskID string) error
	Stop(ctx context.Context, c Command, taskID string) error
	StopAll(ctx context.Context, c Command) error
	// InBackground lists the commands that run while no call waits for them.
	InBackground() []tool.InBackground
	// Rewind takes the conversation back to before a turn; with files it also
	// restores the files that tools changed since. Preview says what would
	// change.
	Rewind(ctx context.Context, c Command, turnID string, files bool) (RewindReport, error)
	PreviewRewind(ctx context.Context, turnID string) (RewindReport, error)
}

// RewindReport says which files a rewind changes, or changed.
type RewindReport struct {
	TurnID string
	Files  []RewindFile
}

// RewindFile is one file of a rewind; Path is absolute.
type RewindFile struct {
	Path string
	// Action is "restore", "remove" (it did not exist before), "unchanged" or
	// "kept" (it cannot be restored, see Why).
	Action string
	Why    string
}

var _ LiveSession = (*Live)(nil)
