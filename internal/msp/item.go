package msp

// Item is one thing that a view shows. Revision rises with every change
// (MSP.md 6, Item state machine). The first members belong to every kind, the
// others to the kinds that are named before them.
type Item struct {
	ItemID     string     `json:"itemId"`
	Kind       ItemKind   `json:"kind"`
	TurnID     *string    `json:"turnId" msp:"optional,nullable"` // always written, null outside of turns
	Revision   int64      `json:"revision"`                       // from 1
	Status     ItemStatus `json:"status"`
	RecordedAt string     `json:"recordedAt,omitzero"` // RFC 3339; absent while nothing was logged
	DurationMs *int64     `json:"durationMs,omitzero"`

	// What went wrong, and whether a text was shortened.
	FailureKind   string `json:"failureKind,omitzero"`
	FailureReason string `json:"failureReason,omitzero"`
	Reason        string `json:"reason,omitzero"`
	FallbackText  string `json:"fallbackText,omitzero"`
	Truncated     bool   `json:"truncated,omitzero"`

	// userMessage: the prompt. CommandID is that of the turn/start or turn/steer.
	// Text is also that of agentMessage and reasoning.
	CommandID   string              `json:"commandId,omitzero"`
	Text        *string             `json:"text,omitzero"` // "" while a message begins
	DisplayText string              `json:"displayText,omitzero"`
	Attachments []MessageAttachment `json:"attachments,omitzero"`
	Steered     bool                `json:"steered,omitzero"`
	Retracted   bool                `json:"retracted,omitzero"`

	// agentMessage and reasoning. Deltas of summary.N append to Summary[N].
	ProviderItemID string   `json:"providerItemId,omitzero"`
	Summary        []string `json:"summary,omitzero"`

	// toolCall. Args is the JSON that the model wrote.
	Tool                string                `json:"tool,omitzero"`
	CallID              string                `json:"callId,omitzero"`
	Args                string                `json:"args,omitzero"`
	ApprovalID          string                `json:"approvalId,omitzero"`
	TaskID              string                `json:"taskId,omitzero"`
	VisibleOutput       *string               `json:"visibleOutput,omitzero"` // deltas of output append to it
	OutputRef           *OutputRef            `json:"outputRef,omitzero"`     // when VisibleOutput is not all
	ModelVisibleContent []ModelVisibleContent `json:"modelVisibleContent,omitzero"`
	PatchRef            *OutputRef            `json:"patchRef,omitzero"`
	PatchSummary        *PatchSummary         `json:"patchSummary,omitzero"`
	ToolReceipt         *ToolReceipt          `json:"toolReceipt,omitzero"`
	Background          bool                  `json:"background,omitzero"`
	BackgroundInitiator BackgroundInitiator   `json:"backgroundInitiator,omitzero"`
	StopAvailable       *bool                 `json:"stopAvailable,omitzero"`

	// userShell; its output is in VisibleOutput. A command ended by a signal has
	// ExitSignal in place of ExitCode.
	CommandText string `json:"commandText,omitzero"`
	ExitCode    *int64 `json:"exitCode,omitzero" msp:"signed"`
	ExitSignal  *int64 `json:"exitSignal,omitzero"`

	// Status lines of work that takes long.
	StatusLine     string          `json:"statusLine,omitzero"`
	StatusPhase    string          `json:"statusPhase,omitzero"`
	StatusAttempt  *StatusAttempt  `json:"statusAttempt,omitzero"`
	StatusChildren *StatusChildren `json:"statusChildren,omitzero"`
	StatusHealth   *StatusHealth   `json:"statusHealth,omitzero"`
	StatusProgress *StatusProgress `json:"statusProgress,omitzero"`
	StatusStep     *StatusStep     `json:"statusStep,omitzero"`

	// compaction.
	Trigger           CompactionTrigger `json:"trigger,omitzero"`
	Outcome           CompactionOutcome `json:"outcome,omitzero"`
	StrategyID        string            `json:"strategyId,omitzero"`
	SummarizedThrough string            `json:"summarizedThrough,omitzero"` // the last entry that the summary covers
	TokensBefore      *int64            `json:"tokensBefore,omitzero"`
	TokensAfter       *int64            `json:"tokensAfter,omitzero"`

	// subagent.
	SubagentID          string                `json:"subagentId,omitzero"`
	AgentPath           string                `json:"agentPath,omitzero"`
	Role                string                `json:"role,omitzero"`
	Objective           string                `json:"objective,omitzero"`
	Depth               *int64                `json:"depth,omitzero"`
	Blocking            *bool                 `json:"blocking,omitzero"`
	ControlStatus       SubagentControlStatus `json:"controlStatus,omitzero"`
	ChildSessionID      string                `json:"childSessionId,omitzero"`
	ChildSessionLogPath string                `json:"childSessionLogPath,omitzero"`
	ChildPromptRefs     []OutputRef           `json:"childPromptRefs,omitzero"`
	Result              *SubagentResult       `json:"result,omitzero"`
	Usage               *TokenUsage           `json:"usage,omitzero"`

	// workflow.
	WorkflowRunID   string               `json:"workflowRunId,omitzero"`
	ScriptID        string               `json:"scriptId,omitzero"`
	TriggerSource   string               `json:"triggerSource,omitzero"`
	DeclaredPhase   string               `json:"declaredPhase,omitzero"`
	Children        []WorkflowChild      `json:"children,omitzero"`
	Paused          *bool                `json:"paused,omitzero"`
	TokenBudget     *WorkflowTokenBudget `json:"tokenBudget,omitzero"`
	ResumeFromRunID string               `json:"resumeFromRunId,omitzero"`
	FinalSummary    string               `json:"finalSummary,omitzero"`

	// reminderChild, hookRun and sideChat.
	ReminderAgentID string        `json:"reminderAgentId,omitzero"`
	EntryID         string        `json:"entryId,omitzero"`
	GenerationID    *int64        `json:"generationId,omitzero"`
	HookKey         string        `json:"hookKey,omitzero"`
	Event           HookEventName `json:"event,omitzero"`
	RunStatus       HookRunStatus `json:"runStatus,omitzero"`
	Message         string        `json:"message,omitzero"`
	Label           string        `json:"label,omitzero"`
	SideSessionID   string        `json:"sideSessionId,omitzero"`
}

