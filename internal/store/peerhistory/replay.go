package peerhistory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// replaySchema is what it takes to go on with a log without reading all of it:
// the lines that still count for the state of its session, and where a reader
// of the whole log stood at the end.
const replaySchema = `
CREATE TABLE openmuse_kept (
	line_start INTEGER PRIMARY KEY NOT NULL,
	line_end INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	survives INTEGER NOT NULL,
	raw_sha256 BLOB NOT NULL
);
CREATE INDEX openmuse_kept_sequence ON openmuse_kept (survives, sequence);
CREATE TABLE openmuse_runs (run_id TEXT PRIMARY KEY NOT NULL, records INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE openmuse_position (
	lines INTEGER NOT NULL,
	records INTEGER NOT NULL,
	last_sequence INTEGER NOT NULL,
	last_recorded INTEGER NOT NULL,
	hash_state BLOB NOT NULL,
	checkpoint_start INTEGER NOT NULL,
	checkpoint_records INTEGER NOT NULL,
	checkpoint_end INTEGER NOT NULL,
	sealed INTEGER NOT NULL
);
`

// Position is where a reader of the whole log stands behind its first Bytes
// bytes, all of them whole lines.
type Position struct {
	Bytes, Lines, Records      int64
	LastSequence, LastRecorded int64
	// Hash is the state of a SHA-256 over those bytes, as crypto/sha256 marshals
	// it.
	Hash []byte
	// CheckpointStart is where the line of the last integrity checkpoint begins;
	// CheckpointRecords and CheckpointEnd are how many records and bytes there
	// are up to and with it. All are 0 when there is none.
	CheckpointStart, CheckpointRecords, CheckpointEnd int64
	Sealed                                            bool // the last line is a sealing checkpoint
}

// Position is where the index ends.
func (h *History) Position(ctx context.Context) (p Position, err error) {
	err = h.db.Read(func(db *sql.DB) error {
		p, err = readPosition(ctx, db.QueryRowContext)
		return err
	})
	if err == nil {
		p.Bytes = h.through
	}
	return p, err
}

type queryRow func(ctx context.Context, query string, args ...any) *sql.Row

func readPosition(ctx context.Context, query queryRow) (p Position, err error) {
	err = query(ctx, `SELECT lines, records, last_sequence, last_recorded, hash_state, checkpoint_start, checkpoint_records, checkpoint_end, sealed
		FROM openmuse_position`).Scan(&p.Lines, &p.Records, &p.LastSequence, &p.LastRecorded, &p.Hash,
		&p.CheckpointStart, &p.CheckpointRecords, &p.CheckpointEnd, &p.Sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return p, ErrStale
	}
	if err != nil {
		return p, fmt.Errorf("query line index: %w", err)
	}
	return p, nil
}

// Runs is how many records each run has in its own stream, up to where the
// index goes.
func (h *History) Runs(ctx context.Context) (runs map[string]int64, err error) {
	err = h.db.Read(func(db *sql.DB) (err error) {
		runs = map[string]int64{}
		rows, err := db.QueryContext(ctx, "SELECT run_id, records FROM openmuse_runs")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var id string
			var n int64
			if err := rows.Scan(&id, &n); err != nil {
				return err
			}
			runs[id] = n
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("query line index: %w", err)
	}
	return runs, nil
}

// Replay hands over the lines of the log that count for the state of the
// session, in order: all but those that a later summary stands for or that say
// nothing by themselves. Each is compared with its hash: a line that is not
// the one that was indexed gives [ErrStale], and what was handed over before is
// worth nothing. The bytes may be kept.
func (h *History) Replay(ctx context.Context, log io.ReaderAt, fn func(raw []byte, offset int64) error) error {
	lines, err := h.kept(ctx)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := l.Raw(log)
		if err != nil {
			return err
		}
		if err := fn(raw, l.Start); err != nil {
			return err
		}
	}
	return nil
}

func (h *History) kept(ctx context.Context) (lines []Line, err error) {
	err = h.db.Read(func(db *sql.DB) (err error) {
		rows, err := db.QueryContext(ctx, "SELECT line_start, line_end, sequence, raw_sha256 FROM openmuse_kept ORDER BY line_start")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			var l Line
			var sum []byte
			if err := rows.Scan(&l.Start, &l.End, &l.Sequence, &sum); err != nil {
				return err
			}
			copy(l.SHA256[:], sum)
			lines = append(lines, l)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("query line index: %w", err)
	}
	return lines, nil
}

// SaysNothing reports whether a record has no part in the state of a session:
// other records say it again, or it was for watching only.
func SaysNothing(h record.LogHead) bool {
	switch h.EventKind {
	case "model_request_configured", "model_response_created", "reasoning_summary_delta", "reasoning_summary_committed",
		"model_completed", "context_compaction_candidate", "accepted", "status", "task_stream_linked":
		return true
	}
	return false
}

// Survives reports whether a record counts on when a summary stands for it:
// the person's words, the beginnings and ends of runs, and the facts of the
// session do.
func Survives(h record.LogHead) bool {
	switch {
	case h.Kind == "task", h.Kind == "tool_batch_effect":
		return false
	case strings.HasPrefix(h.EventKind, "user_input_"), h.EventKind == "run_retracted":
		return true
	case h.Kind == "run":
		switch h.EventKind {
		case "started", "terminal", "todo_snapshot_updated", "context_compaction_installed":
			return true
		}
		return false
	}
	return true
}

// keptLine is a line for the state of the session, or a summary that stands
// for earlier ones.
type keptLine struct {
	line     Line
	survives bool
	through  int64 // what a summary stands for; 0 for other lines
}

// keep takes in a line that counts. A summary makes those that it stands for
// not count any more, here and, with the next flush, in the index.
func (f *follow) keep(k keptLine) {
	if k.through > 0 {
		f.through = max(f.through, k.through)
		f.kept = slices.DeleteFunc(f.kept, func(old keptLine) bool { return !old.survives && old.line.Sequence <= k.through })
	}
	f.kept = append(f.kept, k)
}

// follow is the part of a writer that follows the state of the session and the
// place of a reader.
type follow struct {
	kept    []keptLine       // since the last flush
	through int64            // what summaries since the last flush stand for
	runs    map[string]int64 // records since the last flush
	at      Position
	state   hash.Hash
}

func newFollow(p Position) (*follow, error) {
	f := &follow{runs: map[string]int64{}, at: p, state: sha256.New()}
	if p.Hash != nil {
		u, ok := f.state.(encoding.BinaryUnmarshaler)
		if !ok {
			return nil, errors.New("the hash cannot be continued")
		}
		if err := u.UnmarshalBinary(p.Hash); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrStale, err)
		}
	}
	return f, nil
}

