package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/config"
)

const auditLong = `Collect, read and verify what an agent did.

Logs of Muse Code and of openmuse are read alike: on this machine, on a mounted
disk, in a collection, or in a zip file. Nothing in them is executed, changed,
followed out of the given place or trusted.

Where a command takes INPUT, it is a session log, a session's directory, a data
root, a home, a collection, a mounted disk, or a zip file of any of those; none
means this user's own logs.`

// newAuditCmd is the group of commands about logs.
func newAuditCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Collect, read and verify what an agent did",
		Long:  auditLong,
		Args:  noSubcommandArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newAuditCollectCmd(env),
		newAuditTimelineCmd(env),
		newAuditVerifyCmd(env),
		newAuditSessionsCmd(env),
		newAuditProjectsCmd(env),
		newAuditUsageCmd(env),
		newAuditShowCmd(env),
		newAuditRedactCmd(env),
	)
	return cmd
}

// findInput opens what the arguments name, or the user's own logs.
func findInput(env *Env, command string, args []string) (*audit.Input, error) {
	if len(args) == 0 {
		paths, err := config.Locate(env.Getenv)
		if err != nil {
			return nil, err
		}
		for _, p := range []string{paths.Data, paths.Config} {
			if _, err := os.Stat(p); err == nil {
				args = append(args, p)
			}
		}
		if len(args) == 0 {
			return nil, fmt.Errorf("no logs in %s: nothing was run here yet; name a path to read other logs", auditShown(paths.Data))
		}
	}
	in, err := audit.Find(args)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &UsageError{Command: command, Message: auditShown(err.Error())}
	}
	return in, err
}

// reportInput says on stderr what of an input could not be read.
func reportInput(env *Env, stats audit.Stats) {
	for _, p := range stats.Problems {
		fmt.Fprintf(env.Stderr, "muse: warning: %s: %s\n", auditShown(p.Path), auditShown(p.Err.Error()))
	}
	for _, f := range stats.Foreign {
		fmt.Fprintf(env.Stderr, "muse: note: %s is no session log; nothing was read from it\n", auditShown(f))
	}
	if stats.BadLines > 0 {
		fmt.Fprintf(env.Stderr, "muse: note: %s could not be read; the timeline has them as rows of their own\n", auditCount(stats.BadLines, "line"))
	}
	if stats.Undated {
		fmt.Fprintln(env.Stderr, "muse: note: rows without a time were left out, because a time was asked for")
	}
}

func auditCount(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// auditShown is text of the evidence as a terminal can show it: quoted when it
// holds anything that would act instead.
func auditShown(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}
