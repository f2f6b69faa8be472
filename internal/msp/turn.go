package msp

// ContextUsage is how full the model's window is.
type ContextUsage struct {
	Pressure     ContextPressureLevel `json:"pressure"`
	UsedTokens   int64                `json:"usedTokens"`
	WindowTokens *int64               `json:"windowTokens,omitzero"` // absent when the window is not known
}

// CumulativeCost is the money spent, in US dollars; Partial when some calls had
// no price.
type CumulativeCost struct {
	Partial bool    `json:"partial"` // some calls had no price
	USD     float64 `json:"usd"`     // dollars
}

// CumulativeTokenUsage counts the tokens of a session.
type CumulativeTokenUsage struct {
	OutputTokens     int64           `json:"outputTokens"`
	PromptTokens     int64           `json:"promptTokens"`
	TotalTokens      int64           `json:"totalTokens"`
	CacheReadTokens  *int64          `json:"cacheReadTokens,omitzero"`
	CacheWriteTokens *int64          `json:"cacheWriteTokens,omitzero"`
	Cost             *CumulativeCost `json:"cost,omitzero"` // absent when no call had a price
}

// SessionContextUsageParams are the params of session/contextUsage.
type SessionContextUsageParams struct {
	Durable

	Pressure     ContextPressureLevel `json:"pressure"`
	UsedTokens   int64                `json:"usedTokens"`
	WindowTokens *int64               `json:"windowTokens,omitzero"` // absent when the window is not known
}

// SessionTokenUsageParams are the params of session/tokenUsage.
type SessionTokenUsageParams struct {
	Durable

	TurnID       string               `json:"turnId"`
	Cumulative   CumulativeTokenUsage `json:"cumulative"`   // of the session, this call included
	PromptTokens int64                `json:"promptTokens"` // of this call
	TotalTokens  int64                `json:"totalTokens"`  // of this call
	Usage        TokenUsage           `json:"usage"`
	DurationMs   *int64               `json:"durationMs,omitzero"`
	FinishReason string               `json:"finishReason,omitzero"`
	ModelID      string               `json:"modelId,omitzero"`
}

// TokenUsage counts the tokens of one turn or call. CachedTokens is the part of
// InputTokens that was read from a cache.
type TokenUsage struct {
	CachedTokens     int64  `json:"cachedTokens"`
	InputTokens      int64  `json:"inputTokens"`  // with the cached ones
	OutputTokens     int64  `json:"outputTokens"` // with the reasoning ones
	ReasoningTokens  int64  `json:"reasoningTokens"`
	CacheReadTokens  *int64 `json:"cacheReadTokens,omitzero"`  // absent when the service does not tell
	CacheWriteTokens *int64 `json:"cacheWriteTokens,omitzero"` // absent when the service does not tell
}

// TurnCancelParams is what turn/cancel takes.
type TurnCancelParams struct {
	SessionID string  `json:"sessionId"`
	CommandID string  `json:"commandId"`
	TurnID    *string `json:"turnId,omitzero"` // the running turn when absent
}

// TurnCancelResult is what turn/cancel answers.
type TurnCancelResult struct {
	CommandID string        `json:"commandId"`
	TurnID    string        `json:"turnId"`
	Status    CommandStatus `json:"status"`
}

// TurnCompletedParams are the params of turn/completed.
type TurnCompletedParams struct {
	Durable

	TurnID             string       `json:"turnId"`
	Terminal           TurnTerminal `json:"terminal"`
	DurationMs         *int64       `json:"durationMs,omitzero"`
	Error              *TurnError   `json:"error,omitzero"`  // with failed
	Reason             string       `json:"reason,omitzero"` // for people
	TimeToFirstTokenMs *int64       `json:"timeToFirstTokenMs,omitzero"`
	Usage              *TokenUsage  `json:"usage,omitzero"`
}

// TurnError is why a turn failed.
type TurnError struct {
	Kind      TurnErrorKind `json:"kind"`
	Message   string        `json:"message"`
	Retryable bool          `json:"retryable"`
}

// TurnForegroundCompletedParams are the params of turn/foregroundCompleted.
type TurnForegroundCompletedParams struct {
	Durable

	TurnID         string   `json:"turnId"`
	BlockingAgents []string `json:"blockingAgents"` // that the turn waits for
}

