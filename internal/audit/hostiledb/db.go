// Package hostiledb reads tables of SQLite files that may be damaged or made
// to do harm. The file and its sidecars are copied first, so that nothing is
// written beside the evidence; only plain tables are read, never views; schema
// code is not trusted; rows, sizes and time are bounded; a fault inside the
// database library is an error and not the end of the program.
//
// The library is linked but does nothing until a file is opened.
package hostiledb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Limits of what is read from one file.
const (
	MaxFile = 4 << 30 // bytes of the database or of its log
	MaxCell = 1 << 20 // bytes of one text or blob; longer ones are left out
	MaxTime = 30 * time.Second
)

// Sidecars are the files that belong to a database beside it; each may be
// missing. The -shm file is rebuilt from the -wal file.
var Sidecars = []string{"-wal", "-journal"}

// Opener opens the database ("" suffix) or a sidecar for reading; an error
// that wraps fs.ErrNotExist says that there is none.
type Opener func(suffix string) (io.ReadCloser, error)

// DB is an open copy.
type DB struct {
	db  *sql.DB
	dir string
}

// Open copies the database that open leads to and opens the copy.
func Open(open Opener) (*DB, error) {
	dir, err := os.MkdirTemp("", "openmuse-db-")
	if err != nil {
		return nil, fmt.Errorf("make room for a copy of the database: %w", err)
	}
	d := &DB{dir: dir}
	name := filepath.Join(dir, "copy.db")
	if err := copyIn(name, "", open); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	for _, s := range Sidecars {
		if err := copyIn(name+s, s, open); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(err, d.Close())
		}
	}
	q := url.Values{"_pragma": {"trusted_schema(0)", "cell_size_check(1)", "mmap_size(0)", "query_only(1)"}}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(name), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open copy of the database: %w", err), d.Close())
	}
	db.SetMaxOpenConns(1)
	d.db = db
	return d, nil
}

func copyIn(name, suffix string, open Opener) (err error) {
	src, err := open(suffix)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer src.Close()
	dst, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	defer func() {
		if cerr := dst.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("copy database: %w", cerr)
		}
	}()
	n, err := io.Copy(dst, io.LimitReader(src, MaxFile+1))
	if err != nil {
		return fmt.Errorf("copy database: %w", err)
	}
	if n > MaxFile {
		return fmt.Errorf("database is larger than %d bytes", int64(MaxFile))
	}
	return nil
}

// Close removes the copy.
func (d *DB) Close() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// ErrNoTable says that there is no plain table of that name with the columns.
var ErrNoTable = errors.New("no such table")

// Rows calls fn with the columns of up to limit rows of a table. A value is
// nil, int64, float64, string or []byte; one over MaxCell is nil. fn returns
// false to stop.
func (d *DB) Rows(ctx context.Context, table string, columns []string, limit int, fn func(values []any) bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	// The library is C turned into Go with raw pointers: a page made for it
	// could lead it astray. Such a fault ends the query, not the program.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("database library failed: %v", p)
		}
	}()
	if err := d.check(ctx, table, columns); err != nil {
		return err
	}
	var q strings.Builder
	q.WriteString("SELECT ")
	for i, c := range columns {
		if i > 0 {
			q.WriteString(", ")
		}
		fmt.Fprintf(&q, "CASE WHEN length(CAST(%[1]s AS BLOB)) <= %[2]d THEN %[1]s END", quote(c), MaxCell)
	}
	fmt.Fprintf(&q, " FROM %s LIMIT %d", quote(table), limit)
	rows, err := d.db.QueryContext(ctx, q.String())
	if err != nil {
		return fmt.Errorf("read table %s: %w", table, err)
	}
	defer rows.Close()
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read table %s: %w", table, err)
		}
		if !fn(values) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read table %s: %w", table, err)
	}
	return nil
}

// check refuses views and virtual tables, whose reading runs code of the file.
func (d *DB) check(ctx context.Context, table string, columns []string) error {
	var kind, ddl sql.NullString
	err := d.db.QueryRowContext(ctx, "SELECT type, sql FROM sqlite_master WHERE name = ? LIMIT 1", table).Scan(&kind, &ddl)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %s", ErrNoTable, table)
	}
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if kind.String != "table" || strings.HasPrefix(strings.ToUpper(strings.TrimSpace(ddl.String)), "CREATE VIRTUAL") {
		return fmt.Errorf("%w: %s is no plain table", ErrNoTable, table)
	}
	have := map[string]bool{}
	rows, err := d.db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("read schema: %w", err)
		}
		have[name] = true
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	for _, c := range columns {
		if !have[c] {
			return fmt.Errorf("%w: %s has no column %s", ErrNoTable, table, c)
		}
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
