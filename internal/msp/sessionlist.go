package msp

// SessionListBranchFilter keeps rows on one of these branches; null is a row
// without one.
type SessionListBranchFilter struct {
	AnyOf []*string `json:"anyOf"`
}

// SessionListChangedParams are the params of session/listChanged.
type SessionListChangedParams struct {
	Session Session `json:"session"`
}

// SessionListFilter narrows a list; a row must satisfy every member that is
// present.
type SessionListFilter struct {
	SessionID *SessionListSessionIdFilter `json:"sessionId,omitzero"`
	Branch    *SessionListBranchFilter    `json:"branch,omitzero"`
	Text      *SessionListTextFilter      `json:"text,omitzero"`
}

// SessionListParams is what session/list takes.
type SessionListParams struct {
	Cursor        *string            `json:"cursor,omitzero" msp:"nullable"`
	Filter        *SessionListFilter `json:"filter,omitzero"`
	Limit         *int64             `json:"limit,omitzero"`
	UpdatedAfter  *string            `json:"updatedAfter,omitzero"`
	WorkspaceRoot *string            `json:"workspaceRoot,omitzero"`
}

// SessionListResult is what session/list answers.
type SessionListResult struct {
	NextCursor    *string            `json:"nextCursor"`
	Sessions      []Session          `json:"sessions"`
	AppliedFilter *SessionListFilter `json:"appliedFilter,omitzero"`
}

// SessionListSessionIdFilter keeps rows with one of these ids.
type SessionListSessionIdFilter struct {
	AnyOf []string `json:"anyOf"`
}

// SessionListTextFilter keeps rows whose named fields hold the words.
type SessionListTextFilter struct {
	Fields []SessionListTextField `json:"fields"`
	AllOf  []string               `json:"allOf,omitzero"`
	AnyOf  []string               `json:"anyOf,omitzero"`
}

// SessionListTextField is a text member of a row that can be searched.
type SessionListTextField string

// The values of SessionListTextField.
const (
	SessionListTextFieldName  SessionListTextField = "name"
	SessionListTextFieldTitle SessionListTextField = "title"
)

func (SessionListTextField) values() enumeration {
	return closedValues(SessionListTextFieldName, SessionListTextFieldTitle)
}
