package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/permission"
)

// asks are the open questions of a session to whoever watches it. It
// implements permission.Answerer and tool.Asker; both are called on goroutines
// of the turn.
type asks struct {
	live *Live

	mu        sync.Mutex
	approvals map[string]*approval  // those that are open, by id
	inputs    map[string]*userInput // those that are open, by id
	asking    chan struct{}         // closed when the first question was recorded
}

// approval is a held action that waits for an answer, or one stage of it: each
// stage is another approval with the same id.
type approval struct {
	id      string
	stage   int  // the place that is asked about
	first   bool // nothing was answered before it
	choices []permission.ApprovalChoice
	answer  chan permission.Answer // has room for one
	taken   bool                   // somebody answered
	applied chan struct{}          // closed when the decision is recorded
	next    *approval              // the stage that is asked about after it; set before applied is closed
}

func newApproval(id string, stage int, first bool, choices []permission.ApprovalChoice) *approval {
	return &approval{
		id: id, stage: stage, first: first, choices: choices,
		answer: make(chan permission.Answer, 1), applied: make(chan struct{}),
	}
}

func newAsks(l *Live) *asks {
	return &asks{live: l, approvals: map[string]*approval{}, inputs: map[string]*userInput{}, asking: make(chan struct{})}
}

// observe follows the approvals that are recorded: one can be answered from
// the moment watchers see it.
func (a *asks) observe(r event.Recorded) {
	if _, input := r.Body.(event.UserInputRequested); input {
		a.began()
	}
	b, ok := r.Body.(event.Approval)
	if !ok {
		return
	}
	switch b.Kind {
	case "requested":
		var f permission.ApprovalRequested
		if json.Unmarshal(b.Fields, &f) != nil {
			return // our own form: it cannot fail
		}
		a.mu.Lock()
		a.approvals[f.PendingActionID] = newApproval(f.PendingActionID, f.SourceIndex, true, f.AvailableChoices)
		a.mu.Unlock()
		a.began()
	case "requirement_decided":
		var f permission.RequirementDecided
		if json.Unmarshal(b.Fields, &f) != nil {
			return
		}
		a.mu.Lock()
		if p := a.approvals[f.PendingActionID]; p != nil {
			p.next = newApproval(f.PendingActionID, f.SourceIndex, false, f.AvailableChoices)
			a.approvals[f.PendingActionID] = p.next
			close(p.applied)
		}
		a.mu.Unlock()
	case "decision_applied":
		var f permission.DecisionApplied
		if json.Unmarshal(b.Fields, &f) != nil {
			return
		}
		a.mu.Lock()
		if p := a.approvals[f.PendingActionID]; p != nil {
			delete(a.approvals, f.PendingActionID)
			close(p.applied)
		}
		a.mu.Unlock()
	}
}

func (a *asks) began() {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.asking:
	default:
		close(a.asking)
	}
}

// Answer implements permission.Answerer: it waits for a decision about the
// stage that is asked about. Requests do not expire (MSP.md 6).
func (a *asks) Answer(ctx context.Context, q *permission.Question) (permission.Answer, error) {
	p := a.pending(q.Decision.ID)
	if p == nil {
		return permission.Answer{}, fmt.Errorf("%w: the question was not recorded", permission.ErrUnanswered)
	}
	select {
	case answer := <-p.answer:
		return answer, nil
	case <-ctx.Done():
		return permission.Answer{}, fmt.Errorf("%w: %w", permission.ErrUnanswered, context.Cause(ctx))
	}
}

// any reports whether something is open.
func (a *asks) any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.approvals)+len(a.inputs) > 0
}

// after is the stage that is asked about after p, nil when the decision about p
// settled the approval or was not recorded yet.
func (a *asks) after(p *approval) *approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	return p.next
}

// pending is an approval that is open.
func (a *asks) pending(id string) *approval {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.approvals[id]
}

type decided struct {
	Terminal bool `json:"terminal"`
}

