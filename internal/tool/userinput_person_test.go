package tool

import (
	"context"
	"strings"
	"testing"
	"time"
)

// person answers every call with the same reply.
type person struct {
	reply UserReply
	asked *UserQuestions
}

func (p person) AskUser(_ context.Context, _ Call, q UserQuestions) UserReply {
	*p.asked = q
	return p.reply
}

func TestAPersonAnswers(t *testing.T) {
	questions := []m{{"id": "db", "question": "Which?", "selection": "multiple", "options": []m{{"label": "x", "description": "an x"}, {"label": "y"}}}}
	for name, c := range map[string]struct {
		reply UserReply
		want  string
		fails bool
	}{
		"answered": {
			UserReply{Outcome: UserAnswered, Answers: []UserAnswer{{QuestionID: "db", Selected: []string{"x", "y"}, Note: "both"}}},
			`{"answers":[{"id":"db","selected":["x","y"],"note":"both"}]}`, false,
		},
		"in words":  {UserReply{Outcome: UserAnswered, Answers: []UserAnswer{{QuestionID: "db", FreeText: "none"}}}, `{"answers":[{"id":"db","free_text":"none"}]}`, false},
		"timed out": {UserReply{Outcome: UserTimedOut}, `"auto_resolved":true`, false},
		"clarified": {UserReply{Outcome: UserClarified, Clarification: "what for?"}, `"clarification":"what for?"`, false},
		"cancelled": {UserReply{Outcome: UserCancelled, Reason: "not now"}, "tool failed: the person dismissed the question without an answer: not now", true},
		"stopped":   {UserReply{Outcome: UserInterrupted, Reason: "interrupted by the client"}, "tool failed: interrupted by the client", true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked UserQuestions
			s, _ := newSet(t, func(o *Options) { o.Asker = person{c.reply, &asked} })
			r := call(t, s, "request_user_input", m{"questions": questions, "auto_resolution_ms": 60000})
			if r.Failed != c.fails || !strings.Contains(r.Text, c.want) {
				t.Errorf("got %+v", r)
			}
			if q := asked.Questions; asked.AutoResolve != time.Minute || len(q) != 1 || q[0].Selection != "multiple" || q[0].Options[0].Description != "an x" {
				t.Errorf("asked %+v", asked)
			}
		})
	}
}

func TestQuestionsThatCannotBeToldApart(t *testing.T) {
	var asked UserQuestions
	s, _ := newSet(t, func(o *Options) { o.Asker = person{UserReply{Outcome: UserAnswered}, &asked} })
	options := []m{{"label": "x"}, {"label": "y"}}
	for _, questions := range [][]m{
		{{"id": "a", "question": "1", "options": options}, {"id": "a", "question": "2", "options": options}},
		{{"id": "a", "question": "1", "options": []m{{"label": "x"}, {"label": "x"}}}},
	} {
		if r := call(t, s, "request_user_input", m{"questions": questions}); !r.Failed || asked.Questions != nil {
			t.Errorf("got %+v", r)
		}
	}
}
