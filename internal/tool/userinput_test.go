package tool

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestUserInputAnswersByItself(t *testing.T) {
	var waited time.Duration
	s, _ := newSet(t, func(o *Options) {
		o.UserInputAutoResolve = true
		o.After = func(d time.Duration) <-chan time.Time {
			waited = d
			c := make(chan time.Time, 1)
			c <- time.Time{}
			return c
		}
	})
	r := call(t, s, "request_user_input", m{"questions": []m{
		{"id": "db", "header": "Database", "question": "Which one?", "options": []m{{"label": "SQLite"}, {"label": "Postgres (Recommended)"}}},
		{"id": "go", "question": "Go on?", "options": []m{{"label": "yes"}, {"label": "no"}}},
	}})
	want := `{"answers":[{"id":"db","selected":["Postgres (Recommended)"],"auto_resolved":true},{"id":"go","selected":["yes"],"auto_resolved":true}],` +
		`"note":"nobody answered within 60 s; the recommended or first option was taken"}`
	if r.Text != want || waited != time.Minute {
		t.Errorf("got %s after %v", r.Text, waited)
	}
	call(t, s, "request_user_input", m{"auto_resolution_ms": 240000, "questions": []m{{"id": "a", "question": "b", "options": []m{{"label": "x"}, {"label": "y"}}}}})
	if waited != 4*time.Minute {
		t.Errorf("waited %v", waited)
	}
}

func TestUserInputIsCancelled(t *testing.T) {
	s, _ := newSet(t, func(o *Options) {
		o.UserInputAutoResolve = true
		o.After = func(time.Duration) <-chan time.Time { return nil }
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := s.Run(ctx, Call{Name: "request_user_input", Args: []byte(`{"questions":[{"id":"a","question":"b","options":[{"label":"x"},{"label":"y"}]}]}`)})
	if !r.Failed || !strings.Contains(r.Text, "cancelled") {
		t.Errorf("got %+v", r)
	}
}