// ItemCompletedParams are the params of item/completed.
type ItemCompletedParams struct {
	Durable

	Item Item `json:"item"`
}

// ItemDeltaParams are the params of item/delta.
type ItemDeltaParams struct {
	Position

	ItemID string `json:"itemId"`
	Delta  string `json:"delta"`
	Field  string `json:"field,omitzero"` // text when absent; also output and summary.N
}

// ItemStartedParams are the params of item/started.
type ItemStartedParams struct {
	MaybeDurable

	Item Item `json:"item"`
}

// ItemUpdatedParams are the params of item/updated.
type ItemUpdatedParams struct {
	Durable

	Item Item `json:"item"`
}

// StatusAttempt is a try of an operation that may be repeated.
type StatusAttempt struct {
	Attempt      int64  `json:"attempt"`
	Operation    string `json:"operation"`
	System       string `json:"system"`
	ErrorKind    string `json:"errorKind,omitzero"`
	HTTPStatus   *int64 `json:"httpStatus,omitzero"`
	MaxAttempts  *int64 `json:"maxAttempts,omitzero"`
	NextAttempt  *int64 `json:"nextAttempt,omitzero"`
	RetryDelayMs *int64 `json:"retryDelayMs,omitzero"` // until the next attempt
}

// StatusChildren counts the children of an item by state.
type StatusChildren struct {
	Active    int64  `json:"active"`
	Cancelled int64  `json:"cancelled"`
	Completed int64  `json:"completed"`
	Failed    int64  `json:"failed"`
	Total     *int64 `json:"total,omitzero"`
}

