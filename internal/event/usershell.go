package event

// UserShellCommand is a shell command that the person runs beside the agent
// (seed 000, Session-level records).
type UserShellCommand struct {
	sessionFact
	ClientID    *string `json:"client_id"`
	CommandID   string  `json:"command_id"`
	CommandText string  `json:"command_text"`
	QueueItemID *string `json:"queue_item_id"`
}

// UserShellResult is how such a command ended.
type UserShellResult struct {
	sessionFact
	CommandID     string     `json:"command_id"`
	DurationMS    int64      `json:"duration_ms"`
	ExitCode      *int       `json:"exit_code"`
	ExitSignal    *int       `json:"exit_signal"`
	OutputRef     *OutputRef `json:"output_ref"`
	TerminalState string     `json:"terminal_state"` // "completed", "failed", "timed_out", "cancelled"
	Truncated     bool       `json:"truncated"`
	VisibleOutput string     `json:"visible_output"`
}

// UserShellRejected says that such a command was not run.
type UserShellRejected struct {
	sessionFact
	CommandID string `json:"command_id"`
	Reason    string `json:"reason"`
}

// UserShellOutput is a fragment of such a command's output as it arrives.
type UserShellOutput struct {
	liveOnly
	CommandID string
	Chunk     string
	Offset    int64 // bytes of all chunks before this one
}
