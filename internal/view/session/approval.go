package session

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/msp"
)

// approval is a question that waits for its decision.
type approval struct {
	Params msp.ApprovalRequestParams
	CallID string
}

// approvalFields are the members of approval events that a view reads (seed
// 000, Approval events); the rest stays in the log. Members with the openmuse
// prefix are additions of ours and may be missing.
type approvalFields struct {
	PendingActionID string           `json:"pending_action_id"`
	ToolCallID      string           `json:"tool_call_id"`
	ToolName        string           `json:"tool_name"`
	RawArgs         string           `json:"raw_args"`
	TaskID          string           `json:"task_id"`
	Subject         approvalSubject  `json:"approval_subject"`
	Choices         []approvalChoice `json:"available_choices"`

	Assessment *struct {
		Outcome   string `json:"outcome"`
		Rationale string `json:"rationale"`
	} `json:"assessment"`
	Status string `json:"status"`

	Decision string `json:"decision"`
	Source   struct {
		Kind      string `json:"kind"`
		CommandID string `json:"openmuse_command_id"`
	} `json:"decision_source"`
	Result    string `json:"policy_result"`
	Amendment *struct {
		Durability  string `json:"durability"`
		RulePreview string `json:"rule_preview"`
	} `json:"amendment"`

	ChoiceID       string `json:"openmuse_choice_id"`
	JudgeEscalated bool   `json:"openmuse_judge_escalated"`
	ProtectedWrite bool   `json:"openmuse_protected_write"`
	Reason         string `json:"openmuse_reason"`
	SourceIndex    int64  `json:"openmuse_source_index"`
}

type approvalSubject struct {
	Kind     string `json:"kind"`
	ToolName string `json:"tool_name"`
	Network  *struct {
		Host     string `json:"host"`
		Port     int64  `json:"port"`
		Protocol string `json:"protocol"`
	} `json:"network"`
	Origin *struct {
		Kind    string `json:"kind"`
		URL     string `json:"url"`
		Command string `json:"command"`
	} `json:"origin"`
	Command string          `json:"command"`
	Stages  []approvalStage `json:"stages"`
	Path    string          `json:"path"`
	Access  string          `json:"access"`
	Dir     string          `json:"workdir"`
	Offer   *struct {
		ArgvPrefix []string `json:"argv_prefix"`
		Label      string   `json:"label"`
	} `json:"suggested_prefix"`
}

type approvalStage struct {
	Argv         []string `json:"argv"`
	ArgvComplete bool     `json:"argv_complete"`
	Position     int64    `json:"position"`
	TotalStages  int64    `json:"total_stages"`
	Resolution   struct {
		Kind       string   `json:"kind"`
		Diagnostic string   `json:"diagnostic"`
		ArgvPrefix []string `json:"argv_prefix"`
	} `json:"resolution"`
}

type approvalChoice struct {
	ChoiceID        string `json:"choice_id"`
	Label           string `json:"label"`
	Decision        string `json:"decision"`
	Scope           string `json:"scope"`
	RulePreview     string `json:"rule_preview"`
	AcceptsFeedback bool   `json:"accepts_feedback"`
}

func (f *Fold) approvalEvent(b event.Approval) {
	var e approvalFields
	if json.Unmarshal(b.Fields, &e) != nil {
		// A shape of another build: what cannot be read cannot be shown, and the
		// end of its call is shown with the call.
		return
	}
	switch b.Kind {
	case "requested":
		f.approvalRequested(e)
	case "automated_review_completed":
		f.reviewed(e)
	case "requirement_decided":
		f.requirementDecided(e)
	case "decision_applied":
		f.decided(e)
	}
}

func (f *Fold) approvalRequested(e approvalFields) {
	if e.PendingActionID == "" || f.pendingApproval(e.PendingActionID) != nil {
		return
	}
	key := e.ToolCallID
	if key == "" {
		key = e.PendingActionID
	}
	// Without an open call, as when a command asks that outlived its call, the
	// question is an item by itself.
	alone := f.s.Calls[key] == nil
	c := f.known(key, e.TaskID, e.ToolName)
	c.Alone = c.Alone || alone
	fresh := c.Open == nil
	// An older question about the call that was closed with its process refused
	// nothing: it is asked anew.
	c.ApprovalID, c.Denied = e.PendingActionID, ""
	f.showCall(c)
	if !fresh {
		c.Open.Item.ApprovalID = c.ApprovalID
		f.update(c.Open)
	}
	p := msp.ApprovalRequestParams{
		TurnID: c.Run, ItemID: c.Open.Item.ItemID, ApprovalID: e.PendingActionID, AvailableChoices: choices(e.Choices),
		CurrentRequirementID: msp.ApprovalRequirementRef{ApprovalID: e.PendingActionID, SourceIndex: e.SourceIndex},
		JudgeEscalated:       e.JudgeEscalated, ProtectedWrite: e.ProtectedWrite, RawArgs: cmp.Or(e.RawArgs, c.Args),
		Subject: f.subject(e), TaskID: cmp.Or(e.TaskID, c.Task, c.Open.Item.ItemID), ToolCallID: e.ToolCallID,
		ToolName: cmp.Or(e.ToolName, c.Name),
	}
	p.Durable = f.here()
	f.s.Approvals = append(f.s.Approvals, &approval{Params: p, CallID: key})
	f.say(msp.NoteApprovalRequested, &p)
}

