// Package peerhistory is an index of the lines of one session's log:
// session.peer-history.sqlite3 beside it (seed 000, Peer history index). It
// says where in the log a record stands and which hash its line has, and where
// commands, turns, tool calls, approvals and compactions begin, so that one
// record of a large log is found without reading the log.
//
// It holds no content and is derived from the log, never the other way round:
// it counts as far as the log still is the one that was read, which the bytes
// before its end tell. What the log has beyond that is not in it yet.
package peerhistory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/sqldb"
)

// ErrStale is found with errors.Is when there is no index, or only one of
// another log: Update makes it.
var ErrStale = errors.New("line index is not that of the log")

// ErrNotFound is found with errors.Is when the index does not know a record.
var ErrNotFound = errors.New("no such record in the line index")

// Kinds of ids that lead to a line.
const (
	Command    = "command"         // a command that was taken in: its id
	Settled    = "command_settled" // its answer
	Turn       = "turn"            // the start of a run: the run's id
	TurnEnd    = "turn_end"        // its end
	Call       = "call"            // the batch that a tool call is in: the call's id
	Result     = "result"          // the batch with its result
	Approval   = "approval"        // a question to the person
	Compaction = "compaction"      // a summary that was put in place
)

// Line is the place of a record in the log.
type Line struct {
	Start, End int64 // without the line feed
	EventID    string
	Sequence   int64
	SHA256     [32]byte // of the line without its line feed
}

// History is an open index. It is safe for concurrent use.
type History struct {
	db      *sqldb.DB
	through int64
}

// Open opens the index of the session in dir, as far as it is right. Without
// one that is the error is [ErrStale].
func Open(ctx context.Context, dir string) (*History, error) {
	log, err := os.Open(store.LogIn(dir))
	if err != nil {
		return nil, fmt.Errorf("open line index: %w", err)
	}
	defer log.Close() // only read
	if _, err := os.Lstat(filepath.Join(dir, fileName)); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrStale // and none is made by looking
	}
	d, err := openDB(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open line index: %w", err)
	}
	snap, err := readSnapshot(ctx, d)
	if err == nil {
		var ok bool
		if ok, err = snap.fits(log); err == nil && !ok {
			err = ErrStale
		}
	}
	if errors.Is(err, sqldb.ErrCorrupt) {
		err = errors.Join(ErrStale, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open line index: %w", errors.Join(err, d.Close()))
	}
	return &History{db: d, through: snap.length}, nil
}

func openDB(ctx context.Context, dir string) (*sqldb.DB, error) {
	d, _, err := sqldb.OpenBeside(ctx, filepath.Join(dir, fileName), filepath.Join(dir, ownName), options())
	return d, err
}

// Close closes the index.
func (h *History) Close() error { return h.db.Close() }

// Through is how many bytes of the log the index covers.
func (h *History) Through() int64 { return h.through }

const lineColumns = "r.line_start, r.line_end, r.event_id, r.sequence, r.raw_sha256"

// At is the line of the record with a sequence.
func (h *History) At(ctx context.Context, sequence int64) (Line, error) {
	return h.one(ctx, "SELECT "+lineColumns+" FROM retained_records r WHERE r.sequence = ? ORDER BY r.line_start DESC LIMIT 1", sequence)
}

// Find is the last line that the id of a kind leads to.
func (h *History) Find(ctx context.Context, kind, id string) (Line, error) {
	return h.one(ctx, "SELECT "+lineColumns+` FROM stable_ids s JOIN retained_records r ON r.line_start = s.line_start AND r.event_id = s.event_id
		WHERE s.kind = ? AND s.stable_id = ? ORDER BY s.line_start DESC LIMIT 1`, kind, id)
}

// Last is the last line of a kind.
func (h *History) Last(ctx context.Context, kind string) (Line, error) {
	return h.one(ctx, "SELECT "+lineColumns+` FROM stable_ids s JOIN retained_records r ON r.line_start = s.line_start AND r.event_id = s.event_id
		WHERE s.kind = ? ORDER BY s.line_start DESC LIMIT 1`, kind)
}