// StatusHealth is how an item in progress fares.
type StatusHealth struct {
	Level  StatusHealthLevel `json:"level"`
	Reason string            `json:"reason,omitzero"`
}

// StatusProgress is how far an item has come, in Unit.
type StatusProgress struct {
	Current int64  `json:"current"`
	Total   *int64 `json:"total,omitzero"`
	Unit    string `json:"unit,omitzero"`
}

// StatusStep is the step an item is at.
type StatusStep struct {
	Label string `json:"label"`
	Index *int64 `json:"index,omitzero"`
	Total *int64 `json:"total,omitzero"`
}

// BackgroundInitiator is who moved a task to the background.
type BackgroundInitiator string

// The values of BackgroundInitiator; clients must bear others.
const (
	BackgroundInitiatorUser    BackgroundInitiator = "user"
	BackgroundInitiatorTimeout BackgroundInitiator = "timeout"
)

func (BackgroundInitiator) values() enumeration {
	return openValues(BackgroundInitiatorUser, BackgroundInitiatorTimeout)
}

// CompactionOutcome is how a compaction ended.
type CompactionOutcome string

// The values of CompactionOutcome; clients must bear others.
const (
	CompactionOutcomeCompacted CompactionOutcome = "compacted"
	CompactionOutcomeNoop      CompactionOutcome = "noop"
	CompactionOutcomeFailed    CompactionOutcome = "failed"
	CompactionOutcomeCancelled CompactionOutcome = "cancelled"
)

func (CompactionOutcome) values() enumeration {
	return openValues(
		CompactionOutcomeCompacted, CompactionOutcomeNoop, CompactionOutcomeFailed, CompactionOutcomeCancelled,
	)
}

// CompactionTrigger is who asked for a compaction.
type CompactionTrigger string

// The values of CompactionTrigger; clients must bear others.
const (
	CompactionTriggerManual CompactionTrigger = "manual"
	CompactionTriggerAuto   CompactionTrigger = "auto"
)

func (CompactionTrigger) values() enumeration {
	return openValues(CompactionTriggerManual, CompactionTriggerAuto)
}

// HookEventName is the moment a hook runs at.
type HookEventName string

// The values of HookEventName; clients must bear others.
const (
	HookEventNameSessionStart       HookEventName = "sessionStart"
	HookEventNameUserPromptSubmit   HookEventName = "userPromptSubmit"
	HookEventNamePreToolUse         HookEventName = "preToolUse"
	HookEventNamePermissionRequest  HookEventName = "permissionRequest"
	HookEventNamePostToolUse        HookEventName = "postToolUse"
	HookEventNamePreCompact         HookEventName = "preCompact"
	HookEventNamePostCompact        HookEventName = "postCompact"
	HookEventNameSubagentStart      HookEventName = "subagentStart"
	HookEventNameSubagentStop       HookEventName = "subagentStop"
	HookEventNameStop               HookEventName = "stop"
	HookEventNameSessionEnd         HookEventName = "sessionEnd"
	HookEventNameNotification       HookEventName = "notification"
	HookEventNamePostToolUseFailure HookEventName = "postToolUseFailure"
	HookEventNameStopFailure        HookEventName = "stopFailure"
	HookEventNamePostToolBatch      HookEventName = "postToolBatch"
	HookEventNameInterrupt          HookEventName = "interrupt"
	HookEventNameSessionFork        HookEventName = "sessionFork"
	HookEventNameToolUseStart       HookEventName = "toolUseStart"
	HookEventNamePreLLMCall         HookEventName = "preLLMCall"
	HookEventNamePostLLMCall        HookEventName = "postLLMCall"
)

