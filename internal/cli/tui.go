package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/openmuse/muse/internal/ident"
)

const tuiLong = `A coding agent that runs in your terminal and in your pipelines.

Without a command, muse opens the terminal UI in the current directory; a
PROMPT is sent at once. "muse exec" runs a prompt without a terminal UI.`

const tuiExample = `  muse
  muse "explain this repository"
  muse resume --last
  muse exec "fix the failing test"`

// tuiOptions are the flags of muse without a command and of muse resume
// (CLI.md 1.2).
type tuiOptions struct {
	execOptions
	resume bool
	last   bool
	plain  bool
	target string // of resume: an id, the beginning of one, or a name
}

func (o *tuiOptions) register(f *pflag.FlagSet) {
	f.SortFlags = false
	o.registerModel(f)
	f.StringVar(&o.preset, "preset", "", "preset `name`: native-basic, miniswe, or one of settings.json")
	f.StringArrayVar(&o.images, "image", nil, "attach a picture (`file`; may be repeated)")
	f.StringVar(&o.workspace, "workspace", "", "workspace root (`dir`; default: the current directory)")
	f.BoolVar(&o.parallel, "parallel-tool-calls", false, "let the model call several tools at once")
	f.BoolVar(&o.noParallel, "no-parallel-tool-calls", false, "one tool call at a time")
	o.registerAsking(f)
	o.registerBounds(f)
	f.IntVar(&o.maxSteps, "max-model-steps", 0, "stop a turn after this many model calls")
	f.Float64Var(&o.maxCost, "max-cost", 0, "stop a turn when its model calls cost this many US dollars")
	f.Int64Var(&o.maxTokens, "max-tokens-total", 0, "stop a turn after this many input and output tokens")
	f.DurationVar(&o.maxTime, "max-time", 0, "stop a turn after this wall `time`, such as 30m")
	f.BoolVar(&o.plain, "plain", false, "write text alone and read lines: for screen readers and terminals without control sequences")
	f.BoolVar(&o.shellTool, "enable-shell-tool", false, "offer the synchronous shell tool instead of bash and bash_input")
}

// check judges the command line by itself.
func (o *tuiOptions) check() error {
	if err := firstError(o.validateChoices, o.validateLimits, o.validateExclusions); err != nil {
		return asTUIUsage(err)
	}
	switch {
	case o.resume && len(o.args) > 1 || !o.resume && len(o.args) > 1:
		return tuiUsage("unexpected argument %q: put a prompt of several words in quotes", o.args[1])
	case o.resume && o.last && o.target != "":
		return tuiUsage("give --last or the session, not both")
	case len(o.args) == 1 && strings.TrimSpace(o.args[0]) == "":
		return tuiUsage("the argument is empty")
	case o.given("session-id") && !ident.Valid(o.sessionID):
		return tuiUsage("invalid value %q for --session-id: want a UUID", o.sessionID)
	}
	return nil
}

func tuiUsage(format string, args ...any) error {
	return &UsageError{Command: "muse", Message: fmt.Sprintf(format, args...)}
}

// asTUIUsage names the right command in a usage error of shared options.
func asTUIUsage(err error) error {
	var usage *UsageError
	if errors.As(err, &usage) {
		return &UsageError{Command: "muse", Message: usage.Message}
	}
	return err
}

// openTUI makes the root command open the terminal UI.
func openTUI(root *cobra.Command, env *Env) {
	opts := &tuiOptions{}
	root.Use = "muse [OPTIONS] [PROMPT]"
	root.Long, root.Example = tuiLong, tuiExample
	root.SuggestionsMinimumDistance, root.DisableFlagsInUseLine = 2, true
	opts.register(root.Flags())
	root.Flags().StringVar(&opts.sessionID, "session-id", "", "name the new session (`uuid`), or continue the one with this id")
	root.Flags().BoolVar(&opts.noSessionLog, "no-session-log", false, "keep no session log")
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && cmd.ArgsLenAtDash() < 0 && !strings.ContainsAny(args[0], " \n") {
			// A verb that is misspelt must not become a prompt.
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 && len(args[0]) > 2 {
				return tuiUsage("there is no command %q; did you mean %q? As a prompt: muse -- %s", args[0], near[0], args[0])
			}
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		opts.given, opts.args = cmd.Flags().Changed, args
		if err := opts.check(); err != nil {
			return err
		}
		if len(args) == 1 {
			opts.prompt, opts.hasPrompt = args[0], true
		}
		if len(args) == 0 && !interactive(env) {
			return cmd.Help()
		}
		return runTUI(cmd.Context(), env, opts)
	}
}

func newResumeCmd(env *Env) *cobra.Command {
	opts := &tuiOptions{resume: true}
	cmd := &cobra.Command{
		Use: "resume [OPTIONS] [SESSION]", DisableFlagsInUseLine: true,
		Short: "Go on with an earlier session in the terminal UI",
		Long: "Go on with an earlier session in the terminal UI. SESSION is a session's id, the beginning of one that no other\n" +
			"has, or a name. Without it, a list is shown.",
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.given, opts.args = cmd.Flags().Changed, args
			if len(args) > 0 {
				opts.target = args[0]
			}
			if err := opts.check(); err != nil {
				return err
			}
			return runTUI(cmd.Context(), env, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.last, "last", false, "the session of this workspace that was used last")
	opts.register(cmd.Flags())
	return cmd
}

// misplacedOptions finds options of the root before a verb: only resume takes
// them there (CLI.md 1.1).
func misplacedOptions(root *cobra.Command, args []string) error {
	if len(args) < 2 || !strings.HasPrefix(args[0], "-") || args[0] == "--" {
		return nil
	}
	cmd, _, err := root.Find(args)
	if err != nil || cmd == root || cmd.Name() == "resume" || strings.HasPrefix(cmd.Name(), "__") || cmd.Name() == "help" {
		return nil
	}
	for cmd.Parent() != root {
		cmd = cmd.Parent()
	}
	at := slices.Index(args, cmd.Name())
	if at <= 0 || slices.Contains(args[:at], "-h") || slices.Contains(args[:at], "--help") {
		return nil
	}
	return tuiUsage("options go behind the command: muse %s %s …", cmd.Name(), strings.Join(args[:at], " "))
}

// interactive reports whether a person is there on both sides.
func interactive(env *Env) bool {
	in, out, ok := terminal(env)
	return ok && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// terminal is the terminal of the process.
func terminal(env *Env) (in, out *os.File, ok bool) {
	in, okIn := env.Stdin.(*os.File)
	out, okOut := env.Stdout.(*os.File)
	return in, out, okIn && okOut
}

// runTUI carries out `muse` and `muse resume`.
func runTUI(ctx context.Context, env *Env, opts *tuiOptions) error {
	if !interactive(env) {
		return tuiUsage("the terminal UI needs a terminal on stdin and stdout; without one: muse exec PROMPT")
	}
	ctx, stop := withSignals(ctx)
	defer stop()
	err := (&tuiRun{env: env, opts: opts}).run(ctx)
	if code, ended := signalCode(ctx); ended {
		return &ExitError{Code: code, Err: context.Cause(ctx)}
	}
	return asTUIUsage(err)
}
