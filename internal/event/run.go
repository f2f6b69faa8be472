package event

// RunStarted opens a run: one prompt carried to its end.
type RunStarted struct {
	runEvent
	Prompt string         `json:"prompt"`
	Images []ContentBlock `json:"images,omitempty"`
}

// RequestConfigured is what every model call of the run has in common.
type RequestConfigured struct {
	runEvent
	BaseInstructions string           `json:"base_instructions"`
	BaseSource       string           `json:"base_instructions_source"`
	Context          []ContextMessage `json:"run_context_messages"`
	// ContextLimit is the model's window in tokens, the thresholds are where
	// compaction begins and where it must have happened; 0 is unknown.
	ContextLimit  int64    `json:"openmuse_context_limit,omitzero"`
	SoftThreshold int64    `json:"openmuse_soft_threshold,omitzero"`
	HardThreshold int64    `json:"openmuse_hard_threshold,omitzero"`
	Effort        string   `json:"reasoning_effort,omitempty"`
	Reminders     []string `json:"reminder_roster"`
	Toolset       Toolset  `json:"toolset"`
}

// ContextMessage is one block of context put before the conversation.
type ContextMessage struct {
	ID        string `json:"id"`
	Lifecycle string `json:"lifecycle"`
	Order     int    `json:"order"`
	Role      string `json:"role"` // "developer"
	Source    string `json:"source"`
	Text      string `json:"text"`
}

// Toolset names the tools the model was offered.
type Toolset struct {
	ActiveTools []string `json:"active_tools"`
	Mode        string   `json:"mode"`
	Source      string   `json:"source"`
}

// TaskLinked ties a task's stream to the run.
type TaskLinked struct {
	runEvent
	ExecutionMode string    `json:"execution_mode"` // "foreground"
	TaskID        string    `json:"task_id"`
	TaskStream    StreamRef `json:"task_stream"`
}

// ResponseCreated is the provider's acceptance of a request.
type ResponseCreated struct {
	runEvent
	ResponseID string `json:"response_id"`
}

// SummaryParagraph is one paragraph of a readable reasoning summary. The
// committed summary is the paragraphs joined by an empty line.
type SummaryParagraph struct {
	runEvent
	Index     int    `json:"summary_index"`
	MessageID string `json:"message_id"`
	Text      string `json:"text"`
}

// SummaryCommitted is the whole reasoning summary of one reply item.
type SummaryCommitted struct {
	runEvent
	MessageID  string `json:"message_id"`
	ItemID     string `json:"provider_item_id"`
	ResponseID string `json:"response_id"`
	Text       string `json:"text"`
}

// ReasoningCommitted is one opaque reasoning item. Text is empty unless the
// provider gives the reasoning itself (the Messages wire, whose signature is
// in Encrypted). ProviderID and ModelID say to whom it may be returned.
type ReasoningCommitted struct {
	runEvent
	Encrypted  string `json:"encrypted_content"`
	MessageID  string `json:"message_id"`
	ModelID    string `json:"model_id,omitempty"`
	ProviderID string `json:"provider_id,omitempty"`
	ItemID     string `json:"provider_item_id"`
	Redacted   bool   `json:"redacted,omitempty"`
	ResponseID string `json:"response_id"`
	Text       string `json:"text"`
}

