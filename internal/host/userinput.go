package host

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/tool"
)

// userInput is a request_user_input call that waits for its answer.
type userInput struct {
	id, run   string
	questions []event.UserQuestion
	reply     chan tool.UserReply // has room for one
	claimed   bool                // somebody settled it; guarded by asks.mu
	engaged   chan struct{}       // closed when somebody is typing
	typing    bool
}

// AskUser implements tool.Asker: it puts the questions to whoever watches and
// waits for the first settlement, for the timer, or for the end of the turn.
func (a *asks) AskUser(ctx context.Context, call tool.Call, q tool.UserQuestions) tool.UserReply {
	l := a.live
	id := l.s.askedAnew(call.ID)
	if id == "" {
		id = ident.V7(l.hub.opts.Now())
	}
	p := &userInput{
		id: id, run: l.s.currentRun(), questions: questions(q.Questions),
		reply: make(chan tool.UserReply, 1), engaged: make(chan struct{}),
	}
	requested := event.UserInputRequested{CallID: call.ID, ID: p.id, Questions: p.questions, ToolName: call.Name}
	var timer <-chan time.Time
	if q.AutoResolve > 0 {
		ms := q.AutoResolve.Milliseconds()
		requested.AutoResolutionMS = &ms
		timer = l.hub.opts.After(q.AutoResolve)
	}
	a.mu.Lock()
	a.inputs[p.id] = p
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.inputs, p.id)
		a.mu.Unlock()
	}()
	if _, err := l.s.rec.Record(event.Event{Run: p.run, Body: requested}); err != nil {
		return tool.UserReply{Outcome: tool.UserAborted, Reason: err.Error()}
	}
	engaged := p.engaged
	for {
		select {
		case reply := <-p.reply:
			return reply
		case <-engaged:
			engaged, timer = nil, nil
		case <-timer:
			if a.claim(p) {
				return a.settle(p, tool.UserReply{Outcome: tool.UserTimedOut}, event.UserInputSettled{Outcome: TimedOut})
			}
			timer = nil
		case <-ctx.Done():
			if !a.claim(p) {
				return <-p.reply
			}
			reason := "the turn was interrupted"
			return a.settle(p, tool.UserReply{Outcome: tool.UserAborted, Reason: reason}, event.UserInputSettled{Outcome: Aborted, Reason: &reason})
		}
	}
}

// claim gives the right to settle a request to the first that asks.
func (a *asks) claim(p *userInput) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.claimed {
		return false
	}
	p.claimed = true
	return true
}

// settle records how a claimed request ended.
func (a *asks) settle(p *userInput, reply tool.UserReply, settled event.UserInputSettled) tool.UserReply {
	settled.ID = p.id
	if settled.Answers == nil {
		settled.Answers = []event.UserAnswer{}
	}
	if _, err := a.live.s.rec.Record(event.Event{Run: p.run, Body: settled}); err != nil {
		return tool.UserReply{Outcome: tool.UserAborted, Reason: err.Error()}
	}
	return reply
}

func questions(qs []tool.UserQuestion) []event.UserQuestion {
	out := make([]event.UserQuestion, len(qs))
	for i, q := range qs {
		out[i] = event.UserQuestion{Header: q.Header, ID: q.ID, Mode: "single", Question: q.Question, Options: []event.UserOption{}}
		if q.Selection == "multiple" {
			out[i].Mode = "multiple"
		}
		for _, o := range q.Options {
			out[i].Options = append(out[i].Options, event.UserOption{Label: o.Label, Description: o.Description})
		}
	}
	return out
}

// Engaged stops the timer of a user input: somebody is typing.
func (l *Live) Engaged(userInputID string) {
	l.asks.mu.Lock()
	defer l.asks.mu.Unlock()
	if p := l.asks.inputs[userInputID]; p != nil && !p.typing {
		p.typing = true
		close(p.engaged)
	}
}

// Settle ends a user input; the first settlement wins. Interrupted stops the
// turn as well.
func (l *Live) Settle(ctx context.Context, c Command, s Settlement) error {
	switch s.Outcome {
	case Answered, Cancelled, Clarified, Interrupted:
	default:
		return badParams("a user input cannot end as %q", oneLine(s.Outcome, 40))
	}
	_, err := command(ctx, l, c, nil, func() (none, error) {
		a := l.asks
		a.mu.Lock()
		p := a.inputs[s.UserInputID]
		a.mu.Unlock()
		if p == nil {
			return none{}, l.settledBefore(s.UserInputID)
		}
		if err := p.check(s); err != nil {
			return none{}, err
		}
		if !a.claim(p) {
			return none{}, l.settledBefore(s.UserInputID)
		}
		return none{}, l.settleInput(c, p, s)
	})
	return err
}

