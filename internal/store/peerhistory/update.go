package peerhistory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/sqldb"
)

// ErrBusy is found with errors.Is when another process brings the same index
// up to date.
var ErrBusy = errors.New("line index is being made by another process")

// Between two transactions so much of the log is read: a process that is
// killed loses no more work than that.
const (
	batchLines = 4096
	batchBytes = 8 << 20
)

// Update brings the index of the session in dir up to date with its log, as
// far as that goes when the call begins. Only what was added is read; an index
// that is missing, damaged or of another log is made anew.
func Update(ctx context.Context, dir string) (err error) {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("update line index: %w", err)
	}
	if !ok {
		return ErrBusy
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	log, err := os.Open(store.LogIn(dir))
	if err != nil {
		return fmt.Errorf("update line index: %w", err)
	}
	defer log.Close() // only read
	for again := true; ; again = false {
		d, openErr := openDB(ctx, dir)
		if openErr != nil {
			return fmt.Errorf("update line index: %w", openErr)
		}
		err = update(ctx, d, log, sessionID(dir))
		if errors.Is(err, sqldb.ErrCorrupt) && again {
			if err := d.Discard(ctx); err != nil {
				return fmt.Errorf("set line index aside: %w", err)
			}
			continue
		}
		if err = errors.Join(err, d.Close()); err != nil {
			return fmt.Errorf("update line index: %w", err)
		}
		return nil
	}
}

func update(ctx context.Context, d *sqldb.DB, log *os.File, session string) error {
	info, err := log.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("log is not a regular file")
	}
	snap, err := readSnapshot(ctx, d)
	fits := false
	if err == nil {
		fits, err = snap.fits(log)
	}
	if err != nil && !errors.Is(err, ErrStale) {
		return err
	}
	var follow *follow
	if fits {
		follow, err = goOn(ctx, d)
		fits = !errors.Is(err, ErrStale)
	}
	if !fits {
		snap = snapshot{}
		if follow, err = newFollow(Position{}); err == nil {
			err = clearAll(ctx, d)
		}
	}
	if err != nil {
		return err
	}
	w := &writer{ctx: ctx, db: d, log: log, session: session, base: snap.length, modified: info.ModTime().UnixNano(), follow: follow}
	size := info.Size() - snap.length
	err = journal.ScanLines(io.NewSectionReader(log, snap.length, size), func(raw []byte, at int64) error {
		if at+int64(len(raw)) == size {
			return nil // its line feed is not there yet
		}
		return w.line(raw, snap.length+at)
	})
	if err != nil {
		return err
	}
	return w.flush()
}

// goOn follows a log from where the index ends.
func goOn(ctx context.Context, d *sqldb.DB) (f *follow, err error) {
	err = d.Read(func(db *sql.DB) error {
		p, err := readPosition(ctx, db.QueryRowContext)
		if err == nil {
			f, err = newFollow(p)
		}
		return err
	})
	return f, err
}

