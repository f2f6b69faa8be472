package drive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// take takes the result of an attempt's turn into its iteration and decides
// whether there is anything to check.
func (l *loop) take(ctx context.Context, it *Iteration, res *Result) {
	it.Process = nil
	it.Class, it.Failure, it.SessionID, it.Reply = res.Class, res.Failure, res.SessionID, res.Reply
	it.Usage, it.ByModel, it.CostUSD, it.Quota, it.ToolCalls = res.Usage, res.ByModel, res.CostUSD, res.Quota, res.Tools.Total
	l.o.Turn.Say(fmt.Sprintf("attempt %d: %s", it.N, summary(it)))
	l.exportTranscripts(ctx, it, res)
	switch it.Class {
	case muse.ClassInterrupted, muse.ClassTerminated:
		l.closeAttempt(ctx, it)
	case muse.ClassTimedOut:
		// The work may hold all the same: it is checked, then the limit ends
		// the loop.
		it.Phase = phaseCheck
	case muse.ClassUsage, ClassRefused:
		l.closeAttempt(ctx, it)
		l.end(statusStopped, StopFailed, fmt.Sprintf("every attempt would end like this: %s", it.Failure.Reason))
	case muse.ClassStartup:
		l.closeAttempt(ctx, it)
		if it.Failure.Transient {
			l.pause(it)
			return
		}
		l.end(statusStopped, StopFailed, fmt.Sprintf("the agent does not start: %s", it.Failure.Reason))
	default:
		it.Phase = phaseCheck
	}
}

