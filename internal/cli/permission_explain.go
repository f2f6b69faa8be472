package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/permission"
)

// permissionExplainOptions are the flags of `muse permission explain`.
type permissionExplainOptions struct {
	mode, workspace, home, linesFrom string
	json, noSandbox                  bool
	line                             string
	hasLine                          bool
}

func newPermissionExplainCmd(env *Env) *cobra.Command {
	var opts permissionExplainOptions
	cmd := &cobra.Command{
		Use:   "explain [OPTIONS] -- LINE",
		Short: "Show how a shell line would be judged, without running it",
		Long: "Show how a shell line would be judged, without running it: its stages, the command that each of them really\n" +
			"starts, the class, the verdict, the rule and the reason.\n\n" +
			"With --lines-from FILE (or - for the input) each line of FILE is a JSON string, and one JSON object is printed\n" +
			"for each: {\"line\", \"mode\", \"verdict\", \"stages\": [{\"effective\", \"argv\", \"class\", \"verdict\", \"reason\"}], \"held\"}.",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return &UsageError{Command: cmd.CommandPath(), Message: fmt.Sprintf("unexpected argument %q: quote the whole line as one word", args[1])}
			case len(args) == 0 && opts.linesFrom == "":
				return &UsageError{Command: cmd.CommandPath(), Message: "give a LINE, or --lines-from FILE"}
			case len(args) == 1 && opts.linesFrom != "":
				return &UsageError{Command: cmd.CommandPath(), Message: "give a LINE or --lines-from, not both"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.line, opts.hasLine = args[0], true
			}
			return runPermissionExplain(cmd.Context(), env, opts)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.mode, "approval-mode", string(permission.OnRequest), "judge as in this `mode`: untrusted, on-request or never")
	f.BoolVar(&opts.noSandbox, "disable-sandbox", false, "judge as without the sandbox")
	f.BoolVar(&opts.json, "json", false, "print a JSON object")
	f.StringVar(&opts.linesFrom, "lines-from", "", "judge every line of `FILE`, one JSON string a line")
	f.StringVar(&opts.workspace, "workspace", "", "judge paths against this workspace `dir` (default: the current directory)")
	f.StringVar(&opts.home, "home", "", "judge paths against this home `dir`")
	return cmd
}

func runPermissionExplain(ctx context.Context, env *Env, opts permissionExplainOptions) error {
	mode, err := permission.ParseMode(opts.mode)
	if err != nil {
		return &UsageError{Command: "muse permission explain", Message: err.Error()}
	}
	engine, err := explainEngine(env, opts, mode)
	if err != nil {
		return err
	}
	if !opts.hasLine {
		return explainLines(ctx, env, engine, opts.linesFrom)
	}
	review := engine.Explain(opts.line)
	if opts.json {
		return writeExplained(env.Stdout, review, true)
	}
	return printExplained(env.Stdout, review)
}

// explainEngine sets up a decision point with the rules in force. A workspace
// that does not exist is judged by text alone.
func explainEngine(env *Env, opts permissionExplainOptions, mode permission.Mode) (*permission.Engine, error) {
	workspace, exists, err := judgedWorkspace(env, opts.workspace)
	if err != nil {
		return nil, err
	}
	sources, err := loadPermissions(env, workspace)
	if err != nil {
		return nil, err
	}
	home := opts.home
	if home == "" {
		home = config.Home(env.Getenv)
	}
	yes, sandboxed, network := true, !opts.noSandbox, permission.NetworkProxyOnly
	return permission.New(permission.Config{
		Workspace: workspace, Home: home, Temp: "/tmp", Lexical: !exists, Rules: sources.rules, Strict: sources.settings.Strict,
		Grant: permission.RootGrant(permission.GrantSpec{
			Mode: &mode, Sandboxed: &sandboxed, Network: &network, Write: &yes, Shell: &yes, Trusted: &yes, Root: workspace,
		}),
	})
}

// maxExplainLine bounds one line of --lines-from: a JSON string of the longest
// line that is looked at, with every byte escaped.
const maxExplainLine = 1 << 20