// TurnInputPart is one part of a prompt. Which members belong to it depends on
// Type.
type TurnInputPart struct {
	Type       TurnInputPartType `json:"type"`
	Arguments  *string           `json:"arguments,omitzero"`  // with skill
	Base64Data *string           `json:"base64Data,omitzero"` // with image
	Height     *int64            `json:"height,omitzero"`
	MediaType  *string           `json:"mediaType,omitzero"` // with image and video
	Selector   *string           `json:"selector,omitzero"`  // with skill
	Text       *string           `json:"text,omitzero"`      // with text
	UploadID   *string           `json:"uploadId,omitzero"`  // with image and video: of media/upload
	Width      *int64            `json:"width,omitzero"`
}

// TurnInterruptParams is what turn/interrupt takes.
type TurnInterruptParams struct {
	SessionID string  `json:"sessionId"`
	CommandID string  `json:"commandId"`
	TurnID    *string `json:"turnId,omitzero"`  // the running turn when absent
	Retract   *bool   `json:"retract,omitzero"` // take the prompt back as well
}

// TurnInterruptResult is what turn/interrupt answers.
type TurnInterruptResult struct {
	CommandID string        `json:"commandId"`
	TurnID    string        `json:"turnId"`
	Status    CommandStatus `json:"status"`
}

// TurnRetractedParams are the params of turn/retracted.
type TurnRetractedParams struct {
	Durable

	CommandID string `json:"commandId"`
	TurnID    string `json:"turnId"`
}

// TurnRetryScheduledParams are the params of turn/retryScheduled.
type TurnRetryScheduledParams struct {
	Durable

	TurnID       string `json:"turnId"`
	Attempt      int64  `json:"attempt"`
	MaxAttempts  int64  `json:"maxAttempts"`
	NextAttempt  int64  `json:"nextAttempt"`
	Reason       string `json:"reason"`
	RetryDelayMs int64  `json:"retryDelayMs"` // until the next attempt
}

// TurnStartParams is what turn/start takes.
type TurnStartParams struct {
	SessionID       string          `json:"sessionId"`
	CommandID       string          `json:"commandId"`
	Input           []TurnInputPart `json:"input" msp:"minItems=1"`
	DisplayText     *string         `json:"displayText,omitzero"`     // what to show instead of the input
	IfBusy          IfBusy          `json:"ifBusy,omitzero"`          // queue when absent
	ReasoningEffort ReasoningEffort `json:"reasoningEffort,omitzero"` // of this turn alone
	WorkspaceRoots  []string        `json:"workspaceRoots,omitzero"`  // not together with steer
}

// TurnStartResult is what turn/start answers.
type TurnStartResult struct {
	CommandID      string               `json:"commandId"`
	TurnID         string               `json:"turnId"` // the command id, or with steered the running turn
	Status         CommandStatus        `json:"status"`
	Disposition    TurnStartDisposition `json:"disposition"`
	StartedNewTurn bool                 `json:"startedNewTurn"` // true exactly for started
}

// TurnStartedParams are the params of turn/started.
type TurnStartedParams struct {
	Durable

	CommandID string `json:"commandId"`
	TurnID    string `json:"turnId"`
}

// TurnSteerParams is what turn/steer takes.
type TurnSteerParams struct {
	SessionID       string          `json:"sessionId"`
	CommandID       string          `json:"commandId"`
	ExpectedTurnID  string          `json:"expectedTurnId"` // must be the running turn
	Input           []TurnInputPart `json:"input" msp:"minItems=1"`
	ReasoningEffort ReasoningEffort `json:"reasoningEffort,omitzero"`
}

// TurnSteerResult is what turn/steer answers.
type TurnSteerResult struct {
	CommandID string        `json:"commandId"`
	TurnID    string        `json:"turnId"`
	Status    CommandStatus `json:"status"`
}

// TurnUnqueueParams is what turn/unqueue takes.
type TurnUnqueueParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	TurnID    string `json:"turnId"` // of a queued turn
}

// TurnUnqueueResult is what turn/unqueue answers.
type TurnUnqueueResult struct {
	CommandID string        `json:"commandId"`
	TurnID    string        `json:"turnId"`
	Status    CommandStatus `json:"status"`
}

