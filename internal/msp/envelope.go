package msp

// CommandAcceptedResult acknowledges a subagent command.
type CommandAcceptedResult struct {
	CommandID string           `json:"commandId"`
	Status    CommandAckStatus `json:"status"`
}

// RecordPosition names one record of a stream.
type RecordPosition struct {
	ID       string `json:"id"`
	Sequence int64  `json:"sequence"` // of the stream, from 1
}

// RequestReceipt answers a server request: it says only that the request
// arrived (MSP.md 6, Approval state machine).
type RequestReceipt struct {
}

// SourceRange says which records of the log an event was folded from.
type SourceRange struct {
	First  RecordPosition `json:"first"`
	Last   RecordPosition `json:"last"`
	Stream StreamRef      `json:"stream"`
}

// StreamRef names a stream of the log; seen kinds are session, run and
// approval.review (MSP.md 6).
type StreamRef struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// TraceContext is W3C trace context that a client may attach to a request.
type TraceContext struct {
	Traceparent string `json:"traceparent,omitzero"` // as W3C Trace Context has it
	Tracestate  string `json:"tracestate,omitzero"`
}

// CommandAckStatus is CommandStatus for the subagent methods.
type CommandAckStatus string

// The values of CommandAckStatus.
const (
	CommandAckStatusAccepted CommandAckStatus = "accepted"
	CommandAckStatusNoop     CommandAckStatus = "noop"
)

func (CommandAckStatus) values() enumeration {
	return closedValues(CommandAckStatusAccepted, CommandAckStatusNoop)
}

// CommandStatus says that a command was admitted, not that its effect happened
// (MSP.md 5).
type CommandStatus string

// The values of CommandStatus; clients must bear others.
const (
	CommandStatusAccepted CommandStatus = "accepted"
)

func (CommandStatus) values() enumeration {
	return openValues(CommandStatusAccepted)
}

// JsonRpcVersion is the literal of every frame.
type JsonRpcVersion string

// The values of JsonRpcVersion.
const (
	JsonRpcVersion20 JsonRpcVersion = "2.0"
)

func (JsonRpcVersion) values() enumeration {
	return closedValues(JsonRpcVersion20)
}
