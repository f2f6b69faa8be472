package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/buildinfo"
	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/view/stream"
	"github.com/openmuse/muse/internal/workspace"
)

// run is one headless run while it is put together and carried out.
type run struct {
	parts
	loop   *agent.Loop
	images []picture
	prompt string
	// watchers are shown every event of the run.
	watchers []host.Watcher
	stdout   *patientWriter // with --json
}

// runExec carries out `muse exec`. Everything that can be wrong with the
// command line, the settings or the files it names is found before a session
// is touched.
func runExec(ctx context.Context, env *Env, opts *execOptions) error {
	return (&run{parts: parts{env: env, opts: opts}}).execute(ctx)
}

func (r *run) execute(ctx context.Context) error {
	ctx, stop := withSignals(ctx)
	defer stop()
	if err := r.prepare(ctx); err != nil {
		if code, ended := signalCode(ctx); ended {
			return &ExitError{Code: code, Err: context.Cause(ctx)}
		}
		return err
	}
	defer r.release()
	if err := r.openSession(); err != nil {
		return err
	}
	out, err := r.turn(ctx)
	closeErr := r.session.Close(exitReason(ctx, out, err))
	if err == nil {
		err = closeErr
	}
	return r.result(ctx, out, err)
}

// prepare reads the inputs and resolves the configuration.
func (r *run) prepare(ctx context.Context) error {
	var err error
	var how string
	if r.root, how, err = r.opts.workspaceRoot(r.env); err != nil {
		return err
	}
	var key *string
	// Any of these can be a pipe that nobody writes to: a signal must end the
	// wait, not the system's patience.
	if err := interruptible(ctx, func() (err error) {
		if r.prompt, err = r.opts.readPrompt(); err != nil {
			return err
		}
		if r.images, err = r.opts.readImages(); err != nil {
			return err
		}
		if r.schema, err = r.opts.readSchema(); err != nil {
			return err
		}
		key, err = r.opts.readKey(r.env.Stdin)
		return err
	}); err != nil {
		return err
	}
	r.note("workspace root: %s (%s)", r.root, how)
	if r.setup, err = newSetup(ctx, r.env, r.opts.configFlags(), key); err != nil {
		return err
	}
	if err := r.openProvider(); err != nil {
		return err
	}
	if r.opts.maxCost > 0 && !r.setup.priced() {
		return execUsage("--max-cost needs the price of %s, which is not known; add it to settings.json (openmuse.models) or use --max-tokens-total", r.modelID)
	}
	if len(r.images) > 0 && !r.setup.ModelInfo.Images && !r.setup.ModelInfo.Assumed {
		return execUsage("model %s does not take pictures (--image)", r.modelID)
	}
	if err := r.resolvePosture(); err != nil {
		return err
	}
	if r.posture.trusted {
		r.note("workspace trust: trusted")
	}
	if r.opts.subagentWorktrees {
		r.setup.warn("--subagent-worktree-isolation has no effect")
	}
	return nil
}

// openSession opens the session and builds the tools and the loop around it.
func (r *run) openSession() error {
	options := host.Options{
		DataRoot: r.setup.paths.Data, Workspace: r.root, SessionID: r.opts.sessionID,
		KeepNothing: r.opts.noSessionLog, AllowWorkspaceSwitch: r.opts.allowWorkspaceSwitch,
		Build: build(), Program: "muse exec", Now: r.env.Now,
	}
	_, options.Git = workspace.VCSRoot(r.root)
	r.Fill(&options)
	session, report, err := host.Open(options)
	if err != nil {
		return err
	}
	for _, n := range report.Notes {
		r.setup.warn(n)
	}
	if err := r.equip(session); err != nil {
		return errors.Join(err, session.Abandon())
	}
	r.loop = session.Loop(r.loopConfig())
	return nil
}

// build is this build as logs name it.
func build() event.Build {
	return event.Build{SemVer: buildinfo.Release(), SHA: buildinfo.Commit()}
}

