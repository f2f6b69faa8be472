package permission

import (
	"errors"

	"github.com/openmuse/muse/internal/permission/review"
)

// Outcome is what a decision says.
type Outcome string

const (
	// Allowed: the action may run as described by the decision.
	Allowed Outcome = "allow"
	// Refused: it may not.
	Refused Outcome = "deny"
	// Held: it needs an answer first.
	Held Outcome = "hold"
)

// Decision is the outcome for one action.
type Decision struct {
	// ID names the question when there was one (seed 000, pending_action_id).
	ID      string
	Action  Action
	Outcome Outcome
	// Reason says what decided, in one line; it may be shown to the model.
	Reason string
	// Rule is the rule that decided, nil when none did.
	Rule *Rule
	// Class is the class of the action, or of the first stage that decided.
	Class review.Class
	// Line is the review of a shell line.
	Line *LineReview
	// Choices are the answers that may be given to a held action.
	Choices []Choice
	// HumanOnly is set when the automated reviewer may not answer.
	HumanOnly bool
	// Protected is set for writes to protected names.
	Protected bool
	// Approval is how the action came to be allowed or refused; nil when it
	// needed no answer.
	Approval *Resolution
	// Run is what to start for an allowed shell line.
	Run *Execution
	// epoch and key bind an answer to what was asked.
	epoch int64
	key   string
	dir   string // where a line starts, with slashes
	// stages are the places of the stages that still need an answer, answered of
	// those that were allowed one by one.
	stages, answered []int
}

// Verdicts of an answer as the log and the session protocol spell them (seed
// 000; MSP.md 13, ApprovalDecision).
const (
	DecisionApproved  = "approved"
	DecisionSession   = "approvedForSession"
	DecisionAmendment = "approvedPolicyAmendment"
	DecisionDenied    = "denied"
	DecisionTimedOut  = "timedOut"
	DecisionAborted   = "abort"
)

// ChoiceScope says how long an answer holds.
type ChoiceScope string

// The scopes (MSP.md 13, ApprovalChoiceScope).
const (
	Once            ChoiceScope = "once"
	Session         ChoiceScope = "session"
	LocalPersistent ChoiceScope = "localPersistent"
)

// Choice is one answer on the menu of a held action.
type Choice struct {
	ID       string
	Label    string
	Decision string
	Scope    ChoiceScope
	// Preview says what the choice would let pass from now on.
	Preview string
	// Feedback is set when a text for the model may go with the choice.
	Feedback bool

	rule *Rule
}

// Identifiers of the choices (MSP.md, Approval state machine).
const (
	AllowOnce    = "allow_once"
	AllowSession = "allow_session"
	AllowAlways  = "allow_always"
	Abort        = "abort"
)

// Answer is what somebody said to a held action.
type Answer struct {
	ChoiceID string
	// Source is who answered.
	Source Source
	// Feedback is told to the model.
	Feedback string
}

// SourceKind says who answered.
type SourceKind string

// The sources. Only "llm_judge" was seen in recorded logs (seed 000).
const (
	SourceUser     SourceKind = "user"
	SourcePolicy   SourceKind = "policy"
	SourceLLMJudge SourceKind = "llm_judge"
	SourceTimeout  SourceKind = "timeout"
)

// Source is who answered; ReviewID goes with SourceLLMJudge, CommandID with the
// answer of a person that came as a command of a client.
type Source struct {
	Kind      SourceKind
	ReviewID  string
	CommandID string
}

// Resolution is how a held action ended.
type Resolution struct {
	Decision string
	Source   Source
	Scope    ChoiceScope
	// Amendment is the rule that was added, nil when none was.
	Amendment *Rule
	Feedback  string
}

// Errors that callers tell apart.
var (
	// ErrUnanswered ends a run that is set to fail on a held action.
	ErrUnanswered = errors.New("an action needs an approval that nobody can give")
	// ErrStale is returned for an answer to a question that no longer stands.
	ErrStale = errors.New("the approval is out of date")
	// ErrNotRecorded is returned when an approval event could not be written:
	// then nothing runs.
	ErrNotRecorded = errors.New("the approval could not be recorded")
)

func (d *Decision) choice(id string) *Choice {
	for i := range d.Choices {
		if d.Choices[i].ID == id {
			return &d.Choices[i]
		}
	}
	return nil
}