// Decide answers an approval. It returns when the decision is recorded; the
// first decision wins. terminal says that no further stage follows.
func (l *Live) Decide(ctx context.Context, c Command, d Decision) (terminal bool, err error) {
	out, err := command(ctx, l, c, nil, func() (decided, error) {
		p := l.asks.pending(d.ApprovalID)
		if p == nil {
			return decided{}, l.decidedBefore(d.ApprovalID)
		}
		answer, err := p.answerFor(c, d)
		if err != nil {
			return decided{}, err
		}
		won := !p.taken
		if won {
			p.taken = true
			p.answer <- answer
		}
		l.waitFor(ctx, p.applied)
		switch next := l.asks.after(p); {
		case next != nil && won:
			return decided{}, nil
		case next != nil:
			return decided{}, next.stale()
		}
		if by := l.decider(d.ApprovalID); !won || by != resolvedBy(string(permission.SourceUser)) {
			return decided{}, l.decidedBefore(d.ApprovalID)
		}
		return decided{Terminal: true}, nil
	})
	return out.Terminal, err
}

// applyTime bounds the wait for a decision to be recorded: it takes no longer
// than writing it.
const applyTime = 10 * time.Second

// waitFor waits until a decision is recorded, or nothing waits for it any
// more, with the session's lock given up.
func (l *Live) waitFor(ctx context.Context, applied <-chan struct{}) {
	var over <-chan struct{}
	if l.turn != nil {
		over = l.turn.done
	}
	l.mu.Unlock()
	defer l.mu.Lock()
	timer := time.NewTimer(applyTime)
	defer timer.Stop()
	select {
	case <-applied:
	case <-over:
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (l *Live) decider(id string) string {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	if a := st.approvals[id]; a != nil && a.settled != nil {
		return a.settled.By
	}
	return ""
}

// decidedBefore refuses an answer to a question that is not open.
func (l *Live) decidedBefore(id string) *Refusal {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	a := st.approvals[id]
	if a == nil || a.settled == nil {
		return &Refusal{Kind: NoSuchApproval, ApprovalID: oneLine(id, 64), Message: "there is no approval " + oneLine(id, 64)}
	}
	settled := *a.settled
	return &Refusal{Kind: ApprovalResolved, ApprovalID: id, Settled: &settled, Message: "approval " + id + " was resolved before"}
}

// stale refuses a decision about another stage than this one.
func (p *approval) stale() *Refusal {
	return &Refusal{
		Kind: StaleRequirement, ApprovalID: p.id, Requirement: &Requirement{ApprovalID: p.id, SourceIndex: p.stage},
		Message: "the decision is for another stage than the current one",
	}
}

// answerFor checks a decision against the question. Until a stage was decided,
// index 0 means the stage that is asked about: the published quickstart sends
// it whatever was asked (MSP.md 12.1), and a stage that passed by itself cannot
// be meant.
func (p *approval) answerFor(c Command, d Decision) (permission.Answer, error) {
	if d.RequirementID != p.id || d.SourceIndex != p.stage && !(p.first && d.SourceIndex == 0) {
		return permission.Answer{}, p.stale()
	}
	i := slices.IndexFunc(p.choices, func(x permission.ApprovalChoice) bool { return x.ChoiceID == d.ChoiceID })
	if i < 0 {
		return permission.Answer{}, &Refusal{
			Kind: BadChoice, ApprovalID: p.id, ChoiceID: oneLine(d.ChoiceID, 64),
			Message: fmt.Sprintf("%q is not one of the choices", oneLine(d.ChoiceID, 64)),
		}
	}
	if d.Feedback != "" && !p.choices[i].AcceptsFeedback {
		return permission.Answer{}, &Refusal{
			Kind: BadChoice, ApprovalID: p.id, ChoiceID: d.ChoiceID, Message: "this choice takes no feedback",
		}
	}
	return permission.Answer{
		ChoiceID: d.ChoiceID, Feedback: d.Feedback, Source: permission.Source{Kind: permission.SourceUser, CommandID: c.ID},
	}, nil
}
