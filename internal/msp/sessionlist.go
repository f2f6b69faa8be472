package msp

// SessionListBranchFilter keeps rows on one of these branches; null is a row
// without one.
type SessionListBranchFilter struct {
	AnyOf []*string `json:"anyOf"` // null is a row without a branch
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
	Cursor        *string            `json:"cursor,omitzero" msp:"nullable"` // a nextCursor; other cursors mean nothing here
	Filter        *SessionListFilter `json:"filter,omitzero"`
	Limit         *int64             `json:"limit,omitzero"`        // 50 when absent, at most 200 count
	UpdatedAfter  *string            `json:"updatedAfter,omitzero"` // RFC 3339
	WorkspaceRoot *string            `json:"workspaceRoot,omitzero"`
}

// SessionListResult is what session/list answers.
type SessionListResult struct {
	NextCursor    *string            `json:"nextCursor"` // null on the last page
	Sessions      []Session          `json:"sessions"`
	AppliedFilter *SessionListFilter `json:"appliedFilter,omitzero"` // the filter in its canonical form, when one was given
}

// SessionListSessionIdFilter keeps rows with one of these ids.
type SessionListSessionIdFilter struct {
	AnyOf []string `json:"anyOf"`
}

// SessionListTextFilter keeps rows whose named fields hold the words.
type SessionListTextFilter struct {
	Fields []SessionListTextField `json:"fields"`
	AllOf  []string               `json:"allOf,omitzero"` // every one must be found
	AnyOf  []string               `json:"anyOf,omitzero"` // one of them must be found
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
