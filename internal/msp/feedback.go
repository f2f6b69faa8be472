package msp

// FeedbackSubmitParams is what feedback/submit takes.
type FeedbackSubmitParams struct {
	SessionID           *string                `json:"sessionId,omitzero"`
	Classification      FeedbackClassification `json:"classification"`
	Note                string                 `json:"note"`
	WithFiles           bool                   `json:"withFiles"`
	AttachSessionRecord *bool                  `json:"attachSessionRecord,omitzero"`
	ClientArtifactsPath *string                `json:"clientArtifactsPath,omitzero"`
}

// FeedbackSubmitResult is what feedback/submit answers.
type FeedbackSubmitResult struct {
	BundlePath             string                `json:"bundlePath"`
	Outcome                FeedbackSubmitOutcome `json:"outcome"`
	SessionRecordAttached  bool                  `json:"sessionRecordAttached"`
	SessionRecordTruncated bool                  `json:"sessionRecordTruncated"`
	Cause                  string                `json:"cause,omitzero"`
	LocalTracingNote       string                `json:"localTracingNote,omitzero"`
	RetryAfterMs           *int64                `json:"retryAfterMs,omitzero"`
	SessionNote            string                `json:"sessionNote,omitzero"`
	TaskID                 string                `json:"taskId,omitzero"`
	UploadID               string                `json:"uploadId,omitzero"`
}

// FeedbackClassification is what kind of feedback it is.
type FeedbackClassification string

// The values of FeedbackClassification.
const (
	FeedbackClassificationBug        FeedbackClassification = "bug"
	FeedbackClassificationBadResult  FeedbackClassification = "badResult"
	FeedbackClassificationGoodResult FeedbackClassification = "goodResult"
	FeedbackClassificationOther      FeedbackClassification = "other"
)

func (FeedbackClassification) values() enumeration {
	return closedValues(
		FeedbackClassificationBug, FeedbackClassificationBadResult, FeedbackClassificationGoodResult,
		FeedbackClassificationOther,
	)
}

// FeedbackSubmitOutcome is what became of feedback.
type FeedbackSubmitOutcome string

// The values of FeedbackSubmitOutcome; clients must bear others.
const (
	FeedbackSubmitOutcomeUploaded               FeedbackSubmitOutcome = "uploaded"
	FeedbackSubmitOutcomeRecorded               FeedbackSubmitOutcome = "recorded"
	FeedbackSubmitOutcomeAcceptedWithoutReceipt FeedbackSubmitOutcome = "acceptedWithoutReceipt"
	FeedbackSubmitOutcomeTrackingFailed         FeedbackSubmitOutcome = "trackingFailed"
	FeedbackSubmitOutcomeTrackingUncertain      FeedbackSubmitOutcome = "trackingUncertain"
	FeedbackSubmitOutcomeDark                   FeedbackSubmitOutcome = "dark"
	FeedbackSubmitOutcomeDisabled               FeedbackSubmitOutcome = "disabled"
	FeedbackSubmitOutcomeNoCredential           FeedbackSubmitOutcome = "noCredential"
	FeedbackSubmitOutcomeAuthRejected           FeedbackSubmitOutcome = "authRejected"
	FeedbackSubmitOutcomeRateLimited            FeedbackSubmitOutcome = "rateLimited"
	FeedbackSubmitOutcomeFailed                 FeedbackSubmitOutcome = "failed"
)

func (FeedbackSubmitOutcome) values() enumeration {
	return openValues(
		FeedbackSubmitOutcomeUploaded, FeedbackSubmitOutcomeRecorded,
		FeedbackSubmitOutcomeAcceptedWithoutReceipt, FeedbackSubmitOutcomeTrackingFailed,
		FeedbackSubmitOutcomeTrackingUncertain, FeedbackSubmitOutcomeDark, FeedbackSubmitOutcomeDisabled,
		FeedbackSubmitOutcomeNoCredential, FeedbackSubmitOutcomeAuthRejected, FeedbackSubmitOutcomeRateLimited,
		FeedbackSubmitOutcomeFailed,
	)
}