// End is the last line of the index.
func (h *History) End(ctx context.Context) (Line, error) {
	return h.one(ctx, "SELECT "+lineColumns+" FROM retained_records r ORDER BY r.line_start DESC, r.sequence DESC LIMIT 1")
}

// Count is how many different ids of a kind there are.
func (h *History) Count(ctx context.Context, kind string) (n int64, err error) {
	err = h.db.Read(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT count(DISTINCT stable_id) FROM stable_ids WHERE kind = ?", kind).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("query line index: %w", err)
	}
	return n, nil
}

func (h *History) one(ctx context.Context, query string, args ...any) (l Line, err error) {
	err = h.db.Read(func(db *sql.DB) error {
		var sum []byte
		if err := db.QueryRowContext(ctx, query, args...).Scan(&l.Start, &l.End, &l.EventID, &l.Sequence, &sum); err != nil {
			return err
		}
		copy(l.SHA256[:], sum)
		return nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		return l, ErrNotFound
	}
	if err != nil {
		return l, fmt.Errorf("query line index: %w", err)
	}
	return l, nil
}

// Raw reads a line from the log of the session in dir and checks that it is
// the one the index speaks of.
func (l Line) Raw(log io.ReaderAt) ([]byte, error) {
	raw := make([]byte, l.End-l.Start)
	if _, err := log.ReadAt(raw, l.Start); err != nil && !(errors.Is(err, io.EOF) && len(raw) == 0) {
		return nil, fmt.Errorf("read line at byte %d: %w", l.Start, err)
	}
	if sha256.Sum256(raw) != l.SHA256 {
		return nil, fmt.Errorf("line at byte %d is not the one that was indexed: %w", l.Start, ErrStale)
	}
	return raw, nil
}

// anchorBytes is how many bytes before its end tell that a log is the one that
// was indexed.
const anchorBytes = 4 << 10

// snapshot is how far a log was indexed.
type snapshot struct {
	identity string // of the file's beginning
	length   int64
	modified int64
	stream   string
	start    int64 // of the anchor, which ends at length
	anchor   [32]byte
}

func readSnapshot(ctx context.Context, d *sqldb.DB) (s snapshot, err error) {
	err = d.Read(func(db *sql.DB) error {
		var anchor []byte
		err := db.QueryRowContext(ctx, "SELECT source_identity, source_len, source_modified_ns, target_stream_id, anchor_start, anchor_sha256 FROM source_snapshot").
			Scan(&s.identity, &s.length, &s.modified, &s.stream, &s.start, &anchor)
		copy(s.anchor[:], anchor)
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return snapshot{}, ErrStale
	}
	return s, err
}

// fits reports whether log begins with what was indexed.
func (s snapshot) fits(log *os.File) (bool, error) {
	info, err := log.Stat()
	if err != nil || info.Size() < s.length {
		return false, err
	}
	now, err := snapshotOf(log, s.length)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return false, nil
	}
	return now.identity == s.identity && now.start == s.start && now.anchor == s.anchor, err
}

// snapshotOf is the snapshot of a log that was indexed up to length.
func snapshotOf(log io.ReaderAt, length int64) (s snapshot, err error) {
	s.length = length
	s.start = max(0, length-anchorBytes)
	if s.anchor, err = sumOf(log, s.start, length); err != nil {
		return s, err
	}
	head, err := sumOf(log, 0, min(length, anchorBytes))
	s.identity = fmt.Sprintf("sha256-head:%x", head)
	return s, err
}

func sumOf(log io.ReaderAt, from, to int64) (sum [32]byte, err error) {
	h := sha256.New()
	if n, err := io.Copy(h, io.NewSectionReader(log, from, to-from)); err != nil {
		return sum, err
	} else if n < to-from {
		return sum, io.ErrUnexpectedEOF
	}
	copy(sum[:], h.Sum(nil))
	return sum, nil
}

// sessionID is the id of the session in dir, or of the subagent.
func sessionID(dir string) string { return strings.ToLower(filepath.Base(dir)) }
