package msp

// BranchState is the checked-out branch; null when detached or unknown.
type BranchState struct {
	Branch        *string `json:"branch"` // null when detached
	WorkspaceRoot string  `json:"workspaceRoot"`
	VCS           Vcs     `json:"vcs,omitzero"`
}

// EffectiveModel is the model that the next call would use.
type EffectiveModel struct {
	ModelID    string            `json:"modelId"`
	ProviderID *string           `json:"providerId"`
	Source     ModelChangeSource `json:"source"`
}

// PendingApprovalPointer points from a snapshot at an open approval.
type PendingApprovalPointer struct {
	ItemID     string `json:"itemId,omitzero"`
	ApprovalID string `json:"approvalId"`
	ViewCursor string `json:"viewCursor"` // at which it opened
}

// PendingUserInputPointer points from a snapshot at open questions.
type PendingUserInputPointer struct {
	ItemID      string `json:"itemId,omitzero"`
	UserInputID string `json:"userInputId"`
	ViewCursor  string `json:"viewCursor"` // at which it opened
}

// ReasoningEffortState is the standing effort and what set it.
type ReasoningEffortState struct {
	ReasoningEffort ReasoningEffort             `json:"reasoningEffort"`
	Source          ReasoningEffortChangeSource `json:"source"`
}

// SessionHistory is the past of a session as far as it fits; what is not served
// is null (MSP.md 6).
type SessionHistory struct {
	Items      *[]Item           `json:"items"` // with mode inline
	Mode       HistoryMode       `json:"mode"`
	Snapshot   *ViewSnapshot     `json:"snapshot"` // with modes snapshot and anchoredSnapshot
	NoneReason HistoryNoneReason `json:"noneReason,omitzero"`
}

// SnapshotAnchor says that a snapshot starts at a compaction.
type SnapshotAnchor struct {
	BoundaryCursor    string `json:"boundaryCursor"`    // of the compaction
	SummarizedThrough string `json:"summarizedThrough"` // the last entry that the summary covers
}

// SnapshotState is everything a fold holds: members that are null exist and are
// empty, absent ones were never set.
type SnapshotState struct {
	Name              string                     `json:"name,omitzero"`
	ActiveTurn        *TurnRef                   `json:"activeTurn"`
	ApprovalMode      EffectiveApprovalModeState `json:"approvalMode"`
	Branch            *BranchState               `json:"branch"`
	EffectiveModel    *EffectiveModel            `json:"effectiveModel"`
	Goal              *Goal                      `json:"goal"`
	Items             []Item                     `json:"items"`
	PendingApprovals  []PendingApprovalPointer   `json:"pendingApprovals"`
	PendingUserInputs []PendingUserInputPointer  `json:"pendingUserInputs"`
	QueuedTurns       []TurnRef                  `json:"queuedTurns"` // the next one first
	TodoList          *TodoListState             `json:"todoList"`
	TokenUsage        CumulativeTokenUsage       `json:"tokenUsage"`
	TurnCount         int64                      `json:"turnCount"`
	ContextUsage      *ContextUsage              `json:"contextUsage,omitzero"`    // absent until it was measured
	ReasoningEffort   *ReasoningEffortState      `json:"reasoningEffort,omitzero"` // absent until it was set
}

// TurnRef names a turn of a snapshot.
type TurnRef struct {
	CommandID   string `json:"commandId"`
	TurnID      string `json:"turnId"`
	DisplayText string `json:"displayText,omitzero"` // of the prompt, shortened when Truncated
	Truncated   bool   `json:"truncated,omitzero"`
}

// ViewSnapshot is the folded view at one cursor.
type ViewSnapshot struct {
	SchemaVersion int64           `json:"schemaVersion"`
	State         SnapshotState   `json:"state"`
	ViewCursor    string          `json:"viewCursor"`
	Anchor        *SnapshotAnchor `json:"anchor,omitzero"` // with mode anchoredSnapshot
}

// HistoryMode is the rung of the history ladder that was served.
type HistoryMode string

// The values of HistoryMode; clients must bear others.
const (
	HistoryModeAnchoredSnapshot HistoryMode = "anchoredSnapshot"
	HistoryModeInline           HistoryMode = "inline"
	HistoryModeSnapshot         HistoryMode = "snapshot"
	HistoryModeNone             HistoryMode = "none"
)

func (HistoryMode) values() enumeration {
	return openValues(HistoryModeAnchoredSnapshot, HistoryModeInline, HistoryModeSnapshot, HistoryModeNone)
}

// HistoryNoneReason is why no history was served; present exactly with mode
// none.
type HistoryNoneReason string

// The values of HistoryNoneReason; clients must bear others.
const (
	HistoryNoneReasonExcluded              HistoryNoneReason = "excluded"
	HistoryNoneReasonCursorSuffix          HistoryNoneReason = "cursorSuffix"
	HistoryNoneReasonHistoryBudget         HistoryNoneReason = "historyBudget"
	HistoryNoneReasonProjectionUnavailable HistoryNoneReason = "projectionUnavailable"
	HistoryNoneReasonProjectionReadLimit   HistoryNoneReason = "projectionReadLimit"
)

func (HistoryNoneReason) values() enumeration {
	return openValues(
		HistoryNoneReasonExcluded, HistoryNoneReasonCursorSuffix, HistoryNoneReasonHistoryBudget,
		HistoryNoneReasonProjectionUnavailable, HistoryNoneReasonProjectionReadLimit,
	)
}

// HistoryPreference is the rung that a client would like best.
type HistoryPreference string

// The values of HistoryPreference.
const (
	HistoryPreferenceAuto     HistoryPreference = "auto"
	HistoryPreferenceInline   HistoryPreference = "inline"
	HistoryPreferenceSnapshot HistoryPreference = "snapshot"
	HistoryPreferenceAnchored HistoryPreference = "anchored"
)

func (HistoryPreference) values() enumeration {
	return closedValues(
		HistoryPreferenceAuto, HistoryPreferenceInline, HistoryPreferenceSnapshot, HistoryPreferenceAnchored,
	)
}

// Vcs is a version control system.
type Vcs string

// The values of Vcs; clients must bear others.
const (
	VcsGit     Vcs = "git"
	VcsSapling Vcs = "sapling"
)

func (Vcs) values() enumeration {
	return openValues(VcsGit, VcsSapling)
}
