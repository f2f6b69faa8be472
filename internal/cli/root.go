// Package cli is the command line: one file a verb, each with its options, its
// flags and its exit codes. It parses and prints; what is done is done by the
// rooms below it (host, audit, drive).
//
// Exit codes are the contract of the documented headless surface: 0 done, 1
// failed or cancelled, 2 usage error, 130 and 143 ended by SIGINT and SIGTERM.
package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/buildinfo"
)

// Main runs one command line and returns the process's exit code. It never
// calls os.Exit, so tests run whole commands in process.
func Main(ctx context.Context, args []string, env Env) int {
	if wantsVersion(args) {
		fmt.Fprintln(env.Stdout, buildinfo.Banner())
		return 0
	}
	root := newRootCmd(&env)
	root.SetArgs(args)
	if err := misplacedOptions(root, args); err != nil {
		return exitCode(err, &env)
	}
	return exitCode(root.ExecuteContext(ctx), &env)
}

// wantsVersion reports whether --version or -V stands anywhere before "--":
// it wins over everything else on the line, even over errors.
func wantsVersion(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--version", "-V":
			return true
		}
	}
	return false
}

func newRootCmd(env *Env) *cobra.Command {
	root := &cobra.Command{
		Short:         "A coding agent that runs in your terminal and in your pipelines",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().SortFlags = false
	root.Flags().BoolP("version", "V", false, "print the version and exit")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &UsageError{Command: cmd.CommandPath(), Message: flagErrorText(err)}
	})
	openTUI(root, env)
	root.AddCommand(commands(env)...)
	strictFlags(root)
	strictArgs(root)
	return root
}

// exitCode prints err in the documented one-line form and maps it to a code.
func exitCode(err error, env *Env) int {
	if err == nil {
		return 0
	}
	var usage *UsageError
	var coded *ExitError
	switch {
	case errors.As(err, &usage):
		fmt.Fprintln(env.Stderr, usage.Message)
		name := usage.Command
		if name == "" {
			name = "muse"
		}
		fmt.Fprintf(env.Stderr, "usage: %s [OPTIONS]; see `%s --help`\n", name, name)
		return 2
	case errors.As(err, &coded):
		if coded.Err != nil {
			fmt.Fprintln(env.Stderr, coded.Err)
		}
		return coded.Code
	default:
		if strings.HasPrefix(err.Error(), "unknown command ") {
			fmt.Fprintln(env.Stderr, err)
			return 2
		}
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
}
