package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit/sessions"
	"github.com/openmuse/muse/internal/view/usage"
)

const usageLong = `Sum up tokens and cost of model calls.

Costs come from the log where it has them, else from the built-in price table.
A model without a known price is shown with a dash, and a sum that leaves calls
out with a plus. Subagents count with the session they belong to.`

var usageGroups = []string{"model", "day", "project", "session"}

func newAuditUsageCmd(env *Env) *cobra.Command {
	s := &auditSelection{}
	by := "model"
	cmd := &cobra.Command{
		Use:   "usage [OPTIONS] [INPUT...]",
		Short: "Sum up tokens and cost",
		Long:  usageLong,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.inputs = args
			return runAuditUsage(cmd.Context(), env, s, by)
		},
	}
	s.register(cmd)
	cmd.Flags().StringVar(&by, "by", by, "group by model, day, project or session")
	return cmd
}

func runAuditUsage(ctx context.Context, env *Env, s *auditSelection, by string) error {
	const command = "muse audit usage"
	if !slices.Contains(usageGroups, by) {
		return &UsageError{Command: command, Message: fmt.Sprintf("option --by: %q is none of %s", by, strings.Join(usageGroups, ", "))}
	}
	list, err := s.gather(ctx, env, command)
	if err != nil {
		return err
	}
	groups := sessions.Spending(list, by)
	if s.json {
		for _, g := range groups {
			if err := auditJSON(env, g); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.ToUpper(by)+"\tCALLS\tINPUT\tCACHED\tOUTPUT\tREASONING\tCOST\t")
	row := func(name string, l usage.Line) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", auditShown(auditDash(name)), l.Calls, l.Input, l.Cached, l.Output, l.Reasoning, auditCost(l))
	}
	var all []usage.Line
	for _, g := range groups {
		if by == "model" {
			for _, l := range g.Lines {
				row(strings.TrimPrefix(l.Provider+"/"+l.Model, "/"), l)
			}
		} else {
			row(g.Group, g.Total)
		}
		all = append(all, g.Total)
	}
	row("total", usage.Sum(all))
	return auditFlush(w)
}
