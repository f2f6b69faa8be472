package drive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/pkg/muse"
)

// Kinds of attempts.
const (
	kindFirst     = "first"
	kindRetry     = "retry"
	kindWait      = "wait_continuation"
	kindInterrupt = "interrupt_continuation"
)

// Turn performs one supervised turn: a run, runs in fresh sessions after
// transient failures, and the continuations of the wait guard. It returns an
// error only when the turn could not be started as asked; how it ended is in
// the Result.
func Turn(ctx context.Context, o TurnOptions) (*Result, error) {
	profile, err := o.prepare()
	if err != nil {
		return nil, err
	}
	t := &turn{o: o, profile: profile, res: newResult(o)}
	if o.Artifacts != "" {
		if t.art, err = OpenArtifacts(o.Artifacts, o.Clock); err != nil {
			return nil, err
		}
		defer t.art.Close()
	}
	t.advise(o.Select.Advisory)
	t.binary = ProbeBinary(ctx, o.Binary, o.BinaryFound, o.Env, &t.res.Diagnostics)
	if direct, ok := profile.(muse.Direct); ok {
		if err := t.qualify(ctx, direct); err != nil {
			return nil, err
		}
	}
	t.art.Text(filePrompt, o.original())
	if err := t.attempts(ctx); err != nil {
		return nil, err
	}
	t.finish()
	return t.res, nil
}

// original is the request without anything a supervisor added.
func (o *TurnOptions) original() string {
	if o.Resume == nil {
		return o.Prompt
	}
	return join(o.Resume.Request, section("New instruction", o.Prompt))
}

func newResult(o TurnOptions) *Result {
	return &Result{
		Type: "muse.drive.result", Version: 1, Model: Model{Requested: o.Select.Model, Via: o.Select.Via, Effort: o.Effort},
		ByModel: map[string]muse.Usage{}, Attempts: []Attempt{}, Advisories: []string{}, Diagnostics: []muse.Diagnostic{},
		RunIDs: []string{}, Started: o.Clock.Now(), ReplySource: muse.ReplyNone,
	}
}

// ProbeBinary asks a binary for its version. A failing probe is a diagnostic:
// a run may still work.
func ProbeBinary(ctx context.Context, path, found string, env []string, diags *[]muse.Diagnostic) BinaryInfo {
	info := BinaryInfo{Path: path, Found: found}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	banner, err := muse.ProbeVersion(ctx, path, env)
	info.Banner = banner.Raw
	if err != nil {
		*diags = append(*diags, muse.Diagnostic{Kind: muse.DiagVersionProbe, Count: 1, Message: err.Error()})
		return info
	}
	info.Level, info.Release, info.Product = banner.Level.String(), banner.Release.String(), banner.Product
	return info
}

// turn is the state of one turn in progress.
type turn struct {
	o       TurnOptions
	profile muse.Profile
	res     *Result
	art     *Artifacts
	binary  BinaryInfo
	replies []string // of completed runs, for the wait guard
	// installed is the evidence of a direct turn; every run rechecks it.
	installed *muse.Installation
}

func (t *turn) advise(text string) {
	if t.res.advise(text) {
		t.o.Say("warning: " + text)
	}
}