func (f *Fold) pendingApproval(id string) *approval {
	for _, a := range f.s.Approvals {
		if a.Params.ApprovalID == id {
			return a
		}
	}
	return nil
}

// joined is the open approval that an event belongs to. Events of other builds
// may not say it: then it is the newest one (seed 000, Parser plan).
func (f *Fold) joined(e approvalFields) *approval {
	if e.PendingActionID != "" {
		return f.pendingApproval(e.PendingActionID)
	}
	if n := len(f.s.Approvals); n > 0 {
		return f.s.Approvals[n-1]
	}
	return nil
}

// reviewed: the automated reviewer leaves the answer to a person.
func (f *Fold) reviewed(e approvalFields) {
	a := f.joined(e)
	if a == nil || (e.Assessment != nil && e.Assessment.Outcome == "allow" && e.Status == "completed") {
		return // its decision follows
	}
	a.Params.JudgeEscalated = true
	reason := e.Status
	if e.Assessment != nil {
		reason = cmp.Or(e.Assessment.Rationale, reason)
	}
	f.sayUpdated(a, msp.ApprovalChange{Kind: "judgeEscalated", Reason: reason})
}

// requirementDecided: one stage of several is answered, the next one is asked
// about. The request is said again with it, because clients answer requests and
// take an update for a change of what they show (MSP.md 7.4, approval/decide).
func (f *Fold) requirementDecided(e approvalFields) {
	a := f.joined(e)
	if a == nil {
		return
	}
	was := a.Params.CurrentRequirementID
	a.Params.CurrentRequirementID.SourceIndex = e.SourceIndex
	if len(e.Choices) > 0 {
		a.Params.AvailableChoices = choices(e.Choices)
	}
	if e.Subject.Kind != "" {
		a.Params.Subject = f.subject(e)
	}
	f.sayUpdated(a, msp.ApprovalChange{
		Kind: "requirementDecided", ChoiceID: e.ChoiceID, Decision: msp.ApprovalDecision(e.Decision), RequirementID: &was,
	})
	a.Params.Durable = f.here()
	again := a.Params
	f.say(msp.NoteApprovalRequested, &again)
}

func (f *Fold) sayUpdated(a *approval, change msp.ApprovalChange) {
	f.say(msp.NoteApprovalUpdated, &msp.ApprovalUpdatedParams{
		Durable: f.here(), ApprovalID: a.Params.ApprovalID, AvailableChoices: a.Params.AvailableChoices, Change: change,
		CurrentRequirementID: a.Params.CurrentRequirementID, Subject: a.Params.Subject,
	})
}

func (f *Fold) decided(e approvalFields) {
	a := f.joined(e)
	if a == nil {
		return
	}
	by := msp.ApprovalResolvedByUser
	switch e.Source.Kind {
	case "llm_judge":
		by = msp.ApprovalResolvedByLlmJudge
	case "policy", "timeout", "":
		by = msp.ApprovalResolvedByPolicy
	}
	p := f.resolved(a, e.Decision, e.Result, by)
	p.DecidedByCommandID = e.Source.CommandID
	if e.Amendment != nil {
		p.Amendment = &msp.ApprovalAmendment{
			Durability: msp.ApprovalAmendmentDurability(e.Amendment.Durability), RulePreview: e.Amendment.RulePreview,
		}
	}
	f.sayResolved(a, p)
}

func (f *Fold) resolved(a *approval, decision, result string, by msp.ApprovalResolvedBy) *msp.ApprovalResolvedParams {
	p := &msp.ApprovalResolvedParams{
		TurnID: a.Params.TurnID, ItemID: a.Params.ItemID, ApprovalID: a.Params.ApprovalID, Decision: msp.ApprovalDecision(decision),
		PolicyResult: msp.ApprovalPolicyResult(cmp.Or(result, "deny")), ResolvedBy: by, StageEvidence: []msp.ApprovalStageEvidence{},
		DecidedAt: stamp(f.cur.At),
	}
	for _, s := range a.Params.Subject.Stages {
		p.StageEvidence = append(p.StageEvidence, msp.ApprovalStageEvidence{
			Argv: s.Argv, Position: s.Position, TotalStages: s.TotalStages, RequirementID: s.RequirementID,
			Resolution: a.evidence(s, p.PolicyResult),
		})
	}
	return p
}

