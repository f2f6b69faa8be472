package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// Why a loop ended.
const (
	StopDone        = "done"        // the check passed
	StopIterations  = "iterations"  // the limit of attempts
	StopTime        = "time"        // the limit of active time
	StopCost        = "cost"        // the limit of cost, or a cost that cannot be told
	StopNoProgress  = "no_progress" // the same work and the same failure again
	StopFailed      = "failed"      // every further attempt would fail the same way
	StopQuota       = "quota"       // the provider's reset is too far away
	StopInterrupted = "interrupted" // a signal; starting again goes on
)

// LoopResult is the record of a loop: the body of `muse loop --json`.
type LoopResult struct {
	Type       string      `json:"type"` // "muse.loop.result"
	Version    int         `json:"schema_version"`
	OK         bool        `json:"ok"`
	Stop       string      `json:"stop"`
	Reason     string      `json:"reason"`
	Reply      string      `json:"reply"`
	Iterations []Iteration `json:"iterations"`
	Usage      muse.Usage  `json:"usage"`
	CostUSD    *float64    `json:"cost_usd"` // null when an attempt's cost is not known
	Active     float64     `json:"active_seconds"`
	Resumed    bool        `json:"resumed"` // went on with what an earlier process left
	State      string      `json:"state"`
	Worktree   string      `json:"worktree,omitempty"` // that passed the check
	Patch      string      `json:"patch,omitempty"`
}