func summary(it *Iteration) string {
	parts := []string{string(it.Class)}
	if it.Failure != nil {
		parts = append(parts, oneLine(it.Failure.Reason))
	}
	parts = append(parts, fmt.Sprintf("%d tool calls", it.ToolCalls))
	if it.CostUSD != nil {
		parts = append(parts, fmt.Sprintf("$%.4f", *it.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// judge checks the work of an attempt. It can be repeated: a loop killed in
// the middle of a check checks again and asks no agent.
func (l *loop) judge(ctx context.Context, it *Iteration) error {
	dir := l.o.Turn.Workspace
	if it.Worktree != "" {
		dir = it.Worktree
	}
	verdict := &CheckResult{Passed: true}
	if l.o.Until != "" {
		l.o.at("checking")
		var saveErr error
		v, err := check(ctx, &l.o, dir, filepath.Join(it.Dir, "check.log"), func(s muse.Started) {
			it.Process = &s
			saveErr = l.save("check started")
		})
		it.Process = nil
		if ctx.Err() != nil {
			return saveErr // the loop's next step sees it; the check is repeated then
		}
		if err = errors.Join(err, saveErr); err != nil {
			return err
		}
		verdict = v
	}
	if l.o.UntilSchema != "" && verdict.Passed {
		why := "the attempt did not complete"
		if it.Class == muse.ClassCompleted {
			var err error
			if why, err = checkAnswer(l.o.UntilSchema, it.Reply); err != nil {
				return err
			}
		}
		verdict.Passed, verdict.Schema = why == "", why
	}
	it.Check = verdict
	digest, err := workDigest(ctx, l.o.Turn.Env, dir)
	if err != nil {
		it.Notes = append(it.Notes, "progress cannot be told: "+err.Error())
	}
	it.WorkDigest = digest
	it.Phase, it.Ended = phaseOver, l.o.Turn.Clock.Now()
	if it.Worktree != "" {
		l.keepPatch(ctx, it)
	}
	if verdict.Passed {
		l.end(statusDone, StopDone, "the check passed after "+attempts(it.N))
		return nil
	}
	l.o.Turn.Say(fmt.Sprintf("attempt %d: the check does not pass (%s)", it.N, verdict.why()))
	l.dropWorktree(ctx, it)
	l.next(it)
	return nil
}

func (c *CheckResult) why() string {
	switch {
	case c.Schema != "":
		return oneLine(c.Schema)
	case c.TimedOut:
		return fmt.Sprintf("it was ended after %.0f seconds", c.Seconds)
	default:
		return fmt.Sprintf("exit %d", c.ExitCode)
	}
}

// next decides what follows an attempt whose check did not pass.
func (l *loop) next(it *Iteration) {
	if it.Failure != nil && it.Failure.Transient || it.Quota != nil && it.Class != muse.ClassCompleted {
		l.pause(it)
		return
	}
	if !it.counts() {
		return
	}
	if same := l.st.sameAs(it); len(same)+1 >= l.o.NoProgress {
		l.end(statusStopped, StopNoProgress, fmt.Sprintf("attempt %d ended with the same work and the same failure as attempt %d: there is no progress", it.N, same[0]))
	}
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// pause sets the cooldown after a failure of the model service: the reported
// reset when there is one, else a growing pause. A reset too far away pauses
// the loop itself.
func (l *loop) pause(it *Iteration) {
	now := l.o.Turn.Clock.Now()
	pause := firstBackoff
	for i := len(l.st.Iterations) - 2; i >= 0 && l.st.Iterations[i].Failure != nil && l.st.Iterations[i].Failure.Transient; i-- {
		pause = min(2*pause, lastBackoff)
	}
	if it.Quota != nil {
		if wait, known := it.Quota.Wait(now); known {
			pause = max(wait, time.Second)
		}
	}
	until := now.Add(pause)
	l.st.Cooldown = &until
	if pause > l.o.MaxCooldown {
		l.end(statusPaused, StopQuota, fmt.Sprintf("the limit is reset at %s, more than %s away; the same command goes on then", until.UTC().Format(time.RFC3339), l.o.MaxCooldown))
	}
}

// exportTranscripts keeps a transcript of each session of the attempt. A
// binary without export costs a note, not the attempt.
func (l *loop) exportTranscripts(ctx context.Context, it *Iteration, res *Result) {
	if l.o.Export == ExportOff {
		return
	}
	env := append(muse.ScrubEnv(l.o.Turn.Env), "MUSE_NO_AUTO_UPDATE=1")
	for i, a := range res.Attempts {
		if a.Records == 0 || ctx.Err() != nil {
			continue
		}
		out := filepath.Join(it.Dir, fmt.Sprintf("transcript-%d.json", i+1))
		// The command never overwrites: a leftover of a killed export is ours.
		err := ignoreMissing(os.Remove(out))
		if err == nil {
			exportCtx, cancel := context.WithTimeout(ctx, exportTimeout)
			_, err = muse.Output(exportCtx, l.o.Turn.Binary, muse.Export{SessionID: a.SessionID, Out: out, Redacted: l.o.Export == ExportRedacted}.Args(), env, l.o.Turn.Workspace)
			cancel()
		}
		if err == nil {
			_, err = os.Stat(out)
		}
		if err != nil {
			it.Notes = append(it.Notes, "transcript: "+oneLine(err.Error()))
			continue
		}
		it.Transcript = append(it.Transcript, out)
	}
}

// keepPatch saves what a worktree changed.
func (l *loop) keepPatch(ctx context.Context, it *Iteration) {
	path := filepath.Join(it.Dir, "changes.patch")
	if err := savePatch(ctx, l.o.Turn.Env, it.Worktree, l.st.Base, path); err != nil {
		it.Notes = append(it.Notes, oneLine(err.Error()))
		return
	}
	it.Patch = path
}

// dropWorktree removes the worktree of a finished attempt; its patch stays.
func (l *loop) dropWorktree(ctx context.Context, it *Iteration) {
	if it.Worktree == "" {
		return
	}
	if _, err := os.Stat(it.Worktree); errors.Is(err, os.ErrNotExist) {
		return
	}
	ctx = context.WithoutCancel(ctx) // an interrupted attempt is cleaned up too
	if it.Patch == "" {
		l.keepPatch(ctx, it)
	}
	if err := removeWorktree(ctx, l.o.Turn.Env, l.o.Turn.Workspace, it.Worktree); err != nil {
		it.Notes = append(it.Notes, oneLine(err.Error()))
	}
}

// result is the record of the loop as it stands.
func (l *loop) result() *LoopResult {
	r := &LoopResult{
		Type: "muse.loop.result", Version: 1, OK: l.st.Status == statusDone, Stop: l.st.Stop, Reason: l.st.Reason,
		Iterations: l.st.Iterations, Usage: l.st.usage(), Active: l.st.Active, Resumed: l.resumed, State: l.store.dir,
	}
	if cost, known := l.st.cost(); known {
		r.CostUSD = &cost
	}
	if n := len(l.st.Iterations); n > 0 {
		last := l.st.Iterations[n-1]
		r.Reply = last.Reply
		if r.OK {
			r.Worktree, r.Patch = last.Worktree, last.Patch
		}
	}
	return r
}

// prompt is the request of attempt n with what is known from those before.
func (l *loop) prompt(n int) string {
	st := l.st
	last := (*Iteration)(nil)
	if n > 1 {
		last = &st.Iterations[n-2]
	}
	if last == nil {
		return join(st.Prompt, l.checkSection(st.Opening, "before any attempt"))
	}
	if l.o.Continue && last.Class != muse.ClassInterrupted && last.Class != muse.ClassStartup {
		return join(l.checkSection(last.Check, "after your last turn"), "Go on until it passes.")
	}
	var how string
	switch {
	case l.o.Worktree:
		how = fmt.Sprintf("This is attempt %d. Each attempt begins from the same commit; what earlier ones changed is not here.", n)
	default:
		how = fmt.Sprintf("This is attempt %d. What earlier attempts changed in the workspace is in place: look at it before you change anything, and do not start over.", n)
	}
	if last.Class == muse.ClassInterrupted {
		how += " The last attempt was cut off in the middle: its work may be half done."
	}
	return join(
		section("Request", st.Prompt), section("Where this stands", how), l.checkSection(lastCheck(st), "after the last attempt that was checked"),
		section("How the last attempt ended", lastWords(last)),
	)
}

func lastCheck(st *loopState) *CheckResult {
	for i := len(st.Iterations) - 1; i >= 0; i-- {
		if c := st.Iterations[i].Check; c != nil {
			return c
		}
	}
	return st.Opening
}

// replyTail is how much of an earlier reply a new attempt is told.
const replyTail = 4000

func lastWords(it *Iteration) string {
	text := "It ended as: " + string(it.Class) + "."
	if it.Failure != nil {
		text += " Reason: " + oneLine(it.Failure.Reason) + "."
	}
	if reply := lastRunes(it.Reply, replyTail); reply != "" {
		text += "\n\nIts reply ended:\n\n" + fenced(reply)
	}
	return text
}

// checkSection says what the check is and what it last said.
func (l *loop) checkSection(c *CheckResult, when string) string {
	var parts []string
	if l.o.Until != "" {
		parts = append(parts, "The work is done when this command exits with 0:\n\n"+fenced(l.o.Until))
	}
	if l.o.UntilSchema != "" {
		parts = append(parts, "Your final answer must be one JSON value that fits the JSON Schema in "+l.o.UntilSchema+".")
	}
	if c != nil && !c.Passed {
		if c.Schema != "" {
			parts = append(parts, fmt.Sprintf("It did not, %s: %s", when, c.Schema))
		} else {
			parts = append(parts, fmt.Sprintf("It did not pass %s (%s). It printed:\n\n%s", when, c.why(), fenced(c.Output)))
		}
	}
	return section("The check", strings.Join(parts, "\n\n"))
}
