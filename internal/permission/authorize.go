package permission

import (
	"context"
	"errors"
	"fmt"
)

// Authorize decides an action and, when it is held, gets the answer: from the
// automated reviewer where the profile asks for one, then from the Answerer.
// Request, review and decision are recorded as they happen. The decision that
// comes back is Allowed or Refused; an error means that nothing may run, and
// ErrUnanswered that the run is to end.
func (e *Engine) Authorize(ctx context.Context, a Action, call Call) (*Decision, error) {
	if call.ToolName == "" {
		call.ToolName = toolName(a)
	}
	if call.RawArgs == "" {
		call.RawArgs = rawArgs(a)
	}
	for {
		d, err := e.decide(ctx, a, call.ToolName)
		if err != nil || d.Outcome != Held {
			return d, err
		}
		settled, err := e.settle(ctx, d, call)
		if !errors.Is(err, errAgain) {
			return settled, err
		}
		// The answer added a rule and something else still stops: ask again.
	}
}

// errAgain says that an answer did not settle the whole action.
var errAgain = errors.New("more to decide")

func (e *Engine) settle(ctx context.Context, d *Decision, call Call) (*Decision, error) {
	d.ID = e.newID()
	if err := e.record(ctx, requested(d, call), call); err != nil {
		return nil, err
	}
	q := &Question{Decision: d, Call: call}
	answer, answered, err := e.assess(ctx, q)
	if err != nil {
		return nil, err
	}
	if !answered {
		if e.reviewer() == ReviewerNone {
			answer = Answer{ChoiceID: Abort, Source: Source{Kind: SourcePolicy}, Feedback: "this profile asks nobody"}
		} else if answer, err = e.ask(ctx, q); err != nil {
			return nil, e.unanswered(ctx, d, call, err)
		}
	}
	if err := e.Apply(ctx, d, answer, call); err != nil {
		return nil, err
	}
	if d.Approval.Amendment != nil && d.Outcome == Allowed && d.Line != nil && len(d.answered) == 0 {
		// A kept rule lets the line pass, but not what the call adds to it.
		next, err := e.decide(ctx, d.Action, call.ToolName)
		if err == nil && next.Outcome == Held {
			return nil, errAgain
		}
		if err == nil {
			next.ID, next.Approval = d.ID, d.Approval
		}
		return next, err
	}
	return d, nil
}

func (e *Engine) reviewer() ReviewerKind {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cfg.Reviewer
}

func (e *Engine) currentGrant() Grant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cfg.Grant
}

func (e *Engine) newID() string {
	if e.cfg.NewID == nil {
		return ""
	}
	return e.cfg.NewID()
}

func (e *Engine) record(ctx context.Context, ev ApprovalEvent, call Call) error {
	if e.cfg.Record == nil {
		return nil
	}
	if err := e.cfg.Record(ctx, ev, call); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRecorded, err)
	}
	return nil
}

// unanswered records the end of a question that got no answer and returns why.
func (e *Engine) unanswered(ctx context.Context, d *Decision, call Call, cause error) error {
	d.refuse("no answer")
	decision, kind := DecisionAborted, SourcePolicy
	if !errors.Is(cause, ErrUnanswered) {
		decision = DecisionTimedOut
		kind = SourceTimeout
	}
	// The caller's context may be what ended: the record is written anyway.
	err := e.record(context.WithoutCancel(ctx), &DecisionApplied{
		Kind: "decision_applied", Decision: decision, DecisionSource: DecisionSource{Kind: string(kind)},
		PolicyResult: string(Refused), PendingActionID: d.ID, SessionStream: call.SessionStream,
	}, call)
	return errors.Join(cause, err)
}

