// Package host is sessions as a program sees them: open or continue one, hand
// it a prompt, watch what happens, close it. It owns the session's directory,
// lease and log, and what is said of the session beyond its runs.
//
// A [Session] is for one caller that waits for its turn, as the headless
// command does. A [Hub] keeps [Live] sessions for front ends that come and go:
// what they ask for is a [Command], and a command is durable before it is
// answered and answered the same way for ever. The state of a session is a fold
// over its events, so what a process did not live to end is found, and ended,
// by the next one.
//
// Locks are taken in this order: hub, session, recorder, state.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/store"
)

// Options say which session to open and under which circumstances.
type Options struct {
	DataRoot  string // absolute
	Workspace string // absolute, symlinks resolved
	Git       bool   // the workspace is a Git checkout
	// SessionID names the session; one that exists is continued. "" mints one.
	SessionID string
	// KeepNothing opens a session without a directory and a log.
	KeepNothing bool
	// KeepEvents holds every event of a session without a log in memory, so
	// that watchers can be shown those that came before them.
	KeepEvents bool
	// AllowWorkspaceSwitch lets a session continue in another workspace.
	AllowWorkspaceSwitch bool

	Build    event.Build
	Program  string // who holds the lease, in words: "muse exec"
	Provider string // provider id
	Model    string // model id
	Posture  Posture
	// CredentialBackend is where a key was found: "file", "environment", "none".
	CredentialBackend string
	Cwd               string
	Now               func() time.Time
	// IndexFrom is the size in bytes from which a log is continued with the help
	// of its line index; 0 is 8 MiB.
	IndexFrom int64
	// OpenLog replaces the journal's file, for tests that make it fail.
	OpenLog func(path string, flag int, perm os.FileMode) (journal.File, error)
}

// ErrOtherWorkspace is found with errors.Is when a session belongs to another
// workspace than the one it is continued in.
var ErrOtherWorkspace = errors.New("session belongs to another workspace")

// Report is what an opening found out that a person should know.
type Report struct {
	Resumed bool
	// Notes are single lines: a repaired log, a run that was cut off.
	Notes []string
}

// Session is one open session. Its methods are for one goroutine.
type Session struct {
	opts    Options
	id      string
	place   *store.Session // nil when nothing is kept
	journal *journal.Journal
	rec     *recorder
	assets  *assets
	conv    *agent.Conversation
	state   *state
	resumed bool
	indexed bool // the log was continued with the help of its line index
	trace   *store.Trace

	mu       sync.Mutex // guards what goroutines of running tools ask for
	run      string     // the run under way
	messages []string   // the person's own words, oldest first
	opened   time.Time
	epoch    int64 // permission profiles so far

	lastWorkspace string

	goesOn  bool              // a run that only waited for a person is gone on with
	waiting map[string]string // its calls that waited, with the question that was open about each

	snapshots     sync.Mutex // one file is kept at a time
	snapshotBytes int64      // kept so far, 0 before it was counted
}

// said notes a prompt of the person and the run it belongs to.
func (s *Session) said(run, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = run
	s.messages = append(s.messages, text)
}

func (s *Session) currentRun() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

func (s *Session) userMessages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

