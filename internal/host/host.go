// Package host is sessions as a program sees them: open or continue one, hand
// it a prompt, watch what happens, close it. The headless command is its first
// client; every other front end is one too. It owns the session's directory,
// lease and log, and what is said of the session beyond its runs.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
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

	snapshots     sync.Mutex // one file is kept at a time
	snapshotBytes int64      // kept so far, 0 before it was counted
}

// Open opens a new session or continues a known one. A session that another
// process has open is refused at once with its holder named.
func Open(opts Options) (*Session, Report, error) {
	s := &Session{opts: opts, id: opts.SessionID, conv: agent.NewConversation(), state: newState(), opened: opts.Now()}
	var report Report
	if s.id == "" {
		s.id = ident.V7(opts.Now())
	}
	if opts.KeepNothing {
		s.newRecorder()
		s.rec.keep = opts.KeepEvents
		s.assets = &assets{}
		return s, report, nil
	}
	report, err := s.open()
	if err != nil {
		return nil, report, err
	}
	s.assets = &assets{dir: s.place.Dir}
	return s, report, nil
}

func (s *Session) open() (Report, error) {
	var report Report
	var err error
	err = store.ErrNotFound
	if s.opts.SessionID != "" { // an id minted just now is nobody's yet
		s.place, err = store.Find(s.opts.DataRoot, s.id)
	}
	if errors.Is(err, store.ErrNotFound) {
		s.place, err = store.Create(s.opts.DataRoot, s.id, s.opts.Now())
	}
	if err != nil {
		return report, err
	}
	if err := lock(s.place, s.opts.Program); err != nil {
		return report, err
	}
	if err := s.openLog(&report); err != nil {
		return report, errors.Join(err, s.place.Unlock())
	}
	s.trace = store.NewTrace(s.place.Dir)
	slog.New(s.trace).Info("session opened", "id", s.id, "resumed", s.resumed, "provider", s.opts.Provider, "model", s.opts.Model)
	return report, nil
}

// A process that is killed while it starts a program lives on in that program
// for a moment, and so do its locks.
const (
	lockTries = 100
	lockPause = 10 * time.Millisecond
)

// lock takes the lease of a session. A holder that is gone is waited for, a
// moment; one that lives is not.
func lock(place *store.Session, program string) error {
	for try := 1; ; try++ {
		err := place.Lock(program)
		var used *journal.InUseError
		if err == nil || try == lockTries || !errors.As(err, &used) || used.Holder.PID != 0 {
			return err
		}
		time.Sleep(lockPause)
	}
}

// openLog opens the log of a session that has one. A directory without a log
// is a session that never started: Begin makes its log.
func (s *Session) openLog(report *Report) error {
	s.newRecorder()
	started, err := s.place.Started()
	if err != nil || !started {
		return err
	}
	found, err := s.openJournal()
	if err != nil {
		return err
	}
	s.resumed = found.Records > 0
	report.Resumed = s.resumed
	report.Notes = notes(found)
	if err := s.sameWorkspace(); err != nil {
		return errors.Join(err, s.journal.Close())
	}
	return nil
}

func (s *Session) newRecorder() {
	s.rec = newRecorder(nil, s.id, s.opts.Now)
	s.rec.watch(func(r event.Recorded) error { s.state.apply(r); return nil }, nil)
}

func (s *Session) openJournal() (journal.OpenReport, error) {
	opts := s.journalOptions()
	r := replay{session: s}
	opts.From = s.replayIndexed(&r)
	opts.Prepare = prepareRecord
	opts.OnPrepared = func(line record.Line, p any, offset int64) error {
		s.rec.offsets.line(line, offset)
		r.add(p.(prepared), line)
		return nil
	}
	var found journal.OpenReport
	var err error
	s.journal, found, err = journal.Open(s.place.LogPath(), opts)
	if err != nil && opts.From != nil {
		// What was derived may be of another build: the log alone counts.
		r.forget()
		opts.From = nil
		s.journal, found, err = journal.Open(s.place.LogPath(), opts)
	}
	if err != nil {
		return found, err
	}
	s.indexed = opts.From != nil
	r.apply(len(r.held))
	s.rec.log, s.rec.last = s.journal, found.LastRecorded
	return found, nil
}

