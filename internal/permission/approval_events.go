package permission

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ApprovalVersion is the payload_schema_version of approval events (seed 000,
// Approval events).
const ApprovalVersion = 3

// ApprovalEvent is one approval event as the log keeps it: the object below
// payload.event of a record with payload.kind "approval". The types are
// *ApprovalRequested, *ReviewStarted, *ReviewCompleted, *RequirementDecided and
// *DecisionApplied.
type ApprovalEvent interface {
	// ApprovalKind is the event's "kind".
	ApprovalKind() string
}

// StreamRef names a stream of records.
type StreamRef struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Call says which tool call an action belongs to. Empty fields are left out of
// the events.
type Call struct {
	RunID         string
	ToolCallID    string
	ToolName      string
	RawArgs       string
	TaskID        string
	RunStream     *StreamRef
	SessionStream *StreamRef
	// Delegated names the child session that asks, "" for the session itself.
	Delegated string
}

// ApprovalRequested is written when an action is held.
type ApprovalRequested struct {
	Kind              string           `json:"kind"`
	ApprovalSubject   ApprovalSubject  `json:"approval_subject"`
	AvailableChoices  []ApprovalChoice `json:"available_choices"`
	ToolCallID        string           `json:"tool_call_id"`
	ToolName          string           `json:"tool_name"`
	RawArgs           string           `json:"raw_args"`
	PendingActionID   string           `json:"pending_action_id"`
	TaskID            string           `json:"task_id"`
	RunStream         *StreamRef       `json:"run_stream,omitempty"`
	SessionStream     *StreamRef       `json:"session_stream,omitempty"`
	PresentationPhase string           `json:"presentation_phase"`
	// Reason, Delegated, Protected and SourceIndex, the stage that is asked
	// about, are additions of this program.
	Reason      string `json:"openmuse_reason,omitempty"`
	Delegated   string `json:"openmuse_delegated,omitempty"`
	Protected   bool   `json:"openmuse_protected_write,omitempty"`
	SourceIndex int    `json:"openmuse_source_index,omitzero"`
}

// ApprovalSubject says what is asked for. For a connection it has the recorded
// form {kind, tool_name, network, origin}; shell lines and files add what they
// are about.
type ApprovalSubject struct {
	Kind     string           `json:"kind"`
	ToolName string           `json:"tool_name"`
	Network  *NetworkSubject  `json:"network,omitempty"`
	Origin   *OriginSubject   `json:"origin,omitempty"`
	Command  string           `json:"command,omitempty"`
	Stages   []ApprovalStage  `json:"stages,omitempty"`
	Path     string           `json:"path,omitempty"`
	Access   string           `json:"access,omitempty"`
	Sandbox  string           `json:"sandbox,omitempty"` // "escalated" when it is to run without
	Dir      string           `json:"workdir,omitempty"`
	Offer    *SuggestedPrefix `json:"suggested_prefix,omitempty"`
}

// NetworkSubject is the target of a connection.
type NetworkSubject struct {
	Host     string `json:"host"`
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
}

// OriginSubject is what led to a connection.
type OriginSubject struct {
	Kind    string `json:"kind"`
	URL     string `json:"url,omitempty"`
	Command string `json:"command,omitempty"`
}

// ApprovalStage is one stage of a held line (MSP.md 13, ApprovalStage).
type ApprovalStage struct {
	Argv         []string        `json:"argv"`
	ArgvComplete bool            `json:"argv_complete"`
	Position     int             `json:"position"`
	TotalStages  int             `json:"total_stages"`
	Resolution   StageResolution `json:"resolution"`
}

// StageResolution is what became of a stage.
type StageResolution struct {
	Kind       string `json:"kind"` // "allowed", "held", "approved", "denied"
	Diagnostic string `json:"diagnostic,omitempty"`
	Class      string `json:"class,omitempty"`
}

// SuggestedPrefix is the narrowest rule that may be kept.
type SuggestedPrefix struct {
	ArgvPrefix []string `json:"argv_prefix"`
	Label      string   `json:"label"`
}

// ApprovalChoice is one answer on the menu.
type ApprovalChoice struct {
	ChoiceID        string `json:"choice_id"`
	Label           string `json:"label"`
	Decision        string `json:"decision"`
	Scope           string `json:"scope"`
	RulePreview     string `json:"rule_preview,omitempty"`
	AcceptsFeedback bool   `json:"accepts_feedback,omitempty"`
}

// ReviewStarted is written when the automated reviewer is asked.
type ReviewStarted struct {
	Kind              string      `json:"kind"`
	ReviewID          string      `json:"review_id"`
	ReviewerRolloutID string      `json:"reviewer_rollout_id"`
	ExactAction       ExactAction `json:"exact_action"`
	Model             JudgeModel  `json:"model"`
	StartedAtMS       int64       `json:"started_at_ms"`
	PendingActionID   string      `json:"pending_action_id"`
}

// ExactAction is the action under review, word for word.
type ExactAction struct {
	ToolName string          `json:"tool_name"`
	RawArgs  string          `json:"raw_args"`
	Command  string          `json:"command,omitempty"`
	Dir      string          `json:"workdir,omitempty"`
	Path     string          `json:"path,omitempty"`
	Network  *NetworkSubject `json:"network,omitempty"`
}

// ReviewCompleted is written when the reviewer answered or failed.
type ReviewCompleted struct {
	Kind          string         `json:"kind"`
	ReviewID      string         `json:"review_id"`
	Assessment    *Assessment    `json:"assessment"`
	Status        string         `json:"status"` // "completed", "failed", "timed_out"
	DurationMS    int64          `json:"duration_ms"`
	CompletedAtMS int64          `json:"completed_at_ms"`
	Usage         jsontext.Value `json:"usage,omitzero"`
	Error         string         `json:"openmuse_error,omitempty"`
}

// RequirementDecided is written when one stage of a held line was allowed and
// another one is asked about: what is asked now is in SourceIndex,
// ApprovalSubject and AvailableChoices. It is an addition of this program.
type RequirementDecided struct {
	Kind             string           `json:"kind"`
	PendingActionID  string           `json:"pending_action_id"`
	Decision         string           `json:"decision"`
	DecisionSource   DecisionSource   `json:"decision_source"`
	Amendment        *Amendment       `json:"amendment"`
	ApprovalSubject  ApprovalSubject  `json:"approval_subject"`
	AvailableChoices []ApprovalChoice `json:"available_choices"`
	ChoiceID         string           `json:"openmuse_choice_id"`
	SourceIndex      int              `json:"openmuse_source_index"`
	Reason           string           `json:"openmuse_reason,omitempty"`
}

// DecisionApplied is written when a held action is settled.
type DecisionApplied struct {
	Kind            string         `json:"kind"`
	Decision        string         `json:"decision"`
	DecisionSource  DecisionSource `json:"decision_source"`
	PolicyResult    string         `json:"policy_result"` // "allow" or "deny"
	Amendment       *Amendment     `json:"amendment"`
	PendingActionID string         `json:"pending_action_id"`
	SessionStream   *StreamRef     `json:"session_stream,omitempty"`
}

// DecisionSource says who decided. CommandID is an addition of this program.
type DecisionSource struct {
	Kind      string `json:"kind"`
	ReviewID  string `json:"review_id,omitempty"`
	CommandID string `json:"openmuse_command_id,omitempty"`
}

// Amendment is the rule that an answer added (MSP.md 13, ApprovalAmendment).
type Amendment struct {
	Durability  string `json:"durability"`
	RulePreview string `json:"rule_preview"`
}

// ApprovalKind implements ApprovalEvent.
func (*ApprovalRequested) ApprovalKind() string { return "requested" }

// ApprovalKind implements ApprovalEvent.
func (*ReviewStarted) ApprovalKind() string { return "automated_review_started" }

// ApprovalKind implements ApprovalEvent.
func (*ReviewCompleted) ApprovalKind() string { return "automated_review_completed" }

// ApprovalKind implements ApprovalEvent.
func (*RequirementDecided) ApprovalKind() string { return "requirement_decided" }

// ApprovalKind implements ApprovalEvent.
func (*DecisionApplied) ApprovalKind() string { return "decision_applied" }

// ApprovalFields renders an event as the JSON object that goes below
// payload.event.
func ApprovalFields(e ApprovalEvent) (jsontext.Value, error) {
	out, err := json.Marshal(e, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode approval event %s: %w", e.ApprovalKind(), err)
	}
	return out, nil
}

// requested makes the event for a held decision.
func requested(d *Decision, call Call) *ApprovalRequested {
	e := &ApprovalRequested{
		Kind: "requested", ToolCallID: call.ToolCallID, ToolName: call.ToolName, RawArgs: call.RawArgs,
		PendingActionID: d.ID, TaskID: call.TaskID, RunStream: call.RunStream, SessionStream: call.SessionStream,
		PresentationPhase: "initial", Reason: d.Reason, Delegated: call.Delegated, Protected: d.Protected,
		ApprovalSubject: ApprovalSubject{Kind: "tool_action", ToolName: call.ToolName},
	}
	s := &e.ApprovalSubject
	switch a := d.Action.(type) {
	case *ShellLine:
		s.Command, s.Dir = a.Text, a.Dir
		if a.Escalated {
			s.Sandbox = "escalated"
		}
		s.Stages = stages(d)
		e.SourceIndex = d.Stage()
	case *FileRead:
		s.Path, s.Access = a.Path, "read"
	case *FileWrite:
		s.Path, s.Access = a.Path, "write"
	case *NetworkTarget:
		s.Network = &NetworkSubject{a.Host, a.Port, a.Protocol}
		if a.URL != "" {
			s.Origin = &OriginSubject{Kind: "url", URL: a.URL}
		}
	}
	for _, c := range d.Choices {
		e.AvailableChoices = append(e.AvailableChoices, ApprovalChoice{
			ChoiceID: c.ID, Label: c.Label, Decision: c.Decision, Scope: string(c.Scope), RulePreview: c.Preview, AcceptsFeedback: c.Feedback,
		})
		if c.Scope == LocalPersistent && c.rule != nil && len(c.rule.Prefix) > 0 {
			s.Offer = &SuggestedPrefix{ArgvPrefix: c.rule.Prefix, Label: c.Preview}
		}
	}
	return e
}

func stages(d *Decision) []ApprovalStage {
	l := d.Line
	if l == nil {
		return nil
	}
	out := make([]ApprovalStage, 0, len(l.Stages))
	for i := range l.Stages {
		s := &l.Stages[i]
		one := ApprovalStage{Position: i, TotalStages: len(l.Stages), ArgvComplete: !s.Stage.Appended, Argv: []string{}}
		for _, w := range s.Stage.Argv {
			one.Argv = append(one.Argv, w.Text)
			one.ArgvComplete = one.ArgvComplete && w.Known
		}
		one.Resolution = StageResolution{Kind: "allowed", Class: string(s.Class)}
		switch {
		case slices.Contains(d.answered, i):
			one.Resolution.Kind = "approved"
		case s.Verdict == Review:
			one.Resolution.Kind, one.Resolution.Diagnostic = "held", s.Reason
		case s.Verdict == Denied:
			one.Resolution.Kind, one.Resolution.Diagnostic = "denied", s.Reason
		}
		out = append(out, one)
	}
	return out
}

func exactAction(d *Decision, call Call) ExactAction {
	x := ExactAction{ToolName: call.ToolName, RawArgs: call.RawArgs}
	switch a := d.Action.(type) {
	case *ShellLine:
		x.Command, x.Dir = a.Text, a.Dir
	case *FileRead:
		x.Path = a.Path
	case *FileWrite:
		x.Path = a.Path
	case *NetworkTarget:
		x.Network = &NetworkSubject{a.Host, a.Port, a.Protocol}
	}
	return x
}
