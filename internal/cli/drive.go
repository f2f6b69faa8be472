package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/drive"
	"github.com/openmuse/muse/pkg/muse"
)

const driveLong = `Run one supervised turn of a muse binary and record everything about it.

The answer goes to stdout. A reply that only waits is sent back to work, a
transient failure of the model service is tried again in a fresh session, and
the whole turn can be kept in an artifacts directory. The prompt is passed in a
private file: it is in no process list but this command's own, and with
--prompt-file not even there.

Everything after --args goes to "exec" as it is; "--" ends it.

EXIT STATUS
  0    the turn was completed
  1    it failed, was cancelled, or still only waited
  2    usage error, of this command or of the driven binary
  130  ended by SIGINT
  143  ended by SIGTERM`

const driveExample = `  muse drive --artifacts out "fix the failing test"
  muse drive --bin /usr/local/bin/muse --model large --effort high --prompt-file task.md
  muse drive --json --args --max-model-steps 20 -- "explain this repository"
  muse drive doctor`

// driveOptions are the flags of drive as they were given.
type driveOptions struct {
	common driveFlags

	artifacts  string
	resumeFrom string
	sessionID  string
	asJSON     bool
}

func newDriveCmd(env *Env) *cobra.Command {
	opts := &driveOptions{}
	cmd := &cobra.Command{
		Use:     "drive [OPTIONS] PROMPT",
		Short:   "Run one supervised turn of any muse binary",
		Long:    driveLong,
		Example: driveExample,
		Args:    cobra.ArbitraryArgs,
		// What follows --args is not ours to parse.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if help, err := opts.common.parse(cmd, args); help || err != nil {
				return err
			}
			return runDrive(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	opts.common.register(f)
	f.StringVar(&opts.artifacts, "artifacts", "", "keep everything about the turn in this `dir` (MUSE_DRIVE_ARTIFACTS_DIR)")
	f.StringVar(&opts.resumeFrom, "resume-from", "", "go on from the interrupted turn in this artifacts `dir`; PROMPT adds to it")
	f.StringVar(&opts.sessionID, "session-id", "", "name the session of the first run (`uuid`)")
	f.BoolVar(&opts.asJSON, "json", false, "print the result record instead of the answer")
	cmd.AddCommand(newDriveDoctorCmd(env), newDriveSmokeCmd(env), newDriveSkillsCmd(env))
	return cmd
}

func runDrive(ctx context.Context, env *Env, opts *driveOptions) error {
	o, err := opts.common.turn(env, opts.resumeFrom != "")
	if err != nil {
		return err
	}
	o.SessionID, o.Artifacts = opts.sessionID, opts.artifacts
	if o.Artifacts == "" {
		o.Artifacts = env.Getenv(drive.VarArtifacts)
	}
	if opts.resumeFrom != "" {
		if o.Resume, err = drive.LoadResume(opts.resumeFrom); err != nil {
			return opts.common.usage("%v", err)
		}
		if o.Resume.Workspace != "" && !opts.common.given("workspace") {
			o.Workspace = o.Resume.Workspace
		}
	}
	if err := o.Validate(); err != nil {
		return opts.common.usage("%v", err)
	}
	ctx, done := withSignals(ctx)
	defer done()
	ctx, cancel := opts.common.limit(ctx)
	defer cancel()
	res, err := drive.Turn(ctx, o)
	if err != nil {
		return fmt.Errorf("drive: %w", err)
	}
	return reportTurn(ctx, env, opts, res)
}

// reportTurn prints the result and gives the exit code.
func reportTurn(ctx context.Context, env *Env, opts *driveOptions, res *drive.Result) error {
	code := res.ExitCode()
	if signalled, ok := signalCode(ctx); ok && !res.OK {
		code = signalled
	}
	if opts.asJSON {
		if err := printJSON(env, res); err != nil {
			return err
		}
		return exitWith(code, nil)
	}
	if res.OK {
		_, err := fmt.Fprintln(env.Stdout, strings.TrimRight(res.Reply, "\n"))
		return err
	}
	return exitWith(code, fmt.Errorf("drive: %s: %s", res.Class, res.Failure.Reason))
}

func exitWith(code int, err error) error {
	if code == 0 && err == nil {
		return nil
	}
	return &ExitError{Code: code, Err: err}
}

// printJSON prints one JSON value on one line.
func printJSON(env *Env, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	_, err = fmt.Fprintf(env.Stdout, "%s\n", data)
	return err
}

// parse splits off what follows --args and parses the rest. help says that the
// help text was asked for and printed.
func (d *driveFlags) parse(cmd *cobra.Command, args []string) (help bool, err error) {
	d.command = cmd.CommandPath()
	own, extra, rest, err := splitPassThrough(args)
	if err != nil {
		return false, d.usage("--args: %v", err)
	}
	d.given = cmd.Flags().Changed
	if err := cmd.Flags().Parse(own); err != nil {
		return false, d.usage("%s", flagErrorText(err))
	}
	if d.given("help") {
		return true, cmd.Help()
	}
	words := cmd.Flags().Args()
	// With a prompt nowhere else, the last word after --args is it.
	if n := len(extra); rest && n > 0 && len(words) == 0 && !d.given("prompt-file") && !d.given("resume-from") && !strings.HasPrefix(extra[n-1], "-") {
		words, extra = extra[n-1:], extra[:n-1]
	}
	d.extra, d.hasExtra = extra, len(args) != len(own)
	switch {
	case len(words) > 1:
		return false, d.usage("unexpected argument %q: the prompt is one argument, so put it in quotes", words[1])
	case len(words) == 1 && d.given("prompt-file"):
		return false, d.usage("give the prompt or --prompt-file, not both")
	case len(words) == 1:
		d.prompt = words[0]
	}
	return false, nil
}

// splitPassThrough separates the words that go to the driven binary: those
// after --args up to "--" or the end (rest is true in the latter case), or the
// words in --args=TEXT.
func splitPassThrough(args []string) (own, extra []string, rest bool, err error) {
	for i, a := range args {
		if a == "--" {
			break
		}
		if text, ok := strings.CutPrefix(a, "--args="); ok {
			extra, err = muse.SplitArgs(text)
			return append(append(own, args[:i]...), args[i+1:]...), extra, false, err
		}
		if a != "--args" {
			continue
		}
		own = append(own, args[:i]...)
		for j, b := range args[i+1:] {
			if b == "--" {
				return append(own, args[i+1+j:]...), args[i+1 : i+1+j], false, nil
			}
		}
		return own, args[i+1:], true, nil
	}
	return args, nil, false, nil
}