func (s *Session) journalOptions() journal.Options {
	return journal.Options{
		Stream: record.Stream{Kind: record.StreamSession, ID: s.id}, Now: s.opts.Now,
		OpenFile: s.opts.OpenLog, SyncDir: s.place.SyncDir,
	}
}

// start makes the log of a new session. Its first line, the permission profile,
// is durable before the log exists, so that there is never a log that does not
// say under which rules it was written.
func (s *Session) start(p event.PermissionProfile) error {
	children, err := permissionChildren(p)
	if err != nil {
		return err
	}
	frame, err := journal.FirstFrame(children, s.journalOptions())
	if err != nil {
		return err
	}
	if err := s.place.Stage(frame.Append(nil)); err != nil {
		return err
	}
	if err := s.place.Start(); err != nil {
		return err
	}
	_, err = s.openJournal()
	return err
}

func notes(r journal.OpenReport) []string {
	var out []string
	if r.TornFile != "" {
		out = append(out, fmt.Sprintf("the session log ended in a half-written record; its bytes were kept in %s", filepath.Base(r.TornFile)))
	}
	for i, d := range r.Diagnostics {
		if i == 3 {
			out = append(out, fmt.Sprintf("%d more findings in the session log; `muse audit verify` lists them", int64(len(r.Diagnostics)-i)+r.Omitted))
			break
		}
		out = append(out, "session log: "+d.String())
	}
	return out
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
func (s *Session) recover() error {
	steps := s.state.leftOpen()
	for _, e := range s.conv.Interrupted() {
		if _, last := e.Body.(event.RunTerminal); last {
			steps = append(steps, s.state.leftUnread()...)
		}
		steps = append(steps, e)
	}
	for _, e := range append(steps, s.state.leftWaiting()...) {
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

// Close ends the session: exitReason is "clean", "interrupted" or "failed".
// The log is sealed and durable, the lease is given back.
func (s *Session) Close(exitReason string) error {
	if s.place == nil {
		return nil
	}
	if s.journal == nil {
		return s.release(nil)
	}
	err := s.record(event.Event{Body: event.SessionEnd{
		ExitReason: exitReason, Schema: 1, SessionID: s.id, UptimeMS: s.opts.Now().Sub(s.opened).Milliseconds(),
		Resources: event.ResourceUsage{SessionLogBytes: s.journal.Size()},
	}})
	if err == nil {
		err = s.journal.Seal()
	}
	ctx, cancel := context.WithTimeout(context.Background(), indexTime)
	defer cancel()
	s.index(ctx)
	if closeErr := s.journal.Close(); err == nil {
		err = closeErr
	}
	s.noteClosed(exitReason, err)
	return s.release(err)
}

// note writes a trouble that stops nothing into the session's trace.
func (s *Session) note(what string, err error) { slog.New(s.trace).Warn(what, "error", err) }

func (s *Session) noteClosed(exitReason string, err error) {
	slog.New(s.trace).Info("session closed", "exit_reason", exitReason, "error", err)
}

// Abandon gives back a session on which Begin was not called: nothing was
// said, so nothing is recorded.
func (s *Session) Abandon() error {
	if s.place == nil {
		return nil
	}
	var err error
	if s.journal != nil {
		err = s.journal.Close()
	}
	return s.release(err)
}

// release gives the lease back. A trace that could not be written is not worth
// failing for: it is there to explain failures.
func (s *Session) release(err error) error {
	_ = s.trace.Close()
	if unlockErr := s.place.Unlock(); err == nil {
		err = unlockErr
	}
	return err
}
