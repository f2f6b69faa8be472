package serve

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// fakeHost keeps sessions in memory. What a session does is what a test tells
// it to.
type fakeHost struct {
	replayed atomic.Int64 // events that were read of stored sessions
	mu       sync.Mutex
	sessions map[string]*fakeSession
	unloaded map[string]bool
	onClose  func()
}

func newFakeHost() *fakeHost {
	return &fakeHost{sessions: map[string]*fakeSession{}, unloaded: map[string]bool{}}
}

func (h *fakeHost) add(id, workspace string) *fakeSession {
	if id == "" {
		id = ident.V7(time.Now())
	}
	s := &fakeSession{id: id, workspace: workspace, created: time.Now(), dir: "", acks: map[string]host.TurnAck{}, digests: map[string]string{}}
	s.changed = sync.NewCond(&s.mu)
	h.mu.Lock()
	h.sessions[id] = s
	h.mu.Unlock()
	s.say("", event.Metadata{ModelID: "m1", ProviderID: "p", WorkspaceRoot: workspace})
	return s
}

func (h *fakeHost) Start(_ context.Context, c host.Command, r host.StartRequest) (Session, error) {
	h.mu.Lock()
	for _, s := range h.sessions {
		if s.startedBy == c.ID {
			h.mu.Unlock()
			return s, nil
		}
	}
	h.mu.Unlock()
	s := h.add(r.SessionID, r.Workspace)
	s.startedBy, s.openedAt = c.ID, s.Head()
	return s, nil
}

func (h *fakeHost) Resume(_ context.Context, _ host.Command, id string) (Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil {
		return nil, &host.Refusal{Kind: host.NoSuchSession, SessionID: id, Message: "no such session"}
	}
	delete(h.unloaded, id)
	return s, nil
}

func (h *fakeHost) Fork(context.Context, host.Command, string, string) (Session, error) {
	return nil, &host.Refusal{Kind: host.BadForkBoundary, TurnID: "t", Message: "no such boundary"}
}

func (h *fakeHost) SideChat(ctx context.Context, c host.Command, id string) (Session, error) {
	return h.Start(ctx, c, host.StartRequest{})
}

func (h *fakeHost) Loaded(id string) (Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	switch {
	case s == nil:
		return nil, &host.Refusal{Kind: host.NoSuchSession, SessionID: id, Message: "no such session"}
	case h.unloaded[id]:
		return nil, &host.Refusal{Kind: host.SessionNotLoaded, SessionID: id, Message: "not loaded"}
	}
	return s, nil
}

func (h *fakeHost) Stored(id string) (host.Facts, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil {
		return host.Facts{}, &host.Refusal{Kind: host.NoSuchSession, SessionID: id, Message: "no such session"}
	}
	return s.Facts(), nil
}

func (h *fakeHost) Replay(_ context.Context, id string, from int64, yield func(event.Recorded) error) error {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		return &host.Refusal{Kind: host.NoSuchSession, SessionID: id, Message: "no such session"}
	}
	s.mu.Lock()
	events := append([]event.Recorded{}, s.events...)
	s.mu.Unlock()
	for _, e := range events {
		if e.Sequence <= from {
			continue
		}
		h.replayed.Add(1)
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

func (h *fakeHost) Close(context.Context) error {
	if h.onClose != nil {
		h.onClose()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		s.mu.Lock()
		s.ended = true
		s.changed.Broadcast()
		s.mu.Unlock()
	}
	return nil
}

// fakeSession is a list of events that watchers follow.
type fakeSession struct {
	id, workspace, dir string
	created            time.Time
	startedBy          string
	openedAt           int64

	mu       sync.Mutex
	changed  *sync.Cond
	events   []event.Recorded
	sequence int64
	at       int64
	ended    bool
	acks     map[string]host.TurnAck
	digests  map[string]string
	engaged  []string
	settled  []host.Settlement
	refuse   error // of the next command
	onSubmit func(c host.Command, t host.TurnRequest)
	onGoal   func()
	asked    atomic.Int64 // how often the facts were wanted
	watchers int
}

// say records an event; live-only ones are shown and not kept.
func (s *fakeSession) say(run string, body event.Body) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := event.Recorded{Event: event.Event{Run: run, Body: body}, ID: ident.V4()}
	s.at++
	e.At = s.created.UnixMicro() + s.at
	if event.FamilyOf(e.Event) != event.LiveOnly {
		s.sequence++
		e.Sequence = s.sequence
	}
	s.events = append(s.events, e)
	s.changed.Broadcast()
	return e.Sequence
}

