package msp

// Goal is what a session works towards.
type Goal struct {
	Status          string `json:"status"` // an open word
	Objective       string `json:"objective"`
	PercentComplete int64  `json:"percentComplete"` // 0 to 100
	CurrentWork     string `json:"currentWork,omitzero"`
	NextWork        string `json:"nextWork,omitzero"`
}

// GoalClearParams is what goal/clear takes.
type GoalClearParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
}

// GoalCommandResult acknowledges a goal command; TurnID names the turn that it
// woke or found.
type GoalCommandResult struct {
	CommandID string        `json:"commandId"`
	TurnID    string        `json:"turnId,omitzero"` // absent when no turn was woken or runs
	Status    CommandStatus `json:"status"`
}

// GoalEditParams is what goal/edit takes.
type GoalEditParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	Objective string `json:"objective"`
}

// GoalPauseParams is what goal/pause takes.
type GoalPauseParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
}

// GoalResumeParams is what goal/resume takes.
type GoalResumeParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
}

// GoalSetParams is what goal/set takes.
type GoalSetParams struct {
	SessionID string `json:"sessionId"`
	CommandID string `json:"commandId"`
	Objective string `json:"objective"` // not empty without its spaces
}

// SessionGoalChangedParams are the params of session/goalChanged.
type SessionGoalChangedParams struct {
	Durable

	Goal *Goal `json:"goal" msp:"optional,nullable"` // always written, null when cleared
}

// SessionTodoListChangedParams are the params of session/todoListChanged.
type SessionTodoListChangedParams struct {
	Durable

	Revision   int64      `json:"revision"`
	Items      []TodoItem `json:"items"`
	SourceTool string     `json:"sourceTool"`
}

// TodoItem is one entry of the to-do list.
type TodoItem struct {
	Status     TodoStatus `json:"status"`
	Text       string     `json:"text"`
	ActiveForm string     `json:"activeForm,omitzero"` // the text while it is in progress
}

// TodoListState is the to-do list.
type TodoListState struct {
	Revision   int64      `json:"revision"`
	Items      []TodoItem `json:"items"`
	SourceTool string     `json:"sourceTool"` // the tool that wrote it
}

// TodoStatus is the state of an entry.
type TodoStatus string

// The values of TodoStatus; clients must bear others.
const (
	TodoStatusPending    TodoStatus = "pending"
	TodoStatusInProgress TodoStatus = "inProgress"
	TodoStatusCompleted  TodoStatus = "completed"
	TodoStatusCancelled  TodoStatus = "cancelled"
)

func (TodoStatus) values() enumeration {
	return openValues(TodoStatusPending, TodoStatusInProgress, TodoStatusCompleted, TodoStatusCancelled)
}

// The goal methods without an objective refuse one, as the only exception to
// the rule that unknown members are ignored (MSP.md 2).

func (GoalClearParams) refused() []string  { return []string{"objective"} }
func (GoalPauseParams) refused() []string  { return []string{"objective"} }
func (GoalResumeParams) refused() []string { return []string{"objective"} }
