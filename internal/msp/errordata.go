package msp

import "github.com/go-json-experiment/json/jsontext"

// ApprovalResolutionSummary tells the loser of a race what the winner decided.
type ApprovalResolutionSummary struct {
	Decision   string `json:"decision"`
	ResolvedBy string `json:"resolvedBy"`
	ViewCursor string `json:"viewCursor"`
}

// ErrorData carries what a client decides on. Kind is always there; which other
// members accompany it stands in MSP.md 9.
type ErrorData struct {
	Kind                 ErrorKind                   `json:"kind"`
	SessionID            string                      `json:"sessionId,omitzero"`
	CommandID            string                      `json:"commandId,omitzero"`
	ItemID               string                      `json:"itemId,omitzero"`
	ApprovalID           string                      `json:"approvalId,omitzero"`
	UserInputID          string                      `json:"userInputId,omitzero"`
	AlignedNextOffset    *int64                      `json:"alignedNextOffset,omitzero"` // the nearest offset that works, invalidParams of item/readOutput
	Anchor               Nullable[string]            `json:"anchor,omitzero"`            // the cursor or place that was asked for
	Availability         string                      `json:"availability,omitzero"`      // of an output, an OutputRefAvailability
	Capability           CapabilityName              `json:"capability,omitzero"`
	Capacity             *int64                      `json:"capacity,omitzero"` // of the queue that is full
	ChoiceID             string                      `json:"choiceId,omitzero"`
	CurrentRequirementID *ApprovalRequirementRef     `json:"currentRequirementId,omitzero"`
	Descriptor           string                      `json:"descriptor,omitzero"` // what needs the experimental interface
	Details              jsontext.Value              `json:"details,omitzero" msp:"object"`
	EarliestCursor       Nullable[string]            `json:"earliestCursor,omitzero"` // null when nothing is retained
	LastTurnID           string                      `json:"lastTurnId,omitzero"`
	LatestBoundaryCursor Nullable[string]            `json:"latestBoundaryCursor,omitzero"` // always there with -32042; null when there is none
	LimitBytes           *int64                      `json:"limitBytes,omitzero"`
	OutputRef            string                      `json:"outputRef,omitzero"`
	Paths                []string                    `json:"paths,omitzero"`  // of the logs that an id names
	Reason               string                      `json:"reason,omitzero"` // snake_case with commandRejected, see the Reason constants
	Resolution           *ApprovalResolutionSummary  `json:"resolution,omitzero"`
	Retryable            *bool                       `json:"retryable,omitzero"` // whether the same request may succeed later
	Selector             string                      `json:"selector,omitzero"`
	Settlement           *UserInputSettlementSummary `json:"settlement,omitzero"`
	UploadID             string                      `json:"uploadId,omitzero"`
	ViewCursor           string                      `json:"viewCursor,omitzero"` // of the event that does not fit
}

// ErrorObject is the error member of an error response.
type ErrorObject struct {
	Code    int64      `json:"code" msp:"signed"`
	Message string     `json:"message"`
	Data    *ErrorData `json:"data,omitzero"`
}

// UserInputSettlementSummary tells the loser of a race how the questions were
// settled.
type UserInputSettlementSummary struct {
	Outcome    string `json:"outcome"`
	ViewCursor string `json:"viewCursor"`
}

// ErrorKind is the stable name of an error; clients branch on it and never on
// the message.
type ErrorKind string

