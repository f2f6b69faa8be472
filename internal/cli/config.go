package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
)

// newConfigCmd is the group of commands about settings; more are the commands
// of other files that belong to it.
func newConfigCmd(env *Env, more ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show what a run is set to and why",
		Args:  noSubcommandArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigExplainCmd(env))
	cmd.AddCommand(more...)
	return cmd
}

// noSubcommandArgs makes a misspelt subcommand a usage error.
func noSubcommandArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	text := "unknown command for " + cmd.CommandPath()
	if len(args[0]) <= 20 {
		// A longer word is no misspelt command and may be a key.
		text = "unknown command \"" + args[0] + "\" for " + cmd.CommandPath()
	}
	if near := config.Nearest(args[0], names); near != "" {
		text += ": did you mean \"" + near + "\"?"
	}
	return &UsageError{Command: cmd.CommandPath(), Message: text}
}

// usageOr makes a bad value on the command line a usage error of the command;
// any other failure is bad configuration, exit 1.
func usageOr(command string, err error) error {
	var flag *config.FlagError
	if errors.As(err, &flag) {
		return &UsageError{Command: command, Message: flag.Problem}
	}
	return err
}
