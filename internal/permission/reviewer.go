package permission

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Judge is the automated reviewer. It may allow an action or leave it to a
// person, nothing else; whatever goes wrong leaves it to a person.
type Judge interface {
	Assess(ctx context.Context, r JudgeRequest) (Assessment, error)
}

// JudgeRequest is what the reviewer is shown.
type JudgeRequest struct {
	ReviewID  string
	RolloutID string // names the log of the review: approval-review/<id>.jsonl
	Decision  *Decision
	Call      Call
	// UserMessages are the person's own words in this session, newest last;
	// only they can authorise something.
	UserMessages []string
	// Grant is what the review itself may do: hand in its assessment.
	Grant Grant
}

// ReviewerGrant is what the automated reviewer may do: a part of what the
// session may, which comes down to handing in its assessment.
func ReviewerGrant(session Grant) Grant {
	no, closed, deny := false, NetworkRestricted, DenyUnmatched
	return session.Narrow(GrantSpec{
		Mode: &deny, Network: &closed, Tools: []string{AssessmentTool}, Targets: []string{},
		Write: &no, Shell: &no, Trusted: &no, Unbounded: &no,
	})
}

// Assessment is the reviewer's answer (seed 000, automated_review_completed).
type Assessment struct {
	Outcome           string `json:"outcome"`            // "allow" or "escalate"
	Rationale         string `json:"rationale"`          // one or two sentences
	RiskLevel         string `json:"risk_level"`         // "low", "medium", "high", "critical"
	UserAuthorization string `json:"user_authorization"` // "explicit", "implied", "none", "unknown"
	// Model and Usage are what the run cost; they are not part of the answer.
	Model JudgeModel     `json:"-"`
	Usage jsontext.Value `json:"-"`
}

// JudgeModel names the model that judged.
type JudgeModel struct {
	ModelID         string `json:"model_id"`
	ProviderID      string `json:"provider_id"`
	ReasoningEffort string `json:"reasoning_effort"`
}

// The two outcomes of a review.
const (
	OutcomeAllow    = "allow"
	OutcomeEscalate = "escalate"
)

// JudgeTimeout bounds a review: a person should not wait longer for the
// question than for the answer.
const JudgeTimeout = 30 * time.Second

// ModelRun starts a model run of its own for a review: no tools but the one
// that hands in the assessment, no memory, no instructions of the project. The
// run keeps its log under RolloutID.
type ModelRun interface {
	RunReview(ctx context.Context, r ModelRequest) (ModelReply, error)
}

// ModelRequest is one restricted model run.
type ModelRequest struct {
	RolloutID    string
	Instructions string
	// Prompt is a JSON document (seed 000, Approval review logs:
	// approval_review_context).
	Prompt string
	// Tool is the one tool the model may call, Schema its arguments.
	Tool   string
	Schema jsontext.Value
	// Grant is what the run may do at most.
	Grant Grant
}

// ModelReply is what the run ended with.
type ModelReply struct {
	Tool  string
	Args  jsontext.Value
	Model JudgeModel
	Usage jsontext.Value
}

// AssessmentTool is the tool that the reviewer's model calls.
const AssessmentTool = "submit_approval_assessment"

//go:embed reviewer.md
var reviewerInstructions string

const assessmentSchema = `{"type":"object","additionalProperties":false,"required":["outcome","rationale","risk_level","user_authorization"],"properties":{` +
	`"outcome":{"type":"string","enum":["allow","escalate"]},` +
	`"rationale":{"type":"string","maxLength":600},` +
	`"risk_level":{"type":"string","enum":["low","medium","high","critical"]},` +
	`"user_authorization":{"type":"string","enum":["explicit","implied","none","unknown"]}}}`

// ModelJudge is the Judge that asks a model.
type ModelJudge struct {
	Run     ModelRun
	Timeout time.Duration // 0 means JudgeTimeout
}

var errAssessment = errors.New("the reviewer's answer is not an assessment")

