package cli

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/store/index"
)

func newSessionsShowCmd(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [--json] SESSION",
		Short: "Show what is known of a session",
		Long: "Show what is known of a session: where and with which model it ran, when, how often, and how it ended. Its\n" +
			"conversation is shown by `muse audit show`.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSessions(cmd.Context(), env, func(ctx context.Context, s *sessionStore) error {
				return runSessionsShow(ctx, env, s, args[0], asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func runSessionsShow(ctx context.Context, env *Env, s *sessionStore, ref string, asJSON bool) error {
	r, err := s.find(ctx, ref)
	if err == nil && !r.Whole { // its counts are wanted
		if err = s.index.Refresh(ctx); err == nil {
			r, err = s.index.Get(ctx, r.ID)
		}
	}
	if err != nil {
		return err
	}
	if asJSON {
		j := toSessionJSON(&r)
		j.FirstPrompt = r.FirstPrompt
		return auditJSON(env, j)
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range sessionFacts(&r) {
		if f[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", f[0], auditShown(f[1]))
		}
	}
	return auditFlush(w)
}

func sessionFacts(r *index.Row) [][2]string {
	facts := [][2]string{
		{"session", r.ID},
		{"name", r.Name},
		{"title", r.Title()},
		{"workspace", r.Root()},
		{"branch", r.Branch},
		{"provider", r.Provider},
		{"model", r.Model},
		{"started", sessionTime(r.Created)},
		{"last used", sessionTime(r.Updated)},
		{"turns", fmt.Sprint(r.Turns)},
		{"prompts", fmt.Sprint(r.Prompts())},
		{"ended", r.End},
		{"log", r.Log},
		{"log size", auditCount(r.Size, "byte")},
	}
	if r.Forked != nil {
		facts = append(facts, [2]string{"forked from", r.Forked.Session})
	}
	if r.Side != nil {
		facts = append(facts, [2]string{"side of", r.Side.Session})
	}
	if r.Client != nil {
		facts = append(facts, [2]string{"client", r.Client.Name + " " + r.Client.Version})
	}
	return facts
}
