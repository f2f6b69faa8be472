package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
)

// newAuthCmd is `muse auth`: the keys kept in auth.json (CLI.md 1.5).
func newAuthCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Store, show and remove API keys",
		Args:  noSubcommandArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuthSetCmd(env), newAuthStatusCmd(env), newAuthLogoutCmd(env))
	return cmd
}

// noAuthArgs refuses arguments without repeating them: one may be a key.
func noAuthArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &UsageError{Command: cmd.CommandPath(), Message: "unexpected argument: keys are read from standard input, never from the command line"}
}

// maxKeyInput is more than any key: a longer input is a wrong file.
const maxKeyInput = 64 << 10

type authSetOptions struct {
	provider, baseURL string
	stdin             bool
}

func newAuthSetCmd(env *Env) *cobra.Command {
	var opts authSetOptions
	cmd := &cobra.Command{
		Use:   "set --api-key-stdin",
		Short: "Store an API key, read from standard input",
		Long: "Store an API key, read from standard input so that it is in no process list and no shell history.\n" +
			"The key is only ever sent to the provider's own host, or to the host of --base-url.",
		Args: noAuthArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAuthSet(cmd.Context(), env, opts) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.provider, "provider", "meta", "provider the key is for")
	f.BoolVar(&opts.stdin, "api-key-stdin", false, "read the key from standard input (required)")
	f.StringVar(&opts.baseURL, "base-url", "", "address the key is for, when it is not the provider's own")
	return cmd
}

func runAuthSet(ctx context.Context, env *Env, opts authSetOptions) error {
	const command = "muse auth set"
	if !opts.stdin {
		return &UsageError{Command: command, Message: "the key is read from standard input: add --api-key-stdin"}
	}
	in, err := loadConfig(env)
	if err != nil {
		return err
	}
	in.Flags.Provider = &opts.provider
	if opts.baseURL != "" {
		in.Flags.BaseURL = &opts.baseURL
	}
	resolved, err := config.ResolveEndpoint(in)
	if err != nil {
		return usageOr(command, err)
	}
	if resolved.Endpoint.Offline {
		return &UsageError{Command: command, Message: fmt.Sprintf("provider %s needs no key", opts.provider)}
	}
	text, err := io.ReadAll(io.LimitReader(env.Stdin, maxKeyInput+1))
	if err != nil {
		return fmt.Errorf("read the key from standard input: %w", err)
	}
	key := strings.TrimSpace(string(text))
	switch {
	case key == "":
		return errors.New("standard input holds no key")
	case len(text) > maxKeyInput:
		return errors.New("standard input holds more than a key")
	}
	base := ""
	if opts.baseURL != "" {
		base = resolved.BaseURL.V
	}
	if err := config.StoreKey(ctx, in.Paths.AuthFile(), opts.provider, key, base); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "stored the key for %s in %s\n", opts.provider, in.Paths.Tilde(in.Paths.AuthFile()))
	if name := resolved.Endpoint.KeyEnv; name != "" && env.Getenv(name) != "" {
		fmt.Fprintf(env.Stderr, "muse: warning: %s is set and goes before the stored key\n", name)
	}
	return nil
}

type authLogoutOptions struct{ provider string }

func newAuthLogoutCmd(env *Env) *cobra.Command {
	var opts authLogoutOptions
	cmd := &cobra.Command{
		Use:     "logout",
		Aliases: []string{"remove"},
		Short:   "Forget what is stored for a provider",
		Args:    noAuthArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runAuthLogout(cmd.Context(), env, opts) },
	}
	cmd.Flags().StringVar(&opts.provider, "provider", "meta", "provider to forget")
	return cmd
}

func runAuthLogout(ctx context.Context, env *Env, opts authLogoutOptions) error {
	paths, err := config.Locate(env.Getenv)
	if err != nil {
		return err
	}
	removed, err := config.RemoveKey(ctx, paths.AuthFile(), opts.provider)
	if err != nil {
		return err
	}
	if !removed {
		fmt.Fprintf(env.Stderr, "nothing is stored for %s\n", opts.provider)
		return nil
	}
	fmt.Fprintf(env.Stderr, "removed what was stored for %s from %s\n", opts.provider, paths.Tilde(paths.AuthFile()))
	return nil
}
