package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/store"
)

func newSessionsRmCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "rm SESSION...",
		Short: "Move sessions to the trash",
		Long: "Move sessions to the trash. Their names become free. They can be brought back with `muse sessions trash restore`\n" +
			"until the trash is emptied. A session that a program has open is refused.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSessions(cmd.Context(), env, func(ctx context.Context, s *sessionStore) error {
				return runSessionsRm(ctx, env, s, args)
			})
		},
	}
}

// runSessionsRm moves each session to the trash and prints its id. All are
// looked up first: with a wrong one nothing happens.
func runSessionsRm(ctx context.Context, env *Env, s *sessionStore, refs []string) error {
	type target struct{ id, name, title string }
	var targets []target
	seen := map[string]bool{}
	for _, ref := range refs {
		r, err := s.find(ctx, ref)
		if err != nil {
			return err
		}
		if !seen[r.ID] {
			targets = append(targets, target{r.ID, r.Name, r.Title()})
		}
		seen[r.ID] = true
	}
	var errs []error
	for _, t := range targets {
		place, err := store.Find(s.root, t.id)
		if err == nil {
			_, err = place.Trash("muse sessions rm", env.Now(), t.name, t.title)
		}
		if err == nil {
			err = s.names.Release(ctx, t.id)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := fmt.Fprintln(env.Stdout, t.id); err != nil {
			return err
		}
	}
	return errors.Join(append(errs, s.index.Refresh(ctx))...)
}
