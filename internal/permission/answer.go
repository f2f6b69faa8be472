package permission

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Answerer answers held actions: a person at a terminal, a client of the
// session protocol, or a policy for runs that nobody watches. Answer may wait;
// it returns when ctx ends. It is called from several goroutines.
type Answerer interface {
	Answer(ctx context.Context, q *Question) (Answer, error)
}

// Question is a held action as an Answerer sees it.
type Question struct {
	Decision *Decision
	Call     Call
	// Assessment is what the automated reviewer said, nil when it was not asked.
	Assessment *Assessment
}

// DenyAtOnce refuses without waiting: the default of headless runs, where
// nobody can answer.
type DenyAtOnce struct{}

// Answer implements Answerer.
func (DenyAtOnce) Answer(context.Context, *Question) (Answer, error) {
	return Answer{ChoiceID: Abort, Source: Source{Kind: SourcePolicy}, Feedback: "nobody can approve it in this run"}, nil
}

// FailRun ends the run instead of answering.
type FailRun struct{}

// Answer implements Answerer.
func (FailRun) Answer(_ context.Context, q *Question) (Answer, error) {
	return Answer{}, fmt.Errorf("%w: %s: %s", ErrUnanswered, Show(q.Decision.Action), q.Decision.Reason)
}

// WaitFor lets another Answerer have a limited time and refuses when it passes.
// A nil Inner waits for the time alone, for answers that come over another way.
type WaitFor struct {
	Inner   Answerer
	Timeout time.Duration
}

// Answer implements Answerer.
func (w WaitFor) Answer(ctx context.Context, q *Question) (Answer, error) {
	limited, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	var a Answer
	var err error
	if w.Inner != nil {
		a, err = w.Inner.Answer(limited, q)
	} else {
		<-limited.Done()
		err = limited.Err()
	}
	if err != nil && ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || limited.Err() != nil) {
		return Answer{ChoiceID: Abort, Source: Source{Kind: SourceTimeout}, Feedback: fmt.Sprintf("no answer within %s", w.Timeout)}, nil
	}
	return a, err
}
