package msp

// ForkCutPoint names the last turn that a fork keeps.
type ForkCutPoint struct {
	LastTurnID string `json:"lastTurnId"` // the last turn that is kept
}

// ForkProvenance says where a forked session came from.
type ForkProvenance struct {
	SessionID   string `json:"sessionId"`
	CommandID   string `json:"commandId"`
	CutCursor   string `json:"cutCursor"`   // in the view of the source
	CutExplicit bool   `json:"cutExplicit"` // whether the client chose the cut
}

// LastTurn is how the newest finished turn ended.
type LastTurn struct {
	TurnID   string       `json:"turnId"`
	Terminal TurnTerminal `json:"terminal"`
	Error    *TurnError   `json:"error,omitzero"` // with terminal failed
	Reason   string       `json:"reason,omitzero"`
}

// PendingRequestPointer points at a prompt that waits for a decision.
type PendingRequestPointer struct {
	Kind        PendingRequestKind `json:"kind"`
	ApprovalID  string             `json:"approvalId,omitzero"`  // with kind approval
	UserInputID string             `json:"userInputId,omitzero"` // with kind userInput
	ViewCursor  string             `json:"viewCursor"`           // at which it opened
}

// Session is one row of what the host knows about a session. Path is empty on
// an ephemeral host.
type Session struct {
	SessionID       string                      `json:"sessionId"`
	Kind            SessionKind                 `json:"kind,omitzero"`
	Name            string                      `json:"name,omitzero"`
	Status          SessionStatus               `json:"status"`
	ActiveTurnID    *string                     `json:"activeTurnId"` // null while no turn runs
	CreatedAt       string                      `json:"createdAt"`
	ForkedFrom      *ForkProvenance             `json:"forkedFrom"`
	ModelID         *string                     `json:"modelId"`
	Path            string                      `json:"path"` // of the log; empty on an ephemeral host
	ProviderID      *string                     `json:"providerId"`
	TurnCount       int64                       `json:"turnCount"`
	UpdatedAt       string                      `json:"updatedAt"`
	WorkspaceRoot   *string                     `json:"workspaceRoot"` // absolute
	ApprovalMode    *EffectiveApprovalModeState `json:"approvalMode,omitzero"`
	Attention       []AttentionFlag             `json:"attention,omitzero"` // absent when nothing waits
	Branch          string                      `json:"branch,omitzero"`
	CreatedByClient *ClientInfo                 `json:"createdByClient,omitzero"`
	FirstUserPrompt string                      `json:"firstUserPrompt,omitzero"` // shortened
	LastActivityAt  string                      `json:"lastActivityAt,omitzero"`
	ParentSessionID string                      `json:"parentSessionId,omitzero"` // of a subagent
	SideFrom        *SideProvenance             `json:"sideFrom,omitzero"`
	Title           string                      `json:"title,omitzero"`
}

// SessionBranchChangedParams are the params of session/branchChanged.
type SessionBranchChangedParams struct {
	Durable

	WorkspaceRoot string  `json:"workspaceRoot"`
	Branch        *string `json:"branch" msp:"optional,nullable"` // always written, null when detached
	VCS           Vcs     `json:"vcs,omitzero"`
}

// SessionClosedParams are the params of session/closed.
type SessionClosedParams struct {
	SessionID  string              `json:"sessionId"`
	Reason     SessionClosedReason `json:"reason"`
	ViewCursor *string             `json:"viewCursor"` // the last one, null without events
}

// SessionCompactParams is what session/compact takes.
type SessionCompactParams struct {
	SessionID string  `json:"sessionId"`
	CommandID string  `json:"commandId"`
	TurnID    *string `json:"turnId,omitzero"`
}

// SessionCompactResult is what session/compact answers.
type SessionCompactResult struct {
	CommandID string        `json:"commandId"`
	Status    CompactStatus `json:"status"`
	Reason    string        `json:"reason,omitzero"` // with noop, for instance no_compactable_history
}

// SessionConfig holds what a client adds to one session; unknown members are
// ignored.
type SessionConfig struct {
	MCPServers map[string]SessionMcpServerConfig `json:"mcpServers,omitzero"`
}