// assess asks the automated reviewer where the profile wants it. Anything but a
// clear "allow" leaves the question to the Answerer.
func (e *Engine) assess(ctx context.Context, q *Question) (Answer, bool, error) {
	if e.reviewer() != ReviewerAuto || q.Decision.HumanOnly {
		return Answer{}, false, nil
	}
	reviewID, rollout := e.newID(), e.newID()
	started := e.cfg.Now()
	r := JudgeRequest{ReviewID: reviewID, RolloutID: rollout, Decision: q.Decision, Call: q.Call, Grant: ReviewerGrant(e.currentGrant())}
	if e.cfg.UserMessages != nil {
		r.UserMessages = e.cfg.UserMessages()
	}
	start := &ReviewStarted{
		Kind: "automated_review_started", ReviewID: reviewID, ReviewerRolloutID: rollout, ExactAction: exactAction(q.Decision, q.Call),
		StartedAtMS: started.UnixMilli(), PendingActionID: q.Decision.ID,
	}
	if m, ok := e.cfg.Judge.(interface{ Model() JudgeModel }); ok {
		start.Model = m.Model()
	}
	if err := e.record(ctx, start, q.Call); err != nil {
		return Answer{}, false, err
	}
	a, err := e.cfg.Judge.Assess(ctx, r)
	if err == nil {
		err = a.check()
	}
	now := e.cfg.Now()
	done := &ReviewCompleted{
		Kind: "automated_review_completed", ReviewID: reviewID, Status: "completed", DurationMS: now.Sub(started).Milliseconds(),
		CompletedAtMS: now.UnixMilli(), Usage: a.Usage, Assessment: &a,
	}
	if err != nil {
		done.Status, done.Error = "failed", err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			done.Status = "timed_out"
		}
		done.Assessment = &Assessment{Outcome: OutcomeEscalate, Rationale: "the review failed", RiskLevel: "high", UserAuthorization: "unknown"}
	}
	if err := e.record(ctx, done, q.Call); err != nil {
		return Answer{}, false, err
	}
	q.Assessment = done.Assessment
	if err != nil || a.Outcome != OutcomeAllow {
		return Answer{}, false, nil
	}
	return Answer{ChoiceID: AllowOnce, Source: Source{Kind: SourceLLMJudge, ReviewID: reviewID}}, true, nil
}

// Apply settles a held decision by an answer and records it. The answer must be
// one of the decision's choices, and nothing may have changed since it was
// asked.
func (e *Engine) Apply(ctx context.Context, d *Decision, answer Answer, call Call) error {
	c := d.choice(answer.ChoiceID)
	if d.Outcome != Held || c == nil {
		return fmt.Errorf("%w: %q is not one of its choices", ErrStale, answer.ChoiceID)
	}
	if answer.Source.Kind == SourceLLMJudge && (d.HumanOnly || c.Scope != Once) {
		return fmt.Errorf("%w: the automated reviewer may allow once only", ErrStale)
	}
	if e.Epoch() != d.epoch {
		// What is allowed has changed since: the question is void.
		d.refuse("permissions changed while the question was open")
		c = d.aborted()
	}
	res := &Resolution{Decision: c.Decision, Source: answer.Source, Scope: c.Scope, Feedback: answer.Feedback, Amendment: c.rule}
	if c.ID == Abort {
		switch answer.Source.Kind {
		case SourceTimeout:
			res.Decision = DecisionTimedOut
		case SourcePolicy:
			res.Decision = DecisionDenied
		}
	}
	applied := &DecisionApplied{
		Kind: "decision_applied", Decision: res.Decision, DecisionSource: DecisionSource{
			Kind: string(answer.Source.Kind), ReviewID: answer.Source.ReviewID, CommandID: answer.Source.CommandID,
		},
		PolicyResult: string(Allowed), PendingActionID: d.ID, SessionStream: call.SessionStream,
	}
	if c.ID == Abort {
		applied.PolicyResult = string(Refused)
	} else if c.Scope != Once {
		applied.Amendment = &Amendment{Durability: string(c.Scope), RulePreview: c.Preview}
	}
	if c.Scope == LocalPersistent && c.rule != nil {
		if err := e.cfg.Remember(ctx, *c.rule); err != nil {
			return fmt.Errorf("keep the rule %s: %w", c.rule, err)
		}
	}
	if err := e.record(ctx, applied, call); err != nil {
		d.refuse("the decision could not be recorded")
		return err
	}
	d.Approval = res
	if c.ID == Abort {
		reason := d.Reason
		if answer.Feedback != "" {
			reason += " (" + answer.Feedback + ")"
		}
		d.refuse(reason)
		return nil
	}
	e.grantAnswer(d, c)
	d.Outcome = Allowed
	return nil
}

func (d *Decision) aborted() *Choice {
	return &Choice{ID: Abort, Decision: DecisionAborted, Scope: Once}
}

// grantAnswer keeps what an answer allows beyond this once. It does not change
// the epoch: it only adds, and other permits stay what they were.
func (e *Engine) grantAnswer(d *Decision, c *Choice) {
	if c.Scope == Once {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch a := d.Action.(type) {
	case *ShellLine:
		if c.Scope == Session {
			e.lines[d.key] = true
			return
		}
	case *NetworkTarget:
		e.targets[a.Key()] = true
		return
	}
	if c.rule != nil {
		rule := *c.rule
		if rule.Scope == "" {
			rule.Scope = ScopeSession
		}
		e.session = append(e.session, rule)
	}
}
