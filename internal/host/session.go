package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/provider"
)

// Live is one open session that several front ends share. The first of them
// that answers a question wins. It is safe for concurrent use.
type Live struct {
	hub  *Hub
	s    *Session
	gear *Equipment
	loop *agent.Loop
	asks *asks

	mu       sync.Mutex // taken before every other lock of the session
	inFlight map[string]chan struct{}
	volatile map[string]*intake // commands that are known as long as this host lives
	after    []func()           // to be done when the command under way is answered
	closing  bool
	broken   error // the log failed: nothing can be recorded any more

	turn     *running
	over     atomic.Pointer[string] // the turn whose end was recorded last
	next     string                 // a queued turn that goes before the others
	late     []event.Recorded
	wishes   []agent.CompactionWish
	settings agent.Settings
	label    string
	watchers int
	idle     int      // how often it became unused
	notes    []string // what the opening found out
	mode     string   // the approval mode it was started with, in the words of the wire

	tasks  tasks
	shells map[string]context.CancelFunc
	beside sync.WaitGroup // a person's commands, the indexing

	naming   bool               // a name is being found
	indexing context.CancelFunc // nil when the line index is not worked on
	indexed  int64              // size of the log when it was brought up to date
}

// running is the turn under way, or a compaction between turns (id "").
type running struct {
	id      string
	cancel  context.CancelCauseFunc
	inbox   *inbox
	done    chan struct{}
	retract string // the command that takes the prompt back, "" for none
}

func newLive(h *Hub, s *Session) *Live {
	l := &Live{
		hub: h, s: s, inFlight: map[string]chan struct{}{}, volatile: map[string]*intake{},
		shells: map[string]context.CancelFunc{}, tasks: tasks{running: map[string]context.CancelCauseFunc{}},
	}
	l.asks = newAsks(l)
	s.goesOn = true
	s.rec.watch(func(r event.Recorded) error {
		if _, over := r.Body.(event.RunTerminal); over {
			l.over.Store(&r.Run)
		}
		l.asks.observe(r)
		return nil
	}, nil)
	return l
}

// equip builds what the session runs with.
func (l *Live) equip(p Plan) error {
	gear, err := p.Equip(l.s, People{Approvals: l.asks, UserInputs: l.asks})
	if err != nil {
		return err
	}
	l.gear = gear
	cfg := gear.Loop
	cfg.Tasks = l.tasks.begin
	cfg.Inbox = inboxes{l}
	l.mode = p.Mode().WireName()
	l.settings = agent.Settings{Provider: cfg.Provider, Model: cfg.Model, Effort: cfg.Effort}
	l.s.state.mu.Lock()
	if l.s.state.effort != "" {
		l.settings.Effort = provider.Effort(l.s.state.effort)
	}
	l.s.state.mu.Unlock()
	l.loop = l.s.Loop(cfg)
	return nil
}

// fact records something that is no part of a turn. The session's lock is
// held.
func (l *Live) fact(body event.Body) error { return l.recordRun("", body) }

func (l *Live) recordRun(run string, body event.Body) error {
	if l.broken != nil {
		return l.broken
	}
	r, err := l.s.rec.Record(event.Event{Run: run, Body: body})
	if err != nil {
		return l.breaks(err)
	}
	if l.turn == nil {
		l.s.conv.Apply(r)
		return nil
	}
	switch body.(type) {
	case event.UserShellCommand, event.UserShellResult, event.UserShellRejected:
		// The turn's goroutine has the conversation.
		l.late = append(l.late, r)
	}
	return nil
}

// Facts are what can be said of the session at once.
func (l *Live) Facts() Facts {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	f := Facts{SessionID: l.s.id, Path: l.s.LogPath(), Workspace: l.s.opts.Workspace, Name: st.name, CreatedAt: l.s.opened}
	if st.createdAt > 0 {
		f.CreatedAt = time.UnixMicro(st.createdAt)
	}
	return f
}

// Notes are single lines on what the opening found out: a repaired log.
func (l *Live) Notes() []string { return l.notes }

// Head is the sequence of the newest kept event.
func (l *Live) Head() int64 { return l.s.rec.head() }

// OpenedAt is the sequence of the record that answered the command which
// opened the session; 0 when the command did not.
func (l *Live) OpenedAt(c Command) int64 {
	st := l.s.state
	st.mu.Lock()
	defer st.mu.Unlock()
	if i := st.commands[c.ID]; i != nil {
		return i.sequence
	}
	return 0
}

// Watch shows every event after the sequence from, those of the log first, in
// order and without a gap among kept events, until ctx ends, show fails or the
// session is unloaded (ErrClosed). A watcher that is slow loses live-only
// events (deltas) and nothing else; memory stays bounded.
func (l *Live) Watch(ctx context.Context, from int64, show func(event.Recorded) error) error {
	l.watching(1)
	defer l.watching(-1)
	return l.s.rec.follow(ctx, l.s.LogPath(), from, show)
}

// derivedID is the id of the session that a command opens: the same for the
// same command, so that a repeated command finds it in any process.
func derivedID(c Command) string { return ident.Derived(c.ID, c.Method) }