// attempts runs until there is an answer, a failure that stands, or no budget.
func (t *turn) attempts(ctx context.Context) error {
	c := composer{request: t.o.Prompt}
	if !t.o.NoDirective {
		c.directive = Directive(t.o.Ceilings)
	}
	kind, prompt := kindFirst, c.first()
	if r := t.o.Resume; r != nil {
		kind, prompt = kindInterrupt, c.afterInterrupt(r.Request, r.Partial, t.o.Prompt)
		c.request = t.o.original()
	}
	retries, continuations := 0, 0
	for {
		run, err := t.run(ctx, kind, prompt)
		if err != nil {
			return err
		}
		switch {
		case run.Class == muse.ClassCompleted:
			signal := ""
			if t.o.Continuations >= 0 {
				signal = WaitSignal(run.Outcome.Reply)
			}
			if signal == "" {
				return nil
			}
			t.replies = append(t.replies, run.Outcome.Reply)
			if !t.guard(run, signal, continuations) {
				return nil
			}
			continuations++
			kind, prompt = kindWait, c.afterWait(strings.Join(t.replies, "\n\n"), t.o.Ceilings.LongCommand)
		case run.Failure.Transient && retries < t.o.Retries:
			pause, worth := retryPause(run.Outcome.Quota, t.o.RetryDelay<<retries, t.o.Clock.Now())
			if !worth {
				return nil // the limit outlasts a turn; the facts are in the result
			}
			retries++
			t.o.Say(fmt.Sprintf("attempt failed (%s): trying again in a fresh session in %s (%d of %d)", oneLine(run.Failure.Reason), pause.Round(time.Second), retries, t.o.Retries))
			select {
			case <-ctx.Done():
				t.res.Class, t.res.Failure = muse.ClassInterrupted, &muse.Failure{Reason: "interrupted between attempts"}
				if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
					t.res.Class, t.res.Failure = muse.ClassTimedOut, &muse.Failure{Reason: "the time limit was reached between attempts"}
				}
				return nil
			case <-t.o.Clock.After(pause):
			}
			kind, prompt = kindRetry, c.resume(run.Outcome.Reply)
		default:
			return nil
		}
	}
}

// retryPause is how long to wait before a retry, and whether that is worth it
// within a turn.
func retryPause(q muse.QuotaFacts, delay time.Duration, now time.Time) (time.Duration, bool) {
	if pause, known := q.Wait(now); known {
		return max(pause, delay), pause <= maxRetryPause
	}
	return min(delay, maxRetryPause), true
}

// guard logs a firing of the wait guard and says whether to go on. When the
// budget is spent the waiting reply is a failure, never an answer.
func (t *turn) guard(run *muse.Result, signal string, used int) bool {
	f := WaitFiring{
		At: t.o.Clock.Now(), SessionID: run.SessionID, Signal: signal, Tail: lastRunes(run.Outcome.Reply, 300), Budget: t.o.Continuations, Action: "fail",
	}
	if used < t.o.Continuations {
		f.Continuation, f.Action = used+1, "continue"
		t.o.Say(fmt.Sprintf("the reply ends by waiting (%q): asking it to finish (%d of %d)", signal, used+1, t.o.Continuations))
	} else {
		t.res.Class = ClassStrandedWait
		t.res.Failure = &muse.Failure{Reason: fmt.Sprintf("the reply still ends by waiting (%q) after %d continuations", signal, used)}
	}
	t.art.WaitGuard(f)
	return f.Action == "continue"
}

func lastRunes(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) > n {
		text = text[len(text)-n:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return text
}

// oneLine makes a text fit for one line of a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return text
}

// run performs one run and adds it to the result.
func (t *turn) run(ctx context.Context, kind, prompt string) (*muse.Result, error) {
	o := &t.o
	session, cont := "", false
	if len(t.res.Attempts) == 0 {
		session, cont = o.SessionID, o.Continue
	}
	runCtx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stream, streamName := t.art.Stream()
	opts := muse.RunOptions{
		Binary: o.Binary, Profile: t.profile, Prompt: prompt, Workspace: o.Workspace, SessionID: session, Continue: cont,
		Env: o.Env, Temp: o.Temp, DataHome: o.DataHome, SyncCeiling: o.Ceilings.Hard, SoftCeiling: o.Ceilings.Soft,
		Strict: o.Strict, Grace: o.Grace, Clock: o.Clock, Watch: o.Watch, OnHealth: t.health(), OnStart: o.OnStart,
		OnDelta: t.art.Delta, OnRunEnd: t.art.RunEnd, OnToolCall: t.art.ToolCall,
		OnEvent: func(e *muse.Event) {
			if m, ok := e.Payload.(*muse.ModelConfigured); ok {
				t.reached(m.ModelID, stop)
			}
		},
	}
	if stream != nil {
		opts.Stdout = stream
	}
	if err := t.recheck(ctx); err != nil {
		return nil, err
	}
	done := o.Waiting()
	res, err := muse.Run(runCtx, opts)
	done()
	t.art.StreamEnd()
	if stream != nil {
		t.art.failed(streamName, stream.Close())
	}
	if err != nil {
		return nil, err
	}
	if errors.Is(context.Cause(runCtx), errContributor) {
		res.Class, res.Failure = ClassRefused, &muse.Failure{Reason: "stopped: the configured model is a contributor model, and those are denied"}
	}
	t.judgeFinal(res)
	t.add(kind, streamName, res)
	return res, nil
}