// ModelCompleted ends one model call. CostMicros is the price of the call in
// millionths of a US dollar, nil when the model's price is not known.
type ModelCompleted struct {
	runEvent
	CostMicros *int64 `json:"cost_micro_usd,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	Finish     string `json:"finish_reason"`
	Model      string `json:"model"`
	Usage      Usage  `json:"usage"`
}

// Usage counts the tokens of one model call. CachedTokens repeats
// CacheReadTokens for readers of older logs.
type Usage struct {
	CacheReadTokens  int64 `json:"cache_read_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens"`
	CachedTokens     int64 `json:"cached_tokens"`
	InputTokens      int64 `json:"input_tokens"`
	OutputTokens     int64 `json:"output_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens"`
}

// AssistantMessage is answer text of one reply. Phase is "commentary" for text
// beside tool calls, "incomplete" for a reply that broke off, else empty.
type AssistantMessage struct {
	runEvent
	MessageID  string `json:"message_id"`
	Phase      string `json:"phase,omitempty"`
	ItemID     string `json:"provider_item_id"`
	ResponseID string `json:"response_id"`
	Text       string `json:"text"`
}

// ToolCalls is the batch of calls of one reply. Args is the argument text as
// the model wrote it.
type ToolCalls struct {
	runEvent
	MessageID  string     `json:"message_id"`
	ResponseID string     `json:"response_id"`
	Calls      []ToolCall `json:"tool_calls"`
}

// ToolCall is one call of a batch.
type ToolCall struct {
	Args   string `json:"args"`
	CallID string `json:"call_id"`
	ID     string `json:"id"` // the provider's item id
	Name   string `json:"name"`
}

// ToolResults answers a batch, in the order of its calls.
type ToolResults struct {
	runEvent
	BatchID string       `json:"batch_id"` // the calls' message id
	Results []ToolResult `json:"results"`
}

// ToolResult answers one call. Failed is kept so that a continued session can
// tell the model again what it was told.
type ToolResult struct {
	Failed bool           `json:"failed,omitempty"`
	Images []ContentBlock `json:"images,omitempty"`
	Text   string         `json:"text"`
	CallID string         `json:"tool_call_id"`
	Index  int            `json:"tool_call_index"`

	// Refused names the tool of a call that was never executed: it has no task,
	// so a view shows its result when the batch is committed.
	Refused string `json:"-"`
}

// Notice is text put into the conversation between two model calls: by the
// harness (a wind-down notice, a correction of an answer that does not fit the
// asked schema) or, when the source is UserSteer, by the person, who then
// speaks in Payload.
type Notice struct {
	runEvent
	Body        string         `json:"body"`
	CommandID   string         `json:"openmuse_command_id,omitzero"` // of the person's command
	Disposition string         `json:"disposition"`                  // "delivered"
	Payload     *NoticePayload `json:"payload,omitempty"`
	Source      NoticeSource   `json:"source"`
	Summary     string         `json:"summary"`
}

// UserSteer is the source of words that the person put in while a run was
// under way (seed 000, Run events, inbox_item_queued).
const UserSteer = "user_steer"

// NoticePayload is what the person put in.
type NoticePayload struct {
	DisplayText string         `json:"openmuse_display_text,omitzero"`
	Images      []ContentBlock `json:"openmuse_images,omitempty"`
	Prompt      string         `json:"prompt"`
}

// Steered is what the person put in; false when the harness speaks.
func (n Notice) Steered() (NoticePayload, bool) {
	switch {
	case n.Source.Source != UserSteer:
		return NoticePayload{}, false
	case n.Payload == nil:
		return NoticePayload{Prompt: n.Body}, true
	}
	return *n.Payload, true
}

// NoticeSource says who speaks: "step_budget", "output_schema", UserSteer.
type NoticeSource struct {
	Source string `json:"source"`
}

// TodoSnapshot is the model's plan after a change.
type TodoSnapshot struct {
	runEvent
	Items    []TodoItem `json:"items"`
	Revision int        `json:"revision"`
}

// TodoItem is one line of the plan.
type TodoItem struct {
	Status string `json:"status"`
	Text   string `json:"text"`
}

// RunTerminal ends a run. Text is the answer; views show it and the log holds
// it in the last AssistantMessage.
type RunTerminal struct {
	runEvent
	EOTGateMS        int64   `json:"eot_gate_ms"`
	FailureRetryable *bool   `json:"failure_retryable,omitempty"`
	Reason           *string `json:"reason"`
	Terminal         string  `json:"terminal"` // "completed", "failed", "cancelled"
	FirstTokenMS     *int64  `json:"time_to_first_token_ms"`
	DurationMS       int64   `json:"turn_duration_ms"`

	Text string `json:"-"`
}

// RetryScheduled says that an attempt failed and when the next one starts.
type RetryScheduled struct {
	runEvent
	Attempt     int    `json:"attempt"` // the one that failed, from 1
	Class       string `json:"error_class"`
	DelayMS     int64  `json:"delay_ms"`
	MaxAttempts int    `json:"max_attempts"`
	Reason      string `json:"reason"`
	TaskID      string `json:"task_id"`
}

// FatalError classifies the failure that ends a run. Scope and reset are facts
// of a 429 as the service gave them, null when it gave none.
type FatalError struct {
	runEvent
	Class             string  `json:"error_class"`
	QuotaScope        *string `json:"quota_scope"`
	Reason            string  `json:"reason"`
	ResetAt           *string `json:"reset_at"`
	RetryAfterSeconds *int64  `json:"retry_after_seconds"`
	Status            int     `json:"http_status,omitempty"`
}

// StepBudget tells how much of a run's allowance is used.
type StepBudget struct {
	runEvent
	Kind  string `json:"budget"` // "steps", "cost", "tokens", "time"
	Limit int64  `json:"limit"`
	Used  int64  `json:"used"`
	State string `json:"state"` // "ok", "winding_down", "exhausted"
}

// RunUsage totals the model calls of a run, just before it ends. CostMicros is
// nil when one of the calls has no known price.
type RunUsage struct {
	runEvent
	CostMicros *int64 `json:"cost_micro_usd"`
	ModelCalls int    `json:"model_calls"`
	Steps      int    `json:"steps"`
	ToolCalls  int    `json:"tool_calls"`
	Usage      Usage  `json:"usage"`
}
