package muse

// Names of the payload types on stdout (STREAM.md (a), Payloads). They stand
// in one block so that a renamed one is a change in one line.
const (
	TypeCommandAccepted = "runtime.command.accepted"
	TypeRunLinked       = "session.run.linked"
	TypeModelConfigured = "run.model.configured"
	TypeWorkspaceBranch = "session.workspace_branch.observed"
	TypeUserInput       = "turn.input.user"
	TypeRunStarted      = "run.lifecycle.started"
	TypeTaskLinked      = "task.stream.linked"
	TypeOutputDelta     = "run.output.delta"
	TypeToolResult      = "tool.result"

	TaskPrefix      = "task.lifecycle." // + proposed, accepted, scheduled, side_effect_intent, started, status, output, completed, failed, rejected, cancelled
	TerminalPrefix  = "run.terminal."   // + completed, failed, cancelled
	ExtensionPrefix = "openmuse."       // additions of one build, skipped silently by readers that do not know them

	TerminalCompleted = "completed"
	TerminalFailed    = "failed"
	TerminalCancelled = "cancelled"

	toolTaskPrefix  = "tool."
	modelTaskPrefix = "model."
	toolKeyPrefix   = "tool:" // of an idempotency key; the call id follows
)

// schemaVersion is the version of envelope and payload that this package knows.
const schemaVersion = 1

// Envelope is what stands around every payload: the same eleven keys on stdout
// and in the session log (seed 002, event envelope).
type Envelope struct {
	SchemaVersion        int
	ID                   string
	StreamKind           string // "session" on stdout
	StreamID             string // the session id
	Sequence             int64
	RecordedAt           int64 // µs since the epoch; a synthetic clock on stdout of some builds
	RecordType           string
	Durability           string
	CausationID          string
	PayloadType          string
	PayloadSchemaVersion int
}

// Event is one decoded line of the stream.
//
// The strings are owned by the event and may be kept. Raw and the byte slices
// inside payloads point into the reader's buffer and are valid until its next
// call.
type Event struct {
	Envelope
	Line      int64  // 1-based line number
	Raw       []byte // the line without its line end
	CommandID string // payload.command_id
	RunID     string // payload.run_stream.id
	Payload   Payload
}

// RunKey tells run streams apart: the command id, else the run stream's id,
// else the empty string for one unkeyed stream (seed 001, rule 2).
func (e *Event) RunKey() string {
	if e.CommandID != "" {
		return e.CommandID
	}
	return e.RunID
}

// Payload is one of the pointer types below; [Unknown] when the payload type
// is not known and [Extension] when it begins with [ExtensionPrefix].
type Payload interface{ isPayload() }

type (
	// CommandAccepted is the first record of a turn.
	CommandAccepted struct{ ClientID, CommandKind string }
	// RunLinked names the run stream of the turn.
	RunLinked struct{}
	// ModelConfigured is the model that was really configured. It describes
	// runtime configuration; it does not attest what the backend served.
	ModelConfigured struct{ ProviderID, ProfileID, ModelID, DisplayLabel, Source string }
	// WorkspaceBranch is an observation of the workspace's Git state. Commit is
	// empty and Dirty nil where they were not observed.
	WorkspaceBranch struct {
		Root, VCS, RefKind, RefName, Commit string
		Dirty                               *bool
	}
	// UserInput echoes the prompt.
	UserInput struct{ Prompt string }
	// RunStarted marks the run as set up.
	RunStarted struct{ Prompt string }
	// TaskLinked announces a task of the run.
	TaskLinked struct{ TaskID string }
	// OutputDelta is a fragment of the reply, split anywhere.
	OutputDelta struct{ Text string }
	// Extension is an addition of one build; read it from Event.Raw.
	Extension struct{}
	// Unknown is a payload of a type this package does not know.
	Unknown struct{}
)

// TaskEvent is one step in the life of a task. A failed, rejected or cancelled
// task says nothing about the run (seed 001, rule 3).
type TaskEvent struct {
	Kind           string // proposed, accepted, scheduled, side_effect_intent, started, status, output, completed, failed, rejected, cancelled
	TaskID         string
	TaskKind       string // of proposed: "tool.bash", "model.meta.response", "reminder.agent.…"
	IdempotencyKey string // of scheduled and side_effect_intent
	Operation      string
	PolicyDecision string
	ParentTaskID   string
	SpanID         string
	Message        string // of status
	Details        []byte // of status: a JSON value
	Chunk          string // of output
	FinalResult    bool   // of output
	Reason         string // of failed, rejected, cancelled
}

// ToolResult closes a tool call. It has no arguments and no task id.
type ToolResult struct {
	CallID   string
	Text     string
	ToolName string // correlation_facts; empty on calls refused before execution
	Outcome  string // correlation_facts: success, failure, …; empty when absent
	Edit     *EditFacts
}

// EditFacts describe a file change; Path is relative to the workspace.
type EditFacts struct {
	ToolName, Path string
	Added          int64
}

// Terminal ends a run. Text nil and Reason nil mean that the field was absent
// or null.
type Terminal struct {
	Terminal string // completed, failed, cancelled
	Text     *string
	Reason   *string
	Quota    QuotaFacts // structured fields only; see [QuotaFacts.AddReason]
}

func (*CommandAccepted) isPayload() {}
func (*RunLinked) isPayload()       {}
func (*ModelConfigured) isPayload() {}
func (*WorkspaceBranch) isPayload() {}
func (*UserInput) isPayload()       {}
func (*RunStarted) isPayload()      {}
func (*TaskLinked) isPayload()      {}
func (*OutputDelta) isPayload()     {}
func (*Extension) isPayload()       {}
func (*Unknown) isPayload()         {}
func (*TaskEvent) isPayload()       {}
func (*ToolResult) isPayload()      {}
func (*Terminal) isPayload()        {}