func explainLines(ctx context.Context, env *Env, engine *permission.Engine, path string) (err error) {
	in := env.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return &UsageError{Command: "muse permission explain", Message: fmt.Sprintf("cannot read --lines-from: %v", err)}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxExplainLine)
	out := bufio.NewWriter(env.Stdout)
	for n := 1; scan.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if strings.TrimSpace(scan.Text()) == "" {
			continue
		}
		var line string
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			return errors.Join(out.Flush(), fmt.Errorf("line %d of %s is not a JSON string: %w", n, path, err))
		}
		if err := writeExplained(out, engine.Explain(line), false); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return errors.Join(out.Flush(), fmt.Errorf("read %s: %w", path, err))
	}
	return out.Flush()
}

// explainedLine is the JSON form. Its keys are a contract.
type explainedLine struct {
	Line    string           `json:"line"`
	Mode    string           `json:"mode"`
	Verdict string           `json:"verdict"`
	Stages  []explainedStage `json:"stages"`
	Held    *explainedHeld   `json:"held"`
}

type explainedStage struct {
	Effective string   `json:"effective"`
	Argv      []string `json:"argv"`
	Class     string   `json:"class"`
	Verdict   string   `json:"verdict"`
	Reason    string   `json:"reason"`
	Rule      string   `json:"rule,omitempty"`
}

// explainedHeld names the stage that decided by its index; null stands for the
// line as a whole.
type explainedHeld struct {
	Stage  *int   `json:"stage"`
	Reason string `json:"reason"`
}

func explained(r *permission.LineReview) explainedLine {
	out := explainedLine{Line: r.Line.Text, Mode: string(r.Mode), Verdict: string(r.Verdict), Stages: []explainedStage{}}
	if r.Verdict != permission.Pass {
		out.Held = &explainedHeld{Reason: r.Reason}
		if r.Held >= 0 {
			out.Held.Stage = &r.Held
		}
	}
	if !r.Line.Decomposed() && r.Verdict != permission.Denied {
		// What was found in a line that cannot be decomposed proves nothing.
		return out
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		one := explainedStage{Effective: s.Stage.Effective(), Argv: []string{}, Class: string(s.Class), Verdict: string(s.Verdict), Reason: s.Reason}
		for _, w := range s.Stage.Argv {
			if w.Known {
				one.Argv = append(one.Argv, w.Value)
			} else {
				one.Argv = append(one.Argv, w.Text)
			}
		}
		if s.Rule != nil {
			one.Rule = s.Rule.String()
		}
		out.Stages = append(out.Stages, one)
	}
	return out
}

func writeExplained(w io.Writer, r *permission.LineReview, pretty bool) error {
	options := []json.Options{jsontext.AllowInvalidUTF8(true)}
	if pretty {
		options = append(options, jsontext.WithIndent("  "))
	}
	if err := json.MarshalWrite(w, explained(r), options...); err != nil {
		return fmt.Errorf("write the explanation: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// printExplained is the form for people.
func printExplained(w io.Writer, r *permission.LineReview) error {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s (mode %s)\n", r.Verdict, r.Mode)
	if r.Verdict != permission.Pass || r.Reason != "" {
		if r.Held >= 0 {
			fmt.Fprintf(&b, "held at: stage %d: %s\n", r.Held+1, r.Reason)
		} else {
			fmt.Fprintf(&b, "because: %s\n", r.Reason)
		}
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		fmt.Fprintf(&b, "\n%3d  %s\n     %s, %s: %s\n", i+1, s.Stage.Effective(), s.Class, s.Verdict, s.Reason)
		for _, wr := range s.Stage.Wrappers {
			fmt.Fprintf(&b, "     started by %s\n", wr.Name)
		}
		if s.Rule != nil {
			fmt.Fprintf(&b, "     rule: %s (%s)\n", s.Rule, s.Rule.Scope)
		}
	}
	if !r.Line.Decomposed() && len(r.Stages) > 0 {
		b.WriteString("\nThe stages are what could be found; the line may start others.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