// Assess implements Judge. An answer of any unknown form is an error, and the
// caller treats every error as "escalate".
func (m ModelJudge) Assess(ctx context.Context, r JudgeRequest) (Assessment, error) {
	limit := m.Timeout
	if limit == 0 {
		limit = JudgeTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	prompt, err := reviewContext(r)
	if err != nil {
		return Assessment{}, fmt.Errorf("write the review's context: %w", err)
	}
	reply, err := m.Run.RunReview(ctx, ModelRequest{
		RolloutID: r.RolloutID, Instructions: reviewerInstructions, Prompt: prompt,
		Tool: AssessmentTool, Schema: jsontext.Value(assessmentSchema), Grant: r.Grant,
	})
	if err != nil {
		return Assessment{}, fmt.Errorf("run the reviewer: %w", err)
	}
	if ctx.Err() != nil {
		return Assessment{}, fmt.Errorf("run the reviewer: %w", ctx.Err())
	}
	var a Assessment
	if reply.Tool != AssessmentTool {
		return Assessment{}, fmt.Errorf("%w: it called %q", errAssessment, reply.Tool)
	}
	if err := json.Unmarshal(reply.Args, &a, json.RejectUnknownMembers(true)); err != nil {
		return Assessment{}, fmt.Errorf("%w: %w", errAssessment, err)
	}
	a.Model, a.Usage = reply.Model, reply.Usage
	if err := a.check(); err != nil {
		return a, err
	}
	return a, nil
}

// check accepts only the two outcomes, and "allow" only together with a risk
// that the reviewer itself calls bearable.
func (a *Assessment) check() error {
	switch a.Outcome {
	case OutcomeAllow, OutcomeEscalate:
	default:
		return fmt.Errorf("%w: outcome %q", errAssessment, a.Outcome)
	}
	switch a.RiskLevel {
	case "low", "medium", "high", "critical":
	default:
		return fmt.Errorf("%w: risk level %q", errAssessment, a.RiskLevel)
	}
	switch a.UserAuthorization {
	case "explicit", "implied", "none", "unknown":
	default:
		return fmt.Errorf("%w: authorization %q", errAssessment, a.UserAuthorization)
	}
	if a.Outcome == OutcomeAllow && (a.RiskLevel == "critical" || a.RiskLevel == "high" && a.UserAuthorization != "explicit") {
		return fmt.Errorf("%w: it allows what it calls a %s risk", errAssessment, a.RiskLevel)
	}
	return nil
}

// reviewContext is the document that the reviewer's model reads. Everything in
// it is data: the action may have been written by an attacker.
func reviewContext(r JudgeRequest) (string, error) {
	type stage struct {
		Command string   `json:"command"`
		Argv    []string `json:"argv"`
		Class   string   `json:"class"`
		Verdict string   `json:"verdict"`
		Reason  string   `json:"reason"`
	}
	doc := struct {
		Kind         string   `json:"kind"`
		Tool         string   `json:"tool_name"`
		Action       string   `json:"action"`
		Directory    string   `json:"directory,omitempty"`
		Held         string   `json:"held_because"`
		HeldStage    *int     `json:"held_stage,omitempty"`
		Stages       []stage  `json:"stages,omitempty"`
		UserMessages []string `json:"user_messages"`
	}{
		Kind: "approval_review_context", Tool: r.Call.ToolName, Action: rawArgs(r.Decision.Action),
		Held: r.Decision.Reason, UserMessages: r.UserMessages,
	}
	if doc.UserMessages == nil {
		doc.UserMessages = []string{}
	}
	if s, ok := r.Decision.Action.(*ShellLine); ok {
		doc.Directory = s.Dir
	}
	if l := r.Decision.Line; l != nil {
		if l.Held >= 0 {
			doc.HeldStage = &l.Held
		}
		for i := range l.Stages {
			s := &l.Stages[i]
			one := stage{Command: s.Stage.Effective(), Class: string(s.Class), Verdict: string(s.Verdict), Reason: s.Reason}
			for _, w := range s.Stage.Argv {
				one.Argv = append(one.Argv, w.Text)
			}
			doc.Stages = append(doc.Stages, one)
		}
	}
	out, err := json.Marshal(&doc, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return string(out), err
}
