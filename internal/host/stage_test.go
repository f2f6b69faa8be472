package host_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/permission"
	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/tool"
	"github.com/openmuse/muse/internal/workspace"
)

// say is one reply of the puppet model.
type say struct {
	text string
	call string // a tool, with args
	args any
	fail error
}

// puppet is a model that says what a test tells it to, when it tells it to.
type puppet struct {
	id      string
	replies chan say
	mu      sync.Mutex
	asked   []*provider.Request
	arrived chan struct{} // one for each request
}

func newPuppet() *puppet {
	return &puppet{id: "script", replies: make(chan say, 16), arrived: make(chan struct{}, 64)}
}

func (p *puppet) ID() string { return p.id }

func (p *puppet) Stream(ctx context.Context, req *provider.Request, emit func(provider.Part) error) error {
	p.mu.Lock()
	p.asked = append(p.asked, req)
	p.mu.Unlock()
	if len(req.Tools) == 0 {
		return finish(emit, provider.Part{TextDelta: "the summary"})
	}
	p.arrived <- struct{}{}
	select {
	case s := <-p.replies:
		if s.fail != nil {
			return s.fail
		}
		if s.call == "" {
			return finish(emit, provider.Part{TextDelta: s.text})
		}
		args, err := json.Marshal(s.args)
		if err != nil {
			return err
		}
		return finish(emit, provider.Part{ToolCall: &provider.ToolCall{CallID: ident.Call(time.Now()), Name: s.call, Args: string(args)}})
	case <-ctx.Done():
		return ctx.Err()
	}
}

func finish(emit func(provider.Part) error, p provider.Part) error {
	if err := emit(p); err != nil {
		return err
	}
	return emit(provider.Part{Completed: &provider.Completed{
		Finish: provider.FinishStop, Usage: provider.Usage{Input: 1000, Output: 10},
	}})
}

// last is what the model was asked last.
func (p *puppet) last() *provider.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[len(p.asked)-1]
}

// onUnix skips what needs bash, or the permissions of Unix files.
func onUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands here are bash's and the files Unix's")
	}
}

// stage is a host with one puppet model for all of its sessions.
type stage struct {
	t      *testing.T
	data   string
	work   string
	model  *puppet
	hub    *host.Hub
	timers chan time.Time // fires every timer that is armed
	opts   func(*host.HubOptions)
	n      int
	guard  *host.Guard // of the session that was opened last
}

func newStage(t *testing.T) *stage {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, data: t.TempDir(), work: work, model: newPuppet(), timers: make(chan time.Time)}
	s.open()
	t.Cleanup(func() { s.close() })
	return s
}

func (s *stage) open() {
	o := host.HubOptions{
		DataRoot: s.data, Workspace: s.work, Program: "test", Factory: s, Now: time.Now,
		After: func(time.Duration) <-chan time.Time { return s.timers },
	}
	if s.opts != nil {
		s.opts(&o)
	}
	s.hub = host.NewHub(o)
}

func (s *stage) close() {
	if s.hub == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.hub.Close(ctx); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.hub = nil
}

// again is the same place under a new host.
func (s *stage) again() {
	s.close()
	s.model = newPuppet()
	s.open()
}

// Plan implements host.Factory.
func (s *stage) Plan(_ context.Context, w host.Wanted) (host.Plan, error) {
	p := &stagePlan{stage: s, wanted: w}
	if p.wanted.Mode == "" {
		p.wanted.Mode = permission.Untrusted
	}
	if p.wanted.Model == "" {
		p.wanted.Model = "m"
	}
	return p, nil
}

type stagePlan struct {
	stage  *stage
	wanted host.Wanted
	tools  *tool.Set
	guard  *host.Guard
	work   *workspace.Workspace
}

func (p *stagePlan) Fill(o *host.Options) {
	o.Provider, o.Model, o.Cwd = "script", p.wanted.Model, p.wanted.Workspace
	o.Posture = host.Posture{Approval: p.wanted.Mode.LogName(), Reviewer: "human", Sandbox: "disabled", Network: "enabled"}
}

func (p *stagePlan) Discard() {}

func (p *stagePlan) Mode() permission.Mode { return p.wanted.Mode }

func (p *stagePlan) grant(mode permission.Mode) permission.Grant {
	yes, no, network := true, false, permission.NetworkProxyOnly
	return permission.RootGrant(permission.GrantSpec{
		Mode: &mode, Sandboxed: &no, Network: &network, Shell: &yes, Write: &yes, Trusted: &yes, Root: p.wanted.Workspace,
	})
}

