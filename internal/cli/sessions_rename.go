package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/index"
	"github.com/openmuse/muse/internal/store/names"
)

func newSessionsRenameCmd(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "rename SESSION NAME",
		Short: "Give a session a name",
		Long: "Give a session a name of 3 to 32 letters, digits, spaces and - _ . that no other session has. A session that a\n" +
			"program has open is renamed there.",
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSessions(cmd.Context(), env, func(ctx context.Context, s *sessionStore) error {
				return runSessionsRename(ctx, env, s, args[0], args[1])
			})
		},
	}
}

// runSessionsRename renames a session that nobody has open and prints its
// name as it is now.
func runSessionsRename(ctx context.Context, env *Env, s *sessionStore, ref, name string) (err error) {
	var invalid *names.InvalidError
	if _, err := names.Normalize(name); errors.As(err, &invalid) {
		return &UsageError{Command: "muse sessions rename", Message: invalid.Error()}
	}
	r, err := s.find(ctx, ref)
	if err != nil {
		return err
	}
	place, err := store.Find(s.root, r.ID)
	if err != nil {
		return err
	}
	if err := place.Lock("muse sessions rename"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, place.Unlock()) }()
	// With the lease the log stands still, so that what it says now counts.
	if r, err = s.index.Get(ctx, r.ID); err != nil {
		return err
	}
	if err := s.settle(ctx, &r); err != nil {
		return err
	}
	change, err := s.names.Claim(ctx, r.ID, name, ident.V7(env.Now()))
	if err != nil {
		return err
	}
	if r.Name != "" {
		change.Previous = r.Name
	}
	if err := recordName(env, place, change); err != nil {
		return errors.Join(err, s.names.Settle(ctx, change.Operation, false))
	}
	if err := s.names.Settle(ctx, change.Operation, true); err != nil {
		return err
	}
	if _, err := s.index.Get(ctx, r.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, change.Name)
	return err
}

// settle ends the changes of a session's name that a process did not live to
// end: the log says whether they happened.
func (s *sessionStore) settle(ctx context.Context, r *index.Row) error {
	pending, err := s.names.Pending(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, p := range pending {
		if err := s.names.Settle(ctx, p.Operation, p.Name == r.Name); err != nil {
			return err
		}
	}
	return nil
}

// recordName writes a change of a name into the session's log.
func recordName(env *Env, place *store.Session, c names.Change) (err error) {
	body, err := record.EncodeLog(event.Event{Body: event.NameChanged{
		AuthorityID: c.Authority, NewName: c.Name, OperationID: c.Operation, PreviousName: c.Previous, SessionID: c.Session, Source: c.Source,
	}}, record.RunPosition{})
	if err != nil {
		return err
	}
	j, _, err := journal.Open(place.LogPath(), journal.Options{
		Stream: record.Stream{Kind: record.StreamSession, ID: place.ID}, Now: env.Now, SyncDir: place.SyncDir,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := j.Append(&record.Envelope{
		RecordType: body.RecordType, Durability: body.Durability, CausationID: body.CausationID,
		PayloadType: body.PayloadType, PayloadSchemaVersion: body.SchemaVersion, Payload: body.Payload,
	}); err != nil {
		return err
	}
	return j.Seal()
}
