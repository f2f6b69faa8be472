package event

// PermissionProfile is the profile a session starts with or changes to. It is
// kept as a retained frame, the first line of every log.
type PermissionProfile struct {
	sessionFact
	Actor    Actor              `json:"actor"`
	Cause    string             `json:"cause"` // "new_session_default", "resumed_session", …
	Epoch    int64              `json:"permission_epoch"`
	Snapshot PermissionSnapshot `json:"resolved_snapshot"`
	Schema   int                `json:"schema_version"`
	Source   PermissionSource   `json:"source"`
}

// Actor is who caused a change; ID is null for the runtime itself.
type Actor struct {
	ID   *string `json:"id"`
	Kind string  `json:"kind"`
}

// PermissionSnapshot is the profile as it was resolved.
type PermissionSnapshot struct {
	Approval   string `json:"approval"` // "untrusted", "on_request", "never"
	Filesystem string `json:"filesystem,omitempty"`
	Network    string `json:"network,omitempty"`
	Reviewer   string `json:"reviewer"` // "human", "auto_review", "none"
	Sandbox    string `json:"sandbox,omitempty"`
	Schema     int    `json:"schema_version"`
}

// PermissionSource names the profile.
type PermissionSource struct {
	DisplayName string `json:"display_name"`
	ID          string `json:"id"`
	Kind        string `json:"kind"` // "built_in", "custom", "flags"
}

// Metadata says which build, model and workspace a session has. It may repeat
// when a session is continued.
type Metadata struct {
	sessionFact
	Build         Build  `json:"build"`
	ModelID       string `json:"model_id"`
	ProviderID    string `json:"provider_id"`
	ToolSurface   string `json:"tool_surface_version"`
	WebSearchMode string `json:"web_search_mode"`
	WorkspaceRoot string `json:"workspace_root"`
}

// Build names the program that wrote the log.
type Build struct {
	SemVer string `json:"semver"`
	SHA    string `json:"sha"`
}

// RouteFacts says which process owns the session.
type RouteFacts struct {
	sessionFact
	Cwd           string `json:"cwd"`
	PID           int    `json:"pid"`
	TerminalTitle string `json:"terminal_title_identity"`
}

// SessionOpened describes the circumstances of an opening.
type SessionOpened struct {
	sessionFact
	CredentialBackend  string  `json:"credential_backend"`
	DataDirFreeBytes   int64   `json:"data_dir_free_bytes"`
	KeychainFallback   *string `json:"keychain_fallback_reason"`
	Resume             bool    `json:"resume"`
	Schema             int     `json:"schema_version"`
	SecurityMode       string  `json:"security_mode"`
	SessionID          string  `json:"session_id"`
	WorkspaceFreeBytes int64   `json:"workspace_free_bytes"`
	WorkspaceKind      string  `json:"workspace_kind"` // "git" or "directory"
}

// SecurityMode is the approval and sandbox posture. Every weakening of it is
// an event of this kind.
type SecurityMode struct {
	sessionFact
	Approval      string `json:"approval"`
	EffectiveMode string `json:"effective_mode"`
	Sandbox       string `json:"sandbox"`
	Source        string `json:"source"`
}

// AgentTree names the root of the session's tree of agents.
type AgentTree struct {
	sessionFact
	ExecutionCapacity int    `json:"execution_capacity"`
	RootAgentID       string `json:"root_agent_id"`
	RootSessionID     string `json:"root_session_id"`
	Schema            int    `json:"schema_version"`
	WriterProtocol    int    `json:"writer_protocol"`
}

// WorkspaceBranch is the state of the workspace's version control. Commit is
// 12 hex digits. Dirty is nil when it was not looked at.
type WorkspaceBranch struct {
	sessionFact
	CommandID     string    `json:"command_id"`
	Commit        string    `json:"commit,omitempty"`
	Dirty         *bool     `json:"dirty,omitempty"`
	Reference     Reference `json:"reference"`
	VCS           string    `json:"vcs"`
	WorkspaceRoot string    `json:"workspace_root"`
}

// Reference is what HEAD points at.
type Reference struct {
	Kind string `json:"kind"` // "branch" or "detached"
	Name string `json:"name"`
}

// ModelConfigured is the model a run uses. Source is "startup" on a new
// session and "replay" on a continued one.
type ModelConfigured struct {
	sessionFact
	CommandID    string    `json:"command_id"`
	DisplayLabel string    `json:"display_label"`
	ModelID      string    `json:"model_id"`
	ProfileID    *string   `json:"profile_id"`
	ProviderID   string    `json:"provider_id"`
	RunStream    StreamRef `json:"run_stream"`
	Source       string    `json:"source"`
}

