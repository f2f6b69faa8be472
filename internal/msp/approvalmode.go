package msp

// EffectiveApprovalModeState is the approval mode in force and what set it.
type EffectiveApprovalModeState struct {
	LastCommandID *string            `json:"lastCommandId"` // that set the mode, null for none
	Mode          ApprovalMode       `json:"mode"`
	Source        ApprovalModeSource `json:"source"`
}

// SessionApprovalModeChangedParams are the params of
// session/approvalModeChanged.
type SessionApprovalModeChangedParams struct {
	Durable

	CommandID  string             `json:"commandId"`
	ClientName string             `json:"clientName"`
	Mode       ApprovalMode       `json:"mode"`
	Source     ApprovalModeSource `json:"source"`
}

// SessionSetApprovalModeParams is what session/setApprovalMode takes.
type SessionSetApprovalModeParams struct {
	SessionID string       `json:"sessionId"`
	CommandID string       `json:"commandId"`
	Mode      ApprovalMode `json:"mode"`
}

// SessionSetApprovalModeResult is what session/setApprovalMode answers.
type SessionSetApprovalModeResult struct {
	CommandID     string                     `json:"commandId"`
	Status        CommandStatus              `json:"status"`
	ApplyOutcome  ApprovalModeApplyOutcome   `json:"applyOutcome"`
	EffectiveMode EffectiveApprovalModeState `json:"effectiveMode"`
}

// ApprovalMode is how tool calls that no rule decides are treated.
type ApprovalMode string

// The values of ApprovalMode.
const (
	ApprovalModeAllowAll        ApprovalMode = "allowAll"
	ApprovalModePromptUnmatched ApprovalMode = "promptUnmatched"
	ApprovalModeOnRequest       ApprovalMode = "onRequest"
	ApprovalModeDenyUnmatched   ApprovalMode = "denyUnmatched"
)

func (ApprovalMode) values() enumeration {
	return closedValues(
		ApprovalModeAllowAll, ApprovalModePromptUnmatched, ApprovalModeOnRequest, ApprovalModeDenyUnmatched,
	)
}

// ApprovalModeApplyOutcome says whether a change of the approval mode changed
// anything.
type ApprovalModeApplyOutcome string

// The values of ApprovalModeApplyOutcome; clients must bear others.
const (
	ApprovalModeApplyOutcomeCompleted ApprovalModeApplyOutcome = "completed"
	ApprovalModeApplyOutcomeNoop      ApprovalModeApplyOutcome = "noop"
)

func (ApprovalModeApplyOutcome) values() enumeration {
	return openValues(ApprovalModeApplyOutcomeCompleted, ApprovalModeApplyOutcomeNoop)
}

// ApprovalModeSource is what set the approval mode.
type ApprovalModeSource string

// The values of ApprovalModeSource; clients must bear others.
const (
	ApprovalModeSourceStartup             ApprovalModeSource = "startup"
	ApprovalModeSourceReplay              ApprovalModeSource = "replay"
	ApprovalModeSourceApprovalReconfigure ApprovalModeSource = "approvalReconfigure"
)

func (ApprovalModeSource) values() enumeration {
	return openValues(ApprovalModeSourceStartup, ApprovalModeSourceReplay, ApprovalModeSourceApprovalReconfigure)
}
