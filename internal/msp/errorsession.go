package msp

// Reasons of CommandRejected (MSP.md 5). Clients treat an unknown reason as a
// final refusal.
const (
	ReasonCommandIDConflict   = "command_id_conflict"
	ReasonSessionIDConflict   = "session_id_conflict"
	ReasonMissingRun          = "missing_run"
	ReasonInvalidTarget       = "invalid_target"
	ReasonMissingGoal         = "missing_goal"
	ReasonNotPairedInterrupt  = "not_paired_interrupt"
	ReasonDeferredStartFailed = "deferred_start_failed"
	ReasonStaleAttempt        = "stale_attempt"
)

// CommandRejected refuses a command for good; the same commandId gets the same
// answer again. message is for people.
func CommandRejected(commandID, reason, message string) *Error {
	e := NewError(ErrorKindCommandRejected, "%s", message)
	e.Data.CommandID, e.Data.Reason = commandID, reason
	return e
}

// Backpressured says that the queue of a session is full; capacity is its size.
func Backpressured(capacity int64) *Error {
	e := NewError(ErrorKindBackpressured, "the queue is full")
	e.Data.Capacity = &capacity
	return e
}

func aboutSession(kind ErrorKind, sessionID, message string) *Error {
	e := NewError(kind, "%s", message)
	e.Data.SessionID = sessionID
	return e
}

// SessionNotFound refuses an unknown session.
func SessionNotFound(sessionID string) *Error {
	return aboutSession(ErrorKindSessionNotFound, sessionID, "no session "+sessionID)
}

// SessionInUse says that another host has the session; holder names it for
// people, "process 4711 on this machine", and may be empty.
func SessionInUse(sessionID, holder string) *Error {
	text := "session " + sessionID + " is in use"
	if holder != "" {
		text += " by " + holder
	}
	return aboutSession(ErrorKindSessionInUse, sessionID, text)
}

// SessionAmbiguous says that an id names several logs.
func SessionAmbiguous(sessionID string, paths []string) *Error {
	e := aboutSession(ErrorKindSessionAmbiguous, sessionID, "several logs have the session "+sessionID)
	e.Data.Paths = paths
	return e
}

// ForkBoundaryInvalid refuses to cut a fork after this turn.
func ForkBoundaryInvalid(sessionID, lastTurnID string) *Error {
	e := aboutSession(ErrorKindForkBoundaryInvalid, sessionID, "the session cannot be cut after turn "+lastTurnID)
	e.Data.LastTurnID = lastTurnID
	return e
}

// SessionNotLoaded refuses what only a loaded session can do.
func SessionNotLoaded(sessionID string) *Error {
	return aboutSession(ErrorKindSessionNotLoaded, sessionID, "session "+sessionID+" is not loaded")
}

// SessionStreamMismatch says that a log belongs to another session.
func SessionStreamMismatch(sessionID string) *Error {
	return aboutSession(ErrorKindSessionStreamMismatch, sessionID, "the log is not that of session "+sessionID)
}

// WorkspaceNotTrusted refuses to work in a folder that nobody trusted. The code
// stands in the protocol's guide and not in its index (MSP.md 9).
func WorkspaceNotTrusted(workspaceRoot string) *Error {
	return NewError(ErrorKindWorkspaceNotTrusted, "the workspace %s is not trusted", workspaceRoot)
}

// ViewTruncated says that the view no longer holds what was asked for; earliest
// is the first cursor it holds, or nil for none.
func ViewTruncated(sessionID string, earliest *string) *Error {
	e := aboutSession(ErrorKindViewTruncated, sessionID, "the range is older than the retained view")
	e.Data.EarliestCursor = SomeOrNull(earliest)
	return e
}

// BoundaryPruned says that a compaction is no longer held; latest is the newest
// one that is, or nil.
func BoundaryPruned(sessionID, anchor string, latest *string) *Error {
	return boundary(ErrorKindBoundaryPruned, "the compaction is no longer held", sessionID, anchor, latest)
}

// BoundaryUnusable says that a compaction cannot be paged from.
func BoundaryUnusable(sessionID, anchor string, latest *string) *Error {
	return boundary(ErrorKindBoundaryUnusable, "the compaction cannot be used", sessionID, anchor, latest)
}

// NoBoundary says that the session was never compacted.
func NoBoundary(sessionID, anchor string) *Error {
	return boundary(ErrorKindNoBoundary, "the session has no compaction", sessionID, anchor, nil)
}

func boundary(kind ErrorKind, text, sessionID, anchor string, latest *string) *Error {
	e := aboutSession(kind, sessionID, text)
	e.Data.Anchor, e.Data.LatestBoundaryCursor = Some(anchor), SomeOrNull(latest)
	return e
}

// ApprovalNotFound refuses an unknown approval.
func ApprovalNotFound(approvalID string) *Error {
	e := NewError(ErrorKindApprovalNotFound, "no approval %q", approvalID)
	e.Data.ApprovalID = approvalID
	return e
}

// ApprovalAlreadyResolved tells the loser of a race what was decided.
func ApprovalAlreadyResolved(approvalID string, resolution ApprovalResolutionSummary) *Error {
	e := NewError(ErrorKindApprovalAlreadyResolved, "approval %q is already resolved", approvalID)
	e.Data.ApprovalID, e.Data.Resolution = approvalID, &resolution
	return e
}

// ApprovalChoiceInvalid refuses a choice that is not on the menu.
func ApprovalChoiceInvalid(approvalID, choiceID string) *Error {
	e := NewError(ErrorKindApprovalChoiceInvalid, "no choice %q", choiceID)
	e.Data.ApprovalID, e.Data.ChoiceID = approvalID, choiceID
	return e
}

// ApprovalRequirementStale refuses a decision about a stage that is not the
// current one.
func ApprovalRequirementStale(approvalID string, current ApprovalRequirementRef) *Error {
	e := NewError(ErrorKindApprovalRequirementStale, "the requirement is not the current one")
	e.Data.ApprovalID, e.Data.CurrentRequirementID = approvalID, &current
	return e
}

// ApprovalReviewerUnavailable refuses a protected write without a live reviewer.
func ApprovalReviewerUnavailable(approvalID string) *Error {
	e := NewError(ErrorKindApprovalReviewerUnavailable, "no reviewer is available")
	e.Data.ApprovalID = approvalID
	return e
}

// UserInputNotFound refuses unknown questions.
func UserInputNotFound(userInputID string) *Error {
	return aboutUserInput(ErrorKindUserInputNotFound, userInputID, "no such questions")
}

// UserInputAlreadySettled tells the loser of a race how it was settled.
func UserInputAlreadySettled(userInputID string, settlement UserInputSettlementSummary) *Error {
	e := aboutUserInput(ErrorKindUserInputAlreadySettled, userInputID, "the questions are already settled")
	e.Data.Settlement = &settlement
	return e
}

// UserInputAnswerInvalid refuses answers that do not fit the questions; detail
// says which and why.
func UserInputAnswerInvalid(userInputID, detail string) *Error {
	return aboutUserInput(ErrorKindUserInputAnswerInvalid, userInputID, detail)
}

func aboutUserInput(kind ErrorKind, userInputID, message string) *Error {
	e := NewError(kind, "%s", message)
	e.Data.UserInputID = userInputID
	return e
}
