package muse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// RunOptions describe one run.
type RunOptions struct {
	Binary    string // path of the binary; see [FindBinary]
	Profile   Profile
	Prompt    string
	Workspace string // absolute; the process's working directory too

	// SessionID names the session; empty generates one. Continue says that it
	// exists, so that only this turn's usage is summed.
	SessionID string
	Continue  bool

	Env      []string  // base environment; nil: the process's own
	Temp     *TempRoot // nil: the default root
	DataHome string    // where session logs are; empty: from Env

	// SyncCeiling and SoftCeiling are exported to the run. A zero SyncCeiling
	// means [DefaultSyncCeiling], a negative one exports nothing.
	SyncCeiling, SoftCeiling time.Duration

	Strict  bool // seed 002's strict reading
	MaxLine int  // see [ReaderOptions]

	Grace     time.Duration // see [Launch]
	KeepGroup bool
	Clock     Clock // nil: the system's

	Watch WatchOptions
	// OnHealth is called with each observation, from another goroutine than
	// the other callbacks. Returning true stops the run as stalled.
	OnHealth func(Health) (stop bool)

	OnStart    func(Started)
	OnEvent    func(*Event)
	OnDelta    func(runKey, text string)
	OnRunEnd   func(runKey string, t *Terminal)
	OnToolCall func(ToolCall)

	Stdout io.Writer // a copy of raw stdout
	Stderr io.Writer // a copy of raw stderr
}

// Started identifies a run's process for whoever must find it again.
type Started struct {
	Pid       int    `json:"pid"`
	StartID   string `json:"start_id"` // see [ProcessStart]
	RunMark   string `json:"run_mark"` // value of [RunVariable] in its environment
	SessionID string `json:"session_id"`
}

// Result is one finished run.
type Result struct {
	Class     Class
	Exit      Exit
	Outcome   *Outcome
	Failure   *Failure // nil exactly when Class is completed
	Usage     LogUsage
	SessionID string
	RunMark   string

	Args    []string // exactly as started, without the binary
	Set     []string // environment set for the run
	Skipped []string // profile flags that pass-through arguments replaced

	Started, Ended time.Time
	Health         Health // the last observation
	StderrTail     string
	Leftover       int
	Diagnostics    []Diagnostic
}

// errStalled is the cause of a stop asked for by OnHealth.
var errStalled = errors.New("stalled")

// Run performs one run. It returns an error only when the run could not be
// started as asked; everything that happens afterwards is in the Result, a
// cancelled context included.
func Run(ctx context.Context, o RunOptions) (*Result, error) {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	getenv := func(name string) string { return Lookup(o.Env, name) }
	if o.SessionID == "" {
		o.SessionID = NewSessionID()
	}
	if o.DataHome == "" {
		o.DataHome = DataHome(getenv)
	}
	if o.Temp == nil {
		root, err := OpenTempRoot(DefaultTempRoot(getenv))
		if err != nil {
			return nil, err
		}
		o.Temp = root
	}
	files, err := o.Temp.NewRun()
	if err != nil {
		return nil, err
	}
	res, err := run(ctx, o, files)
	if closeErr := files.Close(); closeErr != nil && res != nil {
		res.Diagnostics = append(res.Diagnostics, Diagnostic{Kind: DiagArtifact, Count: 1, Message: closeErr.Error()})
	}
	return res, err
}

func run(ctx context.Context, o RunOptions, files *TempRun) (*Result, error) {
	promptFile, err := files.WriteFile("prompt.md", []byte(o.Prompt))
	if err != nil {
		return nil, err
	}
	inv, err := o.Profile.Build(Job{Workspace: o.Workspace, SessionID: o.SessionID, PromptFile: promptFile, Prompt: o.Prompt})
	if err != nil {
		return nil, err
	}
	hard := o.SyncCeiling
	if hard == 0 {
		hard = DefaultSyncCeiling
	}
	if !slices.Contains(inv.Args, o.SessionID) {
		// This command line does not name the session: the stream will.
		o.SessionID = ""
	}
	res := &Result{SessionID: o.SessionID, RunMark: NewSessionID(), Args: inv.Args, Skipped: inv.Skipped}
	res.Set = append(slices.Clone(inv.Env), ceilings(hard, o.SoftCeiling)...)
	res.Set = append(res.Set, RunVariable+"="+res.RunMark)

	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	res.Started = o.Clock.Now()
	p, err := Start(runCtx, Launch{
		Path: o.Binary, Args: inv.Args, Env: runEnv(o.Env, res.Set), Dir: o.Workspace,
		Stderr: o.Stderr, Grace: o.Grace, KeepGroup: o.KeepGroup, Clock: o.Clock,
	})
	if err != nil {
		return nil, err
	}
	if o.OnStart != nil {
		o.OnStart(Started{Pid: p.Pid(), StartID: ProcessStart(p.Pid()), RunMark: res.RunMark, SessionID: o.SessionID})
	}
	s := &supervision{o: o, p: p, watch: NewWatch(res.Started, o.Watch), diags: &DiagnosticLog{}}
	observing := make(chan struct{})
	go func() {
		defer close(observing)
		s.observe(cancel)
	}()
	strictErr := s.read()
	if strictErr != nil {
		p.Stop()
	}
	res.Exit = p.Wait()
	<-observing
	res.Ended = o.Clock.Now()
	s.conclude(res, context.Cause(runCtx), strictErr)
	return res, nil
}

// supervision is the state of one run in progress.
type supervision struct {
	o     RunOptions
	p     *Process
	diags *DiagnosticLog

	mu     sync.Mutex // guards watch: records and observations race
	watch  *Watch
	health Health

	reader    *Reader
	collector *Collector
}