func (s *Session) sameWorkspace() error {
	if s.opts.AllowWorkspaceSwitch || s.lastWorkspace == "" || s.lastWorkspace == s.opts.Workspace {
		return nil
	}
	return fmt.Errorf("%w: session %s was last used in %s; continue it there, or here with --allow-workspace-switch",
		ErrOtherWorkspace, s.id, s.lastWorkspace)
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Dir is the session's directory, "" when nothing is kept.
func (s *Session) Dir() string {
	if s.place == nil {
		return ""
	}
	return s.place.Dir
}

// LogPath is the session's log, "" when nothing is kept.
func (s *Session) LogPath() string {
	if s.place == nil {
		return ""
	}
	return s.place.LogPath()
}

// Resumed reports whether the session was continued.
func (s *Session) Resumed() bool { return s.resumed }

// Turn is the number of the next turn, from 1.
func (s *Session) Turn() int { return s.conv.Runs() + 1 }

// Watch shows every event from now on to show, after it was written. lost is
// called once, with the error, when show fails; it may be nil.
func (s *Session) Watch(show Watcher, lost func(error)) { s.rec.watch(show, lost) }

// KeepImage attaches a picture to the session.
func (s *Session) KeepImage(mediaType string, data []byte) (event.ContentBlock, error) {
	return s.assets.KeepImage(mediaType, data)
}

// Input is one prompt. Everything but Text and Images is for live sessions.
type Input struct {
	Text   string
	Images []event.ContentBlock

	Run     string // the turn's id
	Command string // the client's command, when it has another id
	Display string // what people are shown in the place of Text
	Effort  string
	Label   string // the model's name for people

	Model, Provider string // ids; "" for those the session was opened with
}

// model is the model of the turn as the log names it.
func (s *Session) model(in Input) event.ModelConfigured {
	m := event.ModelConfigured{
		CommandID: in.Run, DisplayLabel: in.Label, ModelID: in.Model, ProviderID: in.Provider,
		RunStream: event.RunRef(in.Run), Source: s.modelSource(),
	}
	if m.ModelID == "" {
		m.ModelID, m.ProviderID = s.opts.Model, s.opts.Provider
	}
	if m.DisplayLabel == "" {
		m.DisplayLabel = m.ModelID
	}
	return m
}

// Loop builds the loop's configuration around the session: the host fills in
// what belongs to the session.
func (s *Session) Loop(cfg agent.Config) *agent.Loop {
	cfg.SessionID, cfg.Recorder, cfg.Assets, cfg.Now = s.id, s.rec, s.assets, s.opts.Now
	return agent.New(cfg, s.conv)
}

// Begin records the opening of the session: its permission profile first, so
// that line 1 of every log says under which rules the rest was written, then
// who owns it, and what a run that was cut off left open.
func (s *Session) Begin() error {
	cause := "new_session_default"
	if s.resumed {
		cause = "resumed_session"
	}
	profile := s.opts.Posture.profile(cause, s.epoch+1)
	if s.place != nil && s.journal == nil {
		if err := s.start(profile); err != nil {
			return err
		}
	} else if err := s.record(event.Event{Body: profile}); err != nil {
		return err
	}
	for _, body := range []event.Body{
		event.Metadata{
			Build: s.opts.Build, ModelID: s.opts.Model, ProviderID: s.opts.Provider,
			ToolSurface: "2", WebSearchMode: "off", WorkspaceRoot: s.opts.Workspace,
		},
		event.RouteFacts{Cwd: s.opts.Cwd, PID: os.Getpid(), TerminalTitle: s.id[len(s.id)-12:]},
		s.openedFact(),
		s.opts.Posture.securityMode(),
		event.AgentTree{ExecutionCapacity: 8, RootAgentID: s.id, RootSessionID: s.id, Schema: 1, WriterProtocol: 1},
	} {
		if err := s.record(event.Event{Body: body}); err != nil {
			return err
		}
	}
	return s.recover()
}

// recover records the end of everything that a process had begun and did not
// live to end: questions, calls, the run, prompts that waited, commands.
// A run that only waited for a person is left open where the host goes on with
// it: its old questions are closed here, and asked anew by the run.
func (s *Session) recover() error {
	if s.goesOn {
		s.waiting = s.parked()
	}
	steps := s.state.leftOpen()
	if s.waiting != nil {
		return s.recordAll(append(steps, s.state.leftWaiting()...))
	}
	for _, e := range s.conv.Interrupted() {
		if _, last := e.Body.(event.RunTerminal); last {
			steps = append(steps, s.state.leftUnread()...)
		}
		steps = append(steps, e)
	}
	return s.recordAll(append(steps, s.state.leftWaiting()...))
}

func (s *Session) recordAll(events []event.Event) error {
	for _, e := range events {
		if err := s.record(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) openedFact() event.SessionOpened {
	kind := "directory"
	if s.opts.Git {
		kind = "git"
	}
	return event.SessionOpened{
		CredentialBackend: s.opts.CredentialBackend, DataDirFreeBytes: store.FreeBytes(s.opts.DataRoot),
		Resume: s.resumed, Schema: 1, SecurityMode: s.opts.Posture.Mode(), SessionID: s.id,
		WorkspaceFreeBytes: store.FreeBytes(s.opts.Workspace), WorkspaceKind: kind,
	}
}

func (s *Session) record(e event.Event) error {
	r, err := s.rec.Record(e)
	if err != nil {
		return err
	}
	s.conv.Apply(r)
	return nil
}

// Submit accepts a prompt and carries it to the end of its turn. Once the
// prompt is accepted it is durable. branch observes the workspace's version
// control; it may be nil.
func (s *Session) Submit(ctx context.Context, loop *agent.Loop, in Input, branch func(run string) (event.WorkspaceBranch, bool)) (agent.Outcome, error) {
	in.Run = ident.V4()
	if err := s.record(event.Event{Run: in.Run, Body: s.accepted(in)}); err != nil {
		return agent.Outcome{}, err
	}
	return s.carryOut(ctx, loop, in, branch)
}

// accepted is the record of a prompt that the session took on.
func (s *Session) accepted(in Input) event.IntentAccepted {
	blocks := append([]event.ContentBlock{{Kind: "text", Text: in.Text}}, in.Images...)
	a := event.IntentAccepted{
		Bindings: []string{}, DeliveryPolicy: "session_current", IntentID: in.Run,
		ModelMessages: []event.IntentMessage{{Content: blocks}}, RefillBlocks: blocks, DisplayText: in.Display, Effort: in.Effort,
		SemanticKind: event.Kinded{Kind: "chat"}, SourceSessionID: s.id, Surface: "main", WakePolicy: "start_once",
	}
	if in.Command != in.Run {
		a.CommandID = in.Command
	}
	return a
}

// carryOut runs the turn of an accepted prompt.
func (s *Session) carryOut(ctx context.Context, loop *agent.Loop, in Input, branch func(run string) (event.WorkspaceBranch, bool)) (agent.Outcome, error) {
	run := in.Run
	s.said(run, in.Text)
	bodies := []event.Body{
		event.IntentMaterialized{IntentID: run, Outcome: event.IntentOutcome{Kind: "top_level_turn_started", RunID: run}},
		s.model(in),
	}
	if branch != nil {
		if b, ok := branch(run); ok {
			bodies = append(bodies, b)
		}
	}
	for _, body := range bodies {
		if err := s.record(event.Event{Run: run, Body: body}); err != nil {
			return agent.Outcome{}, err
		}
	}
	return loop.Turn(ctx, agent.Prompt{Run: run, Text: in.Text, Images: in.Images})
}

func (s *Session) modelSource() string {
	if s.resumed || s.conv.Runs() > 0 {
		return "replay"
	}
	return "startup"
}
