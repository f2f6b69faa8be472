package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
)

type authStatusOptions struct {
	provider string
	json     bool
}

func newAuthStatusCmd(env *Env) *cobra.Command {
	var opts authStatusOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show for each provider which key a run would use",
		Long: "Show for each provider which key a run would use, where it comes from and where it may be sent. Keys are\n" +
			"masked; commands that fetch keys are not run. With --provider the exit code is 1 when that one has no key.",
		Args: noAuthArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAuthStatus(cmd.Context(), env, opts) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.provider, "provider", "", "show this provider only")
	f.BoolVar(&opts.json, "json", false, "print a JSON object")
	return cmd
}

// authStatus is one provider's line, and its form in --json output.
type authStatus struct {
	Provider string   `json:"provider"`
	State    string   `json:"state"` // "ready", "command", "none", "not_needed", "missing"
	Source   string   `json:"source,omitempty"`
	Masked   string   `json:"key,omitempty"`
	SentTo   []string `json:"sent_to,omitempty"`
	Problem  string   `json:"problem,omitempty"`
}

func runAuthStatus(ctx context.Context, env *Env, opts authStatusOptions) error {
	in, err := loadConfig(env)
	if err != nil {
		return err
	}
	names := config.ProviderNames(in.Settings)
	if opts.provider != "" {
		names = []string{opts.provider}
	}
	var list []authStatus
	for _, name := range names {
		in.Flags.Provider = &name
		resolved, err := config.ResolveEndpoint(in)
		if err != nil {
			return usageOr("muse auth status", err)
		}
		if resolved.Endpoint.Offline && opts.provider == "" {
			continue
		}
		list = append(list, statusOf(ctx, env, in, resolved))
	}
	for _, w := range in.Auth.Warnings {
		fmt.Fprintf(env.Stderr, "muse: warning: %s\n", w)
	}
	if opts.json {
		err = writeJSON(env.Stdout, struct {
			SchemaVersion int          `json:"schema_version"`
			File          string       `json:"file"`
			Providers     []authStatus `json:"providers"`
		}{1, in.Paths.AuthFile(), list})
	} else {
		err = writeAuthStatus(env.Stdout, list)
	}
	if err == nil && opts.provider != "" && list[0].State == "missing" {
		return &ExitError{Code: 1}
	}
	return err
}

func statusOf(ctx context.Context, env *Env, in config.Inputs, resolved config.Resolved) authStatus {
	s := authStatus{Provider: resolved.Provider.V}
	key, _, err := config.ResolveKey(ctx, config.KeyInputs{
		Resolved: &resolved, Getenv: env.Getenv, Settings: in.Settings, Auth: in.Auth, Now: env.Now(), Preview: true,
	})
	switch {
	case err != nil:
		s.State, s.Problem = "missing", err.Error()
		return s
	case key.Value != "":
		s.State, s.Masked = "ready", key.String()
	case key.Command != nil:
		s.State = "command"
	case resolved.Endpoint.Offline || resolved.Transport.Auth.V == "none":
		s.State = "not_needed"
		return s
	default:
		s.State = "none"
		return s
	}
	key.Source.File = in.Paths.Tilde(key.Source.File)
	s.Source, s.SentTo = key.Source.String(), slices.Clone(key.Origins)
	return s
}

func writeAuthStatus(w io.Writer, list []authStatus) error {
	var b strings.Builder
	for _, s := range list {
		switch s.State {
		case "ready":
			fmt.Fprintf(&b, "%s: %s from %s, sent to %s\n", s.Provider, s.Masked, s.Source, strings.Join(s.SentTo, ", "))
		case "command":
			fmt.Fprintf(&b, "%s: a command from %s, sent to %s\n", s.Provider, s.Source, strings.Join(s.SentTo, ", "))
		case "not_needed":
			fmt.Fprintf(&b, "%s: no key needed\n", s.Provider)
		case "none":
			fmt.Fprintf(&b, "%s: no key, and none is required\n", s.Provider)
		default:
			fmt.Fprintf(&b, "%s: %s\n", s.Provider, s.Problem)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
