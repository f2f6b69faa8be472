package host

import (
	"fmt"
	"strings"
)

// Command is what every state-changing call of a front end carries. It is
// durable before it is answered. The same id with the same digest is answered
// as it was the first time, also by another process; the same id with another
// digest is a conflict (MSP.md 5).
type Command struct {
	ID     string // UUIDv7, chosen by the client
	Method string
	Digest string // of the method and its parameters in canonical form
	Client string // who sent it, for people
	// ClientTitle and ClientVersion are what it says of itself beside its name.
	ClientTitle, ClientVersion string
}

// Refusal is an answer that says no. It is durable like an acceptance: the
// same command gets the same refusal again. Kind is an error kind of MSP.md 9;
// Reason goes with "commandRejected" and is snake_case.
type Refusal struct {
	Kind    string `json:"kind"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`

	SessionID   string       `json:"session_id,omitempty"`
	TurnID      string       `json:"turn_id,omitempty"` // the bad boundary of a fork
	ApprovalID  string       `json:"approval_id,omitempty"`
	ChoiceID    string       `json:"choice_id,omitempty"`
	Capacity    int64        `json:"capacity,omitempty"` // of what is full, beside backpressured
	UserInputID string       `json:"user_input_id,omitempty"`
	Requirement *Requirement `json:"requirement,omitempty"` // the current one, beside approvalRequirementStale
	Settled     *Settled     `json:"settled,omitempty"`     // beside …AlreadyResolved and …AlreadySettled
}

func (r *Refusal) Error() string { return r.Message }

// Requirement names one stage of an approval.
type Requirement struct {
	ApprovalID  string `json:"approval_id"`
	SourceIndex int    `json:"source_index"`
}

// Settled is how a question ended that was answered before.
type Settled struct {
	// Outcome is the decision of an approval ("approved", "abort", …) or the
	// outcome of a user input ("answered", …).
	Outcome string `json:"outcome"`
	By      string `json:"by,omitempty"` // "user", "policy", "llmJudge"
	// Sequence is the record that settled it.
	Sequence int64 `json:"sequence"`
}

// Kinds of refusals (MSP.md 9).
const (
	RefusedCommand     = "commandRejected"
	NoSuchSession      = "sessionNotFound"
	SessionInUse       = "sessionInUse"
	SessionNotLoaded   = "sessionNotLoaded"
	BadForkBoundary    = "forkBoundaryInvalid"
	NoSuchApproval     = "approvalNotFound"
	ApprovalResolved   = "approvalAlreadyResolved"
	BadChoice          = "approvalChoiceInvalid"
	StaleRequirement   = "approvalRequirementStale"
	NoSuchUserInput    = "userInputNotFound"
	UserInputSettled   = "userInputAlreadySettled"
	BadUserInputAnswer = "userInputAnswerInvalid"
	BadParams          = "invalidParams"
	MethodNotAvailable = "methodNotFound"
	TooManyQueued      = "backpressured"
)

// Reasons of RefusedCommand (MSP.md 5).
const (
	ReasonConflict        = "command_id_conflict"
	ReasonSessionConflict = "session_id_conflict"
	ReasonMissingRun      = "missing_run"
	ReasonInvalidTarget   = "invalid_target"
	ReasonMissingGoal     = "missing_goal"
	ReasonNotPaired       = "not_paired_interrupt"
	ReasonDeferredStart   = "deferred_start_failed"
	ReasonAbandoned       = "abandoned"
	ReasonModeCeiling     = "approval_mode_ceiling"
	ReasonModeDisallowed  = "approval_mode_not_allowed"
	ReasonNameTaken       = "name_taken"
	ReasonModelRefused    = "model_not_available"
	ReasonShellDisabled   = "shell_disabled"
	ReasonConfiguration   = "configuration"
)

func refuse(reason, format string, args ...any) *Refusal {
	return &Refusal{Kind: RefusedCommand, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func badParams(format string, args ...any) *Refusal {
	return &Refusal{Kind: BadParams, Message: fmt.Sprintf(format, args...)}
}

func noSuchSession(id string) *Refusal {
	return &Refusal{Kind: NoSuchSession, SessionID: id, Message: "there is no session " + id}
}

// oneLine is text of a client in a message.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}