func (p *stagePlan) Equip(s *host.Session, people host.People) (*host.Equipment, error) {
	var err error
	if p.work, err = workspace.Open(p.wanted.Workspace); err != nil {
		return nil, err
	}
	p.guard, err = s.Guard(permission.Config{
		Workspace: p.wanted.Workspace, Home: "/nonexistent", Temp: "/tmp", Grant: p.grant(p.wanted.Mode),
		Reviewer: permission.ReviewerHuman, Answerer: people.Approvals,
	}, nil)
	if err != nil {
		return nil, err
	}
	p.stage.guard = p.guard
	p.tools, err = tool.New(tool.Options{Workspace: p.work, Gate: p.guard, SessionID: s.ID(), Asker: people.UserInputs})
	if err != nil {
		return nil, err
	}
	return &host.Equipment{
		Loop: agent.Config{
			Provider: p.stage.model, Model: agent.Model{ID: p.wanted.Model}, Tools: p.tools, Retry: once{}, Authorize: p.guard.Authorize,
			Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		},
		Guard: p.guard,
		SelectModel: func(_ context.Context, providerID, model string) (host.Selected, error) {
			if model == "none" {
				return host.Selected{}, fmt.Errorf("there is no such model")
			}
			return host.Selected{Provider: p.stage.model, Model: agent.Model{ID: model}, Label: "The " + model}, nil
		},
		Regrant: func(m permission.Mode) (permission.Grant, permission.ReviewerKind, error) {
			return p.grant(m), permission.ReviewerHuman, nil
		},
		Background: p.tools.Background,
		UserShell: func(ctx context.Context, c tool.Call, line string) tool.Result {
			p.guard.AllowPerson(c.ID, line)
			return p.tools.RunForPerson(ctx, c, line, time.Minute)
		},
		Close: func() error {
			err := p.tools.Close()
			p.work.Close()
			return err
		},
	}, nil
}

// cmd is a new command.
func (s *stage) cmd(method string) host.Command {
	s.n++
	return host.Command{ID: ident.V7(time.Now()), Method: method, Digest: fmt.Sprintf("digest-%d", s.n), Client: "tests"}
}

// start opens a session and watches it.
func (s *stage) start() (*host.Live, *watcher) {
	s.t.Helper()
	l, err := s.hub.Start(s.t.Context(), s.cmd("session/start"), host.StartRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	return l, watch(s.t, l, 0)
}

func (s *stage) submit(l *host.Live, text, busy string) host.TurnAck {
	s.t.Helper()
	ack, err := l.Submit(s.t.Context(), s.cmd("turn/start"), host.TurnRequest{Text: text, IfBusy: busy})
	if err != nil {
		s.t.Fatal(err)
	}
	return ack
}

// watcher gathers the events of a session.
type watcher struct {
	t    *testing.T
	mu   sync.Mutex
	all  []event.Recorded
	more chan struct{}
	seen int
	end  chan error
	stop context.CancelFunc
}

func watch(t *testing.T, l *host.Live, from int64) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{t: t, more: make(chan struct{}, 1), end: make(chan error, 1), stop: cancel}
	t.Cleanup(cancel)
	go func() {
		w.end <- l.Watch(ctx, from, func(r event.Recorded) error {
			w.mu.Lock()
			w.all = append(w.all, r)
			w.mu.Unlock()
			select {
			case w.more <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	return w
}

// until waits for an event that fits, among those after the last one found.
func until[T event.Body](w *watcher, fits func(T, event.Recorded) bool) T {
	w.t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		w.mu.Lock()
		for w.seen < len(w.all) {
			r := w.all[w.seen]
			w.seen++
			if b, ok := r.Body.(T); ok && (fits == nil || fits(b, r)) {
				w.mu.Unlock()
				return b
			}
		}
		w.mu.Unlock()
		select {
		case <-w.more:
		case err := <-w.end:
			w.t.Fatalf("the watching ended: %v", err)
		case <-timeout:
			w.t.Fatalf("no %T came", *new(T))
		}
	}
}

// saying fits an answer. The end of a turn does not tell it to a watcher who
// reads behind in the log.
func saying(text string) func(event.AssistantMessage, event.Recorded) bool {
	return func(b event.AssistantMessage, _ event.Recorded) bool { return b.Text == text }
}

func terminalOf(run string) func(event.RunTerminal, event.Recorded) bool {
	return func(_ event.RunTerminal, r event.Recorded) bool { return r.Run == run }
}

// events are those of a kind that were shown so far.
func shown[T event.Body](w *watcher) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []T
	for _, r := range w.all {
		if b, ok := r.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

func (s *stage) asked() {
	s.t.Helper()
	select {
	case <-s.model.arrived:
	case <-time.After(10 * time.Second):
		s.t.Fatal("the model was not asked")
	}
}

func (s *stage) now() time.Time { return time.Now() }
