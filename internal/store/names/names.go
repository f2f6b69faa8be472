// Package names says which session has which name. A name belongs to one
// session of a data root at a time, in whatever case it is written; the
// authority for that is session-name-authority/session-names.db (seed 000,
// Session names).
//
// A change of a name is an operation in two steps: the name is claimed here,
// then the session's log says so (session.name.changed), then the operation
// is settled. The log is what counts: a claim whose record was never written
// is taken back, and a database that is lost is made again from what the logs
// say. An operation that is asked for again gets the same answer.
package names

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/store/sqldb"
)

// Sources of a name.
const (
	Automatic = "automatic"
	User      = "user"
)

// TakenError refuses a name that another session has.
type TakenError struct {
	Name    string
	Session string // who has it
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("the name %q belongs to session %s", e.Name, e.Session)
}

// ErrOperation is found with errors.Is when an operation id was used before
// for another session or name.
var ErrOperation = errors.New("operation id was used for something else")

// Known is a name that a session's log says it has.
type Known struct{ Session, Name, Source string }

// Options say where names are kept.
type Options struct {
	Root string // the data root, absolute
	Now  func() time.Time
	// Known is asked once when the database had to be made: the names that are
	// in the logs, newest first. It may be nil.
	Known func(context.Context) ([]Known, error)
	// Logged is the name that a session's log says it has, "" for none; there is
	// false when there is no such session. It is asked about a name that is
	// wanted by another session, so that one that was claimed and never written,
	// or whose session was deleted by hand, becomes free. It may be nil.
	Logged func(ctx context.Context, session string) (name string, there bool, err error)
}

// settling is how long a claim is given to come into the log before it is
// doubted.
const settling = time.Minute

// Authority gives out names. It opens its files when it is first asked. It is
// safe for concurrent use, and by several processes.
type Authority struct {
	opts Options

	mu sync.Mutex // guards id and db
	id string
	db *sqldb.DB
}

// Change is a change of a name, as session.name.changed has it.
type Change struct {
	Session   string
	Name      string
	Previous  string // "" for none
	Source    string
	Operation string
	Authority string
}

// New is the authority of a data root.
func New(opts Options) *Authority {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Authority{opts: opts}
}

const schema = `
CREATE TABLE session_name_claims_v2 (
	session_id TEXT PRIMARY KEY NOT NULL,
	name TEXT NOT NULL,
	name_key TEXT NOT NULL UNIQUE,
	source TEXT NOT NULL,
	operation_id TEXT NOT NULL,
	claimed_at_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE session_name_operations_v2 (
	operation_id TEXT PRIMARY KEY NOT NULL,
	session_id TEXT NOT NULL,
	previous_name TEXT NOT NULL,
	previous_source TEXT NOT NULL,
	new_name TEXT NOT NULL,
	source TEXT NOT NULL,
	status TEXT NOT NULL,
	at_us INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_name_operations_session ON session_name_operations_v2 (session_id, at_us);
CREATE TABLE session_name_counters_v2 (key TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) WITHOUT ROWID;
`

// States of an operation.
const (
	pending   = "pending"
	recorded  = "recorded"
	takenBack = "taken_back"
)

func (a *Authority) open(ctx context.Context) (*sqldb.DB, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.db != nil {
		if !a.db.Replaced() {
			return a.db, nil
		}
		// What was open is of no use any more.
		_ = a.db.Close()
		a.db = nil
	}
	path := func(name string) string { return filepath.Join(a.dir(), name) }
	d, _, err := sqldb.OpenBeside(ctx, path("session-names.db"), path("session-names.openmuse.db"), sqldb.Options{
		Schema: schema,
		Marker: `SELECT c.name_key, c.claimed_at_us, o.previous_source, o.status, n.value
			FROM session_name_claims_v2 c, session_name_operations_v2 o, session_name_counters_v2 n LIMIT 0`,
	})
	if err != nil {
		return nil, fmt.Errorf("open session names: %w", err)
	}
	if err := a.learn(ctx, d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	a.db = d
	return d, nil
}

// learn fills a new database with the names in the logs. Where two logs claim
// one name, the one written last keeps it.
func (a *Authority) learn(ctx context.Context, d *sqldb.DB) error {
	const made = "learned"
	var n int
	if err := d.Read(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT count(*) FROM session_name_counters_v2 WHERE key = ?", made).Scan(&n)
	}); err != nil || n > 0 {
		return err
	}
	var known []Known
	if a.opts.Known != nil {
		var err error
		if known, err = a.opts.Known(ctx); err != nil {
			return fmt.Errorf("find session names in logs: %w", err)
		}
	}
	return d.Write(ctx, func(tx *sql.Tx) error {
		for _, k := range known {
			if k.Name == "" {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO session_name_claims_v2 VALUES (?, ?, ?, ?, '', ?)",
				k.Session, k.Name, fold(k.Name), k.Source, a.opts.Now().UnixMicro()); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO session_name_counters_v2 VALUES (?, 1)", made)
		return err
	})
}

// Close closes the database.
func (a *Authority) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.db
	a.db = nil
	if d == nil {
		return nil
	}
	return d.Close()
}

// write runs fn in a transaction. A damaged database is made again once.
func (a *Authority) write(ctx context.Context, fn func(*sql.Tx) error) error {
	for again := true; ; again = false {
		d, err := a.open(ctx)
		if err == nil {
			err = d.Write(ctx, fn)
		}
		if !errors.Is(err, sqldb.ErrCorrupt) || d == nil || !again {
			return err
		}
		a.mu.Lock()
		a.db = nil
		a.mu.Unlock()
		if err := d.Discard(ctx); err != nil {
			return fmt.Errorf("set session names aside: %w", err)
		}
	}
}

