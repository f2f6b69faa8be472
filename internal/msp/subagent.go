package msp

import "github.com/go-json-experiment/json/jsontext"

// SubagentInputParams is what the subagent methods with a text take.
type SubagentInputParams struct {
	SessionID  string `json:"sessionId"`
	CommandID  string `json:"commandId"`
	SubagentID string `json:"subagentId"`
	Body       string `json:"body"`
}

// SubagentOwnerReasonParams is what the subagent methods with a reason take.
type SubagentOwnerReasonParams struct {
	SessionID  string  `json:"sessionId"`
	CommandID  string  `json:"commandId"`
	SubagentID string  `json:"subagentId"`
	Reason     *string `json:"reason,omitzero"`
}

// SubagentResult is what a subagent hands back.
type SubagentResult struct {
	ArtifactRefs   []string       `json:"artifactRefs"`
	EvidenceRefs   []string       `json:"evidenceRefs"`
	Summary        string         `json:"summary"`
	ErrorKind      string         `json:"errorKind,omitzero"`
	StructuredData jsontext.Value `json:"structuredData,omitzero" msp:"object"`
	Text           string         `json:"text,omitzero"`
}

// SubagentTargetParams is what the other subagent methods take.
type SubagentTargetParams struct {
	SessionID  string `json:"sessionId"`
	CommandID  string `json:"commandId"`
	SubagentID string `json:"subagentId"`
}

// SubagentControlStatus is the state of a subagent as its owner sees it.
type SubagentControlStatus string

// The values of SubagentControlStatus; clients must bear others.
const (
	SubagentControlStatusAccepted             SubagentControlStatus = "accepted"
	SubagentControlStatusStarting             SubagentControlStatus = "starting"
	SubagentControlStatusRunning              SubagentControlStatus = "running"
	SubagentControlStatusResultReady          SubagentControlStatus = "resultReady"
	SubagentControlStatusClosing              SubagentControlStatus = "closing"
	SubagentControlStatusClosed               SubagentControlStatus = "closed"
	SubagentControlStatusRecoveryPending      SubagentControlStatus = "recoveryPending"
	SubagentControlStatusManualReconciliation SubagentControlStatus = "manualReconciliation"
)

func (SubagentControlStatus) values() enumeration {
	return openValues(
		SubagentControlStatusAccepted, SubagentControlStatusStarting, SubagentControlStatusRunning,
		SubagentControlStatusResultReady, SubagentControlStatusClosing, SubagentControlStatusClosed,
		SubagentControlStatusRecoveryPending, SubagentControlStatusManualReconciliation,
	)
}