// turn shows the one turn of the run.
func (r *run) turn(ctx context.Context) (agent.Outcome, error) {
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	for _, w := range append(r.watchers, r.progress) {
		r.session.Watch(w, nil)
	}
	if err := r.session.Begin(); err != nil {
		return agent.Outcome{}, err
	}
	// The stream is of this run: what an earlier one left open was closed above.
	if r.opts.streams() {
		limited, stop := r.withMaxTime(ctx)
		defer stop()
		r.stdout = newPatientWriter(limited, r.env.Stdout, stdoutGrace)
		view := stream.New(r.stdout, r.session.ID(), r.session.Turn(), r.opts.jsonExtended)
		r.session.Watch(view.Show, func(err error) { lost(err) })
	}
	in := host.Input{Text: r.prompt}
	for _, p := range r.images {
		block, err := r.session.KeepImage(p.mediaType, p.data)
		if err != nil {
			return agent.Outcome{}, err
		}
		in.Images = append(in.Images, block)
	}
	out, err := r.session.Submit(ctx, r.loop, in, r.branch)
	if r.stdout != nil {
		if closeErr := r.stdout.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("write events to stdout: %w", closeErr)
		}
	}
	if err == nil && out.Terminal == "cancelled" {
		if cause := context.Cause(ctx); cause != nil {
			out.Reason = cause.Error()
		}
	}
	return out, err
}

// stdoutGrace is how long a stdout that is not read may hold up the end of a
// run.
const stdoutGrace = 500 * time.Millisecond

// withMaxTime is ctx, ended by --max-time as well.
func (r *run) withMaxTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.opts.maxTime <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, r.opts.maxTime)
}

// progress tells people on stderr what they would otherwise wait through
// without a word.
func (r *run) progress(e event.Recorded) error {
	switch b := e.Body.(type) {
	case event.RetryScheduled:
		r.setup.warn(fmt.Sprintf("model call failed (attempt %d/%d): %s; next attempt in %.1f s", b.Attempt, b.MaxAttempts, b.Reason, float64(b.DelayMS)/1000))
	case event.Approval:
		r.tellApproval(b)
	case event.CompactionInstalled:
		r.note("the conversation was shortened from about %d to %d tokens", b.BudgetBefore.Tokens, b.BudgetAfter.Tokens)
	case event.CompactionFallback:
		r.setup.warn(b.Reason)
	case event.StepBudget:
		if b.State == "winding_down" {
			r.note("%s budget: %d of %d used", b.Kind, b.Used, b.Limit)
		}
	}
	return nil
}

func exitReason(ctx context.Context, out agent.Outcome, err error) string {
	switch {
	case err != nil:
		return "failed"
	case ctx.Err() != nil, out.Terminal == "cancelled":
		return "interrupted"
	}
	return "clean"
}

// result prints the answer or the failure and picks the exit code.
func (r *run) result(ctx context.Context, out agent.Outcome, err error) error {
	if err == nil && out.Terminal == "completed" && !r.opts.streams() {
		if _, err = io.WriteString(r.env.Stdout, out.Text+"\n"); err != nil {
			err = fmt.Errorf("write the answer to stdout: %w", err)
		}
	}
	code := 1
	if c, ended := signalCode(ctx); ended {
		code = c
	}
	switch {
	case err != nil:
		return &ExitError{Code: code, Err: err}
	case out.Terminal == "completed":
		return nil
	case out.Terminal == "cancelled":
		reason := out.Reason
		if reason == "" {
			reason = "cancelled"
		}
		return &ExitError{Code: code, Err: fmt.Errorf("muse: run cancelled: %s", reason)}
	case out.Model:
		return &ExitError{Code: code, Err: fmt.Errorf("agent loop failed: model failed: %s", out.Reason)}
	}
	return &ExitError{Code: code, Err: fmt.Errorf("agent loop failed: %s", out.Reason)}
}

// configFlags are the flags that the resolution of settings takes part in.
func (o *execOptions) configFlags() config.Flags {
	f := config.Flags{
		NoForeignPersonalContext: o.noForeign, Images: len(o.images), APIKeyStdin: o.apiKeyStdin,
	}
	for name, target := range map[string]struct {
		to    **string
		value *string
	}{
		"provider": {&f.Provider, &o.provider}, "model": {&f.Model, &o.model}, "preset": {&f.Preset, &o.preset},
		"reasoning-effort": {&f.ReasoningEffort, &o.effort}, "base-url": {&f.BaseURL, &o.baseURL},
		"context-compaction-strategy":      {&f.CompactionStrategy, &o.compactionStrategy},
		"eval-context-compaction-strategy": {&f.CompactionStrategy, &o.compactionStrategy},
	} {
		if o.given(name) {
			*target.to = target.value
		}
	}
	if o.given("context-compaction-soft-threshold") {
		f.SoftThreshold = &o.soft
	}
	if o.given("context-compaction-hard-threshold") {
		f.HardThreshold = &o.hard
	}
	if o.given("parallel-tool-calls") || o.given("no-parallel-tool-calls") {
		parallel := o.parallel && !o.noParallel
		f.ParallelToolCalls = &parallel
	}
	return f
}