func (s *fakeSession) Facts() host.Facts {
	s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	return host.Facts{SessionID: s.id, Workspace: s.workspace, CreatedAt: s.created, Path: s.dir}
}

func (s *fakeSession) Head() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sequence
}

func (s *fakeSession) OpenedAt(host.Command) int64 { return s.openedAt }

func (s *fakeSession) Watch(ctx context.Context, from int64, show func(event.Recorded) error) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.count(1)
	defer s.count(-1)
	next, live := 0, false
	for {
		s.mu.Lock()
		for next >= len(s.events) && !s.ended && ctx.Err() == nil {
			live = true
			s.changed.Wait()
		}
		if ctx.Err() != nil || next >= len(s.events) {
			s.mu.Unlock()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return host.ErrClosed
		}
		e := s.events[next]
		next++
		s.mu.Unlock()
		if e.Sequence == 0 && !live || e.Sequence != 0 && e.Sequence <= from {
			continue
		}
		if err := show(e); err != nil {
			return err
		}
	}
}

func (s *fakeSession) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers += n
	s.changed.Broadcast()
}

func (s *fakeSession) watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watchers
}

// awaitWatchers waits until so many follow the session.
func (s *fakeSession) awaitWatchers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.watchers != n {
		s.changed.Wait()
	}
}

func (s *fakeSession) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refuse
	s.refuse = nil
	return err
}

func (s *fakeSession) Submit(_ context.Context, c host.Command, t host.TurnRequest) (host.TurnAck, error) {
	if err := s.refused(); err != nil {
		return host.TurnAck{}, err
	}
	s.mu.Lock()
	ack, known := s.acks[c.ID]
	same := s.digests[c.ID] == c.Digest
	s.mu.Unlock()
	if known {
		if !same {
			return ack, &host.Refusal{Kind: host.RefusedCommand, Reason: host.ReasonConflict, Message: "another payload"}
		}
		return ack, nil
	}
	ack = host.TurnAck{TurnID: c.ID, Disposition: host.Started}
	s.mu.Lock()
	s.acks[c.ID], s.digests[c.ID] = ack, c.Digest
	then := s.onSubmit
	s.mu.Unlock()
	if then == nil {
		then = s.echo
	}
	then(c, t)
	return ack, nil
}

// echo answers a prompt with itself.
func (s *fakeSession) echo(c host.Command, t host.TurnRequest) {
	s.say(c.ID, event.RunStarted{Prompt: t.Text})
	s.say(c.ID, event.OutputDelta{Text: t.Text})
	s.say(c.ID, event.AssistantMessage{MessageID: ident.V4(), Text: t.Text})
	s.say(c.ID, event.RunTerminal{Terminal: "completed", Text: t.Text})
}

func (s *fakeSession) Steer(_ context.Context, _ host.Command, expected string, _ host.TurnRequest) (string, error) {
	return expected, s.refused()
}

func (s *fakeSession) Interrupt(_ context.Context, _ host.Command, turn string, _ bool) (string, error) {
	return turn, s.refused()
}

func (s *fakeSession) Cancel(_ context.Context, _ host.Command, turn string) (string, error) {
	return turn, s.refused()
}

func (s *fakeSession) Unqueue(context.Context, host.Command, string) error { return s.refused() }

func (s *fakeSession) Decide(context.Context, host.Command, host.Decision) (bool, error) {
	return true, s.refused()
}