func clearAll(ctx context.Context, d *sqldb.DB) error {
	return d.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM source_snapshot; DELETE FROM retained_records; DELETE FROM stable_ids;
			DELETE FROM openmuse_kept; DELETE FROM openmuse_runs; DELETE FROM openmuse_position`)
		return err
	})
}

// row is a line or a part of one to be written.
type row struct {
	line   Line
	kind   string // of the stream
	stream string
	ids    []stableID
}

type stableID struct{ kind, id string }

// writer collects lines and writes them in batches.
type writer struct {
	ctx      context.Context
	db       *sqldb.DB
	log      io.ReaderAt
	session  string
	base     int64 // up to where the index goes
	modified int64
	follow   *follow

	rows    []row
	bytes   int64
	through int64 // behind the last whole line that was seen
}

func (w *writer) line(raw []byte, at int64) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.through = at + int64(len(raw)) + 1
	w.bytes += int64(len(raw))
	w.follow.raw(raw)
	v, err := record.Scan(raw)
	if err == nil { // a line that is none of ours has no row
		l := Line{Start: at, End: at + int64(len(raw)), SHA256: sha256.Sum256(raw)}
		switch v.Kind {
		case record.KindFrame:
			w.frame(raw, l)
		default:
			l.EventID, l.Sequence = record.Text(v.ID), v.Sequence
			var ids []stableID
			if v.Kind == record.KindMarker {
				w.follow.record(v.Sequence, 0)
			} else if h, ok := w.follow.envelope(raw, &v, l); ok {
				ids = idsOf(&v, h)
			}
			w.rows = append(w.rows, row{line: l, kind: record.Text(v.StreamKind), stream: record.Text(v.StreamID), ids: ids})
		}
	}
	if len(w.rows) >= batchLines || w.bytes >= batchBytes {
		return w.flush()
	}
	return nil
}

// frame adds the children of a frame, which stand in one line.
func (w *writer) frame(raw []byte, l Line) {
	line, err := record.ParseLine(bytes.Clone(raw))
	if err != nil || line.Frame == nil {
		return
	}
	for _, c := range line.Frame.Children {
		e, err := c.Envelope()
		if err != nil {
			continue
		}
		l.EventID, l.Sequence = e.ID, e.Sequence
		w.follow.record(e.Sequence, e.RecordedAt)
		w.rows = append(w.rows, row{line: l, kind: e.Stream.Kind, stream: e.Stream.ID})
	}
	w.follow.keep(keptLine{line: l, survives: true})
}

// insert writes the rows that were collected.
func (w *writer) insert(tx *sql.Tx) error {
	lines := inserts{table: "retained_records", columns: 7, tx: tx}
	ids := inserts{table: "stable_ids", columns: 5, tx: tx}
	for i := range w.rows {
		r := &w.rows[i]
		if err := lines.add(r.line.Start, r.line.End, r.line.EventID, r.kind, r.stream, r.line.Sequence, r.line.SHA256[:]); err != nil {
			return err
		}
		for _, s := range r.ids {
			if err := ids.add(s.kind, s.id, w.session, r.line.EventID, r.line.Start); err != nil {
				return err
			}
		}
	}
	return errors.Join(lines.close(), ids.close())
}

// insertRows is how many rows one statement writes: most of the time goes into
// what is done once a statement.
const insertRows = 64

// inserts writes many rows of a table.
type inserts struct {
	table   string
	columns int
	tx      *sql.Tx

	many *sql.Stmt // of insertRows rows
	args []any
}

func (n *inserts) query(rows int) string {
	row := "(?" + strings.Repeat(", ?", n.columns-1) + ")"
	return "INSERT OR REPLACE INTO " + n.table + " VALUES " + row + strings.Repeat(", "+row, rows-1)
}

func (n *inserts) add(values ...any) (err error) {
	n.args = append(n.args, values...)
	if len(n.args) < insertRows*n.columns {
		return nil
	}
	if n.many == nil {
		if n.many, err = n.tx.Prepare(n.query(insertRows)); err != nil {
			return err
		}
	}
	// Without a context: one that may end costs a goroutine a statement, and a
	// batch is short.
	_, err = n.many.Exec(n.args...)
	n.args = n.args[:0]
	return err
}

// close writes what is left.
func (n *inserts) close() error {
	var err error
	if len(n.args) > 0 {
		_, err = n.tx.Exec(n.query(len(n.args)/n.columns), n.args...)
	}
	if n.many != nil {
		err = errors.Join(err, n.many.Close())
	}
	return err
}

// flush writes what was collected and how far the index goes now, together.
func (w *writer) flush() error {
	if w.through <= w.base {
		return nil
	}
	snap, err := snapshotOf(w.log, w.through)
	if err != nil {
		return err
	}
	err = w.db.Write(w.ctx, func(tx *sql.Tx) error {
		if err := w.insert(tx); err != nil {
			return err
		}
		if err := w.follow.write(w.ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(w.ctx, "DELETE FROM source_snapshot"); err != nil {
			return err
		}
		_, err = tx.ExecContext(w.ctx, "INSERT INTO source_snapshot VALUES (?, ?, ?, ?, 1, ?, ?, ?)",
			snap.identity, snap.length, w.modified, w.session, snap.start, snap.length, snap.anchor[:])
		return err
	})
	if err != nil {
		return err
	}
	w.base, w.rows, w.bytes = w.through, w.rows[:0], 0
	w.follow.flushed()
	return nil
}
