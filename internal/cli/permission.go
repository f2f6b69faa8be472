package cli

import (
	"github.com/spf13/cobra"
)

// newPermissionCmd is the group of commands that show what may run and why.
func newPermissionCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "permission",
		Short: "Show what may run, and which rule says so",
		Args:  noSubcommandArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPermissionExplainCmd(env), newPermissionRulesCmd(env))
	return cmd
}
