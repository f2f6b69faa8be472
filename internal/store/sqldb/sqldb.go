// Package sqldb opens the small SQLite files that stand beside the logs: the
// session index, the name authority, the line index of a log. All of them can
// be made again from what the logs say, so a file that is damaged is set aside
// and replaced, and one that another program made in another form is left
// alone.
//
// Invariants: nothing is opened before a database is asked for; files are 0600
// and their directories 0700; several processes may use one file, because
// every write is one immediate transaction under write-ahead logging; a fault
// inside the database library is an error and not the end of the program.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"

	"modernc.org/sqlite"
)

// ErrCorrupt is found with errors.Is in errors that say that the file is no
// database, a damaged one, or one that lacks what it must have.
var ErrCorrupt = errors.New("database is damaged")

// ErrForeign is found with errors.Is when the file is a sound database in the
// form of another program.
var ErrForeign = errors.New("database has the form of another program")

// busyWait is how long a statement waits for another process, in milliseconds.
const busyWait = "5000"

// Options say how to open a database.
type Options struct {
	// Schema is run when the file has no tables yet: CREATE statements.
	Schema string
	// Marker is a query that succeeds on a database made by Schema and fails on
	// one of any other form.
	Marker string
	// Readers is how many connections may read at once; 1 when 0.
	Readers int
}

// DB is an open database: one connection that writes, others that read.
type DB struct {
	path  string
	write *sql.DB
	read  *sql.DB
	info  fs.FileInfo // of the file as it was opened; nil in memory
}

// Open opens the database at path and makes it if there is none. A damaged one
// gives [ErrCorrupt], one of another form [ErrForeign].
func Open(ctx context.Context, path string, opts Options) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := reserve(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	d := &DB{path: path}
	err := d.open(ctx, opts)
	if err == nil {
		d.info, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", filepath.Base(path), errors.Join(err, d.Close()))
	}
	return d, nil
}

// Memory is a database that is nowhere on disk.
func Memory(ctx context.Context, opts Options) (*DB, error) {
	d := &DB{}
	var err error
	if d.write, err = sql.Open("sqlite", ":memory:"); err != nil {
		return nil, fmt.Errorf("open database in memory: %w", err)
	}
	// Another connection would be another database.
	d.write.SetMaxOpenConns(1)
	d.read = d.write
	if err := d.prepare(ctx, opts); err != nil {
		return nil, fmt.Errorf("open database in memory: %w", errors.Join(err, d.Close()))
	}
	return d, nil
}

// reserve makes the file with the mode it must have: the library would leave
// that to the umask.
func reserve(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

func (d *DB) open(ctx context.Context, opts Options) error {
	var err error
	if d.write, err = sql.Open("sqlite", dsn(d.path, false)); err != nil {
		return err
	}
	d.write.SetMaxOpenConns(1)
	if err := d.prepare(ctx, opts); err != nil {
		return err
	}
	if d.read, err = sql.Open("sqlite", dsn(d.path, true)); err != nil {
		return err
	}
	d.read.SetMaxOpenConns(max(opts.Readers, 1))
	return nil
}

func dsn(path string, readOnly bool) string {
	// The wait must come first: changing the journal mode may have to wait.
	pragmas := []string{"busy_timeout(" + busyWait + ")"}
	if readOnly {
		pragmas = append(pragmas, "query_only(1)")
	} else {
		pragmas = append(pragmas, "journal_mode(WAL)", "synchronous(NORMAL)")
	}
	pragmas = append(pragmas, "mmap_size(0)", "cell_size_check(1)", "trusted_schema(0)")
	q := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

// prepare makes the tables of a new file and looks whether an old one has them.
func (d *DB) prepare(ctx context.Context, opts Options) error {
	return d.Write(ctx, func(tx *sql.Tx) error {
		var tables int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
			return err
		}
		if tables == 0 {
			if _, err := tx.ExecContext(ctx, opts.Schema); err != nil {
				return fmt.Errorf("make tables: %w", err)
			}
		}
		if opts.Marker == "" {
			return nil
		}
		rows, err := tx.QueryContext(ctx, opts.Marker)
		if err == nil {
			err = errors.Join(rows.Err(), rows.Close())
		}
		var known *sqlite.Error
		if errors.As(err, &known) && known.Code()&0xff == 1 { // no such table or column
			return fmt.Errorf("%w: %w", ErrForeign, err)
		}
		return err
	})
}

// Path is the database's file, "" in memory.
func (d *DB) Path() string { return d.path }

// Replaced reports whether the file at the path is no longer the one that is
// open: another process has set it aside.
func (d *DB) Replaced() bool {
	if d.info == nil {
		return false
	}
	now, err := os.Stat(d.path)
	return err != nil || !os.SameFile(d.info, now)
}

// Close closes the database. The last one to close a file leaves nothing
// beside it.
func (d *DB) Close() error {
	var errs []error
	if d.read != nil && d.read != d.write {
		errs = append(errs, d.read.Close())
	}
	if d.write != nil {
		errs = append(errs, d.write.Close())
	}
	return errors.Join(errs...)
}

// Write runs fn in one transaction, which is kept if fn returns nil.
func (d *DB) Write(ctx context.Context, fn func(*sql.Tx) error) error {
	return guard(func() error {
		tx, err := d.write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		// After a commit this does nothing; before, the first error counts.
		defer func() { _ = tx.Rollback() }()
		if err := fn(tx); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// Read runs fn with a handle for queries.
func (d *DB) Read(fn func(*sql.DB) error) error {
	return guard(func() error { return fn(d.read) })
}

// guard runs fn and gives errors of damage one name. The library is C turned
// into Go with raw pointers: a damaged page could lead it astray.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: the database library failed: %v", ErrCorrupt, v)
		}
	}()
	err = fn()
	var known *sqlite.Error
	if errors.As(err, &known) && !errors.Is(err, ErrCorrupt) {
		switch known.Code() & 0xff {
		case 11, 26: // SQLITE_CORRUPT, SQLITE_NOTADB
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return err
}