// settleInput records a settlement and lets the call go on.
func (l *Live) settleInput(c Command, p *userInput, s Settlement) error {
	settled := event.UserInputSettled{Answers: answers(s.Answers), CommandID: &c.ID, ID: p.id, Outcome: s.Outcome}
	reply := tool.UserReply{Outcome: s.Outcome, Clarification: s.Clarification, Reason: s.Reason}
	if s.Reason != "" {
		settled.Reason = &s.Reason
	}
	if s.Outcome == Clarified {
		settled.Clarification, settled.ClarificationFormat = &s.Clarification, "text"
	}
	for _, a := range s.Answers {
		reply.Answers = append(reply.Answers, tool.UserAnswer{QuestionID: a.QuestionID, Selected: a.SelectedLabels, FreeText: a.FreeText, Note: a.Note})
	}
	if s.Outcome == Interrupted {
		reply.Reason = interruptedByClient.Reason
	}
	err := l.recordRun(p.run, settled)
	if err != nil {
		reply = tool.UserReply{Outcome: tool.UserAborted, Reason: err.Error()}
	}
	if s.Outcome == Interrupted && l.turn != nil && l.turn.id == p.run {
		l.turn.cancel(interruptedByClient)
	}
	p.reply <- reply
	return err
}

var interruptedByClient = &agent.Stopped{Reason: "interrupted by the client"}

func answers(as []Answer) []event.UserAnswer {
	out := []event.UserAnswer{}
	for _, a := range as {
		e := event.UserAnswer{QuestionID: a.QuestionID}
		switch {
		case a.Many:
			e.SelectedLabels = slices.Clone(a.SelectedLabels)
		case len(a.SelectedLabels) == 1:
			e.SelectedLabel = &a.SelectedLabels[0]
		default:
			e.FreeText = &a.FreeText
		}
		if a.Note != "" {
			e.Note = &a.Note
		}
		out = append(out, e)
	}
	return out
}

// settledBefore refuses a settlement of a request that is not open.
func (l *Live) settledBefore(id string) *Refusal {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	a := st.inputs[id]
	if a == nil || a.settled == nil {
		return &Refusal{Kind: NoSuchUserInput, UserInputID: oneLine(id, 64), Message: "there is no user input request " + oneLine(id, 64)}
	}
	settled := *a.settled
	return &Refusal{Kind: UserInputSettled, UserInputID: id, Settled: &settled, Message: "user input request " + id + " was settled before"}
}

// maxAnswerText bounds free text, notes and clarifications (MSP.md 7.4).
const maxAnswerText = 500

// check validates a settlement against the questions.
func (p *userInput) check(s Settlement) error {
	bad := func(format string, args ...any) error {
		return &Refusal{Kind: BadUserInputAnswer, UserInputID: p.id, Message: fmt.Sprintf(format, args...)}
	}
	if s.Outcome == Clarified && (s.Clarification == "" || utf8.RuneCountInString(s.Clarification) > maxAnswerText) {
		return bad("a clarification has 1 to %d characters", maxAnswerText)
	}
	seen := map[string]bool{}
	for _, a := range s.Answers {
		i := slices.IndexFunc(p.questions, func(q event.UserQuestion) bool { return q.ID == a.QuestionID })
		switch {
		case i < 0:
			return bad("there is no question %q", oneLine(a.QuestionID, 64))
		case seen[a.QuestionID]:
			return bad("question %q is answered twice", oneLine(a.QuestionID, 64))
		}
		seen[a.QuestionID] = true
		if why := wrong(p.questions[i], a); why != "" {
			return bad("question %q: %s", oneLine(a.QuestionID, 64), why)
		}
	}
	if s.Outcome == Answered && len(seen) != len(p.questions) {
		return bad("%d of %d questions are answered", len(seen), len(p.questions))
	}
	return nil
}

// wrong says what is against an answer, "" for nothing.
func wrong(q event.UserQuestion, a Answer) string {
	switch {
	case utf8.RuneCountInString(a.Note) > maxAnswerText:
		return fmt.Sprintf("a note has at most %d characters", maxAnswerText)
	case utf8.RuneCountInString(a.FreeText) > maxAnswerText:
		return fmt.Sprintf("free text has at most %d characters", maxAnswerText)
	case len(a.SelectedLabels) > 0 && a.FreeText != "":
		return "there are labels and free text"
	case a.FreeText != "":
		return ""
	case len(a.SelectedLabels) == 0:
		return "there is no answer"
	case q.Mode == "single" && (len(a.SelectedLabels) != 1 || a.Many):
		return "one label can be selected"
	}
	for i, label := range a.SelectedLabels {
		switch {
		case !slices.ContainsFunc(q.Options, func(o event.UserOption) bool { return o.Label == label }):
			return fmt.Sprintf("there is no option %q", oneLine(label, 64))
		case slices.Contains(a.SelectedLabels[:i], label):
			return fmt.Sprintf("option %q is selected twice", oneLine(label, 64))
		}
	}
	if q.MinSelections != nil && len(a.SelectedLabels) < *q.MinSelections || q.MaxSelections != nil && len(a.SelectedLabels) > *q.MaxSelections {
		return "too few or too many labels are selected"
	}
	return ""
}