// TurnUnqueuedParams are the params of turn/unqueued.
type TurnUnqueuedParams struct {
	Durable

	CommandID string `json:"commandId"` // of the turn/start that queued it
	TurnID    string `json:"turnId"`
}

// ContextPressureLevel classes the fill of the window.
type ContextPressureLevel string

// The values of ContextPressureLevel; clients must bear others.
const (
	ContextPressureLevelNormal  ContextPressureLevel = "normal"
	ContextPressureLevelWarning ContextPressureLevel = "warning"
	ContextPressureLevelBlocked ContextPressureLevel = "blocked"
)

func (ContextPressureLevel) values() enumeration {
	return openValues(ContextPressureLevelNormal, ContextPressureLevelWarning, ContextPressureLevelBlocked)
}

// IfBusy is what to do with a prompt while a turn runs; absent means queue.
type IfBusy string

// The values of IfBusy.
const (
	IfBusyQueue   IfBusy = "queue"
	IfBusySteer   IfBusy = "steer"
	IfBusyReplace IfBusy = "replace"
)

func (IfBusy) values() enumeration {
	return closedValues(IfBusyQueue, IfBusySteer, IfBusyReplace)
}

// TurnErrorKind is the class of a turn's failure.
type TurnErrorKind string

// The values of TurnErrorKind; clients must bear others.
const (
	TurnErrorKindStepLimit           TurnErrorKind = "stepLimit"
	TurnErrorKindConfigError         TurnErrorKind = "configError"
	TurnErrorKindProjectionError     TurnErrorKind = "projectionError"
	TurnErrorKindLogError            TurnErrorKind = "logError"
	TurnErrorKindWorkflowLaunchError TurnErrorKind = "workflowLaunchError"
	TurnErrorKindEnvironmentError    TurnErrorKind = "environmentError"
	TurnErrorKindModelError          TurnErrorKind = "modelError"
	TurnErrorKindLaunchError         TurnErrorKind = "launchError"
	TurnErrorKindAuthRequired        TurnErrorKind = "authRequired"
)

func (TurnErrorKind) values() enumeration {
	return openValues(
		TurnErrorKindStepLimit, TurnErrorKindConfigError, TurnErrorKindProjectionError, TurnErrorKindLogError,
		TurnErrorKindWorkflowLaunchError, TurnErrorKindEnvironmentError, TurnErrorKindModelError,
		TurnErrorKindLaunchError, TurnErrorKindAuthRequired,
	)
}

// TurnInputPartType is the kind of a prompt part.
type TurnInputPartType string

// The values of TurnInputPartType.
const (
	TurnInputPartTypeText  TurnInputPartType = "text"
	TurnInputPartTypeImage TurnInputPartType = "image"
	TurnInputPartTypeSkill TurnInputPartType = "skill"
	TurnInputPartTypeVideo TurnInputPartType = "video"
)

func (TurnInputPartType) values() enumeration {
	return closedValues(
		TurnInputPartTypeText, TurnInputPartTypeImage, TurnInputPartTypeSkill, TurnInputPartTypeVideo,
	)
}

// TurnStartDisposition is what became of a prompt.
type TurnStartDisposition string

// The values of TurnStartDisposition; clients must bear others.
const (
	TurnStartDispositionStarted TurnStartDisposition = "started"
	TurnStartDispositionQueued  TurnStartDisposition = "queued"
	TurnStartDispositionSteered TurnStartDisposition = "steered"
)

func (TurnStartDisposition) values() enumeration {
	return openValues(TurnStartDispositionStarted, TurnStartDispositionQueued, TurnStartDispositionSteered)
}

// TurnTerminal is how a turn ended.
type TurnTerminal string

// The values of TurnTerminal; clients must bear others.
const (
	TurnTerminalCompleted TurnTerminal = "completed"
	TurnTerminalFailed    TurnTerminal = "failed"
	TurnTerminalCancelled TurnTerminal = "cancelled"
)

func (TurnTerminal) values() enumeration {
	return openValues(TurnTerminalCompleted, TurnTerminalFailed, TurnTerminalCancelled)
}
