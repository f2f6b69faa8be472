package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/drive"
)

const loopLong = `Drive a muse binary again and again until a check passes.

Each attempt is a supervised turn (see "muse drive"). After it the check
command is run in the workspace; what it printed goes into the next attempt.
The state is on disk: the same command line goes on with what an interrupted or
killed one left. A loop whose attempts end with the same work and the same
failure stops and says so. After a rate limit it waits for the reported reset.

MUSE_DRIVE_LOOP_ENABLED=0 (also false, no, off) switches this command off.

EXIT STATUS
  0    the check passed
  1    a limit was reached, nothing changed any more, or the agent does not run
  2    usage error, or the command is switched off
  130  ended by SIGINT; start again to go on
  143  ended by SIGTERM; start again to go on`

const loopExample = `  muse loop --until "go test ./..." "make the tests pass"
  muse loop --until "make lint" --max-iterations 5 --max-cost 2 --prompt-file task.md
  muse loop --until-schema answer.json "list the public API as JSON"
  muse loop --worktree --until "npm test" --model large "fix issue 12"`

// loopOptions are the flags of loop as they were given.
type loopOptions struct {
	common driveFlags
	loop   drive.LoopOptions
	fresh  bool
	asJSON bool
}

func newLoopCmd(env *Env) *cobra.Command {
	opts := &loopOptions{}
	cmd := &cobra.Command{
		Use:                "loop --until COMMAND [OPTIONS] PROMPT",
		Short:              "Drive a muse binary until a check passes",
		Long:               loopLong,
		Example:            loopExample,
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true, // as in drive
		RunE: func(cmd *cobra.Command, args []string) error {
			if help, err := opts.common.parse(cmd, args); help || err != nil {
				return err
			}
			return runLoop(cmd.Context(), env, opts)
		},
	}
	f, l := cmd.Flags(), &opts.loop
	f.SortFlags = false
	f.StringVar(&l.Until, "until", "", "shell `command` that exits with 0 when the work is done")
	f.StringVar(&l.UntilSchema, "until-schema", "", "JSON Schema `file` that the answer must fit")
	f.IntVar(&l.MaxIterations, "max-iterations", drive.DefaultIterations, "attempts")
	f.Float64Var(&l.MaxCost, "max-cost", 0, "stop when the attempts have cost this many US dollars")
	f.DurationVar(&l.MaxTime, "max-time", 0, "stop after this much active `time`, over all starts")
	f.BoolVar(&opts.fresh, "fresh", false, "a fresh session for each attempt (default)")
	f.BoolVar(&l.Continue, "continue", false, "one session for all attempts")
	f.BoolVar(&l.Worktree, "worktree", false, "each attempt in a fresh Git worktree")
	f.BoolVar(&l.CheckFirst, "check-first", false, "check before the first attempt, and be done if it passes")
	f.DurationVar(&l.CheckTimeout, "check-timeout", drive.DefaultCheckTimeout, "end a check after this long")
	f.IntVar(&l.NoProgress, "no-progress", drive.DefaultNoProgress, "stop when this many attempts ended with the same work and failure")
	f.DurationVar(&l.MaxCooldown, "max-cooldown", drive.DefaultMaxCooldown, "longest wait for a rate limit; beyond it the loop pauses")
	f.StringVar(&l.Export, "export", drive.ExportRaw, "transcript of each attempt: raw, redacted or off")
	f.StringVar(&l.State, "state", "", "keep the loop's state in this `dir` (default: under the data root)")
	f.BoolVar(&l.Restart, "restart", false, "begin anew instead of going on")
	f.BoolVar(&opts.asJSON, "json", false, "print the result record instead of the answer")
	opts.common.register(f)
	return cmd
}

func runLoop(ctx context.Context, env *Env, opts *loopOptions) error {
	if !drive.LoopEnabled(env.Getenv) {
		return opts.common.usage("muse loop is switched off by %s", drive.VarLoopEnabled)
	}
	if opts.fresh && opts.loop.Continue {
		return opts.common.usage("give --fresh or --continue, not both")
	}
	turn, err := opts.common.turn(env, false)
	if err != nil {
		return err
	}
	o := opts.loop
	o.Turn = turn
	cwd, err := env.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", err)
	}
	for _, path := range []*string{&o.UntilSchema, &o.State} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(cwd, *path)
		}
	}
	for name, d := range map[string]time.Duration{"check-timeout": o.CheckTimeout, "max-cooldown": o.MaxCooldown} {
		if d <= 0 {
			return opts.common.usage("invalid value for --%s", name)
		}
	}
	if opts.common.given("max-iterations") && o.MaxIterations < 1 {
		return opts.common.usage("invalid value for --max-iterations")
	}
	if err := o.Validate(); err != nil {
		return opts.common.usage("%v", err)
	}
	ctx, done := withSignals(ctx)
	defer done()
	res, err := drive.Loop(ctx, o)
	if err != nil {
		return fmt.Errorf("loop: %w", err)
	}
	return reportLoop(ctx, env, opts, res)
}

func reportLoop(ctx context.Context, env *Env, opts *loopOptions, res *drive.LoopResult) error {
	code := 0
	if !res.OK {
		code = 1
		if signalled, ok := signalCode(ctx); ok {
			code = signalled
		}
	}
	if opts.asJSON {
		if err := printJSON(env, res); err != nil {
			return err
		}
		return exitWith(code, nil)
	}
	fmt.Fprintf(env.Stderr, "muse: loop %s: %s\nmuse: state: %s\n", res.Stop, res.Reason, res.State)
	if res.Worktree != "" {
		fmt.Fprintf(env.Stderr, "muse: worktree: %s\nmuse: patch: %s\n", res.Worktree, res.Patch)
	}
	if res.OK && res.Reply != "" {
		if _, err := fmt.Fprintln(env.Stdout, strings.TrimRight(res.Reply, "\n")); err != nil {
			return err
		}
	}
	return exitWith(code, nil)
}