// Claim gives a session the name that a person chose. The name is normalized;
// one that another session has gives a [*TakenError], a text that is no name
// an [*InvalidError].
func (a *Authority) Claim(ctx context.Context, session, name, operation string) (Change, error) {
	name, err := Normalize(name)
	if err != nil {
		return Change{}, err
	}
	return a.claim(ctx, session, name, User, operation)
}

// Name gives a session a name of its own accord, if it has none.
func (a *Authority) Name(ctx context.Context, session, operation string) (Change, error) {
	h := fnv.New64a()
	h.Write([]byte(session + operation)) // never fails
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	for attempt := range 1000 {
		c, err := a.claim(ctx, session, generate(r, attempt), Automatic, operation)
		var taken *TakenError
		if !errors.As(err, &taken) {
			return c, err
		}
	}
	return Change{}, errors.New("name session: no name is free")
}

func (a *Authority) claim(ctx context.Context, session, name, source, operation string) (Change, error) {
	authority, err := a.ID(ctx)
	if err != nil {
		return Change{}, err
	}
	c := Change{Session: session, Name: name, Source: source, Operation: operation, Authority: authority}
	try := func() error { return a.write(ctx, func(tx *sql.Tx) error { return a.take(ctx, tx, &c) }) }
	err = try()
	var taken *TakenError
	if errors.As(err, &taken) {
		freed, doubt := a.free(ctx, taken)
		if doubt != nil {
			return Change{}, doubt
		}
		if freed {
			err = try()
		}
	}
	if err != nil {
		return Change{}, fmt.Errorf("name session %s: %w", session, err)
	}
	return c, nil
}

// take makes the claim that c says, and fills in what was before.
func (a *Authority) take(ctx context.Context, tx *sql.Tx, c *Change) error {
	if again, err := repeated(ctx, tx, c); again || err != nil {
		return err
	}
	var holder string
	err := tx.QueryRowContext(ctx, "SELECT session_id FROM session_name_claims_v2 WHERE name_key = ?", fold(c.Name)).Scan(&holder)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	case err == nil && holder != c.Session:
		return &TakenError{c.Name, holder}
	}
	var previousSource string
	err = tx.QueryRowContext(ctx, "SELECT name, source FROM session_name_claims_v2 WHERE session_id = ?", c.Session).Scan(&c.Previous, &previousSource)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	now := a.opts.Now().UnixMicro()
	if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO session_name_claims_v2 VALUES (?, ?, ?, ?, ?, ?)",
		c.Session, c.Name, fold(c.Name), c.Source, c.Operation, now); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO session_name_operations_v2 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		c.Operation, c.Session, c.Previous, previousSource, c.Name, c.Source, pending, now)
	return err
}

// free gives up the claim of a session whose log does not know of it, or that
// is gone. A claim that was made just now may be on its way into the log.
func (a *Authority) free(ctx context.Context, t *TakenError) (freed bool, err error) {
	if a.opts.Logged == nil {
		return false, nil
	}
	name, there, err := a.opts.Logged(ctx, t.Session)
	if err != nil {
		return false, fmt.Errorf("look for the name of session %s: %w", t.Session, err)
	}
	if there && fold(name) == fold(t.Name) {
		return false, nil
	}
	err = a.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM session_name_claims_v2 WHERE session_id = ? AND name_key = ? AND claimed_at_us < ?",
			t.Session, fold(t.Name), a.opts.Now().Add(-settling).UnixMicro())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		freed = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("free the name of session %s: %w", t.Session, err)
	}
	return freed, nil
}

// repeated answers an operation that was asked for before.
func repeated(ctx context.Context, tx *sql.Tx, c *Change) (bool, error) {
	var was Change
	var status string
	err := tx.QueryRowContext(ctx, "SELECT session_id, new_name, previous_name, source, status FROM session_name_operations_v2 WHERE operation_id = ?",
		c.Operation).Scan(&was.Session, &was.Name, &was.Previous, &was.Source, &status)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case was.Session != c.Session || was.Source != c.Source || c.Source == User && was.Name != c.Name || status == takenBack:
		return false, ErrOperation
	}
	c.Name, c.Previous = was.Name, was.Previous
	return true, nil
}

// Settle ends an operation: written says that the session's log has the
// change. Otherwise the name is taken back, and the session has the one it had
// before if that is still free. An operation that is not known, or was settled
// before, is left as it is.
func (a *Authority) Settle(ctx context.Context, operation string, written bool) error {
	err := a.write(ctx, func(tx *sql.Tx) error {
		var session, previous, source, status string
		err := tx.QueryRowContext(ctx, "SELECT session_id, previous_name, previous_source, status FROM session_name_operations_v2 WHERE operation_id = ?",
			operation).Scan(&session, &previous, &source, &status)
		if errors.Is(err, sql.ErrNoRows) || err == nil && status != pending {
			return nil
		}
		if err != nil {
			return err
		}
		status = recorded
		if !written {
			status = takenBack
			res, err := tx.ExecContext(ctx, "DELETE FROM session_name_claims_v2 WHERE session_id = ? AND operation_id = ?", session, operation)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err == nil && n > 0 && previous != "" {
				if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO session_name_claims_v2 VALUES (?, ?, ?, ?, '', ?)",
					session, previous, fold(previous), source, a.opts.Now().UnixMicro()); err != nil {
					return err
				}
			}
		}
		_, err = tx.ExecContext(ctx, "UPDATE session_name_operations_v2 SET status = ? WHERE operation_id = ?", status, operation)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle name operation %s: %w", operation, err)
	}
	return nil
}
