package names

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Release takes the name of a session away, which is removed.
func (a *Authority) Release(ctx context.Context, session string) error {
	err := a.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM session_name_claims_v2 WHERE session_id = ?", session)
		return err
	})
	if err != nil {
		return fmt.Errorf("release name of session %s: %w", session, err)
	}
	return nil
}

// Restore claims the name that a session's log says it has, for a session that
// came back. A name that another session has meanwhile stays there.
func (a *Authority) Restore(ctx context.Context, k Known) error {
	err := a.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO session_name_claims_v2 VALUES (?, ?, ?, ?, '', ?)",
			k.Session, k.Name, fold(k.Name), k.Source, a.opts.Now().UnixMicro())
		return err
	})
	if err != nil {
		return fmt.Errorf("restore name of session %s: %w", k.Session, err)
	}
	return nil
}

// Holder is the session that has a name, "" when nobody has.
func (a *Authority) Holder(ctx context.Context, name string) (session string, err error) {
	err = a.query(ctx, "SELECT session_id FROM session_name_claims_v2 WHERE name_key = ?", fold(name), &session)
	return session, err
}

// Of is the name of a session, "" when it has none.
func (a *Authority) Of(ctx context.Context, session string) (name string, err error) {
	err = a.query(ctx, "SELECT name FROM session_name_claims_v2 WHERE session_id = ?", session, &name)
	return name, err
}

func (a *Authority) query(ctx context.Context, query, arg string, dst *string) error {
	err := a.write(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, query, arg).Scan(dst)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look up session name: %w", err)
	}
	return nil
}

// Pending are the operations that were claimed and not settled: those of
// processes that ended in between, and those under way. Whoever holds a
// session's lease settles its own.
func (a *Authority) Pending(ctx context.Context, session string) (list []Change, err error) {
	authority, err := a.ID(ctx)
	if err != nil {
		return nil, err
	}
	err = a.write(ctx, func(tx *sql.Tx) (err error) {
		list = nil
		rows, err := tx.QueryContext(ctx, `SELECT operation_id, new_name, previous_name, source FROM session_name_operations_v2
			WHERE session_id = ? AND status = ? ORDER BY at_us`, session, pending)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			c := Change{Session: session, Authority: authority}
			if err := rows.Scan(&c.Operation, &c.Name, &c.Previous, &c.Source); err != nil {
				return err
			}
			list = append(list, c)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("look up name operations of session %s: %w", session, err)
	}
	return list, nil
}