// The values of ErrorKind; clients must bear others.
const (
	ErrorKindParseError                  ErrorKind = "parseError"
	ErrorKindInvalidRequest              ErrorKind = "invalidRequest"
	ErrorKindNotInitialized              ErrorKind = "notInitialized"
	ErrorKindAlreadyInitialized          ErrorKind = "alreadyInitialized"
	ErrorKindMethodNotFound              ErrorKind = "methodNotFound"
	ErrorKindInvalidParams               ErrorKind = "invalidParams"
	ErrorKindExperimentalRequired        ErrorKind = "experimentalRequired"
	ErrorKindInternal                    ErrorKind = "internal"
	ErrorKindPageEventTooLarge           ErrorKind = "pageEventTooLarge"
	ErrorKindOutputResultTooLarge        ErrorKind = "outputResultTooLarge"
	ErrorKindOverloaded                  ErrorKind = "overloaded"
	ErrorKindInputTooLarge               ErrorKind = "inputTooLarge"
	ErrorKindCapabilityRequired          ErrorKind = "capabilityRequired"
	ErrorKindNotFound                    ErrorKind = "notFound"
	ErrorKindInterrupted                 ErrorKind = "interrupted"
	ErrorKindCancelled                   ErrorKind = "cancelled"
	ErrorKindSessionNotFound             ErrorKind = "sessionNotFound"
	ErrorKindSessionInUse                ErrorKind = "sessionInUse"
	ErrorKindSessionAmbiguous            ErrorKind = "sessionAmbiguous"
	ErrorKindForkBoundaryInvalid         ErrorKind = "forkBoundaryInvalid"
	ErrorKindSessionNotLoaded            ErrorKind = "sessionNotLoaded"
	ErrorKindSessionStreamMismatch       ErrorKind = "sessionStreamMismatch"
	ErrorKindCommandRejected             ErrorKind = "commandRejected"
	ErrorKindBackpressured               ErrorKind = "backpressured"
	ErrorKindSkillNotFound               ErrorKind = "skillNotFound"
	ErrorKindComputerUseUnavailable      ErrorKind = "computerUseUnavailable"
	ErrorKindUploadNotFound              ErrorKind = "uploadNotFound"
	ErrorKindViewTruncated               ErrorKind = "viewTruncated"
	ErrorKindOutputUnavailable           ErrorKind = "outputUnavailable"
	ErrorKindBoundaryPruned              ErrorKind = "boundaryPruned"
	ErrorKindBoundaryUnusable            ErrorKind = "boundaryUnusable"
	ErrorKindNoBoundary                  ErrorKind = "noBoundary"
	ErrorKindApprovalNotFound            ErrorKind = "approvalNotFound"
	ErrorKindApprovalAlreadyResolved     ErrorKind = "approvalAlreadyResolved"
	ErrorKindApprovalChoiceInvalid       ErrorKind = "approvalChoiceInvalid"
	ErrorKindApprovalRequirementStale    ErrorKind = "approvalRequirementStale"
	ErrorKindApprovalReviewerUnavailable ErrorKind = "approvalReviewerUnavailable"
	ErrorKindUserInputNotFound           ErrorKind = "userInputNotFound"
	ErrorKindUserInputAlreadySettled     ErrorKind = "userInputAlreadySettled"
	ErrorKindUserInputAnswerInvalid      ErrorKind = "userInputAnswerInvalid"

	// ErrorKindWorkspaceNotTrusted stands in the protocol's guide and not in its
	// index (MSP.md 9).
	ErrorKindWorkspaceNotTrusted ErrorKind = "workspaceNotTrusted"
)

func (ErrorKind) values() enumeration {
	return openValues(
		ErrorKindParseError, ErrorKindInvalidRequest, ErrorKindNotInitialized, ErrorKindAlreadyInitialized,
		ErrorKindMethodNotFound, ErrorKindInvalidParams, ErrorKindExperimentalRequired, ErrorKindInternal,
		ErrorKindPageEventTooLarge, ErrorKindOutputResultTooLarge, ErrorKindOverloaded, ErrorKindInputTooLarge,
		ErrorKindCapabilityRequired, ErrorKindNotFound, ErrorKindInterrupted, ErrorKindCancelled,
		ErrorKindSessionNotFound, ErrorKindSessionInUse, ErrorKindSessionAmbiguous, ErrorKindForkBoundaryInvalid,
		ErrorKindSessionNotLoaded, ErrorKindSessionStreamMismatch, ErrorKindCommandRejected,
		ErrorKindBackpressured, ErrorKindSkillNotFound, ErrorKindComputerUseUnavailable, ErrorKindUploadNotFound,
		ErrorKindViewTruncated, ErrorKindOutputUnavailable, ErrorKindBoundaryPruned, ErrorKindBoundaryUnusable,
		ErrorKindNoBoundary, ErrorKindApprovalNotFound, ErrorKindApprovalAlreadyResolved,
		ErrorKindApprovalChoiceInvalid, ErrorKindApprovalRequirementStale, ErrorKindApprovalReviewerUnavailable,
		ErrorKindUserInputNotFound, ErrorKindUserInputAlreadySettled, ErrorKindUserInputAnswerInvalid,
		ErrorKindWorkspaceNotTrusted,
	)
}
