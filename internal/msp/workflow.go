package msp

// WorkflowCancelParams is what workflow/cancel takes.
type WorkflowCancelParams struct {
	SessionID     string `json:"sessionId"`
	CommandID     string `json:"commandId"`
	WorkflowRunID string `json:"workflowRunId"`
}

// WorkflowChild is one agent of a workflow.
type WorkflowChild struct {
	Status        string       `json:"status"`
	Attempt       int64        `json:"attempt"`
	ChildID       string       `json:"childId"`
	DurationMs    *int64       `json:"durationMs,omitzero"`
	FailureKind   string       `json:"failureKind,omitzero"`
	FailureReason string       `json:"failureReason,omitzero"`
	Label         string       `json:"label,omitzero"`
	Phase         string       `json:"phase,omitzero"`
	ResultRef     string       `json:"resultRef,omitzero"`
	Terminal      TurnTerminal `json:"terminal,omitzero"`
	Usage         *TokenUsage  `json:"usage,omitzero"`
}

// WorkflowChildControlParams is what workflow/childControl takes.
type WorkflowChildControlParams struct {
	SessionID     string              `json:"sessionId"`
	CommandID     string              `json:"commandId"`
	WorkflowRunID string              `json:"workflowRunId"`
	Action        WorkflowChildAction `json:"action"`
	Attempt       int64               `json:"attempt"` // must be the current one
	ChildID       string              `json:"childId"`
}

// WorkflowControlResult acknowledges a workflow command.
type WorkflowControlResult struct {
	CommandID string        `json:"commandId"`
	Status    CommandStatus `json:"status"`
}

// WorkflowPauseParams is what workflow/pause takes.
type WorkflowPauseParams struct {
	SessionID     string `json:"sessionId"`
	CommandID     string `json:"commandId"`
	WorkflowRunID string `json:"workflowRunId"`
}

// WorkflowTokenBudget bounds the tokens of a workflow.
type WorkflowTokenBudget struct {
	Total int64 `json:"total"`
}

// WorkflowChildAction is what to do with an agent of a workflow.
type WorkflowChildAction string

// The values of WorkflowChildAction.
const (
	WorkflowChildActionSkip  WorkflowChildAction = "skip"
	WorkflowChildActionRetry WorkflowChildAction = "retry"
)

func (WorkflowChildAction) values() enumeration {
	return closedValues(WorkflowChildActionSkip, WorkflowChildActionRetry)
}