// IntentAccepted is a prompt that the session took on: once it is durable the
// prompt is not lost.
type IntentAccepted struct {
	sessionFact
	Bindings []string `json:"bindings"`
	// CommandID is the client's command when it is not the intent's id: a goal
	// that wakes a turn.
	CommandID      string `json:"openmuse_command_id,omitzero"`
	DeliveryPolicy string `json:"delivery_policy"`
	// DisplayText is what a person reads instead of the prompt.
	DisplayText string `json:"openmuse_display_text,omitzero"`
	// Effort is the reasoning effort of this one turn.
	Effort          string          `json:"openmuse_reasoning_effort,omitzero"`
	IntentID        string          `json:"intent_id"` // the run id
	ModelMessages   []IntentMessage `json:"model_messages"`
	RefillBlocks    []ContentBlock  `json:"refill_blocks"`
	SemanticKind    Kinded          `json:"semantic_kind"` // "chat" is the person's word
	SourceSessionID string          `json:"source_session_id"`
	Surface         string          `json:"surface"`
	WakePolicy      string          `json:"wake_policy"`
}

// IntentMessage is one message of an intent.
type IntentMessage struct {
	Content []ContentBlock `json:"content"`
}

// ContentBlock is text, or a picture kept beside the log.
type ContentBlock struct {
	Kind      string `json:"kind"` // "text" or "image"
	Text      string `json:"text,omitempty"`
	MediaType string `json:"media_type,omitempty"`
	Path      string `json:"path,omitempty"` // relative to the session directory
}

// Kinded is an object of which only the kind is known.
type Kinded struct {
	Kind string `json:"kind"`
}

// IntentMaterialized says what became of an intent.
type IntentMaterialized struct {
	sessionFact
	IntentID string        `json:"intent_id"`
	Outcome  IntentOutcome `json:"outcome"`
}

// IntentOutcome names the run that an intent started.
type IntentOutcome struct {
	Kind  string `json:"kind"` // "top_level_turn_started"
	RunID string `json:"run_id"`
}

// SessionEnd closes a session that was left in order.
type SessionEnd struct {
	sessionFact
	ExitReason string        `json:"exit_reason"` // "clean", "interrupted", "failed"
	Resources  ResourceUsage `json:"resource_usage"`
	Schema     int           `json:"schema_version"`
	SessionID  string        `json:"session_id"`
	UptimeMS   int64         `json:"uptime_ms"`
}

// ResourceUsage is what the process used.
type ResourceUsage struct {
	SessionLogBytes int64 `json:"session_log_bytes"`
}

// EffectStarted opens the execution of one tool call.
type EffectStarted struct {
	sessionFact
	CallID          string    `json:"call_id"`
	EffectID        string    `json:"effect_id"`
	Kind            string    `json:"kind"` // "started"
	ModelCallIndex  int       `json:"model_call_index"`
	ParallelProfile Kinded    `json:"parallel_profile"` // "eligible" or "ineligible"
	TaskID          string    `json:"task_id"`
	TaskStream      StreamRef `json:"task_stream"`
	ToolName        string    `json:"tool_name"`
}

// EffectTerminal closes the execution of one tool call. Facts are for views of
// the single call: its text and what it changed. They are not written with the
// record, because the task's output and the batch hold them.
type EffectTerminal struct {
	sessionFact
	CallID         string        `json:"call_id"`
	EffectID       string        `json:"effect_id"`
	Kind           string        `json:"kind"` // "terminal"
	ModelCallIndex int           `json:"model_call_index"`
	Outcome        EffectOutcome `json:"outcome"`
	TaskID         string        `json:"task_id"`
	TaskStream     StreamRef     `json:"task_stream"`

	Facts *CallFacts `json:"-"`
}

// EffectOutcome says how an execution ended.
type EffectOutcome struct {
	Kind           string         `json:"kind"` // "completed" or "failed"
	Reason         string         `json:"reason,omitempty"`
	OutputRefCount int            `json:"output_ref_count"`
	TaskCompletion TaskCompletion `json:"task_completion"`
}

// TaskCompletion repeats the task's terminal kind.
type TaskCompletion struct {
	Kind     string `json:"kind"` // "terminal"
	Terminal Kinded `json:"terminal"`
}

// CallFacts is one finished call as a view shows it.
type CallFacts struct {
	ToolName string
	Text     string
	Failed   bool
	Edit     *EditFacts
}

// EditFacts is the file change of one call; Path is relative to the workspace.
type EditFacts struct {
	Added    int    `json:"added"`
	Path     string `json:"path"`
	ToolName string `json:"tool_name"`
}