// raw takes in the bytes of a line.
func (f *follow) raw(line []byte) {
	f.state.Write(line) // never fails
	f.state.Write([]byte{'\n'})
	f.at.Lines++
	f.at.Sealed = false
}

// record takes in one envelope or marker.
func (f *follow) record(sequence, recorded int64) {
	f.at.Records++
	f.at.LastSequence = max(f.at.LastSequence, sequence)
	f.at.LastRecorded = max(f.at.LastRecorded, recorded)
}

// envelope takes in a line that is an envelope, and returns its head.
func (f *follow) envelope(raw []byte, v *record.View, l Line) (record.LogHead, bool) {
	f.record(v.Sequence, v.RecordedAt)
	if string(v.PayloadType) == journal.CheckpointType {
		f.checkpoint(raw, l)
	}
	env := &record.Envelope{PayloadType: string(v.PayloadType), PayloadSchemaVersion: int(v.PayloadSchemaVersion), Payload: v.Payload}
	h, err := record.ReadLogHead(env)
	if err != nil {
		return h, false
	}
	if h.Kind == "run" {
		f.runs[h.Run]++
	}
	if SaysNothing(h) {
		return h, true
	}
	k := keptLine{line: l, survives: Survives(h)}
	if h.EventKind == "context_compaction_installed" {
		k.through = summarised(h, env)
	}
	f.keep(k)
	return h, true
}

// summarised is the place that a summary stands for, 0 when whoever replays the
// log would not understand it either.
func summarised(h record.LogHead, env *record.Envelope) int64 {
	e, known, err := h.Decode(env)
	if err != nil || !known {
		return 0
	}
	c, ok := e.Body.(event.CompactionInstalled)
	if !ok {
		return 0
	}
	return c.Through.Sequence
}

func (f *follow) checkpoint(raw []byte, l Line) {
	line, err := record.ParseLine(bytes.Clone(raw))
	if err != nil || line.Envelope == nil {
		return
	}
	c, err := journal.ParseCheckpoint(line.Envelope)
	if err != nil || c.Bytes != l.Start {
		return
	}
	f.at.Sealed = c.Sealed
	f.at.CheckpointStart, f.at.CheckpointRecords, f.at.CheckpointEnd = l.Start, f.at.Records, l.End+1
}

// write puts what was followed into a transaction.
func (f *follow) write(ctx context.Context, tx *sql.Tx) error {
	if f.through > 0 {
		if _, err := tx.ExecContext(ctx, "DELETE FROM openmuse_kept WHERE survives = 0 AND sequence <= ?", f.through); err != nil {
			return err
		}
	}
	kept := inserts{table: "openmuse_kept", columns: 5, tx: tx}
	for _, k := range f.kept {
		if err := kept.add(k.line.Start, k.line.End, k.line.Sequence, k.survives, k.line.SHA256[:]); err != nil {
			return err
		}
	}
	if err := kept.close(); err != nil {
		return err
	}
	for id, n := range f.runs {
		if _, err := tx.ExecContext(ctx, "INSERT INTO openmuse_runs VALUES (?, ?) ON CONFLICT (run_id) DO UPDATE SET records = records + excluded.records", id, n); err != nil {
			return err
		}
	}
	m, ok := f.state.(encoding.BinaryMarshaler)
	if !ok {
		return errors.New("the hash cannot be continued")
	}
	state, err := m.MarshalBinary()
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM openmuse_position"); err != nil {
		return err
	}
	p := &f.at
	_, err = tx.ExecContext(ctx, "INSERT INTO openmuse_position VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", p.Lines, p.Records, p.LastSequence, p.LastRecorded,
		state, p.CheckpointStart, p.CheckpointRecords, p.CheckpointEnd, p.Sealed)
	return err
}

// flushed forgets what a transaction has kept.
func (f *follow) flushed() {
	f.kept, f.through = f.kept[:0], 0
	clear(f.runs)
}
