package msp

// UserInputAnswer answers one question by exactly one of a label, several
// labels or free text; texts hold at most 500 characters (MSP.md 7.4).
type UserInputAnswer struct {
	QuestionID     string   `json:"questionId"`
	FreeText       *string  `json:"freeText,omitzero"`
	Note           *string  `json:"note,omitzero"` // beside the answer
	SelectedLabel  *string  `json:"selectedLabel,omitzero"`
	SelectedLabels []string `json:"selectedLabels,omitzero"`
}

// UserInputAnswerParams is what userInput/answer takes.
type UserInputAnswerParams struct {
	SessionID   string            `json:"sessionId"`
	CommandID   string            `json:"commandId"`
	UserInputID string            `json:"userInputId"`
	Answers     []UserInputAnswer `json:"answers"`
}

// UserInputAnswerResult is what userInput/answer answers.
type UserInputAnswerResult struct {
	CommandID   string        `json:"commandId"`
	UserInputID string        `json:"userInputId"`
	Status      CommandStatus `json:"status"`
}

// UserInputCancelParams is what userInput/cancel takes.
type UserInputCancelParams struct {
	SessionID   string  `json:"sessionId"`
	CommandID   string  `json:"commandId"`
	UserInputID string  `json:"userInputId"`
	Reason      *string `json:"reason,omitzero"`
}

// UserInputCancelResult is what userInput/cancel answers.
type UserInputCancelResult struct {
	CommandID   string        `json:"commandId"`
	UserInputID string        `json:"userInputId"`
	Status      CommandStatus `json:"status"`
}

// UserInputClarification asks back instead of answering; Format is text and
// Content holds at most 500 characters.
type UserInputClarification struct {
	Content string `json:"content"`
	Format  string `json:"format"` // always text
}

// UserInputClarifyParams is what userInput/clarify takes.
type UserInputClarifyParams struct {
	SessionID     string                 `json:"sessionId"`
	CommandID     string                 `json:"commandId"`
	UserInputID   string                 `json:"userInputId"`
	Clarification UserInputClarification `json:"clarification"`
}

// UserInputClarifyResult is what userInput/clarify answers.
type UserInputClarifyResult struct {
	CommandID   string        `json:"commandId"`
	UserInputID string        `json:"userInputId"`
	Status      CommandStatus `json:"status"`
}

// UserInputEngagedParams are the params of userInput/engaged.
type UserInputEngagedParams struct {
	SessionID   string `json:"sessionId"`
	UserInputID string `json:"userInputId"`
}

// UserInputInterruptParams is what userInput/interrupt takes.
type UserInputInterruptParams struct {
	SessionID   string            `json:"sessionId"`
	CommandID   string            `json:"commandId"`
	UserInputID string            `json:"userInputId"`
	Answers     []UserInputAnswer `json:"answers,omitzero"`
}

// UserInputInterruptResult is what userInput/interrupt answers.
type UserInputInterruptResult struct {
	CommandID   string        `json:"commandId"`
	UserInputID string        `json:"userInputId"`
	Status      CommandStatus `json:"status"`
}

// UserInputOption is one labelled answer.
type UserInputOption struct {
	Label       string                  `json:"label"`
	Description string                  `json:"description,omitzero"`
	Preview     *UserInputOptionPreview `json:"preview,omitzero"`
}

// UserInputOptionPreview shows what an option stands for.
type UserInputOptionPreview struct {
	Content string `json:"content"`
	Format  string `json:"format"`
}

// UserInputQuestion is one question of a prompt.
type UserInputQuestion struct {
	Header    string             `json:"header"`
	ID        string             `json:"id"`
	Options   []UserInputOption  `json:"options"`
	Question  string             `json:"question"`
	Selection UserInputSelection `json:"selection"`
}

// UserInputRequestParams are the params of userInput/requested and of the
// server request userInput/request (MSP.md 8).
type UserInputRequestParams struct {
	MaybeDurable

	TurnID           string              `json:"turnId"`
	ItemID           string              `json:"itemId"`
	UserInputID      string              `json:"userInputId"`
	Questions        []UserInputQuestion `json:"questions"`
	ToolCallID       string              `json:"toolCallId"`
	ToolName         string              `json:"toolName"`
	AutoResolutionMs *int64              `json:"autoResolutionMs,omitzero"` // after which it settles as timedOut; absent is never
}

// UserInputSelection bounds how many options may be chosen.
type UserInputSelection struct {
	Mode          UserInputSelectionMode `json:"mode"`
	MaxSelections *int64                 `json:"maxSelections,omitzero"` // with multiple
	MinSelections *int64                 `json:"minSelections,omitzero"` // with multiple
}

// UserInputSettledParams are the params of userInput/settled.
type UserInputSettledParams struct {
	Durable

	UserInputID        string                  `json:"userInputId"`
	Answers            []UserInputAnswer       `json:"answers"` // empty when there are none
	Clarification      *UserInputClarification `json:"clarification"`
	DecidedAt          *string                 `json:"decidedAt"`
	DecidedByCommandID *string                 `json:"decidedByCommandId"` // null when no command decided
	Outcome            UserInputOutcome        `json:"outcome"`
	Reason             *string                 `json:"reason"`
}

// UserInputOutcome is how questions were settled.
type UserInputOutcome string

// The values of UserInputOutcome; clients must bear others.
const (
	UserInputOutcomeAnswered    UserInputOutcome = "answered"
	UserInputOutcomeCancelled   UserInputOutcome = "cancelled"
	UserInputOutcomeInterrupted UserInputOutcome = "interrupted"
	UserInputOutcomeClarified   UserInputOutcome = "clarified"
	UserInputOutcomeTimedOut    UserInputOutcome = "timedOut"
	UserInputOutcomeAborted     UserInputOutcome = "aborted"
)

func (UserInputOutcome) values() enumeration {
	return openValues(
		UserInputOutcomeAnswered, UserInputOutcomeCancelled, UserInputOutcomeInterrupted,
		UserInputOutcomeClarified, UserInputOutcomeTimedOut, UserInputOutcomeAborted,
	)
}

// UserInputSelectionMode is whether one or several options may be chosen.
type UserInputSelectionMode string

// The values of UserInputSelectionMode.
const (
	UserInputSelectionModeSingle   UserInputSelectionMode = "single"
	UserInputSelectionModeMultiple UserInputSelectionMode = "multiple"
)

func (UserInputSelectionMode) values() enumeration {
	return closedValues(UserInputSelectionModeSingle, UserInputSelectionModeMultiple)
}
