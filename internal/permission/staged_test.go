package permission_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

// stageAnswers answers each stage and keeps what was asked.
type stageAnswers struct {
	choices []string
	asked   []int
	menus   []string
	before  func(n int) // called ahead of each answer
}

func (s *stageAnswers) Answer(_ context.Context, q *permission.Question) (permission.Answer, error) {
	n := len(s.asked)
	s.asked = append(s.asked, q.Decision.Stage())
	menu := ""
	for _, c := range q.Decision.Choices {
		menu += c.ID + " "
	}
	s.menus = append(s.menus, menu)
	if n >= len(s.choices) {
		return permission.Answer{}, errors.New("asked once too often")
	}
	if s.before != nil {
		s.before(n)
	}
	return permission.Answer{ChoiceID: s.choices[n], Source: permission.Source{Kind: permission.SourceUser, CommandID: "cmd"}}, nil
}

func TestStages(t *testing.T) {
	p := newPlace(t)
	const once, session, always, abort = permission.AllowOnce, permission.AllowSession, permission.AllowAlways, permission.Abort
	for _, tt := range []struct {
		name, line string
		choices    []string
		asked      []int
		kinds      string
		want       permission.Outcome
	}{
		{"each held stage is asked about", "ls && rm a && echo b && rm c && git push", []string{once, once, once}, []int{1, 3, 4},
			"requested requirement_decided requirement_decided decision_applied", permission.Allowed},
		{"a refusal refuses the line", "rm a && rm b", []string{once, abort}, []int{0, 1},
			"requested requirement_decided decision_applied", permission.Refused},
		{"a first refusal asks no more", "rm a && rm b", []string{abort}, []int{0}, "requested decision_applied", permission.Refused},
		{"the line for the session is the line", "rm a && rm b", []string{session}, []int{0}, "requested decision_applied", permission.Allowed},
		{"a rule covers what it covers", "git push a && rm b && git push c", []string{always, once}, []int{0, 1},
			"requested requirement_decided decision_applied", permission.Allowed},
		{"a rule covers the rest", "git push a && git push b", []string{always}, []int{0}, "requested decision_applied", permission.Allowed},
		{"a rule at the end", "rm b && git push c", []string{once, always}, []int{0, 1},
			"requested requirement_decided decision_applied", permission.Allowed},
		{"what cannot be taken apart is asked about whole", "rm a && for x in *; do rm b; done", []string{once}, []int{0},
			"requested decision_applied", permission.Allowed},
		{"one stage", "rm a", []string{once}, []int{0}, "requested decision_applied", permission.Allowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &journal{}
			a := &stageAnswers{choices: tt.choices}
			kept := 0
			e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) {
				c.Answerer, c.Record = a, j.record
				c.Remember = func(context.Context, permission.Rule) error { kept++; return nil }
			})
			d := authorize(t, e, &permission.ShellLine{Text: tt.line})
			if d.Outcome != tt.want || j.kinds() != tt.kinds || !equalInts(a.asked, tt.asked) {
				t.Errorf("%s, %s, asked about %v", d.Outcome, j.kinds(), a.asked)
			}
			if want := strings.Count(strings.Join(tt.choices, " "), always); kept != want {
				t.Errorf("%d rules were kept, want %d", kept, want)
			}
			if d.Outcome == permission.Allowed {
				if err := d.Run.Redeem(tt.line, p.ws, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestStagesOfAnUntrustedWorkspace: there every answer counts once.
func TestStagesOfAnUntrustedWorkspace(t *testing.T) {
	p := newPlace(t)
	a := &stageAnswers{choices: []string{permission.AllowOnce, permission.AllowOnce, permission.AllowOnce}}
	e := p.engine(t, permission.GrantSpec{Trusted: ptr(false)}, func(c *permission.Config) { c.Answerer = a })
	if d := authorize(t, e, &permission.ShellLine{Text: "rm a && ls && rm b"}); d.Outcome != permission.Allowed || !equalInts(a.asked, []int{0, 2}) {
		t.Errorf("%s, asked about %v", d.Outcome, a.asked)
	}
	if d := authorize(t, e, &permission.ShellLine{Text: "ls"}); d.Outcome != permission.Allowed || len(a.asked) != 3 {
		t.Errorf("%s, asked about %v", d.Outcome, a.asked)
	}
	for _, menu := range a.menus {
		if menu != "allow_once abort " {
			t.Errorf("the menu is %s", menu)
		}
	}
}

// TestStageEvents: what is recorded of a stage says what is asked next.
func TestStageEvents(t *testing.T) {
	p := newPlace(t)
	j := &journal{}
	a := &stageAnswers{choices: []string{permission.AllowOnce, permission.AllowOnce}}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Answerer, c.Record = a, j.record })
	authorize(t, e, &permission.ShellLine{Text: "ls && rm a && rm b"})
	asked := j.events[0].(*permission.ApprovalRequested)
	if asked.SourceIndex != 1 || len(asked.ApprovalSubject.Stages) != 3 {
		t.Errorf("asked %+v", asked)
	}
	got := j.events[1].(*permission.RequirementDecided)
	if got.PendingActionID != asked.PendingActionID || got.ChoiceID != "allow_once" || got.Decision != "approved" || got.SourceIndex != 2 ||
		got.DecisionSource.CommandID != "cmd" || got.Amendment != nil || !strings.Contains(got.Reason, "stage 3 of 3, rm b") {
		t.Errorf("decided %+v", got)
	}
	var kinds []string
	for _, s := range got.ApprovalSubject.Stages {
		kinds = append(kinds, s.Resolution.Kind)
	}
	if strings.Join(kinds, " ") != "allowed approved held" {
		t.Errorf("stages are %v", kinds)
	}
}

// TestStagesAfterAChange: an answer to a stage does not count once what is
// allowed has changed, and a stage whose record fails lets nothing run.
func TestStagesAfterAChange(t *testing.T) {
	p := newPlace(t)
	j := &journal{}
	a := &stageAnswers{choices: []string{permission.AllowOnce, permission.AllowOnce}}
	e := p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Answerer, c.Record = a, j.record })
	a.before = func(n int) {
		if n == 1 {
			if err := e.AddRule(permission.Rule{Prefix: []string{"x"}, Effect: permission.Deny}); err != nil {
				t.Error(err)
			}
		}
	}
	if d := authorize(t, e, &permission.ShellLine{Text: "rm a && rm b"}); d.Outcome != permission.Refused {
		t.Error("an out of date answer counts")
	}

	j = &journal{fail: "requirement_decided"}
	a = &stageAnswers{choices: []string{permission.AllowOnce, permission.AllowOnce}}
	e = p.engine(t, permission.GrantSpec{}, func(c *permission.Config) { c.Answerer, c.Record = a, j.record })
	d, err := e.Authorize(t.Context(), &permission.ShellLine{Text: "rm a && rm b"}, permission.Call{})
	if !errors.Is(err, permission.ErrNotRecorded) || d != nil {
		t.Errorf("%v, %v", d, err)
	}
}
