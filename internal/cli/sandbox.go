package cli

import (
	"github.com/spf13/cobra"
)

// newSandboxCmd is the boundary for people: does it hold here, and what does
// a command see inside (CLI.md 7.3).
func newSandboxCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Check the sandbox, and run a command in it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSandboxCheckCmd(env), newSandboxRunCmd(env))
	return cmd
}
