package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/event"
	fold "github.com/openmuse/muse/internal/view/session"
)

// feeds are the loaded sessions of a connection.
type feeds struct {
	conn    *conn
	mu      sync.Mutex
	open    map[string]*feed
	told    map[string]bool // sessions whose end a feed has told of
	running sync.WaitGroup
}

func newFeeds(c *conn) *feeds {
	return &feeds{conn: c, open: map[string]*feed{}, told: map[string]bool{}}
}

// of is the feed of a session, nil when there is none.
func (s *feeds) of(sessionID string) *feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[sessionID]
}

// loaded claims the feed of a loaded session; otherwise the host says what the
// session is instead.
func (k *call) loaded(sessionID string) (*feed, error) {
	session, err := k.opts.Host.Loaded(sessionID)
	if err != nil {
		return nil, err
	}
	return k.claim(session, session.Head())
}

// errReached ends a reading of events at the place it was meant for.
var errReached = errors.New("reached")

// follow returns the feed of a session, having folded it at least up to the
// sequence until. A new feed has folded exactly that far, so that the reply of
// the command that opened the session shows the session as it was opened.
func (s *feeds) follow(session Session, until int64) (*feed, error) {
	id := session.Facts().SessionID
	s.mu.Lock()
	f := s.open[id]
	if f != nil && f.session == session {
		s.mu.Unlock()
		return f, f.catchUp(until)
	}
	f = &feed{conn: s.conn, session: session, view: viewOf(session)}
	f.moved = sync.NewCond(&f.gate)
	f.gate.Lock() // whoever asks for the session meanwhile waits in catchUp
	s.open[id] = f
	delete(s.told, id)
	s.mu.Unlock()

	err := f.open(s.conn.ctx, until)
	f.status, f.flags = f.view.status(), f.view.Fold().Attention()
	if err != nil {
		f.ended = true
		f.gate.Unlock()
		s.forget(f)
		return nil, err
	}
	// The feed outlives the connection: the ends of the sessions are shown too.
	ctx, stop := context.WithCancel(context.WithoutCancel(s.conn.ctx))
	f.stop = stop
	from := f.view.Fold().Sequence()
	f.gate.Unlock()
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		defer stop()
		err := session.Watch(ctx, from, f.show)
		f.end(err)
		s.forget(f)
	}()
	return f, nil
}

// viewOf is the view of a loaded session of which nothing was read yet.
func viewOf(session Session) *view {
	facts := session.Facts()
	return &view{
		View: fold.NewView(facts.SessionID, fold.DefaultLimits()), facts: facts,
		replay: session.Watch,
	}
}

// pastOf replays the kept events of a session up to a sequence.
func pastOf(ctx context.Context, session Session, until int64) fold.LogFrom {
	return func(from int64, yield func(event.Recorded) error) error {
		if from >= until {
			return nil
		}
		err := session.Watch(ctx, from, func(e event.Recorded) error {
			if e.Sequence == 0 {
				return nil // shown while it happened: its fate is still to come
			}
			if err := yield(e); err != nil {
				return err
			}
			if e.Sequence >= until {
				return errReached
			}
			return nil
		})
		if errors.Is(err, errReached) {
			return nil
		}
		return err
	}
}

// readTo folds the events of a session up to a sequence.
func readTo(ctx context.Context, session Session, v *view, until int64) error {
	return pastOf(ctx, session, until)(v.Fold().Sequence(), func(e event.Recorded) error {
		_, err := v.Apply(e)
		return err
	})
}

func (s *feeds) forget(f *feed) {
	id := f.session.Facts().SessionID
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == f {
		delete(s.open, id)
	}
}

// wait waits until every feed has shown the end of its session, and ends those
// that have not within grace.
func (s *feeds) wait(grace time.Duration) {
	impatient := time.AfterFunc(grace, func() {
		for _, f := range s.list() {
			f.stop()
		}
	})
	defer impatient.Stop()
	s.running.Wait()
}

// list returns the feeds that are open.
func (s *feeds) list() []*feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*feed, 0, len(s.open))
	for _, f := range s.open {
		out = append(out, f)
	}
	return out
}

// claim is the feed of a session, folded at least up to a sequence, with its
// events held back until the reply of the call stands.
func (k *call) claim(session Session, until int64) (*feed, error) {
	for {
		f, err := k.feeds.follow(session, until)
		if f == nil {
			return nil, err
		}
		if err != nil { // it came to rest before it had folded so far
			k.feeds.forget(f)
			continue
		}
		f.gate.Lock()
		if f.ended { // it came to rest meanwhile
			f.gate.Unlock()
			k.feeds.forget(f)
			continue
		}
		k.release = f.gate.Unlock
		return f, nil
	}
}
