package event

// SessionCreated says which client asked for the session and with which
// command.
type SessionCreated struct {
	sessionFact
	Client    *Client `json:"client,omitempty"`
	CommandID string  `json:"command_id"`
}

// Client is a program that drives a session.
type Client struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

// SessionResumed marks that a process loaded the session again (CLI.md 4.1,
// session.resumed).
type SessionResumed struct {
	sessionFact
	Client    *Client `json:"client,omitempty"`
	CommandID string  `json:"command_id"`
}

// ApprovalModeChanged is the approval mode from here on, in the words of the
// wire: "allowAll", "promptUnmatched", "onRequest" or "denyUnmatched". Source
// is "startup", "replay" or "approvalReconfigure"; only the last is a change
// that views announce.
type ApprovalModeChanged struct {
	sessionFact
	ClientName string `json:"client_name"`
	CommandID  string `json:"command_id"`
	Mode       string `json:"mode"`
	Source     string `json:"source"`
}

// ModelReconfigured is another model from the next call on (seed 000,
// Session-level records).
type ModelReconfigured struct {
	sessionFact
	ApplyOutcome string     `json:"apply_outcome"` // "completed" or "noop"
	CommandID    string     `json:"command_id"`
	Effective    ModelRoute `json:"effective"`
	Previous     ModelRoute `json:"previous"`
	Source       string     `json:"source,omitzero"` // "user", "default", "policy"
}

// ModelRoute is a model and who serves it.
type ModelRoute struct {
	DisplayLabel string  `json:"display_label,omitzero"`
	ModelID      string  `json:"model_id"`
	ProfileID    *string `json:"profile_id,omitempty"`
	ProviderID   string  `json:"provider_id,omitzero"`
}

// ModelRouteUnserved says that a chosen model has no provider here, and which
// provider stays in use (MSP.md 8, session/modelRouteUnserved).
type ModelRouteUnserved struct {
	sessionFact
	CommandID           string `json:"command_id"`
	InstalledProviderID string `json:"installed_provider_id"`
	ModelID             string `json:"model_id"`
	ProviderID          string `json:"provider_id,omitzero"`
}

// EffortChanged is the reasoning effort of the turns launched from here on.
type EffortChanged struct {
	sessionFact
	CommandID string `json:"command_id,omitzero"`
	Effort    string `json:"reasoning_effort"`
	Source    string `json:"source"` // "user", "default", "policy"
}

// GoalChanged is the session's goal after a change; nil when it was cleared.
type GoalChanged struct {
	sessionFact
	Action    string `json:"action"` // "set", "edit", "clear", "pause", "resume", "progress"
	CommandID string `json:"command_id,omitzero"`
	Goal      *Goal  `json:"goal"`
}

// Goal is what a session works towards. Status is "active", "paused",
// "completed" or "blocked".
type Goal struct {
	CurrentWork string `json:"current_work,omitzero"`
	NextWork    string `json:"next_work,omitzero"`
	Objective   string `json:"objective"`
	Percent     int    `json:"percent_complete"`
	Status      string `json:"status"`
}

// NameChanged is the session's name (seed 000, Session-level records).
type NameChanged struct {
	sessionFact
	AuthorityID  string `json:"authority_id"`
	NewName      string `json:"new_name"`
	OperationID  string `json:"operation_id"` // the command id of a change by a person
	PreviousName string `json:"previous_name"`
	SessionID    string `json:"session_id"`
	Source       string `json:"source"` // "automatic" or "user"
}