// SessionForkParams is what session/fork takes.
type SessionForkParams struct {
	SessionID    string        `json:"sessionId"`
	CommandID    string        `json:"commandId"`
	CutPoint     *ForkCutPoint `json:"cutPoint,omitzero"` // absent keeps all finished turns
	ExcludeItems *bool         `json:"excludeItems,omitzero"`
}

// SessionForkResult is what session/fork answers.
type SessionForkResult struct {
	History         SessionHistory          `json:"history"`
	PendingRequests []PendingRequestPointer `json:"pendingRequests"`
	Session         Session                 `json:"session"`
	ViewCursor      string                  `json:"viewCursor"`
}

// SessionNameChangedParams are the params of session/nameChanged.
type SessionNameChangedParams struct {
	Durable

	Name string `json:"name"`
}

// SessionReadParams is what session/read takes.
type SessionReadParams struct {
	SessionID    string `json:"sessionId"`
	ExcludeItems *bool  `json:"excludeItems,omitzero"` // absent is true
}

// SessionReadResult is what session/read answers.
type SessionReadResult struct {
	History         SessionHistory          `json:"history"`
	PendingRequests []PendingRequestPointer `json:"pendingRequests"`
	Session         Session                 `json:"session"`
	ViewCursor      string                  `json:"viewCursor"`
	LastTurn        *LastTurn               `json:"lastTurn,omitzero"`
}

// SessionRenameParams is what session/rename takes.
type SessionRenameParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	Name      string `json:"name"`
}

// SessionRenameResult is what session/rename answers.
type SessionRenameResult struct {
	CommandID string        `json:"commandId"`
	Name      string        `json:"name,omitzero"` // as it was kept; session/nameChanged tells it when it is absent
	Status    CommandStatus `json:"status"`
}

// SessionResumeParams is what session/resume takes.
type SessionResumeParams struct {
	SessionID    string            `json:"sessionId"`
	CommandID    string            `json:"commandId"`
	Config       *SessionConfig    `json:"config,omitzero"`
	Cursor       *string           `json:"cursor,omitzero" msp:"nullable"` // serves no history and pushes what is after it; empty is before everything
	ExcludeItems *bool             `json:"excludeItems,omitzero"`          // absent is false
	History      HistoryPreference `json:"history,omitzero"`
}

// SessionResumeResult is what session/resume answers.
type SessionResumeResult struct {
	History         SessionHistory          `json:"history"`
	PendingRequests []PendingRequestPointer `json:"pendingRequests"`
	Session         Session                 `json:"session"`
	ViewCursor      string                  `json:"viewCursor"`
	LastTurn        *LastTurn               `json:"lastTurn,omitzero"`
}

// SessionSideChatParams is what session/sideChat takes.
type SessionSideChatParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
}

// SessionSideChatResult is what session/sideChat answers.
type SessionSideChatResult struct {
	History         SessionHistory          `json:"history"`
	PendingRequests []PendingRequestPointer `json:"pendingRequests"`
	Session         Session                 `json:"session"`
	ViewCursor      string                  `json:"viewCursor"`
}

// SessionStartParams is what session/start takes.
type SessionStartParams struct {
	SessionID      *string        `json:"sessionId,omitzero"` // chosen by the client; must be new
	CommandID      string         `json:"commandId"`
	ApprovalMode   *ApprovalMode  `json:"approvalMode,omitzero" msp:"nullable"` // null is the default
	Config         *SessionConfig `json:"config,omitzero"`
	ModelID        *string        `json:"modelId,omitzero"`
	ProviderID     *string        `json:"providerId,omitzero" msp:"nullable"` // null is the default
	WorkspaceRoot  *string        `json:"workspaceRoot,omitzero"`             // absolute; the directory of the host when absent
	WorkspaceRoots []string       `json:"workspaceRoots,omitzero"`            // the first one is WorkspaceRoot
}

// SessionStartResult is what session/start answers.
type SessionStartResult struct {
	Session    Session `json:"session"`
	ViewCursor string  `json:"viewCursor"` // empty before the first event
}

// SessionStartedParams are the params of session/started.
type SessionStartedParams struct {
	Session Session `json:"session"`
}

// SessionStatusChangedParams are the params of session/statusChanged.
type SessionStatusChangedParams struct {
	SessionID  string          `json:"sessionId"`
	Status     SessionStatus   `json:"status"`
	ViewCursor *string         `json:"viewCursor"` // the newest one, null without events
	Attention  []AttentionFlag `json:"attention,omitzero"`
}

