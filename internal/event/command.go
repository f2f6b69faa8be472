package event

import "github.com/go-json-experiment/json/jsontext"

// CommandReceived is a command of a client that the session took in. It is
// durable before the client reads an acknowledgement, so that a command is
// known again after a crash (MSP.md 5). Digest tells whether a repeated
// command id carries the same payload.
type CommandReceived struct {
	sessionFact
	CommandID string `json:"command_id"`
	Digest    string `json:"payload_digest"` // "sha256:" and 64 hex digits over the canonical params
	Method    string `json:"method"`
	// Params is what is needed to carry the command out after a restart; it may
	// be left out where another record holds it.
	Params jsontext.Value `json:"params,omitzero"`
}

// CommandSettled is the answer to a command. A repeated command gets the same
// answer, value for value, also from another process (MSP.md 5).
type CommandSettled struct {
	sessionFact
	CommandID string          `json:"command_id"`
	Error     *CommandFailure `json:"error,omitempty"`
	// Outcome is "accepted", "noop", "rejected", or "abandoned" for a command
	// that a process took in and did not live to answer.
	Outcome string         `json:"outcome"`
	Result  jsontext.Value `json:"result,omitzero"`
}

// CommandFailure is a refusal as the client reads it.
type CommandFailure struct {
	Code    int            `json:"code"`
	Data    jsontext.Value `json:"data,omitzero"`
	Message string         `json:"message"`
}

// TurnQueued says that an accepted intent waits for the turns before it. The
// input is in its IntentAccepted; turn id and intent id are the same.
type TurnQueued struct {
	sessionFact
	CommandID string `json:"command_id"`
	TurnID    string `json:"turn_id"`
}

// TurnUnqueued takes a queued turn back: it never starts and never ends.
type TurnUnqueued struct {
	sessionFact
	CommandID string `json:"command_id"` // of the command that took it back
	TurnID    string `json:"turn_id"`
}

// TurnLaunchFailed ends an accepted turn that could not be started. It has no
// RunStarted and no RunTerminal.
type TurnLaunchFailed struct {
	sessionFact
	CommandID string `json:"command_id"`
	Kind      string `json:"error_kind"` // a turn error kind of MSP.md 6, "launchError" as a rule
	Reason    string `json:"reason"`
	Retryable bool   `json:"retryable"`
	TurnID    string `json:"turn_id"`
}

// RunRetracted takes the prompt of an interrupted run back: nothing of an
// answer had been committed (MSP.md 7.2, turn/interrupt). PromptSequence is
// the place of its RunStarted in the log.
type RunRetracted struct {
	runEvent
	CommandID      string `json:"openmuse_command_id,omitzero"`
	PromptSequence int64  `json:"retracted_prompt_sequence"`
}

// TaskBackgrounded says that a call goes on while the turn does.
type TaskBackgrounded struct {
	runEvent
	CallID    string `json:"call_id"`
	CommandID string `json:"command_id,omitzero"`
	Initiator string `json:"initiator"` // "user" or "timeout"
	TaskID    string `json:"task_id"`
}
