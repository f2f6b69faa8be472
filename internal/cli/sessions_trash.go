package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/names"
)

func newSessionsTrashCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trash",
		Short: "List, restore or empty the trash",
		Args:  noSubcommandArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTrashListCmd(env), newTrashRestoreCmd(env), newTrashEmptyCmd(env))
	return cmd
}

// trashJSON is a session in the trash as --json prints it.
type trashJSON struct {
	SessionID string    `json:"session_id"`
	Name      string    `json:"name,omitzero"`
	Title     string    `json:"title,omitzero"`
	TrashedAt time.Time `json:"trashed_at"`
	Path      string    `json:"path"`
}

func newTrashListCmd(env *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [--json]",
		Short: "List the sessions in the trash, those thrown away last first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSessions(cmd.Context(), env, func(_ context.Context, s *sessionStore) error {
				return runTrashList(env, s, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	return cmd
}

func runTrashList(env *Env, s *sessionStore, asJSON bool) error {
	list, err := store.ListTrash(s.root)
	if err != nil {
		return err
	}
	if asJSON {
		for _, t := range list {
			if err := auditJSON(env, trashJSON{t.ID, t.Name, t.Title, t.At.UTC(), t.Dir}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Stderr, "muse: the trash is empty")
		return nil
	}
	return trashTable(env, list)
}

func trashTable(env *Env, list []store.Trashed) error {
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "THROWN AWAY\tSESSION\tNAME\tTITLE")
	for _, t := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", sessionTime(t.At.UnixMicro()), t.ID, auditShown(auditDash(t.Name)), auditShown(auditDash(shortTitle(t.Title))))
	}
	return auditFlush(w)
}

func newTrashRestoreCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "restore SESSION...",
		Short: "Bring sessions back from the trash",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSessions(cmd.Context(), env, func(ctx context.Context, s *sessionStore) error {
				return runTrashRestore(ctx, env, s, args)
			})
		},
	}
}

// runTrashRestore brings sessions back and prints their ids. A session whose
// name another one has by now keeps it in its log; only its id finds it.
func runTrashRestore(ctx context.Context, env *Env, s *sessionStore, refs []string) error {
	list, err := store.ListTrash(s.root)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		t, err := inTrash(list, ref)
		if err != nil {
			return err
		}
		if _, err := store.Restore(s.root, t); errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("there is a session %s already", t.ID)
		} else if err != nil {
			return err
		}
		r, err := s.index.Get(ctx, t.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // one that never started has no row
			return err
		}
		if r.Name != "" {
			if err := s.names.Restore(ctx, names.Known{Session: r.ID, Name: r.Name, Source: r.NameSource}); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(env.Stdout, t.ID); err != nil {
			return err
		}
	}
	return nil
}

// inTrash is the session in the trash that ref names by its id, the beginning
// of it, or its name; the one thrown away last.
func inTrash(list []store.Trashed, ref string) (store.Trashed, error) {
	var found []store.Trashed
	for _, t := range list {
		if strings.EqualFold(t.ID, ref) || t.Name != "" && strings.EqualFold(t.Name, ref) || idPrefix(ref) && strings.HasPrefix(t.ID, strings.ToLower(ref)) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		return store.Trashed{}, fmt.Errorf("there is no session %s in the trash", auditShown(ref))
	}
	for _, t := range found {
		if t.ID != found[0].ID {
			return t, fmt.Errorf("%s could be %s or %s: give the id", auditShown(ref), found[0].ID, t.ID)
		}
	}
	return found[0], nil
}

// trashEmptyOptions are the flags of `muse sessions trash empty`.
type trashEmptyOptions struct {
	before string
	yes    bool
}

func newTrashEmptyCmd(env *Env) *cobra.Command {
	var opts trashEmptyOptions
	cmd := &cobra.Command{
		Use:   "empty [--before TIME] --yes",
		Short: "Delete the sessions in the trash for good",
		Long:  "Delete the sessions in the trash for good. Without --yes it only shows which these are.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSessions(cmd.Context(), env, func(ctx context.Context, s *sessionStore) error {
				return runTrashEmpty(ctx, env, s, opts)
			})
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&opts.before, "before", "", "only those thrown away before this time: 2026-10-01, RFC 3339, or 24h, 30d before now")
	f.BoolVar(&opts.yes, "yes", false, "do it")
	return cmd
}

func runTrashEmpty(ctx context.Context, env *Env, s *sessionStore, o trashEmptyOptions) error {
	var before time.Time
	if o.before != "" {
		at, err := audit.ParseTime(o.before, false, env.Now())
		if err != nil {
			return &UsageError{Command: "muse sessions trash empty", Message: "option --before: " + err.Error()}
		}
		before = time.UnixMicro(at)
	}
	all, err := store.ListTrash(s.root)
	if err != nil {
		return err
	}
	var list []store.Trashed
	for _, t := range all {
		if before.IsZero() || t.At.Before(before) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(env.Stderr, "muse: there is nothing to delete")
		return nil
	}
	if !o.yes {
		if err := trashTable(env, list); err != nil {
			return err
		}
		return &ExitError{Code: 1, Err: fmt.Errorf("nothing was deleted; to delete %s for good add --yes", auditCount(int64(len(list)), "session"))}
	}
	for _, t := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := store.Delete(s.root, t); err != nil {
			return err
		}
	}
	fmt.Fprintf(env.Stderr, "muse: deleted %s\n", auditCount(int64(len(list)), "session"))
	return nil
}
