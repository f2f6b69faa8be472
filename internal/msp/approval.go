package msp

// ApprovalAmendment is the rule that a decision left behind.
type ApprovalAmendment struct {
	Durability  ApprovalAmendmentDurability `json:"durability"`
	RulePreview string                      `json:"rulePreview"`
}

// ApprovalChange is why an open approval changed.
type ApprovalChange struct {
	Kind          string                    `json:"kind"` // an open word
	Status        ApprovalPersistenceStatus `json:"status,omitzero"`
	ChoiceID      string                    `json:"choiceId,omitzero"`
	Decision      ApprovalDecision          `json:"decision,omitzero"`
	Executable    *bool                     `json:"executable,omitzero"`
	Reason        string                    `json:"reason,omitzero"`
	Reparsed      *bool                     `json:"reparsed,omitzero"`
	RequirementID *ApprovalRequirementRef   `json:"requirementId,omitzero"`
}

// ApprovalChoice is one entry of the menu.
type ApprovalChoice struct {
	ChoiceID        string              `json:"choiceId"`
	Decision        ApprovalDecision    `json:"decision"`
	Label           string              `json:"label"`
	Scope           ApprovalChoiceScope `json:"scope"`
	AcceptsFeedback bool                `json:"acceptsFeedback,omitzero"` // words for the model may go with it
	RulePreview     string              `json:"rulePreview,omitzero"`     // the rule that the choice would leave behind
}

// ApprovalDecideParams is what approval/decide takes.
type ApprovalDecideParams struct {
	SessionID     string                 `json:"sessionId"`
	CommandID     string                 `json:"commandId"`
	ApprovalID    string                 `json:"approvalId"`
	ChoiceID      string                 `json:"choiceId"`                         // one of the available choices
	RequirementID ApprovalRequirementRef `json:"requirementId"`                    // must be the current one
	Feedback      *string                `json:"feedback,omitzero" msp:"nullable"` // only with a choice that accepts it; null is none
}

// ApprovalDecideResult is what approval/decide answers.
type ApprovalDecideResult struct {
	CommandID  string        `json:"commandId"`
	ApprovalID string        `json:"approvalId"`
	Status     CommandStatus `json:"status"`
	Terminal   bool          `json:"terminal"` // false when more stages follow
}

// ApprovalListPendingParams is what approval/listPending takes.
type ApprovalListPendingParams struct {
	SessionID string `json:"sessionId"`
}

// ApprovalListPendingResult is what approval/listPending answers.
type ApprovalListPendingResult struct {
	Approvals  []ApprovalRequestParams  `json:"approvals"`
	UserInputs []UserInputRequestParams `json:"userInputs"`
}

// ApprovalOrigin is where a network request comes from.
type ApprovalOrigin struct {
	Kind    string `json:"kind"`
	Command string `json:"command,omitzero"`
	URL     string `json:"url,omitzero"`
}

// ApprovalRequestParams are the params of approval/requested and of the server
// request approval/request (MSP.md 8).
type ApprovalRequestParams struct {
	Durable

	TurnID               string                  `json:"turnId"`
	ItemID               string                  `json:"itemId"`
	ApprovalID           string                  `json:"approvalId"`
	AvailableChoices     []ApprovalChoice        `json:"availableChoices"`
	CurrentRequirementID ApprovalRequirementRef  `json:"currentRequirementId"` // what approval/decide must name
	JudgeEscalated       bool                    `json:"judgeEscalated"`       // the automatic reviewer passed it on
	ProtectedWrite       bool                    `json:"protectedWrite"`       // only a live reviewer may allow it
	RawArgs              string                  `json:"rawArgs"`              // of the call, as the model wrote them
	Subject              ApprovalSubject         `json:"subject"`
	TaskID               string                  `json:"taskId"`
	ToolCallID           string                  `json:"toolCallId"`
	ToolName             string                  `json:"toolName"`
	SubagentOrigin       *ApprovalSubagentOrigin `json:"subagentOrigin,omitzero"`
}

// ApprovalRequirementRef names one requirement of an approval: stages are
// decided one by one.
type ApprovalRequirementRef struct {
	ApprovalID  string `json:"approvalId"`
	SourceIndex int64  `json:"sourceIndex"` // of the stage, from 0
}

