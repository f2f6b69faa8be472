package tui

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/screen"
	"github.com/openmuse/muse/internal/tui/term"
	"github.com/openmuse/muse/internal/tui/vt"
)

const sessionID = "01a0f000-0000-7000-8000-000000000001"

// fakeSession is a session of which a test says what happens. What is not
// overridden is not to be called.
type fakeSession struct {
	host.LiveSession
	events  []event.Recorded
	mu      sync.Mutex
	decided []host.Decision
	sent    []host.TurnRequest
	settled []host.Settlement
	behind  []tool.InBackground
}

func (s *fakeSession) InBackground() []tool.InBackground {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind
}

func (s *fakeSession) StopAll(context.Context, host.Command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = nil
	return nil
}

func (s *fakeSession) Facts() host.Facts {
	return host.Facts{SessionID: sessionID, Workspace: "/ws", Path: "/data/session.jsonl"}
}
func (s *fakeSession) Head() int64                 { return 0 }
func (s *fakeSession) Notes() []string             { return nil }
func (s *fakeSession) Engaged(string)              {}
func (s *fakeSession) OpenedAt(host.Command) int64 { return 0 }

func (s *fakeSession) Watch(ctx context.Context, _ int64, show func(event.Recorded) error) error {
	for _, e := range s.events {
		if err := show(e); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *fakeSession) Submit(_ context.Context, c host.Command, t host.TurnRequest) (host.TurnAck, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, t)
	return host.TurnAck{TurnID: c.ID, Disposition: host.Started}, nil
}

func (s *fakeSession) Decide(_ context.Context, _ host.Command, d host.Decision) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decided = append(s.decided, d)
	return true, nil
}

func (s *fakeSession) Settle(_ context.Context, _ host.Command, d host.Settlement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, d)
	return nil
}

type fakeHost struct{ s *fakeSession }

func (h fakeHost) Start(context.Context, host.Command, host.StartRequest) (Session, error) {
	return h.s, nil
}
func (h fakeHost) Resume(context.Context, host.Command, string) (Session, error) { return h.s, nil }
func (h fakeHost) Fork(context.Context, host.Command, string, string) (Session, error) {
	return h.s, nil
}

// fakeTerminal is a terminal of which a test says what is typed.
type fakeTerminal struct {
	*vt.Terminal
	events chan term.Event
	size   chan struct{}
	ended  chan error
}

func (t *fakeTerminal) Events() <-chan term.Event   { return t.events }
func (t *fakeTerminal) Resized() <-chan struct{}    { return t.size }
func (t *fakeTerminal) Ended() <-chan error         { return t.ended }
func (t *fakeTerminal) Lend(use func() error) error { return use() }
func (t *fakeTerminal) Suspend() error              { return nil }

// bench is a UI that a test turns by hand: no loop runs, and time stands still
// until the test moves it.
type bench struct {
	t   *testing.T
	u   *ui
	s   *fakeSession
	vt  *vt.Terminal
	now time.Time
}

func newBench(t *testing.T, width, height int) *bench {
	t.Helper()
	b := &bench{t: t, s: &fakeSession{}, vt: vt.New(width, height), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	theme, err := screen.NewTheme("default")
	if err != nil {
		t.Fatal(err)
	}
	keys, faults := keymap.New(nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	ctx, stop := context.WithCancel(context.Background())
	ft := &fakeTerminal{Terminal: b.vt, events: make(chan term.Event), size: make(chan struct{}), ended: make(chan error)}
	b.u = &ui{
		Options: Options{
			Host: fakeHost{b.s}, Workspace: "/ws", Theme: theme, Keys: keys,
			Now: func() time.Time { return b.now }, After: func(time.Duration) <-chan time.Time { return nil },
		},
		term: ft, screen: screen.New(ft, theme, width, height), ctx: ctx, stop: stop,
		results: make(chan func(), 16), sent: map[string]outgoing{},
	}
	b.u.history = newHistory(b.u)
	b.u.session = b.s
	b.u.view = newConversation(b.u, sessionID)
	t.Cleanup(func() {
		stop()
		b.u.work.Wait()
	})
	return b
}

// happens shows an event to the UI.
func (b *bench) happens(run string, body event.Body) {
	b.t.Helper()
	b.u.take(fed{view: b.u.view, rec: b.record(run, body)})
	b.draw()
}

// record is an event with its place in the log.
func (b *bench) record(run string, body event.Body) event.Recorded {
	b.s.events = append(b.s.events, event.Recorded{})
	seq := int64(len(b.s.events))
	r := event.Recorded{Event: event.Event{Run: run, Body: body}, ID: "record", Sequence: seq, At: b.now.UnixMicro()}
	if event.FamilyOf(r.Event) == event.LiveOnly {
		r.Sequence = 0
		b.s.events = b.s.events[:len(b.s.events)-1]
	}
	return r
}

func (b *bench) draw() {
	b.t.Helper()
	b.u.drawn, b.u.dirty = time.Time{}, true
	if err := b.u.frame(); err != nil {
		b.t.Fatal(err)
	}
}

// types presses keys as a terminal sends them.
func (b *bench) types(s string) {
	b.t.Helper()
	var d term.Decoder
	for _, e := range append(d.Feed([]byte(s)), d.Flush()...) {
		b.u.input(e)
	}
	b.draw()
}

// answered waits for what was sent and takes its answer.
func (b *bench) answered() {
	b.t.Helper()
	(<-b.u.results)()
	b.draw()
}

func (b *bench) pass(d time.Duration) {
	b.now = b.now.Add(d)
	b.draw()
}

// choosing is a session whose model can be changed.
type choosing struct {
	*fakeSession
	chosen []string
}

func (s *choosing) SetModel(_ context.Context, _ host.Command, provider, model string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chosen = append(s.chosen, provider+" "+model)
	return nil
}
