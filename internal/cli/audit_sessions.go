package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/sessions"
	"github.com/openmuse/muse/internal/view/usage"
)

// auditSelection is which sessions a summary is of.
type auditSelection struct {
	inputs   []string
	since    string
	until    string
	sessions []string
	projects []string
	json     bool
}

func (s *auditSelection) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "", "only what happened from this time on: 2026-10-01, RFC 3339, or 24h, 7d before now")
	f.StringVar(&s.until, "until", "", "only what happened up to this time; a date means its whole day")
	f.StringSliceVar(&s.sessions, "session", nil, "only these session ids, or ids that start so; repeatable")
	f.StringSliceVar(&s.projects, "project", nil, "only these project paths, or paths below them; repeatable")
	f.BoolVar(&s.json, "json", false, "print JSON, one object a line")
}

// gather reads what is selected and reports on stderr what could not be read.
func (s *auditSelection) gather(ctx context.Context, env *Env, command string) ([]*sessions.Session, error) {
	filter := audit.Filter{Sessions: s.sessions, Projects: s.projects}
	var err error
	if s.since != "" {
		if filter.Since, err = audit.ParseTime(s.since, false, env.Now()); err != nil {
			return nil, &UsageError{Command: command, Message: "option --since: " + err.Error()}
		}
	}
	if s.until != "" {
		if filter.Until, err = audit.ParseTime(s.until, true, env.Now()); err != nil {
			return nil, &UsageError{Command: command, Message: "option --until: " + err.Error()}
		}
	}
	in, err := findInput(env, command, s.inputs)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	ctx, stop := withSignals(ctx)
	defer stop()
	list, stats, err := sessions.Gather(ctx, in, filter)
	if code, ok := signalCode(ctx); ok {
		return nil, &ExitError{Code: code}
	}
	if err != nil {
		return nil, err
	}
	for _, p := range stats.Problems {
		fmt.Fprintf(env.Stderr, "muse: warning: %s: %s\n", auditShown(p.Path), auditShown(p.Err.Error()))
	}
	if stats.Logs == 0 {
		return nil, &ExitError{Code: 1, Err: errors.New("there is no session log in the input")}
	}
	return list, nil
}

// auditJSON writes one object a line. What a terminal would act on is escaped.
func auditJSON(env *Env, v any) error {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if _, err := env.Stdout.Write(append(escapeUnsafe(b), '\n')); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func newAuditSessionsCmd(env *Env) *cobra.Command {
	s := &auditSelection{}
	cmd := &cobra.Command{
		Use:   "sessions [OPTIONS] [INPUT...]",
		Short: "List what was run where, by which model, for how much",
		Example: `  muse audit sessions --since 7d
  muse audit sessions case.zip --json | jq 'select(.approvals.denied > 0)'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.inputs = args
			return runAuditSessions(cmd.Context(), env, s)
		},
	}
	s.register(cmd)
	return cmd
}

func runAuditSessions(ctx context.Context, env *Env, s *auditSelection) error {
	list, err := s.gather(ctx, env, "muse audit sessions")
	if err != nil {
		return err
	}
	if s.json {
		for _, x := range list {
			if err := auditJSON(env, x); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STARTED\tTIME\tSESSION\tPROJECT\tMODEL\tPROMPTS\tTOOLS\tAPPROVALS\tTOKENS\tCOST\tEND")
	for _, x := range list {
		id := x.ID
		if x.Name != "" {
			id += " (" + x.Name + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n",
			auditStamp(x.First), x.Last.Sub(x.First).Round(time.Second), auditShown(id), auditShown(auditDash(x.Project)),
			auditShown(auditDash(strings.Join(x.Models(), ","))), x.Prompts, x.Calls, auditApprovals(x.Approvals),
			auditTokens(x.Total), auditCost(x.Total), auditShown(auditDash(x.End)))
	}
	return auditFlush(w)
}

func newAuditProjectsCmd(env *Env) *cobra.Command {
	s := &auditSelection{}
	cmd := &cobra.Command{
		Use:   "projects [OPTIONS] [INPUT...]",
		Short: "List the places where an agent was run",
		RunE: func(cmd *cobra.Command, args []string) error {
			s.inputs = args
			return runAuditProjects(cmd.Context(), env, s)
		},
	}
	s.register(cmd)
	return cmd
}

func runAuditProjects(ctx context.Context, env *Env, s *auditSelection) error {
	list, err := s.gather(ctx, env, "muse audit projects")
	if err != nil {
		return err
	}
	projects := sessions.Projects(list)
	if s.json {
		for _, p := range projects {
			if err := auditJSON(env, p); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "LAST\tFIRST\tPROJECT\tSESSIONS\tPROMPTS\tTOOLS\tASKED\tDENIED\tTOKENS\tCOST")
	for _, p := range projects {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", auditStamp(p.Last), auditStamp(p.First), auditShown(auditDash(p.Path)),
			p.Sessions, p.Prompts, p.Calls, p.Asked, p.Denied, auditTokens(p.Total), auditCost(p.Total))
	}
	return auditFlush(w)
}

func auditFlush(w *tabwriter.Writer) error {
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

func auditStamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

func auditDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// auditApprovals is "asked 3, denied 1", or a dash.
func auditApprovals(a sessions.Approvals) string {
	switch {
	case a.Asked == 0 && a.Approved == 0 && a.Denied == 0:
		return "-"
	case a.Denied > 0:
		return fmt.Sprintf("%d asked, %d denied", a.Asked, a.Denied)
	}
	return fmt.Sprintf("%d asked", a.Asked)
}

func auditTokens(l usage.Line) string {
	if l.Calls == 0 {
		return "-"
	}
	return fmt.Sprintf("%s in, %s out", auditThousands(l.Input), auditThousands(l.Output))
}

func auditThousands(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// auditCost is dollars with cents and more when it is little; a plus says that some
// calls have no known price.
func auditCost(l usage.Line) string {
	if l.Calls == l.Unpriced {
		return "-"
	}
	text := fmt.Sprintf("$%.2f", float64(l.CostMicros)/1e6)
	if l.CostMicros < 1_000_000 {
		text = fmt.Sprintf("$%.4f", float64(l.CostMicros)/1e6)
	}
	if l.Unpriced > 0 {
		text += "+"
	}
	return text
}
