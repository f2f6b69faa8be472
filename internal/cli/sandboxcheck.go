package cli

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/sandbox"
)

// sandboxCheckOptions are the flags of `muse sandbox check`.
type sandboxCheckOptions struct {
	workspace string
	network   string
	launcher  string
	json      bool
}

func newSandboxCheckCmd(env *Env) *cobra.Command {
	var o sandboxCheckOptions
	cmd := &cobra.Command{
		Use:   "check [OPTIONS]",
		Short: "Say whether commands can be confined here, and what is missing",
		Long: "Try every precondition of the sandbox, with cause and cure. No command is started.\n" +
			"The exit code is 0 when commands can run, 1 when they cannot.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSandboxCheck(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print a JSON object")
	f.StringVar(&o.workspace, "workspace", "", "directory that commands would write (default: the current one)")
	f.StringVar(&o.network, "network", "", "restricted, enabled or proxy-only (default: proxy-only)")
	f.StringVar(&o.launcher, "launcher", "", "auto, native or bubblewrap (default: auto)")
	return cmd
}

func runSandboxCheck(ctx context.Context, env *Env, o sandboxCheckOptions) error {
	spec, err := sandboxRunOptions{workspace: o.workspace, network: o.network, launcher: o.launcher}.spec(env, "muse sandbox check")
	if err != nil {
		return err
	}
	report := sandbox.Examine(ctx, spec)
	if o.json {
		err = json.MarshalWrite(env.Stdout, report, jsontext.WithIndent("  "))
		if err == nil {
			_, err = fmt.Fprintln(env.Stdout)
		}
	} else {
		err = printSandboxCheck(env, report)
	}
	if err != nil {
		return err
	}
	if !report.OK {
		return &ExitError{Code: 1}
	}
	return nil
}

func printSandboxCheck(env *Env, r sandbox.CheckReport) error {
	for _, c := range r.Checks {
		if _, err := fmt.Fprintf(env.Stdout, "%-8s %-20s %s\n", c.Status, c.Name, c.Detail); err != nil {
			return err
		}
		if c.Status != sandbox.StatusOK && c.Cure != "" {
			if _, err := fmt.Fprintf(env.Stdout, "%-8s %-20s -> %s\n", "", "", c.Cure); err != nil {
				return err
			}
		}
	}
	summary := fmt.Sprintf("commands run inside the %s sandbox, network %s", r.Launcher, r.Network)
	if !r.OK {
		summary = "no command can run: the sandbox cannot be confirmed"
	}
	_, err := fmt.Fprintln(env.Stdout, summary)
	return err
}
