// Package sqlitefile writes a timeline into a SQLite file: one table
// "timeline" with the columns of the timeline and indexes for the questions
// that are asked most. The database library does nothing until a file is made.
package sqlitefile

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/openmuse/muse/internal/view/timeline"
)

// Writer writes one file. The file has its name when it is whole.
type Writer struct {
	name string
	db   *sql.DB
	tx   *sql.Tx

	source  bool
	columns []string
	many    *sql.Stmt
	batch   []any
	text    []byte
}

// perInsert is how many rows one statement takes: the cost of a statement is
// that of a few rows.
const perInsert = 32

// Create starts a new file at name; a file that is there is replaced.
func Create(name string, source bool) (w *Writer, err error) {
	part := name + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create database: %w", err)
	}
	// The file is new and thrown away if it is not finished: it needs no
	// journal and no syncing.
	q := url.Values{"_pragma": {"journal_mode(OFF)", "synchronous(OFF)"}}
	abs, err := filepath.Abs(part)
	if err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("create database: %w", err)
	}
	db.SetMaxOpenConns(1)
	w = &Writer{name: name, db: db, source: source, columns: timeline.Columns}
	if source {
		w.columns = append(append([]string(nil), timeline.Columns...), timeline.SourceColumns...)
	}
	if err := w.start(); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

func (w *Writer) start() error {
	var ddl strings.Builder
	ddl.WriteString("CREATE TABLE timeline (")
	for i, c := range w.columns {
		if i > 0 {
			ddl.WriteString(", ")
		}
		kind := "TEXT"
		if c == "source_line" || c == "source_offset" {
			kind = "INTEGER"
		}
		ddl.WriteString(c + " " + kind + " NOT NULL")
	}
	ddl.WriteString(")")
	if _, err := w.db.Exec(ddl.String()); err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	tx, err := w.db.Begin()
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	w.tx = tx
	if w.many, err = tx.Prepare(w.insert(perInsert)); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	return nil
}

func (w *Writer) insert(rows int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", len(w.columns)), ",") + ")"
	return "INSERT INTO timeline VALUES " + strings.TrimSuffix(strings.Repeat(one+",", rows), ",")
}

// Write adds a row.
func (w *Writer) Write(row *timeline.Row) error {
	w.text = row.Text.Append(w.text[:0])
	w.batch = append(w.batch, row.Timestamp(), row.Session, row.Project, row.Branch, string(row.Type),
		row.Model, row.Tool, row.CallID, string(w.text), row.Line)
	if w.source {
		w.batch = append(w.batch, strings.ToValidUTF8(row.File, "\ufffd"), row.Offset)
	}
	// A few giant rows must not wait for the batch to fill.
	if len(w.batch) < perInsert*len(w.columns) && len(w.text) < 1<<20 {
		return nil
	}
	return w.flush()
}

func (w *Writer) flush() error {
	var err error
	switch rows := len(w.batch) / len(w.columns); rows {
	case 0:
		return nil
	case perInsert:
		_, err = w.many.Exec(w.batch...)
	default:
		_, err = w.tx.Exec(w.insert(rows), w.batch...)
	}
	w.batch = w.batch[:0]
	if err != nil {
		return fmt.Errorf("insert rows: %w", err)
	}
	return nil
}

// Close writes the rest and the indexes and gives the file its name.
func (w *Writer) Close() error {
	if err := w.finish(); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := os.Rename(w.name+".part", w.name); err != nil {
		return fmt.Errorf("finish database: %w", err)
	}
	return nil
}

func (w *Writer) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	for _, index := range []string{"timestamp_utc", "session_id, timestamp_utc", "turn_type, timestamp_utc", "tool_use_id"} {
		name := strings.NewReplacer(", ", "_").Replace(index)
		if _, err := w.tx.Exec("CREATE INDEX timeline_" + name + " ON timeline (" + index + ")"); err != nil {
			return fmt.Errorf("create index: %w", err)
		}
	}
	if err := w.tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := w.db.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// Abort throws the unfinished file away.
func (w *Writer) Abort() error {
	err := w.db.Close()
	if rerr := os.Remove(w.name + ".part"); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}
