package msp

import "sync"

// ErrorSpec is one row of the error table (MSP.md 9).
type ErrorSpec struct {
	Code int64
	Kind ErrorKind
	// Overrides are finer kinds that share the code.
	Overrides []ErrorKind
	// Retryable is nil where the protocol does not say.
	Retryable *bool
}

// Errors lists the table. The caller may not change it.
func Errors() []ErrorSpec { return errorTable() }

var errorTable = sync.OnceValue(func() []ErrorSpec {
	never, again := new(false), new(true)
	return []ErrorSpec{
		{-32700, ErrorKindParseError, nil, never},
		{-32600, ErrorKindInvalidRequest, []ErrorKind{ErrorKindNotInitialized, ErrorKindAlreadyInitialized}, never},
		{-32601, ErrorKindMethodNotFound, []ErrorKind{ErrorKindExperimentalRequired}, never},
		{-32602, ErrorKindInvalidParams, []ErrorKind{ErrorKindExperimentalRequired}, never},
		{-32603, ErrorKindInternal, []ErrorKind{ErrorKindPageEventTooLarge, ErrorKindOutputResultTooLarge}, never},
		{-32001, ErrorKindOverloaded, nil, again},
		{-32002, ErrorKindInputTooLarge, nil, never},
		{-32010, ErrorKindCapabilityRequired, nil, never},
		{-32011, ErrorKindNotFound, nil, never},
		{-32013, ErrorKindInterrupted, nil, nil},
		{-32014, ErrorKindCancelled, nil, nil},
		{-32020, ErrorKindSessionNotFound, nil, never},
		{-32021, ErrorKindSessionInUse, nil, never},
		{-32022, ErrorKindSessionAmbiguous, nil, never},
		{-32023, ErrorKindForkBoundaryInvalid, nil, never},
		{-32024, ErrorKindSessionNotLoaded, nil, never},
		{-32025, ErrorKindSessionStreamMismatch, nil, never},
		{-32029, ErrorKindWorkspaceNotTrusted, nil, never},
		{-32030, ErrorKindCommandRejected, nil, never},
		{-32031, ErrorKindBackpressured, nil, again},
		{-32032, ErrorKindSkillNotFound, nil, never},
		{-32033, ErrorKindComputerUseUnavailable, nil, never},
		{-32038, ErrorKindUploadNotFound, nil, never},
		{-32040, ErrorKindViewTruncated, nil, never},
		{-32041, ErrorKindOutputUnavailable, nil, never},
		{-32042, ErrorKindBoundaryPruned, []ErrorKind{ErrorKindBoundaryUnusable, ErrorKindNoBoundary}, never},
		{-32050, ErrorKindApprovalNotFound, nil, never},
		{-32051, ErrorKindApprovalAlreadyResolved, nil, never},
		{-32052, ErrorKindApprovalChoiceInvalid, nil, never},
		{-32053, ErrorKindApprovalRequirementStale, nil, never},
		{-32054, ErrorKindApprovalReviewerUnavailable, nil, never},
		{-32055, ErrorKindUserInputNotFound, nil, never},
		{-32056, ErrorKindUserInputAlreadySettled, nil, never},
		{-32057, ErrorKindUserInputAnswerInvalid, nil, never},
	}
})

// lookupError finds the row of a kind. experimentalRequired stands in two rows;
// the first one, for methods, is found.
func lookupError(kind ErrorKind) (ErrorSpec, bool) {
	for _, row := range errorTable() {
		if row.Kind == kind {
			return row, true
		}
		for _, o := range row.Overrides {
			if o == kind {
				return row, true
			}
		}
	}
	return ErrorSpec{}, false
}