// Loop runs attempts until the check holds, a limit is reached, or nothing
// changes any more. Its state is on disk: the same call after a kill goes on.
func Loop(ctx context.Context, o LoopOptions) (res *LoopResult, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	store, st, err := openLoop(o.State, o.Restart, o.Turn.Clock.Now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	l := &loop{o: o, store: store, st: st}
	if st == nil {
		if err := l.begin(ctx); err != nil {
			return nil, err
		}
	} else {
		l.resumed = true
		o.Turn.Say(fmt.Sprintf("going on with the loop in %s after %s", store.dir, attempts(len(st.Iterations))))
		if err := l.recover(ctx); err != nil {
			return nil, err
		}
	}
	if err := l.run(ctx); err != nil {
		return nil, err
	}
	return l.result(), nil
}

// loop is the state of a loop in progress.
type loop struct {
	o       LoopOptions
	store   *loopStore
	st      *loopState
	resumed bool
	ended   bool
}

// begin makes the state of a new loop.
func (l *loop) begin(ctx context.Context) error {
	l.st = &loopState{
		Version: 1, Workspace: l.o.Turn.Workspace, Prompt: l.o.Turn.Prompt, Until: l.o.Until, UntilSchema: l.o.UntilSchema, Mode: l.o.mode(),
		Status: statusRunning, Started: l.o.Turn.Clock.Now(), Iterations: []Iteration{},
	}
	if l.o.Worktree {
		base, err := headCommit(ctx, l.o.Turn.Env, l.o.Turn.Workspace)
		if err != nil {
			return err
		}
		l.st.Base = base
		if status, err := git(ctx, l.o.Turn.Env, l.o.Turn.Workspace, "status", "--porcelain", "-z"); err == nil && status != "" {
			l.o.Turn.Say("note: the workspace has uncommitted changes; attempts in worktrees begin from the commit without them")
		}
	}
	if err := l.save("begun"); err != nil {
		return err
	}
	if !l.o.CheckFirst {
		return nil
	}
	verdict, err := check(ctx, &l.o, l.o.Turn.Workspace, filepath.Join(l.store.dir, "opening_check.log"), func(muse.Started) {})
	if err != nil {
		return err
	}
	l.st.Opening = verdict
	if verdict.Passed {
		l.end(statusDone, StopDone, "the check passed before any attempt")
	}
	return l.save("opened")
}

func (l *loop) save(point string) error {
	if err := l.store.save(l.st); err != nil {
		return err
	}
	l.o.at(point)
	return nil
}

func (l *loop) end(status, stop, reason string) {
	l.st.Status, l.st.Stop, l.st.Reason = status, stop, reason
	l.ended = true
}

// recover brings the state of a killed loop to where a next step is safe: its
// processes are gone, and what it had begun is told, not repeated.
func (l *loop) recover(ctx context.Context) error {
	l.st.Status, l.st.Stop, l.st.Reason = statusRunning, "", ""
	if len(l.st.Iterations) == 0 {
		return l.save("recovered")
	}
	it := &l.st.Iterations[len(l.st.Iterations)-1]
	p := it.Process
	if p != nil {
		n, err := muse.KillRun(p.RunMark, p.Pid, p.StartID)
		if err != nil {
			return fmt.Errorf("end what the killed loop left running: %w", err)
		}
		if n > 0 {
			it.Notes = append(it.Notes, fmt.Sprintf("%d processes were still running and were ended", n))
		}
	}
	it.Process = nil
	if it.Phase == phaseAgent {
		l.recoverAttempt(ctx, it, p)
	}
	return l.save("recovered")
}

// recoverAttempt settles an attempt that was open when the loop was killed.
// When its turn had written its result, that is taken; otherwise it counts as
// interrupted, with the usage its session log shows.
func (l *loop) recoverAttempt(ctx context.Context, it *Iteration, p *muse.Started) {
	if res := loadResult(it.Dir); res != nil {
		l.take(ctx, it, res)
		return
	}
	if p != nil {
		it.SessionID = p.SessionID
		usage := muse.ReadUsage(l.dataHome(), p.SessionID, muse.UsageFilter{Since: it.Started})
		it.Usage.Add(usage.Total)
		it.Usage.Add(usage.Children)
		it.ByModel = usage.ByModel
		it.CostUSD = costOf(usage, l.o.Turn.Price)
	}
	it.Class, it.Failure = muse.ClassInterrupted, &muse.Failure{Reason: "the loop was ended while the attempt ran"}
	if r, err := LoadResume(it.Dir); err == nil { // absent when it was killed before it wrote anything
		it.Reply = r.Partial
	}
	l.closeAttempt(ctx, it)
}

func (l *loop) dataHome() string {
	if l.o.Turn.DataHome != "" {
		return l.o.Turn.DataHome
	}
	return muse.DataHome(func(name string) string { return muse.Lookup(l.o.Turn.Env, name) })
}

func costOf(u muse.LogUsage, price *muse.Price) *float64 {
	r := &Result{ByModel: map[string]muse.Usage{}}
	r.addUsage(u, 1)
	r.price(price)
	return r.CostUSD
}

// closeAttempt ends an attempt that gets no check.
func (l *loop) closeAttempt(ctx context.Context, it *Iteration) {
	it.Phase, it.Process, it.Ended = phaseOver, nil, l.o.Turn.Clock.Now()
	l.dropWorktree(ctx, it)
}

// run goes from step to step; every one of them is on disk when it is over.
func (l *loop) run(ctx context.Context) error {
	for !l.ended {
		var it *Iteration
		if n := len(l.st.Iterations); n > 0 {
			it = &l.st.Iterations[n-1]
		}
		var err error
		switch {
		case ctx.Err() != nil:
			l.end(statusPaused, StopInterrupted, "interrupted; the same command goes on")
		case it != nil && it.Phase == phaseCheck:
			err = l.judge(ctx, it)
		case l.limits():
		case l.st.Cooldown != nil:
			err = l.cool(ctx)
		default:
			err = l.attempt(ctx)
		}
		if err != nil {
			return err
		}
		if err := l.save("step"); err != nil {
			return err
		}
	}
	return nil
}

// limits ends the loop when no further attempt is allowed.
func (l *loop) limits() bool {
	cost, known := l.st.cost()
	switch o := &l.o; {
	case len(l.st.Iterations) >= o.MaxIterations:
		l.end(statusStopped, StopIterations, fmt.Sprintf("the check does not pass after %s", attempts(len(l.st.Iterations))))
	case o.MaxTime > 0 && l.st.Active+0.001 >= o.MaxTime.Seconds(): // floats add up inexactly
		l.end(statusStopped, StopTime, fmt.Sprintf("the limit of %s was reached", o.MaxTime))
	case o.MaxCost > 0 && !known:
		l.end(statusStopped, StopCost, "a limit of cost is set, but what an attempt cost cannot be told: a price or a session log is missing")
	case o.MaxCost > 0 && cost >= o.MaxCost:
		l.end(statusStopped, StopCost, fmt.Sprintf("$%.4f were spent, the limit is $%.4f", cost, o.MaxCost))
	}
	return l.ended
}

// cool waits until the persisted end of a cooldown.
func (l *loop) cool(ctx context.Context) error {
	until := *l.st.Cooldown
	pause := until.Sub(l.o.Turn.Clock.Now())
	if pause > 0 {
		l.o.Turn.Say(fmt.Sprintf("waiting %s, until %s, before the next attempt", pause.Round(time.Second), until.UTC().Format(time.RFC3339)))
		l.o.at("cooling")
		select {
		case <-ctx.Done():
			return nil // the loop's next step sees it; the cooldown stays
		case <-l.o.Turn.Clock.After(pause):
		}
		l.store.mark = l.o.Turn.Clock.Now() // waiting is not active time
	}
	l.st.Cooldown = nil
	return nil
}

// attempt makes one attempt and saves what came of it.
func (l *loop) attempt(ctx context.Context) error {
	n := len(l.st.Iterations) + 1
	it := Iteration{N: n, Phase: phaseAgent, Dir: l.store.iterationDir(n), Started: l.o.Turn.Clock.Now()}
	turn := l.o.Turn
	turn.Artifacts = it.Dir
	turn.Prompt = l.prompt(n)
	if l.o.Continue {
		turn.SessionID, turn.Continue = l.session()
	}
	if err := os.MkdirAll(it.Dir, 0o700); err != nil {
		return fmt.Errorf("begin attempt: %w", err)
	}
	if l.o.Worktree {
		it.Worktree = filepath.Join(l.store.dir, "worktrees", fmt.Sprintf("%03d", n))
		turn.Workspace = it.Worktree
	}
	l.st.Iterations = append(l.st.Iterations, it)
	if err := l.save("attempt"); err != nil {
		return err
	}
	if l.o.Worktree {
		if err := addWorktree(ctx, l.o.Turn.Env, l.o.Turn.Workspace, it.Worktree, l.st.Base); err != nil {
			return err
		}
	}
	l.o.Turn.Say(fmt.Sprintf("attempt %d of %d", n, l.o.MaxIterations))
	current := &l.st.Iterations[n-1]
	var saveErr error
	turn.OnStart = func(s muse.Started) {
		current.Process = &s
		saveErr = errors.Join(saveErr, l.save("started"))
	}
	turnCtx, cancel := ctx, func() {}
	if l.o.MaxTime > 0 {
		turnCtx, cancel = withDeadline(ctx, turn.Clock, l.o.MaxTime-time.Duration(l.st.Active*float64(time.Second)))
	}
	res, err := Turn(turnCtx, turn)
	cancel()
	if err = errors.Join(err, saveErr); err != nil {
		current.Class, current.Failure = ClassRefused, &muse.Failure{Reason: err.Error()}
		l.closeAttempt(ctx, current)
		l.end(statusStopped, StopFailed, err.Error())
		return errors.Join(err, l.store.save(l.st))
	}
	l.take(ctx, current, res)
	return nil
}

// session is the one session of a loop that continues; known says that an
// earlier attempt has made it.
func (l *loop) session() (id string, known bool) {
	for _, it := range slices.Backward(l.st.Iterations) {
		if it.SessionID != "" {
			return it.SessionID, true
		}
	}
	return muse.NewSessionID(), false
}