// evidence is how a stage ended that was held until the approval was settled.
func (a *approval) evidence(s msp.ApprovalStage, result msp.ApprovalPolicyResult) msp.ApprovalStageResolution {
	r := s.Resolution
	switch {
	case r.Kind != "held":
	case result == msp.ApprovalPolicyResultAllow:
		r.Kind, r.Diagnostic = "approved", ""
	case s.RequirementID == a.Params.CurrentRequirementID:
		r.Kind = "rejected"
	}
	return r
}

func (f *Fold) sayResolved(a *approval, p *msp.ApprovalResolvedParams) {
	f.s.Approvals = slices.DeleteFunc(f.s.Approvals, func(o *approval) bool { return o == a })
	if c := f.s.Calls[a.CallID]; c != nil && p.PolicyResult != msp.ApprovalPolicyResultAllow {
		c.Denied = deniedWord(p.Decision)
	}
	p.Durable = f.here()
	f.say(msp.NoteApprovalResolved, p)
	if c := f.s.Calls[a.CallID]; c != nil && c.Alone {
		status := msp.ItemStatusCompleted
		if c.Denied != "" {
			status = msp.ItemStatusRejected
		}
		f.endCall(c, status)
	}
}

func deniedWord(d msp.ApprovalDecision) string {
	switch d {
	case msp.ApprovalDecisionAbort:
		return "aborted"
	case msp.ApprovalDecisionTimedOut:
		return "timed out"
	}
	return "denied"
}

// endApprovals closes what waits when its turn ends: nobody asks any more.
func (f *Fold) endApprovals() {
	for _, a := range slices.Clone(f.s.Approvals) {
		if a.Params.TurnID == f.cur.Run {
			f.sayResolved(a, f.resolved(a, string(msp.ApprovalDecisionAbort), "deny", msp.ApprovalResolvedByPolicy))
		}
	}
}

func choices(in []approvalChoice) []msp.ApprovalChoice {
	out := make([]msp.ApprovalChoice, 0, len(in))
	for _, c := range in {
		out = append(out, msp.ApprovalChoice{
			ChoiceID: c.ChoiceID, Label: c.Label, Decision: msp.ApprovalDecision(c.Decision), Scope: msp.ApprovalChoiceScope(c.Scope),
			RulePreview: c.RulePreview, AcceptsFeedback: c.AcceptsFeedback,
		})
	}
	return out
}

// subject is what is asked about in the words of the wire: its kinds are
// "shell", "fileAccess", "network" and "tool" (MSP.md 13, ApprovalSubject).
func (f *Fold) subject(e approvalFields) msp.ApprovalSubject {
	in := e.Subject
	s := msp.ApprovalSubject{Kind: "tool", ToolName: cmp.Or(in.ToolName, e.ToolName)}
	switch {
	case in.Network != nil:
		s.Kind, s.Host, s.Port, s.Protocol = "network", in.Network.Host, &in.Network.Port, in.Network.Protocol
		if in.Origin != nil {
			s.Origin = &msp.ApprovalOrigin{Kind: in.Origin.Kind, URL: in.Origin.URL, Command: in.Origin.Command}
		}
	case in.Path != "":
		s.Kind, s.Path, s.Access = "fileAccess", in.Path, in.Access
	case in.Command != "" || len(in.Stages) > 0:
		s.Kind, s.Command, s.WorkspaceRoot = "shell", in.Command, f.s.Workspace
		for i, st := range in.Stages {
			out := msp.ApprovalStage{
				Argv: slices.Clone(st.Argv), ArgvComplete: st.ArgvComplete, Position: st.Position, TotalStages: st.TotalStages,
				RequirementID: msp.ApprovalRequirementRef{ApprovalID: e.PendingActionID, SourceIndex: int64(i)},
				Resolution: msp.ApprovalStageResolution{
					Kind: st.Resolution.Kind, Diagnostic: st.Resolution.Diagnostic, ArgvPrefix: st.Resolution.ArgvPrefix,
				},
			}
			if out.Argv == nil {
				out.Argv = []string{}
			}
			if in.Offer != nil && st.Resolution.Kind == "held" && out.SuggestedPrefix == nil {
				out.SuggestedPrefix = &msp.ApprovalSuggestedPrefix{ArgvPrefix: in.Offer.ArgvPrefix, Label: in.Offer.Label}
				in.Offer = nil
			}
			s.Stages = append(s.Stages, out)
		}
	}
	return s
}