// errContributor is the cause of a stop by DenyContributor.
var errContributor = errors.New("contributor model")

// reached is told which model was really configured.
func (t *turn) reached(model string, stop context.CancelCauseFunc) {
	t.advise(muse.ContributorAdvisory(model))
	if t.o.DenyContributor && muse.IsContributor(model) {
		stop(errContributor)
	}
}

// health reports quiet and stalled stretches, each once.
func (t *turn) health() func(muse.Health) bool {
	last := muse.PhaseStarting
	return func(h muse.Health) bool {
		if h.Phase != last && (h.Phase == muse.PhaseQuiet || h.Phase == muse.PhaseStalled) {
			t.o.Say(fmt.Sprintf("%s: no activity for %s", h.Phase, h.Idle.Round(time.Second)))
		}
		last = h.Phase
		return h.Phase == muse.PhaseStalled && t.o.StopStalled
	}
}

// add takes a finished run into the result.
func (t *turn) add(kind, stream string, run *muse.Result) {
	a := Attempt{
		Kind: kind, SessionID: run.SessionID, Argv: append([]string{t.o.Binary}, run.Args...), Env: run.Set, Skipped: run.Skipped,
		Class: run.Class, Exit: run.Exit, Failure: run.Failure, Started: run.Started, Ended: run.Ended, Usage: run.Usage,
		Stream: stream, Records: run.Outcome.Records, Health: run.Health, Leftover: run.Leftover,
	}
	r, out := t.res, run.Outcome
	r.Quota = nil
	if out.Quota.RateLimited {
		a.Quota, r.Quota = &out.Quota, &out.Quota
	}
	r.Attempts = append(r.Attempts, a)
	r.Class, r.Failure, r.Exit = run.Class, run.Failure, run.Exit
	r.Reply, r.ReplySource, r.Terminal, r.Settled = out.Reply, out.ReplySource, out.Terminal, out.Settled
	r.SessionID = run.SessionID
	r.RunIDs = append(r.RunIDs, out.RunIDs...)
	if out.Model != nil {
		r.Model.Actual = out.Model
	}
	r.Tools.Total += out.ToolCalls
	r.Tools.Failures += out.ToolFails
	r.addUsage(run.Usage, out.Records)
	r.Diagnostics = append(r.Diagnostics, run.Diagnostics...)
	t.art.Text(fileStderr, run.StderrTail)
}

// finish completes the result and writes it down.
func (t *turn) finish() {
	r := t.res
	r.Ended = t.o.Clock.Now()
	r.OK = r.Class == muse.ClassCompleted
	r.price(t.o.Price)
	r.Artifacts = t.art.Dir()
	t.art.Text(fileReply, r.Reply)
	t.art.JSON(fileUsage, struct {
		Usage   muse.Usage            `json:"usage"`
		ByModel map[string]muse.Usage `json:"usage_by_model"`
		CostUSD *float64              `json:"cost_usd"`
	}{r.Usage, r.ByModel, r.CostUSD})
	r.Diagnostics = mergeFindings(r.Diagnostics, t.art.Findings())
	r.RunIDs = slices.Compact(r.RunIDs)
	t.art.JSON(fileResult, r)
	meta := RunMetadata{
		Version: 1, Runtime: "muse", Driver: buildinfo.Release(), Binary: t.binary, Profile: t.profile.Name(),
		Sandbox: t.o.sandboxFact(), Workspace: filepath.Clean(t.o.Workspace), SessionID: r.SessionID, Result: r,
	}
	if m := r.Model.Actual; m != nil {
		meta.ModelID, meta.ProviderID = m.ModelID, m.ProviderID
	}
	t.art.JSON(fileMetadata, meta)
	// The two files above cannot tell of their own failure; the caller can.
	r.Diagnostics = mergeFindings(r.Diagnostics, t.art.Findings())
}

// mergeFindings appends those findings that are not in the list yet.
func mergeFindings(list, more []muse.Diagnostic) []muse.Diagnostic {
	for _, d := range more {
		if !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}
