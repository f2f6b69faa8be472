package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// strictArgs makes what the argument rules of the command and its children
// refuse a usage error: drivers rely on exit 2 for a line that cannot be run.
func strictArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			var usage *UsageError
			var coded *ExitError
			if err == nil || errors.As(err, &usage) || errors.As(err, &coded) {
				return err
			}
			return &UsageError{Command: cmd.CommandPath(), Message: argsErrorText(cmd, len(args), err)}
		}
	}
	for _, c := range cmd.Commands() {
		strictArgs(c)
	}
}

// argsErrorText says which arguments are wanted in place of the argument
// library's bare count, and leaves its other texts as they are.
func argsErrorText(cmd *cobra.Command, given int, err error) string {
	text := err.Error()
	if !strings.HasPrefix(text, "accepts ") && !strings.HasPrefix(text, "requires ") {
		return text
	}
	var wanted []string
	for i, word := range strings.Fields(cmd.Use) {
		if i > 0 && !strings.HasPrefix(word, "[-") {
			wanted = append(wanted, word)
		}
	}
	return fmt.Sprintf("wrong number of arguments: want %s, not %d", strings.Join(wanted, " "), given)
}
