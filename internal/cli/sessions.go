package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/config"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/store/names"
)

const sessionsLong = `List, find, rename and throw away your sessions.

Where a command takes SESSION, it is a session's id, the beginning of one that
no other has, or a name.

The list comes from an index that is made from the logs by itself; it can be
deleted at any time. Nothing is ever deleted for good but by "sessions trash
empty".`

// newSessionsCmd is the group of commands about the sessions of this user.
func newSessionsCmd(env *Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, find, rename and throw away your sessions",
		Long:  sessionsLong,
		Args:  noSubcommandArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSessionsListCmd(env),
		newSessionsSearchCmd(env),
		newSessionsShowCmd(env),
		newSessionsRenameCmd(env),
		newSessionsRmCmd(env),
		newSessionsTrashCmd(env),
	)
	return cmd
}

// sessionStore is what the commands work on.
type sessionStore struct {
	root  string
	index *index.Index
	names *names.Authority
}

func openSessions(env *Env) (*sessionStore, error) {
	paths, err := config.Locate(env.Getenv)
	if err != nil {
		return nil, err
	}
	x := index.New(index.Options{Root: paths.Data, Now: env.Now})
	return &sessionStore{root: paths.Data, index: x, names: newNames(x, paths.Data, env.Now)}, nil
}

func (s *sessionStore) close() error { return errors.Join(s.names.Close(), s.index.Close()) }

// withSessions runs fn with the stores of this user and closes them.
func withSessions(ctx context.Context, env *Env, fn func(context.Context, *sessionStore) error) error {
	s, err := openSessions(env)
	if err != nil {
		return err
	}
	ctx, stop := withSignals(ctx)
	defer stop()
	err = fn(ctx, s)
	if closeErr := s.close(); err == nil {
		err = closeErr
	}
	if code, ok := signalCode(ctx); ok && err != nil {
		return &ExitError{Code: code}
	}
	return err
}

// find is the session that ref names.
func (s *sessionStore) find(ctx context.Context, ref string) (index.Row, error) {
	none := fmt.Errorf("there is no session %s", auditShown(ref))
	if ident.Valid(ref) {
		r, err := s.index.Get(ctx, ref)
		if errors.Is(err, store.ErrNotFound) {
			return r, none
		}
		return r, err
	}
	rows, err := s.index.All(ctx, index.Query{Name: ref, Wait: -1})
	if err == nil && len(rows) == 0 && idPrefix(ref) {
		rows, err = s.index.All(ctx, index.Query{Prefix: ref})
	}
	switch {
	case err != nil:
		return index.Row{}, err
	case len(rows) == 0:
		return index.Row{}, none
	case len(rows) > 1:
		return index.Row{}, fmt.Errorf("%s could be %d sessions, for example %s and %s: give the id", auditShown(ref), len(rows), rows[0].ID, rows[1].ID)
	}
	return rows[0], nil
}

// idPrefix reports whether s can be the beginning of an id that was meant.
func idPrefix(s string) bool {
	return len(s) >= 4 && len(s) < 36 && strings.Trim(strings.ToLower(s), "0123456789abcdef-") == ""
}

// sessionJSON is a session as --json prints it.
type sessionJSON struct {
	SessionID   string          `json:"session_id"`
	Name        string          `json:"name,omitzero"`
	Title       string          `json:"title,omitzero"`
	Workspace   string          `json:"workspace,omitzero"`
	Branch      string          `json:"branch,omitzero"`
	Provider    string          `json:"provider_id,omitzero"`
	Model       string          `json:"model_id,omitzero"`
	Turns       int64           `json:"turns"`
	Prompts     int64           `json:"prompts"`
	CreatedAt   time.Time       `json:"created_at"`
	UpdatedAt   time.Time       `json:"updated_at"`
	End         string          `json:"end,omitzero"`
	Log         string          `json:"log"`
	LogBytes    int64           `json:"log_bytes"`
	Forked      *provenanceJSON `json:"forked_from,omitempty"`
	Side        *provenanceJSON `json:"side_of,omitempty"`
	FirstPrompt string          `json:"first_prompt,omitzero"`
	Open        *openJSON       `json:"open,omitempty"`
	Matches     []matchJSON     `json:"matches,omitempty"`
}

type provenanceJSON struct {
	SessionID string `json:"session_id"`
	CutCursor string `json:"cut_cursor,omitzero"`
}

func toSessionJSON(r *index.Row) sessionJSON {
	j := sessionJSON{
		SessionID: r.ID, Name: r.Name, Title: r.Title(), Workspace: r.Root(), Branch: r.Branch,
		Provider: r.Provider, Model: r.Model, Turns: r.Turns, Prompts: r.Prompts(),
		CreatedAt: time.UnixMicro(r.Created).UTC(), UpdatedAt: time.UnixMicro(r.Updated).UTC(),
		End: r.End, Log: r.Log, LogBytes: r.Size,
	}
	if r.Forked != nil {
		j.Forked = &provenanceJSON{r.Forked.Session, r.Forked.CutCursor}
	}
	if r.Side != nil {
		j.Side = &provenanceJSON{r.Side.Session, r.Side.CutCursor}
	}
	return j
}

// sessionLabel is what a table calls a session: its name, else its id.
func sessionLabel(r *index.Row) string {
	if r.Name != "" {
		return auditShown(r.Name)
	}
	return r.ID
}