// observe looks at the clocks until the process is gone.
func (s *supervision) observe(stop context.CancelCauseFunc) {
	for {
		select {
		case <-s.p.Done():
			return
		case <-s.o.Clock.After(s.watch.Interval()):
		}
		s.mu.Lock()
		h := s.watch.Observe(s.o.Clock.Now())
		s.mu.Unlock()
		s.health = h
		if s.o.OnHealth != nil && s.o.OnHealth(h) {
			stop(errStalled)
			return
		}
	}
}

// read reads stdout to its end. The error is a strict violation.
func (s *supervision) read() error {
	var src io.Reader = s.p.Stdout()
	tee := &tolerantTee{dst: s.o.Stdout}
	if s.o.Stdout != nil {
		src = io.TeeReader(src, tee)
	}
	s.reader = NewReader(src, ReaderOptions{Strict: s.o.Strict, MaxLine: s.o.MaxLine, Diagnostics: s.diags})
	s.collector = NewCollector(s.diags, CollectorOptions{
		SessionID: s.o.SessionID, OnDelta: s.o.OnDelta, OnRunEnd: s.o.OnRunEnd, OnToolCall: s.o.OnToolCall,
	})
	var violation error
	for {
		e, err := s.reader.Next()
		var strict *StrictError
		if errors.As(err, &strict) {
			violation = err
			break
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.diags.Add(DiagStdoutDecode, 0, "read stdout: %v", err)
			}
			break
		}
		now := s.o.Clock.Now()
		s.mu.Lock()
		s.watch.Record(e, now)
		s.mu.Unlock()
		s.collector.Observe(e, now)
		if s.o.OnEvent != nil {
			s.o.OnEvent(e)
		}
	}
	if tee.err != nil {
		s.diags.Add(DiagArtifact, 0, "copy stdout: %v", tee.err)
	}
	if violation != nil {
		go func() {
			// The child must not block on a pipe nobody reads while it stops.
			_, _ = io.Copy(io.Discard, s.p.Stdout()) // its end or error is the end of interest
		}()
	}
	return violation
}

// conclude fills the result from what was seen.
func (s *supervision) conclude(res *Result, cause, violation error) {
	res.StderrTail = s.p.StderrTail()
	res.Leftover = s.p.Leftover()
	if res.Leftover > 0 {
		s.diags.Add(DiagLeftover, 0, "%d processes of the run were alive after its exit and were ended", res.Leftover)
	}
	if s.p.Held() {
		s.diags.Add(DiagStdoutHeld, 0, "a descendant kept stdout open after the exit")
	}
	out := s.collector.Finish(s.reader, res.Ended)
	idle := s.health.Idle
	res.Outcome, res.Health = out, s.watch.Observe(res.Ended)
	if res.SessionID == "" {
		res.SessionID = out.SessionID
	}
	res.Class = Classify(res.Exit, out)
	if s.o.Strict && violation == nil && res.Class == ClassCompleted {
		violation = strictOutcome(s.diags, out)
	}
	res.Failure = Explain(res.Class, out, res.StderrTail)
	if (res.Class == ClassKilled || res.Class == ClassTerminated) && out.Reason == nil {
		res.Failure.Reason = "the process was ended: " + res.Exit.String()
	}
	switch {
	case violation != nil:
		res.Class, res.Failure = ClassStrict, &Failure{Reason: violation.Error()}
	case res.Class == ClassCompleted:
		if out.Reply == "" {
			s.diags.Add(DiagEmptyReply, 0, "the run completed without a reply")
		}
	case errors.Is(cause, errStalled):
		res.Class, res.Failure = ClassStalled, &Failure{Reason: fmt.Sprintf("no activity for %s", idle.Round(time.Second)), Transient: true}
	case errors.Is(cause, context.DeadlineExceeded):
		res.Class, res.Failure = ClassTimedOut, &Failure{Reason: "the time limit was reached"}
	case cause != nil:
		res.Class, res.Failure = ClassInterrupted, &Failure{Reason: "interrupted"}
	}
	if cause != nil {
		// A stopped run must be over: what moved to a session of its own while
		// it was being stopped is found by its mark.
		if n, err := KillRun(res.RunMark, s.p.Pid(), ""); err != nil || n > 0 {
			s.diags.Add(DiagLeftover, 0, "%d marked processes were ended after the stop (%v)", n, errOrNone(err))
		}
	}
	res.Usage = LogUsage{ByModel: map[string]Usage{}}
	if out.Records > 0 {
		var filter UsageFilter
		if s.o.Continue {
			filter = UsageFilter{Runs: out.RunIDs, Since: res.Started}
		}
		res.Usage = ReadUsage(s.o.DataHome, res.SessionID, filter)
		s.logFacts(res)
	}
	res.Diagnostics = append(s.diags.List(), res.Usage.Findings...)
}

// logFacts takes from the session log what stdout did not say of a failure.
// What the log states outright wins over what was read out of a text.
func (s *supervision) logFacts(res *Result) {
	if res.Class != ClassFailed {
		return
	}
	res.Outcome.Quota.merge(res.Usage.Quota)
	if res.Usage.Retryable != nil && !res.Failure.StepLimit {
		res.Failure.Transient = *res.Usage.Retryable
	}
}

func errOrNone(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// tolerantTee copies until the copy fails; reading goes on without it.
type tolerantTee struct {
	dst io.Writer
	err error
}

func (t *tolerantTee) Write(b []byte) (int, error) {
	if t.err == nil {
		_, t.err = t.dst.Write(b)
	}
	return len(b), nil
}

// Lookup finds a variable in an environment list; the last entry wins.
func Lookup(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			return v
		}
	}
	return ""
}
