package permission

import (
	"context"
	"fmt"
	"slices"
)

// A line with several held stages is one question that is answered stage by
// stage, in the order in which the stages would start. Nothing of the line runs
// before its last held stage is allowed, and a refusal refuses it whole (seed
// 003, Staged shell review).

// Stage is the place in the line of the stage that is asked about, from 0. It
// is 0 for a question about the action as a whole.
func (d *Decision) Stage() int {
	if len(d.stages) > 0 {
		return d.stages[0]
	}
	return 0
}

// ask goes through the stages of a held decision until one is refused or the
// last one is answered, and returns the answer that settles it. An answer for
// the line as a whole settles it at once.
func (e *Engine) ask(ctx context.Context, q *Question) (Answer, error) {
	for {
		answer, err := e.cfg.Answerer.Answer(ctx, q)
		if err != nil {
			return answer, err
		}
		d := q.Decision
		c := d.choice(answer.ChoiceID)
		if c == nil || c.ID == Abort || c.Scope == Session || e.Epoch() != d.epoch {
			return answer, nil
		}
		rest := e.rest(d, c)
		if len(rest) == 0 {
			return answer, nil
		}
		if next, err := e.satisfy(ctx, d, c, rest, answer.Source, q.Call); !next || err != nil {
			return answer, err
		}
	}
}

// rest are the stages that need an answer of their own when a choice has
// allowed the current one: those behind it, without what a rule covers that
// the choice keeps.
func (e *Engine) rest(d *Decision, c *Choice) []int {
	if len(d.stages) < 2 {
		return nil
	}
	rest := slices.Clone(d.stages[1:])
	if c.rule == nil {
		return rest
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j := e.judge(d.dir)
	j.rules = append(slices.Clip(j.rules), *c.rule)
	now := j.review(d.Line.Line.Text)
	return slices.DeleteFunc(rest, func(i int) bool { return i < len(now.Stages) && now.Stages[i].Verdict == Pass })
}

// satisfy records that the current stage is allowed and holds the decision at
// the next one. It does neither when what is allowed has changed meanwhile:
// then the question is void.
func (e *Engine) satisfy(ctx context.Context, d *Decision, c *Choice, rest []int, by Source, call Call) (next bool, err error) {
	done := &RequirementDecided{
		Kind: "requirement_decided", PendingActionID: d.ID, ChoiceID: c.ID, Decision: c.Decision,
		DecisionSource: DecisionSource{Kind: string(by.Kind), CommandID: by.CommandID},
	}
	if c.rule != nil {
		if err := e.cfg.Remember(ctx, *c.rule); err != nil {
			return false, fmt.Errorf("%w: keep the rule %s: %w", ErrUnanswered, c.rule, err)
		}
		e.grantAnswer(d, c)
		done.Amendment = &Amendment{Durability: string(c.Scope), RulePreview: c.Preview}
	}
	if !e.advance(d, rest) {
		return false, nil
	}
	asked := requested(d, call)
	done.SourceIndex, done.Reason = asked.SourceIndex, asked.Reason
	done.ApprovalSubject, done.AvailableChoices = asked.ApprovalSubject, asked.AvailableChoices
	return true, e.record(ctx, done, call)
}

func (e *Engine) advance(d *Decision, rest []int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.epoch != d.epoch {
		return false
	}
	for _, i := range d.stages {
		if !slices.Contains(rest, i) {
			d.answered = append(d.answered, i)
		}
	}
	d.stages = rest
	// A change of the mode decides nothing that is pending: the rest of a line
	// that was asked about is asked about too.
	reason, more := e.stageMenu(d, d.Stage())
	if d.HumanOnly {
		more = nil // each answer counts once
	}
	d.hold(reason, more)
	return true
}

// heldStages are the places of the stages that need an answer; none for a line
// that cannot be taken apart.
func (r *LineReview) heldStages() []int {
	var out []int
	for i := range r.Stages {
		if r.Verdict == Review && r.Stages[i].Verdict == Review {
			out = append(out, i)
		}
	}
	return out
}

// stageMenu is why a line is held at one of its stages, and what this stage
// offers beside "once". The caller holds the lock.
func (e *Engine) stageMenu(d *Decision, at int) (reason string, more []Choice) {
	s := &d.Line.Stages[at]
	more = []Choice{wholeLine(d)}
	if o := offer(s); o != nil && e.cfg.Remember != nil && e.cfg.Grant.MayRemember() {
		rule := o.Rule(ScopeLocal)
		more = append(more, Choice{
			ID: AllowAlways, Label: "Always allow in this workspace", Decision: DecisionAmendment, Scope: LocalPersistent,
			Preview: preview(&rule, e.seen, s.Stage.Effective()), rule: &rule,
		})
	}
	e.remember(s.Stage)
	d.Class, d.Rule = s.Class, s.Rule
	return fmt.Sprintf("stage %d of %d, %s: %s", at+1, len(d.Line.Stages), s.Stage.Effective(), s.Reason), more
}

// wholeLine is the choice that lets a line pass as it is written from now on.
func wholeLine(d *Decision) Choice {
	return Choice{
		ID: AllowSession, Label: "Allow this line for the session", Decision: DecisionSession, Scope: Session,
		Preview: "exactly: " + Show(d.Action),
	}
}
