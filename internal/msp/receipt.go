package msp

// CodeModeOutputSpan is a window of a cell's output.
type CodeModeOutputSpan struct {
	LengthBytes int64                `json:"lengthBytes"`
	OffsetBytes int64                `json:"offsetBytes"`
	Stream      CodeModeOutputStream `json:"stream"`
}

// CodeModeReceipt is what a code cell did.
type CodeModeReceipt struct {
	CellItemID  string               `json:"cellItemId,omitzero"`
	Language    CodeModeLanguage     `json:"language,omitzero"`
	OutputSpans []CodeModeOutputSpan `json:"outputSpans,omitzero"`
	SourceArg   string               `json:"sourceArg,omitzero"`
}

// CronReceipt is what a scheduling tool did.
type CronReceipt struct {
	JobID        string           `json:"jobId,omitzero"`
	Jobs         []CronReceiptJob `json:"jobs,omitzero"`
	NextFireAtMs *int64           `json:"nextFireAtMs,omitzero"` // since 1970
}

// CronReceiptJob is one scheduled job.
type CronReceiptJob struct {
	JobID        string `json:"jobId"`
	NextFireAtMs int64  `json:"nextFireAtMs"` // since 1970
}

// CodeModeLanguage is the language of a cell.
type CodeModeLanguage string

// The values of CodeModeLanguage; clients must bear others.
const (
	CodeModeLanguageJavascript CodeModeLanguage = "javascript"
)

func (CodeModeLanguage) values() enumeration {
	return openValues(CodeModeLanguageJavascript)
}

// CodeModeOutputStream is the output a span belongs to.
type CodeModeOutputStream string

// The values of CodeModeOutputStream; clients must bear others.
const (
	CodeModeOutputStreamTranscript CodeModeOutputStream = "transcript"
)

func (CodeModeOutputStream) values() enumeration {
	return openValues(CodeModeOutputStreamTranscript)
}

// ToolReceiptOperation is what a tool with a receipt was asked for.
type ToolReceiptOperation string

// The values of ToolReceiptOperation; clients must bear others.
const (
	ToolReceiptOperationCreate  ToolReceiptOperation = "create"
	ToolReceiptOperationDelete  ToolReceiptOperation = "delete"
	ToolReceiptOperationList    ToolReceiptOperation = "list"
	ToolReceiptOperationExecute ToolReceiptOperation = "execute"
	ToolReceiptOperationWait    ToolReceiptOperation = "wait"
)

func (ToolReceiptOperation) values() enumeration {
	return openValues(
		ToolReceiptOperationCreate, ToolReceiptOperationDelete, ToolReceiptOperationList,
		ToolReceiptOperationExecute, ToolReceiptOperationWait,
	)
}

// ToolReceiptOutcome is what came of it.
type ToolReceiptOutcome string

// The values of ToolReceiptOutcome; clients must bear others.
const (
	ToolReceiptOutcomeCreated   ToolReceiptOutcome = "created"
	ToolReceiptOutcomeDuplicate ToolReceiptOutcome = "duplicate"
	ToolReceiptOutcomeDeleted   ToolReceiptOutcome = "deleted"
	ToolReceiptOutcomeMissing   ToolReceiptOutcome = "missing"
	ToolReceiptOutcomeListed    ToolReceiptOutcome = "listed"
	ToolReceiptOutcomeRejected  ToolReceiptOutcome = "rejected"
	ToolReceiptOutcomeCompleted ToolReceiptOutcome = "completed"
	ToolReceiptOutcomePending   ToolReceiptOutcome = "pending"
	ToolReceiptOutcomeFailed    ToolReceiptOutcome = "failed"
	ToolReceiptOutcomeTimedOut  ToolReceiptOutcome = "timedOut"
	ToolReceiptOutcomeCancelled ToolReceiptOutcome = "cancelled"
)

func (ToolReceiptOutcome) values() enumeration {
	return openValues(
		ToolReceiptOutcomeCreated, ToolReceiptOutcomeDuplicate, ToolReceiptOutcomeDeleted,
		ToolReceiptOutcomeMissing, ToolReceiptOutcomeListed, ToolReceiptOutcomeRejected,
		ToolReceiptOutcomeCompleted, ToolReceiptOutcomePending, ToolReceiptOutcomeFailed,
		ToolReceiptOutcomeTimedOut, ToolReceiptOutcomeCancelled,
	)
}
