package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/drive"
	"github.com/openmuse/muse/pkg/muse"
)

const doctorLong = `Say which binary would be driven, which contract it keeps and what a run would
miss: sandbox, namespaces, key, flags. Nothing is run but --version and
exec --help, and no key is read.

EXIT STATUS
  0  nothing stands against a run
  1  something does`

func newDriveDoctorCmd(env *Env) *cobra.Command {
	var bin, provider string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check what a driven run needs", Long: doctorLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				self = "" // PATH is asked then
			}
			return runDriveDoctor(cmd.Context(), env, drive.DoctorOptions{Binary: bin, Self: self, Env: env.Environ(), Provider: provider}, asJSON)
		},
	}
	cmd.Flags().StringVar(&bin, "bin", "", "muse binary to look at (default: $MUSE_PATH, else this one)")
	cmd.Flags().StringVar(&provider, "provider", "", "provider whose key is looked for")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func runDriveDoctor(ctx context.Context, env *Env, o drive.DoctorOptions, asJSON bool) error {
	r := drive.Doctor(ctx, o)
	code := 0
	if !r.OK {
		code = 1
	}
	if asJSON {
		if err := printJSON(env, r); err != nil {
			return err
		}
		return exitWith(code, nil)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, c := range r.Checks {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.Verdict, c.Name, c.Detail)
		if c.Cure != "" && c.Verdict != drive.VerdictOK {
			fmt.Fprintf(w, "\t\t-> %s\n", c.Cure)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return exitWith(code, nil)
}

const smokeLong = `Make one tiny run in an empty workspace and judge it by three rules: exit code
0; the last line of stdout is run.terminal.completed; its text is not empty.

It costs one model call or two. It establishes nothing about sandbox, account
scope or use of data. With --provider echo it shows the mechanics only.

EXIT STATUS
  0  all three rules passed
  1  one did not`

func newDriveSmokeCmd(env *Env) *cobra.Command {
	var o drive.SmokeOptions
	var bin string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "smoke", Short: "Make one tiny real run and judge it", Long: smokeLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				self = "" // PATH is asked then
			}
			if o.Binary, o.Found, err = muse.FindBinary(bin, self, env.Getenv); err != nil {
				return &UsageError{Command: cmd.CommandPath(), Message: err.Error()}
			}
			o.Env = env.Environ()
			return runDriveSmoke(cmd.Context(), env, o, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&bin, "bin", "", "muse binary to try (default: $MUSE_PATH, else this one)")
	f.StringVar(&o.Provider, "provider", "", "model provider (default: meta)")
	f.StringVar(&o.Model, "model", "", "model `id` (default: muse-spark-1.3)")
	f.StringVar(&o.Effort, "effort", "", "reasoning effort (default: minimal)")
	f.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "end the run after this long")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func runDriveSmoke(ctx context.Context, env *Env, o drive.SmokeOptions, asJSON bool) error {
	ctx, done := withSignals(ctx)
	defer done()
	r, err := drive.Smoke(ctx, o)
	if err != nil {
		return fmt.Errorf("smoke: %w", err)
	}
	code := 0
	if !r.OK {
		code = 1
	}
	if signalled, ok := signalCode(ctx); ok && !r.OK {
		code = signalled
	}
	if asJSON {
		if err := printJSON(env, r); err != nil {
			return err
		}
		return exitWith(code, nil)
	}
	var b strings.Builder
	for _, rule := range r.Rules {
		fmt.Fprintf(&b, "%s  %-14s  %s\n", passed(rule.Passed), rule.Name, rule.Detail)
	}
	fmt.Fprintf(&b, "%s  %s\n", passed(r.OK), r.Binary.Banner)
	if r.Mechanics {
		b.WriteString("note: the echo provider shows the mechanics only\n")
	}
	if r.Reason != "" {
		fmt.Fprintf(&b, "reason: %s\n", r.Reason)
	}
	if _, err := fmt.Fprint(env.Stdout, b.String()); err != nil {
		return err
	}
	return exitWith(code, nil)
}

func passed(ok bool) string {
	if ok {
		return "pass"
	}
	return "FAIL"
}

func newDriveSkillsCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "skills", Short: "Skills for driven agents",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &UsageError{Command: cmd.CommandPath(), Message: fmt.Sprintf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDriveSkillsDeployCmd(env))
	return cmd
}

const skillsDeployLong = `Put skills where a driven muse reads them: <config>/muse/skills/<skill>/, with
{{ provider_name }} in Markdown files replaced. Files that were not deployed
from here, or were changed since, are left alone unless --force is given.
Nothing is removed.

EXIT STATUS
  0  everything is in place
  1  a file was left alone`

func newDriveSkillsDeployCmd(env *Env) *cobra.Command {
	var o drive.SkillOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "deploy", Short: "Put skills where a driven muse reads them", Long: skillsDeployLong, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if o.ConfigHome == "" {
				o.ConfigHome = muse.ConfigHome(env.Getenv)
			}
			return runDriveSkillsDeploy(env, o, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.From, "from", nil, "`dir` that holds <skill>/SKILL.md (may be repeated; default: the built-in ones)")
	f.StringVar(&o.ConfigHome, "config-home", "", "configuration root of the driven agent (default: $XDG_CONFIG_HOME/muse, else ~/.config/muse)")
	f.StringVar(&o.Provider, "provider-name", "Muse Code", "what {{ provider_name }} becomes")
	f.BoolVar(&o.DryRun, "dry-run", false, "only say what would be done")
	f.BoolVar(&o.Force, "force", false, "overwrite files of others, and changed ones")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func runDriveSkillsDeploy(env *Env, o drive.SkillOptions, asJSON bool) error {
	r, err := drive.DeploySkills(o)
	if err != nil {
		return err
	}
	code := 0
	if !r.OK {
		code = 1
	}
	if asJSON {
		if err := printJSON(env, r); err != nil {
			return err
		}
		return exitWith(code, nil)
	}
	for _, a := range r.Actions {
		line := fmt.Sprintf("%-9s  %s", a.Action, a.Path)
		if a.Why != "" {
			line += "  (" + a.Why + ")"
		}
		if _, err := fmt.Fprintln(env.Stdout, line); err != nil {
			return err
		}
	}
	return exitWith(code, nil)
}