// SessionUserShellParams is what session/userShell takes.
type SessionUserShellParams struct {
	SessionID   string `json:"sessionId"`
	CommandID   string `json:"commandId"`
	CommandText string `json:"commandText"` // one command line for the shell
}

// SessionUserShellResult is what session/userShell answers.
type SessionUserShellResult struct {
	CommandID string        `json:"commandId"`
	Status    CommandStatus `json:"status"`
}

// SideProvenance says which session a side chat was opened from.
type SideProvenance struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	CutCursor string `json:"cutCursor"` // in the view of the source
}

// AttentionFlag says what a session waits for.
type AttentionFlag string

// The values of AttentionFlag; clients must bear others.
const (
	AttentionFlagApprovalPending AttentionFlag = "approvalPending"
	AttentionFlagInputPending    AttentionFlag = "inputPending"
)

func (AttentionFlag) values() enumeration {
	return openValues(AttentionFlagApprovalPending, AttentionFlagInputPending)
}

// CompactStatus is CommandStatus plus noop, which only session/compact may
// answer.
type CompactStatus string

// The values of CompactStatus; clients must bear others.
const (
	CompactStatusAccepted CompactStatus = "accepted"
	CompactStatusNoop     CompactStatus = "noop"
)

func (CompactStatus) values() enumeration {
	return openValues(CompactStatusAccepted, CompactStatusNoop)
}

// PendingRequestKind is which prompt waits.
type PendingRequestKind string

// The values of PendingRequestKind; clients must bear others.
const (
	PendingRequestKindApproval  PendingRequestKind = "approval"
	PendingRequestKindUserInput PendingRequestKind = "userInput"
)

func (PendingRequestKind) values() enumeration {
	return openValues(PendingRequestKindApproval, PendingRequestKindUserInput)
}

// SessionClosedReason is why a session was unloaded in order.
type SessionClosedReason string

// The values of SessionClosedReason; clients must bear others.
const (
	SessionClosedReasonIdle         SessionClosedReason = "idle"
	SessionClosedReasonHostShutdown SessionClosedReason = "hostShutdown"
)

func (SessionClosedReason) values() enumeration {
	return openValues(SessionClosedReasonIdle, SessionClosedReasonHostShutdown)
}

// SessionKind tells sessions of people from those of subagents.
type SessionKind string

// The values of SessionKind; clients must bear others.
const (
	SessionKindRoot     SessionKind = "root"
	SessionKindSubagent SessionKind = "subagent"
)

func (SessionKind) values() enumeration {
	return openValues(SessionKindRoot, SessionKindSubagent)
}

// SessionMcpServerMode says whether a session can start without the server.
type SessionMcpServerMode string

// The values of SessionMcpServerMode.
const (
	SessionMcpServerModeRequired SessionMcpServerMode = "required"
	SessionMcpServerModeOptional SessionMcpServerMode = "optional"
)

func (SessionMcpServerMode) values() enumeration {
	return closedValues(SessionMcpServerModeRequired, SessionMcpServerModeOptional)
}

// SessionMcpStdioFraming is how messages are delimited on a server's stdio.
type SessionMcpStdioFraming string

// The values of SessionMcpStdioFraming.
const (
	SessionMcpStdioFramingAuto              SessionMcpStdioFraming = "auto"
	SessionMcpStdioFramingContentLength     SessionMcpStdioFraming = "contentLength"
	SessionMcpStdioFramingLineDelimitedJson SessionMcpStdioFraming = "lineDelimitedJson"
)

func (SessionMcpStdioFraming) values() enumeration {
	return closedValues(
		SessionMcpStdioFramingAuto, SessionMcpStdioFramingContentLength, SessionMcpStdioFramingLineDelimitedJson,
	)
}

// SessionStatus is whether this host has the session loaded and whether a turn
// runs.
type SessionStatus string

// The values of SessionStatus; clients must bear others.
const (
	SessionStatusNotLoaded SessionStatus = "notLoaded"
	SessionStatusIdle      SessionStatus = "idle"
	SessionStatusRunning   SessionStatus = "running"
)

func (SessionStatus) values() enumeration {
	return openValues(SessionStatusNotLoaded, SessionStatusIdle, SessionStatusRunning)
}
