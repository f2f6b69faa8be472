package host

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
)

// A turn that waits for a person survives its host: nothing of what it asks
// about has happened. The next host closes the old question and opens a fresh
// one, with an id that follows from the old one's, so that what was decided of
// the old one cannot count for it (MSP.md 6, Approval state machine).

// parked is the calls that the run which was cut off waits with, and the
// question that is open about each; nil when the run cannot go on.
func (s *Session) parked() map[string]string {
	st := s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	waiting := map[string]string{}
	for _, questions := range []map[string]*asked{st.approvals, st.inputs} {
		for _, id := range open(questions) {
			a := questions[id]
			if a.run != st.running || a.call == "" || waiting[a.call] != "" {
				return nil
			}
			waiting[a.call] = id
		}
	}
	for _, f := range st.snapshots {
		if waiting[f.CallID] != "" {
			return nil // the call changed a file already
		}
	}
	if !s.conv.Resumable(names(waiting)) {
		return nil
	}
	return waiting
}

func names(waiting map[string]string) map[string]bool {
	out := map[string]bool{}
	for call := range waiting {
		out[call] = true
	}
	return out
}

// askedAnew is the id of the fresh question about a call that waited, once; ""
// for every other question.
func (s *Session) askedAnew(call string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.waiting[call]
	if old == "" {
		return ""
	}
	delete(s.waiting, call)
	return ident.Derived(old, "asked anew")
}

// askTime bounds how long an opening waits for the fresh question, which is
// there after a few records.
const askTime = 5 * time.Second

// goOn goes on with a turn that waited for a person when its host died, and
// returns when its question is open again, so that whoever opened the session
// is told of it.
func (l *Live) goOn() {
	if len(l.s.waiting) == 0 {
		return
	}
	l.mu.Lock()
	st := l.s.state
	st.mu.Lock()
	run := st.running
	var words []event.Notice
	for _, id := range slices.Sorted(maps.Keys(st.steers)) {
		if w := st.steers[id]; w.run == run {
			words = append(words, w.notice)
		}
	}
	st.mu.Unlock()
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &running{id: run, cancel: cancel, inbox: &inbox{words: words}, done: make(chan struct{})}
	l.turn = t
	settings, waiting := l.settings, names(l.s.waiting)
	l.mu.Unlock()
	go func() {
		defer cancel(nil)
		l.loop.Use(settings)
		_, err := l.loop.Resume(ctx, waiting)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended(t, err)
	}()
	timer := time.NewTimer(askTime)
	defer timer.Stop()
	select {
	case <-l.asks.asking:
	case <-t.done:
	case <-timer.C:
	}
}
