package event

// UserInputRequested puts questions of a tool to the person. The call waits
// for the answer.
type UserInputRequested struct {
	runEvent
	// AutoResolutionMS settles the request as timed out after so long, unless a
	// client says that the person is at it; nil waits for ever.
	AutoResolutionMS *int64         `json:"auto_resolution_ms,omitempty"`
	CallID           string         `json:"tool_call_id"`
	ID               string         `json:"user_input_id"`
	Questions        []UserQuestion `json:"questions"`
	ToolName         string         `json:"tool_name"`
}

// UserQuestion is one question. Mode is "single" or "multiple".
type UserQuestion struct {
	Header        string       `json:"header"`
	ID            string       `json:"id"`
	MaxSelections *int         `json:"max_selections,omitempty"`
	MinSelections *int         `json:"min_selections,omitempty"`
	Mode          string       `json:"selection_mode"`
	Options       []UserOption `json:"options"`
	Question      string       `json:"question"`
}

// UserOption is one offered answer.
type UserOption struct {
	Description   string `json:"description,omitzero"`
	Label         string `json:"label"`
	Preview       string `json:"preview,omitzero"`
	PreviewFormat string `json:"preview_format,omitzero"` // "text", "markdown"
}

// UserInputSettled is how the request ended: "answered", "cancelled",
// "interrupted", "clarified", "timedOut" or "aborted" (MSP.md 13,
// UserInputOutcome).
type UserInputSettled struct {
	runEvent
	Answers             []UserAnswer `json:"answers"`
	Clarification       *string      `json:"clarification"`
	ClarificationFormat string       `json:"clarification_format,omitzero"`
	CommandID           *string      `json:"decided_by_command_id"`
	ID                  string       `json:"user_input_id"`
	Outcome             string       `json:"outcome"`
	Reason              *string      `json:"reason"`
}

// UserAnswer answers one question with one label, several labels, or words.
type UserAnswer struct {
	FreeText       *string  `json:"free_text,omitempty"`
	Note           *string  `json:"note,omitempty"`
	QuestionID     string   `json:"question_id"`
	SelectedLabel  *string  `json:"selected_label,omitempty"`
	SelectedLabels []string `json:"selected_labels,omitempty"`
}
