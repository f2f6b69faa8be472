package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/store/summary"
)

// sessionsListOptions are the flags of `muse sessions list` and `search`.
type sessionsListOptions struct {
	workspace string
	since     string
	limit     int
	open      bool
	json      bool
	text      bool
	words     []string
}

func (o *sessionsListOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.workspace, "workspace", "", "only sessions of this directory; . is the current one")
	f.StringVar(&o.since, "since", "", "only sessions used from this time on: 2026-10-01, RFC 3339, or 24h, 7d before now")
	f.IntVar(&o.limit, "limit", 20, "how many sessions at most; 0 is all")
	f.BoolVar(&o.open, "open", false, "only sessions that a program has open now and that answer others")
	f.BoolVar(&o.json, "json", false, "print JSON, one object a line")
}

func newSessionsListCmd(env *Env) *cobra.Command {
	var opts sessionsListOptions
	cmd := &cobra.Command{
		Use:   "list [OPTIONS]",
		Short: "List sessions, those used last first",
		Example: `  muse sessions list --workspace .
  muse sessions list --limit 0 --json | jq -r .session_id`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSessionsList(cmd.Context(), env, "muse sessions list", opts)
		},
	}
	opts.register(cmd)
	return cmd
}

func newSessionsSearchCmd(env *Env) *cobra.Command {
	var opts sessionsListOptions
	cmd := &cobra.Command{
		Use:   "search [OPTIONS] WORD...",
		Short: "Find sessions by their names, titles, prompts and workspaces",
		Long: "Find sessions in whose name, title, prompts or workspace every WORD occurs, in any case. A word may be several in\n" +
			"quotes. With --text answers, tool calls and their results count, too: every log is read, which takes a while.",
		Example: `  muse sessions search login "rate limit"
  muse sessions search --text --since 7d "connection refused"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, w := range args {
				if strings.TrimSpace(w) == "" {
					return &UsageError{Command: "muse sessions search", Message: "a search word is empty"}
				}
			}
			if len(args) == 0 {
				return &UsageError{Command: "muse sessions search", Message: "no word to search for"}
			}
			opts.words = args
			return runSessionsList(cmd.Context(), env, "muse sessions search", opts)
		},
	}
	opts.register(cmd)
	cmd.Flags().BoolVar(&opts.text, "text", false, "look into answers, tool calls and results as well")
	return cmd
}

func (o *sessionsListOptions) query(env *Env, command string) (index.Query, error) {
	q := index.Query{Words: o.words, Wait: -1}
	if o.limit < 0 {
		return q, &UsageError{Command: command, Message: "invalid value for --limit: want a number that is not below 0"}
	}
	if o.workspace != "" {
		cwd, err := env.Getwd()
		if err != nil {
			return q, err
		}
		if q.Workspace = o.workspace; !filepath.IsAbs(q.Workspace) {
			q.Workspace = filepath.Join(cwd, q.Workspace)
		}
	}
	if o.since != "" {
		since, err := audit.ParseTime(o.since, false, env.Now())
		if err != nil {
			return q, &UsageError{Command: command, Message: "option --since: " + err.Error()}
		}
		q.After = time.UnixMicro(since - 1)
	}
	return q, nil
}

// runSessionsList prints the selected sessions: a table, or JSON lines.
func runSessionsList(ctx context.Context, env *Env, command string, o sessionsListOptions) error {
	q, err := o.query(env, command)
	if err != nil {
		return err
	}
	return withSessions(ctx, env, func(ctx context.Context, s *sessionStore) error {
		var open map[string]openJSON
		if o.open {
			var ids []string
			if open, ids, err = s.openNow(ctx, env); err != nil {
				return err
			}
			q.IDs = &ids
		}
		if o.text {
			return searchTexts(ctx, env, s, q, o)
		}
		rows, err := s.index.Some(ctx, q, o.limit)
		if err != nil {
			return err
		}
		if o.json {
			return sessionLines(env, rows, open)
		}
		if len(rows) == 0 {
			fmt.Fprintln(env.Stderr, "muse: no sessions")
			return nil
		}
		return sessionTable(env, rows, open, o.limit)
	})
}

// sessionLines prints sessions as JSON lines.
func sessionLines(env *Env, rows []index.Row, open map[string]openJSON) error {
	for i := range rows {
		j := toSessionJSON(&rows[i])
		if o, ok := open[rows[i].ID]; ok {
			j.Open = &o
		}
		if err := auditJSON(env, j); err != nil {
			return err
		}
	}
	return nil
}

// sessionTable prints sessions as a table; with open it says who has them
// open.
func sessionTable(env *Env, rows []index.Row, open map[string]openJSON, limit int) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	holder := func(string) string { return "" }
	if open != nil {
		holder = func(id string) string { return fmt.Sprintf("%s (%d)\t", auditShown(open[id].Program), open[id].PID) }
		fmt.Fprint(w, "OPEN IN\t")
	}
	fmt.Fprintln(w, "USED\tSESSION\tTURNS\tMODEL\tWORKSPACE\tTITLE")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "%s%s\t%s\t%d\t%s\t%s\t%s\n", holder(r.ID), sessionTime(r.Updated), sessionLabel(r), r.Turns,
			auditShown(auditDash(r.Model)), auditShown(auditDash(r.Root())), auditShown(auditDash(shortTitle(r.Title()))))
	}
	if err := auditFlush(w); err != nil {
		return err
	}
	if limit > 0 && len(rows) == limit {
		fmt.Fprintf(env.Stderr, "muse: the last %d sessions; --limit shows more\n", limit)
	}
	return nil
}

// shortTitle fits a title into a table.
func shortTitle(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return summary.Cut(s, most-3) + "..."
}

// sessionTime is a time as tables show it, on the clock of this place.
func sessionTime(us int64) string {
	if us == 0 {
		return "-"
	}
	return time.UnixMicro(us).Local().Format("2006-01-02 15:04")
}
