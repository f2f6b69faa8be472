package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/trust"
)

// newTrustCmd shows and changes which workspaces are trusted.
func newTrustCmd(env *Env) *cobra.Command {
	var opts trustOptions
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Show or change which workspaces are trusted",
		Long: "Show or change which workspaces are trusted. Before a workspace is trusted nothing in it is loaded (rules files,\n" +
			"hooks, MCP entries, skills) and no program starts in it. Trust is bound to the content of those files: when one of\n" +
			"them changes, the workspace is not trusted until you say so again.",
		Args: noSubcommandArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runTrustList(cmd.Context(), env, opts) },
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print a JSON object")
	cmd.AddCommand(newTrustListCmd(env), newTrustAddCmd(env), newTrustRemoveCmd(env))
	return cmd
}

// trustOptions are the flags of `muse trust` and its commands.
type trustOptions struct {
	json, untrusted bool
	dir             string
}

func newTrustListCmd(env *Env) *cobra.Command {
	var opts trustOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the workspaces that were decided on, and whether each is trusted now",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runTrustList(cmd.Context(), env, opts) },
	}
	cmd.Flags().BoolVar(&opts.json, "json", false, "print a JSON object")
	return cmd
}

func newTrustAddCmd(env *Env) *cobra.Command {
	var opts trustOptions
	cmd := &cobra.Command{
		Use:   "add [DIR]",
		Short: "Trust a workspace (default: the current directory) with its files as they are now",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.dir = args[0]
			}
			return runTrustAdd(cmd.Context(), env, opts)
		},
	}
	cmd.Flags().BoolVar(&opts.untrusted, "untrusted", false, "remember instead that it is not to be trusted")
	return cmd
}

func newTrustRemoveCmd(env *Env) *cobra.Command {
	var opts trustOptions
	return &cobra.Command{
		Use:   "remove [DIR]",
		Short: "Forget what was decided about a workspace",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				opts.dir = args[0]
			}
			return runTrustRemove(cmd.Context(), env, opts)
		},
	}
}

func trustStore(env *Env) (trust.Store, error) {
	dirs, err := config.Locate(env.Getenv)
	if err != nil {
		return trust.Store{}, err
	}
	return trust.Store{Path: dirs.TrustFile()}, nil
}

func trustDir(env *Env, dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	dir, err := env.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the current directory: %w", err)
	}
	return dir, nil
}

// listedTrust is the JSON form of one remembered workspace.
type listedTrust struct {
	Root     string   `json:"root"`
	Decision string   `json:"decision"`
	Trusted  bool     `json:"trusted"`
	Reason   string   `json:"reason,omitempty"`
	Changed  []string `json:"changed,omitempty"`
}

func runTrustList(_ context.Context, env *Env, opts trustOptions) error {
	store, err := trustStore(env)
	if err != nil {
		return err
	}
	entries, err := store.List()
	if err != nil {
		return err
	}
	out := []listedTrust{}
	for _, e := range entries {
		one := listedTrust{Root: e.Root, Decision: string(e.Decision)}
		if s, err := store.Check(e.Root); err != nil {
			one.Reason = err.Error()
		} else {
			one.Trusted, one.Reason, one.Changed = s.Trusted, s.Reason, s.Changed
		}
		out = append(out, one)
	}
	if opts.json {
		if err := json.MarshalWrite(env.Stdout, map[string]any{"workspaces": out}, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
			return fmt.Errorf("write the list: %w", err)
		}
		_, err := io.WriteString(env.Stdout, "\n")
		return err
	}
	for _, t := range out {
		state := "not trusted"
		if t.Trusted {
			state = "trusted"
		}
		if t.Reason != "" {
			state += ": " + t.Reason
		}
		if _, err := fmt.Fprintf(env.Stdout, "%s\t%s\n", t.Root, state); err != nil {
			return err
		}
	}
	if len(out) == 0 {
		_, err := fmt.Fprintln(env.Stderr, "no workspace was decided on yet; `muse trust add` trusts the current directory")
		return err
	}
	return nil
}

func runTrustAdd(ctx context.Context, env *Env, opts trustOptions) error {
	store, err := trustStore(env)
	if err != nil {
		return err
	}
	dir, err := trustDir(env, opts.dir)
	if err != nil {
		return err
	}
	decision := trust.Trusted
	if opts.untrusted {
		decision = trust.Untrusted
	}
	status, err := store.Set(ctx, dir, decision, "")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(env.Stdout, "%s\t%s\n", status.Root, decision); err != nil {
		return err
	}
	for _, f := range status.Files {
		if _, err := fmt.Fprintf(env.Stderr, "loads from now on: %s\n", f); err != nil {
			return err
		}
	}
	return nil
}

func runTrustRemove(ctx context.Context, env *Env, opts trustOptions) error {
	store, err := trustStore(env)
	if err != nil {
		return err
	}
	dir, err := trustDir(env, opts.dir)
	if err != nil {
		return err
	}
	found, err := store.Remove(ctx, dir)
	if err != nil {
		return err
	}
	if !found {
		return &ExitError{Code: 1, Err: fmt.Errorf("nothing was decided about %s", dir)}
	}
	_, err = fmt.Fprintf(env.Stdout, "%s\tforgotten\n", dir)
	return err
}

// sortedNames lists a map's keys in order.
func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
