package msp

// TaskBackgroundParams is what task/background takes.
type TaskBackgroundParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	TaskID    string `json:"taskId"`
}

// TaskCommandResult acknowledges a task command.
type TaskCommandResult struct {
	CommandID string        `json:"commandId"`
	Status    CommandStatus `json:"status"`
	TaskID    string        `json:"taskId"`
}

// TaskListEntry is one task in progress.
type TaskListEntry struct {
	Kind                string              `json:"kind"`
	Status              TaskListStatus      `json:"status"`
	TaskID              string              `json:"taskId"`
	BackgroundInitiator BackgroundInitiator `json:"backgroundInitiator,omitzero"`
	StartedAt           string              `json:"startedAt,omitzero"` // RFC 3339
	Tool                string              `json:"tool,omitzero"`
}

// TaskListParams is what task/list takes.
type TaskListParams struct {
	SessionID string `json:"sessionId"`
}

// TaskListResult is what task/list answers.
type TaskListResult struct {
	Tasks []TaskListEntry `json:"tasks"`
}

// TaskStopAllParams is what task/stopAll takes.
type TaskStopAllParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
}

// TaskStopAllResult is what task/stopAll answers.
type TaskStopAllResult struct {
	CommandID string        `json:"commandId"`
	Status    CommandStatus `json:"status"`
}

// TaskStopParams is what task/stop takes.
type TaskStopParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	TaskID    string `json:"taskId"`
}

// TaskListStatus is the state of a listed task.
type TaskListStatus string

// The values of TaskListStatus; clients must bear others.
const (
	TaskListStatusInProgress TaskListStatus = "inProgress"
)

func (TaskListStatus) values() enumeration {
	return openValues(TaskListStatusInProgress)
}