// ApprovalResolvedParams are the params of approval/resolved.
type ApprovalResolvedParams struct {
	Durable

	TurnID             string                  `json:"turnId"`
	ItemID             string                  `json:"itemId"`
	ApprovalID         string                  `json:"approvalId"`
	Decision           ApprovalDecision        `json:"decision"`
	PolicyResult       ApprovalPolicyResult    `json:"policyResult"`
	ResolvedBy         ApprovalResolvedBy      `json:"resolvedBy"`
	StageEvidence      []ApprovalStageEvidence `json:"stageEvidence"`      // empty when there were no stages
	Amendment          *ApprovalAmendment      `json:"amendment,omitzero"` // when a rule was kept
	DecidedAt          string                  `json:"decidedAt,omitzero"`
	DecidedByCommandID string                  `json:"decidedByCommandId,omitzero"` // of the approval/decide that won
	SubagentOrigin     *ApprovalSubagentOrigin `json:"subagentOrigin,omitzero"`
}

// ApprovalStage is one command of a staged shell approval.
type ApprovalStage struct {
	Argv            []string                 `json:"argv"`
	ArgvComplete    bool                     `json:"argvComplete"` // false when words are only known at run time
	Position        int64                    `json:"position"`
	RequirementID   ApprovalRequirementRef   `json:"requirementId"`
	Resolution      ApprovalStageResolution  `json:"resolution"`
	TotalStages     int64                    `json:"totalStages"`
	SuggestedPrefix *ApprovalSuggestedPrefix `json:"suggestedPrefix,omitzero"`
}

// ApprovalStageEvidence is what is known of a stage after the resolution.
type ApprovalStageEvidence struct {
	Argv          []string                `json:"argv"`
	Position      int64                   `json:"position"`
	RequirementID ApprovalRequirementRef  `json:"requirementId"`
	Resolution    ApprovalStageResolution `json:"resolution"`
	TotalStages   int64                   `json:"totalStages"`
}

// ApprovalStageResolution is what a rule or a person said about a stage.
type ApprovalStageResolution struct {
	Kind       string   `json:"kind"`
	ArgvPrefix []string `json:"argvPrefix,omitzero"`
	Diagnostic string   `json:"diagnostic,omitzero"`
}

// ApprovalSubagentOrigin says that a subagent asks.
type ApprovalSubagentOrigin struct {
	SubagentID     string `json:"subagentId"`
	ChildRunID     string `json:"childRunId"`
	ChildSessionID string `json:"childSessionId"`
}

// ApprovalSubject is what is asked about. Which members belong to it depends on
// Kind.
type ApprovalSubject struct {
	Kind          string          `json:"kind"`            // an open word: shell, fileAccess, network, process, tool
	Access        string          `json:"access,omitzero"` // with fileAccess: read or write
	Command       string          `json:"command,omitzero"`
	Host          string          `json:"host,omitzero"`
	Origin        *ApprovalOrigin `json:"origin,omitzero"`
	Path          string          `json:"path,omitzero"`
	Port          *int64          `json:"port,omitzero"`
	Protocol      string          `json:"protocol,omitzero"`
	Stages        []ApprovalStage `json:"stages,omitzero"` // with shell
	Target        string          `json:"target,omitzero"`
	ToolName      string          `json:"toolName,omitzero"`
	WorkspaceRoot string          `json:"workspaceRoot,omitzero"`
}

// ApprovalSuggestedPrefix is a rule that a person could keep.
type ApprovalSuggestedPrefix struct {
	ArgvPrefix []string `json:"argvPrefix"`
	Label      string   `json:"label"`
}

// ApprovalUpdatedParams are the params of approval/updated.
type ApprovalUpdatedParams struct {
	Durable

	ApprovalID           string                  `json:"approvalId"`
	AvailableChoices     []ApprovalChoice        `json:"availableChoices"`
	Change               ApprovalChange          `json:"change"`
	CurrentRequirementID ApprovalRequirementRef  `json:"currentRequirementId"`
	Subject              ApprovalSubject         `json:"subject"`
	SubagentOrigin       *ApprovalSubagentOrigin `json:"subagentOrigin,omitzero"`
}