func (HookEventName) values() enumeration {
	return openValues(
		HookEventNameSessionStart, HookEventNameUserPromptSubmit, HookEventNamePreToolUse,
		HookEventNamePermissionRequest, HookEventNamePostToolUse, HookEventNamePreCompact,
		HookEventNamePostCompact, HookEventNameSubagentStart, HookEventNameSubagentStop, HookEventNameStop,
		HookEventNameSessionEnd, HookEventNameNotification, HookEventNamePostToolUseFailure,
		HookEventNameStopFailure, HookEventNamePostToolBatch, HookEventNameInterrupt, HookEventNameSessionFork,
		HookEventNameToolUseStart, HookEventNamePreLLMCall, HookEventNamePostLLMCall,
	)
}

// HookRunStatus is how a hook ended.
type HookRunStatus string

// The values of HookRunStatus; clients must bear others.
const (
	HookRunStatusCompleted HookRunStatus = "completed"
	HookRunStatusBlocked   HookRunStatus = "blocked"
	HookRunStatusFailed    HookRunStatus = "failed"
	HookRunStatusTimedOut  HookRunStatus = "timedOut"
	HookRunStatusCancelled HookRunStatus = "cancelled"
)

func (HookRunStatus) values() enumeration {
	return openValues(
		HookRunStatusCompleted, HookRunStatusBlocked, HookRunStatusFailed, HookRunStatusTimedOut,
		HookRunStatusCancelled,
	)
}

// ItemKind is the kind of an item.
type ItemKind string

// The values of ItemKind; clients must bear others.
const (
	ItemKindUserMessage   ItemKind = "userMessage"
	ItemKindAgentMessage  ItemKind = "agentMessage"
	ItemKindReasoning     ItemKind = "reasoning"
	ItemKindToolCall      ItemKind = "toolCall"
	ItemKindUserShell     ItemKind = "userShell"
	ItemKindSubagent      ItemKind = "subagent"
	ItemKindWorkflow      ItemKind = "workflow"
	ItemKindReminderChild ItemKind = "reminderChild"
	ItemKindCompaction    ItemKind = "compaction"
	ItemKindHookRun       ItemKind = "hookRun"
	ItemKindSideChat      ItemKind = "sideChat"
)

func (ItemKind) values() enumeration {
	return openValues(
		ItemKindUserMessage, ItemKindAgentMessage, ItemKindReasoning, ItemKindToolCall, ItemKindUserShell,
		ItemKindSubagent, ItemKindWorkflow, ItemKindReminderChild, ItemKindCompaction, ItemKindHookRun,
		ItemKindSideChat,
	)
}

// ItemStatus is the state of an item; all but inProgress are final.
type ItemStatus string

// The values of ItemStatus; clients must bear others.
const (
	ItemStatusInProgress ItemStatus = "inProgress"
	ItemStatusCompleted  ItemStatus = "completed"
	ItemStatusFailed     ItemStatus = "failed"
	ItemStatusCancelled  ItemStatus = "cancelled"
	ItemStatusRejected   ItemStatus = "rejected"
	ItemStatusTimedOut   ItemStatus = "timedOut"
)

func (ItemStatus) values() enumeration {
	return openValues(
		ItemStatusInProgress, ItemStatusCompleted, ItemStatusFailed, ItemStatusCancelled, ItemStatusRejected,
		ItemStatusTimedOut,
	)
}

// StatusHealthLevel classes how an item in progress fares.
type StatusHealthLevel string

// The values of StatusHealthLevel; clients must bear others.
const (
	StatusHealthLevelOk       StatusHealthLevel = "ok"
	StatusHealthLevelWaiting  StatusHealthLevel = "waiting"
	StatusHealthLevelDegraded StatusHealthLevel = "degraded"
	StatusHealthLevelRetrying StatusHealthLevel = "retrying"
	StatusHealthLevelBlocked  StatusHealthLevel = "blocked"
	StatusHealthLevelFailed   StatusHealthLevel = "failed"
)

func (StatusHealthLevel) values() enumeration {
	return openValues(
		StatusHealthLevelOk, StatusHealthLevelWaiting, StatusHealthLevelDegraded, StatusHealthLevelRetrying,
		StatusHealthLevelBlocked, StatusHealthLevelFailed,
	)
}
