package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

const execLong = `Run one prompt to its end and leave.

The answer goes to stdout and nothing else does; with --json, stdout is a
stream of JSON lines instead. Everything for people goes to stderr. Stdin is
only read with --api-key-stdin.

EXIT STATUS
  0    the turn was completed
  1    it failed, was cancelled, hit a limit, or could not start
  2    usage error
  130  ended by SIGINT
  143  ended by SIGTERM`

const execExample = `  muse exec "fix the failing test"
  muse exec --json --session-id "$ID" --prompt-file task.md
  muse exec --provider openai-chat --base-url http://127.0.0.1:11434/v1 --model qwen3-coder "explain this repository"
  muse exec -- "--a prompt that begins with a dash"`

func newExecCmd(env *Env) *cobra.Command {
	opts := &execOptions{}
	cmd := &cobra.Command{
		Use:     "exec [OPTIONS] [PROMPT]",
		Short:   "Run one prompt without a terminal UI",
		Long:    execLong,
		Example: execExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.given, opts.args = cmd.Flags().Changed, args
			if err := opts.validate(); err != nil {
				return err
			}
			return runExec(cmd.Context(), env, opts)
		},
	}
	opts.register(cmd.Flags())
	return cmd
}

func execUsage(format string, args ...any) error {
	return &UsageError{Command: "muse exec", Message: fmt.Sprintf(format, args...)}
}