// ApprovalAmendmentDurability is how long an amendment holds.
type ApprovalAmendmentDurability string

// The values of ApprovalAmendmentDurability; clients must bear others.
const (
	ApprovalAmendmentDurabilitySession         ApprovalAmendmentDurability = "session"
	ApprovalAmendmentDurabilityLocalPersistent ApprovalAmendmentDurability = "localPersistent"
)

func (ApprovalAmendmentDurability) values() enumeration {
	return openValues(ApprovalAmendmentDurabilitySession, ApprovalAmendmentDurabilityLocalPersistent)
}

// ApprovalChoiceScope is how long a choice holds.
type ApprovalChoiceScope string

// The values of ApprovalChoiceScope; clients must bear others.
const (
	ApprovalChoiceScopeOnce            ApprovalChoiceScope = "once"
	ApprovalChoiceScopeSession         ApprovalChoiceScope = "session"
	ApprovalChoiceScopeLocalPersistent ApprovalChoiceScope = "localPersistent"
)

func (ApprovalChoiceScope) values() enumeration {
	return openValues(ApprovalChoiceScopeOnce, ApprovalChoiceScopeSession, ApprovalChoiceScopeLocalPersistent)
}

// ApprovalDecision is what a choice decides.
type ApprovalDecision string

// The values of ApprovalDecision; clients must bear others.
const (
	ApprovalDecisionApproved                ApprovalDecision = "approved"
	ApprovalDecisionApprovedForSession      ApprovalDecision = "approvedForSession"
	ApprovalDecisionApprovedPolicyAmendment ApprovalDecision = "approvedPolicyAmendment"
	ApprovalDecisionDenied                  ApprovalDecision = "denied"
	ApprovalDecisionDeniedPolicyAmendment   ApprovalDecision = "deniedPolicyAmendment"
	ApprovalDecisionTimedOut                ApprovalDecision = "timedOut"
	ApprovalDecisionAbort                   ApprovalDecision = "abort"
)

func (ApprovalDecision) values() enumeration {
	return openValues(
		ApprovalDecisionApproved, ApprovalDecisionApprovedForSession, ApprovalDecisionApprovedPolicyAmendment,
		ApprovalDecisionDenied, ApprovalDecisionDeniedPolicyAmendment, ApprovalDecisionTimedOut,
		ApprovalDecisionAbort,
	)
}

// ApprovalPersistenceStatus says whether a rule could be stored.
type ApprovalPersistenceStatus string

// The values of ApprovalPersistenceStatus; clients must bear others.
const (
	ApprovalPersistenceStatusSucceeded ApprovalPersistenceStatus = "succeeded"
	ApprovalPersistenceStatusFailed    ApprovalPersistenceStatus = "failed"
)

func (ApprovalPersistenceStatus) values() enumeration {
	return openValues(ApprovalPersistenceStatusSucceeded, ApprovalPersistenceStatusFailed)
}

// ApprovalPolicyResult is what the policy made of a decision.
type ApprovalPolicyResult string

// The values of ApprovalPolicyResult; clients must bear others.
const (
	ApprovalPolicyResultAllow ApprovalPolicyResult = "allow"
	ApprovalPolicyResultDeny  ApprovalPolicyResult = "deny"
)

func (ApprovalPolicyResult) values() enumeration {
	return openValues(ApprovalPolicyResultAllow, ApprovalPolicyResultDeny)
}

// ApprovalResolvedBy is who resolved an approval.
type ApprovalResolvedBy string

// The values of ApprovalResolvedBy; clients must bear others.
const (
	ApprovalResolvedByUser     ApprovalResolvedBy = "user"
	ApprovalResolvedByPolicy   ApprovalResolvedBy = "policy"
	ApprovalResolvedByLlmJudge ApprovalResolvedBy = "llmJudge"
)

func (ApprovalResolvedBy) values() enumeration {
	return openValues(ApprovalResolvedByUser, ApprovalResolvedByPolicy, ApprovalResolvedByLlmJudge)
}