func (s *fakeSession) Settle(_ context.Context, _ host.Command, settlement host.Settlement) error {
	if err := s.refused(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = append(s.settled, settlement)
	return nil
}

func (s *fakeSession) Engaged(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.engaged = append(s.engaged, id)
	s.changed.Broadcast()
}

func (s *fakeSession) SetModel(_ context.Context, c host.Command, provider, model string) error {
	if err := s.refused(); err != nil {
		return err
	}
	s.say("", event.ModelReconfigured{
		CommandID: c.ID, ApplyOutcome: "completed", Source: "user",
		Effective: event.ModelRoute{ModelID: model, ProviderID: provider},
	})
	return nil
}

func (s *fakeSession) SetEffort(context.Context, host.Command, string) error { return s.refused() }

func (s *fakeSession) SetApprovalMode(_ context.Context, c host.Command, mode string) (bool, error) {
	if err := s.refused(); err != nil {
		return false, err
	}
	s.say("", event.ApprovalModeChanged{CommandID: c.ID, ClientName: c.Client, Mode: mode, Source: "approvalReconfigure"})
	return true, nil
}

func (s *fakeSession) Rename(_ context.Context, _ host.Command, name string) (string, error) {
	return name, s.refused()
}

func (s *fakeSession) Goal(context.Context, host.Command, string, string) (string, error) {
	if s.onGoal != nil {
		s.onGoal()
	}
	return "", s.refused()
}

func (s *fakeSession) Compact(context.Context, host.Command, string) (bool, string, error) {
	return false, "no_compactable_history", s.refused()
}

func (s *fakeSession) UserShell(context.Context, host.Command, string) error  { return s.refused() }
func (s *fakeSession) Background(context.Context, host.Command, string) error { return s.refused() }
func (s *fakeSession) Stop(context.Context, host.Command, string) error       { return s.refused() }
func (s *fakeSession) StopAll(context.Context, host.Command) error            { return s.refused() }

// fakeModels is a catalogue of two.
type fakeModels struct{}

func (fakeModels) List(context.Context) (msp.ModelListResult, error) {
	return msp.ModelListResult{ProviderID: "p", Source: msp.ModelCatalogSourceFakeCatalog, Models: []msp.ModelCatalogEntry{
		{ModelID: "m1", DisplayLabel: "M1", ProviderID: "p", IsDefault: true}, {ModelID: "m2", DisplayLabel: "M2", ProviderID: "p"},
	}}, nil
}

// connected is a client of a server over a fake host.
type connected struct {
	*msptest.Client
	t    *testing.T
	ctx  context.Context
	host *fakeHost
	err  chan error // of Serve
}

// options is a server for tests.
func options(h Host) Options {
	return Options{
		Host: h, Models: fakeModels{}, MuseHome: "/home/somebody/.muse", Name: "openmuse", Version: "0", UserAgent: "openmuse/0",
		Fingerprint: msp.ServedFingerprint, Grace: time.Minute,
	}
}

func connect(t *testing.T, change func(*Options), wrap ...func(io.Writer) io.Writer) *connected {
	t.Helper()
	h := newFakeHost()
	o := options(h)
	o.Note = func(format string, args ...any) { t.Logf("note: "+format, args...) }
	if change != nil {
		change(&o)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &connected{t: t, host: h, err: make(chan error, 1)}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(context.Background(), 100*time.Second)
	var out io.Writer = outW
	for _, w := range wrap {
		out = w(out)
	}
	go func() {
		err := New(o).Serve(context.Background(), inR, out)
		outW.Close()
		c.err <- err
	}()
	var err error
	if c.Client, err = msptest.New(inW, outR); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		c.CloseInput()
		if err := c.Wait(c.ctx); err != nil {
			t.Errorf("wait for the host: %v", err)
		}
		if err := <-c.err; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := c.Faults(); err != nil {
			t.Errorf("the host broke the protocol: %v", err)
		}
	})
	return c
}

// ready is connect with the handshake done.
func ready(t *testing.T, caps *msp.ClientCapabilities) *connected {
	t.Helper()
	c := connect(t, nil)
	c.hello(caps)
	return c
}

func (c *connected) hello(caps *msp.ClientCapabilities) msp.InitializeResult {
	c.t.Helper()
	r, err := c.Initialize(c.ctx, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}, Capabilities: caps})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// start opens a session.
func (c *connected) start() (msp.SessionStartResult, *fakeSession) {
	c.t.Helper()
	root := "/home/me/place"
	r := must[msp.SessionStartResult](c, msp.MethodSessionStart, msp.SessionStartParams{CommandID: msptest.CommandID(), WorkspaceRoot: &root})
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	return r, c.host.sessions[r.Session.SessionID]
}

func must[R any](c *connected, method string, params any) R {
	c.t.Helper()
	r, err := msptest.Call[R](c.ctx, c.Client, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return r
}

// refusedAs calls a method that must be refused.
func (c *connected) refusedAs(kind msp.ErrorKind, method string, params any) *msp.Error {
	c.t.Helper()
	_, err := c.Request(c.ctx, method, params)
	e := msp.AsError(orNil(err))
	if err == nil || e.Kind() != kind {
		c.t.Fatalf("%s answers %v, want %s", method, err, kind)
	}
	return e
}

func orNil(err error) error {
	if err == nil {
		return fmt.Errorf("no error")
	}
	return err
}

// text is a prompt of one text.
func text(s string) []msp.TurnInputPart {
	return []msp.TurnInputPart{{Type: msp.TurnInputPartTypeText, Text: &s}}
}
