package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/hostiledb"
	"github.com/openmuse/muse/internal/record"
)

// indexName is the file with byte offsets and hashes of a log's lines that
// Meta's binary keeps (seed 000, Peer history index).
const indexName = "session.peer-history.sqlite3"

// maxIndexed bounds how many lines of an index are held.
const maxIndexed = 2 << 20

// lineIndex is the index of one log. A nil one knows nothing.
type lineIndex struct {
	lines   map[int64]indexed // by the offset of the line's start
	matched int
	wrong   []Finding
	length  int64 // of the log when the index was written; 0 is not known
}

type indexed struct {
	end      int64
	sum      [32]byte
	sequence int64
	event    string
}

// readIndex reads the index beside a log; without one it is nil.
func readIndex(ctx context.Context, f *audit.File, emit func(Finding)) *lineIndex {
	name := path.Join(f.Dir, indexName)
	if _, err := f.SizeBeside(name); err != nil {
		return nil // there is none
	}
	x := &lineIndex{lines: map[int64]indexed{}}
	err := x.load(ctx, func(suffix string) (io.ReadCloser, error) { return f.OpenBeside(name + suffix) })
	if err != nil {
		emit(Finding{File: f.Label, Severity: Warning, Code: Unreadable, Message: fmt.Sprintf("%s: %v", indexName, err)})
	}
	return x
}

func (x *lineIndex) load(ctx context.Context, open hostiledb.Opener) (err error) {
	db, err := hostiledb.Open(func(suffix string) (io.ReadCloser, error) {
		rc, err := open(suffix)
		if err != nil && suffix != "" {
			return nil, fs.ErrNotExist
		}
		return rc, err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Rows(ctx, "source_snapshot", []string{"source_len"}, 1, func(v []any) bool {
		x.length, _ = v[0].(int64) // another type says nothing
		return false
	})
	if err != nil && !errors.Is(err, hostiledb.ErrNoTable) {
		return err
	}
	columns := []string{"line_start", "line_end", "event_id", "sequence", "raw_sha256"}
	return db.Rows(ctx, "retained_records", columns, maxIndexed, func(v []any) bool {
		start, ok := v[0].(int64)
		end, ok2 := v[1].(int64)
		sum, ok3 := hashOf(v[4])
		if !ok || !ok2 || !ok3 {
			return true
		}
		e := indexed{end: end, sum: sum}
		e.event, _ = v[2].(string)
		e.sequence, _ = v[3].(int64)
		x.lines[start] = e
		return true
	})
}

// hashOf reads a hash in any of the forms it could be kept in.
func hashOf(v any) (sum [32]byte, ok bool) {
	switch v := v.(type) {
	case []byte:
		if len(v) == 32 {
			return [32]byte(v), true
		}
		return hashOf(string(v))
	case string:
		b, err := hex.DecodeString(strings.TrimPrefix(v, "sha256:"))
		if err == nil && len(b) == 32 {
			return [32]byte(b), true
		}
	}
	return sum, false
}

// line compares a line with the index.
func (x *lineIndex) line(l *log, in audit.Line) {
	if x == nil {
		return
	}
	e, ok := x.lines[in.Offset]
	if !ok {
		return
	}
	delete(x.lines, in.Offset)
	// The end may or may not count the line feed.
	with := append(bytes.Clone(in.Data), '\n')
	if sha256.Sum256(in.Data) == e.sum || sha256.Sum256(with) == e.sum {
		x.matched++
		return
	}
	why := "the line index has another hash for this line"
	if v, err := record.Scan(in.Data); err == nil && e.event != "" && string(v.ID) != e.event {
		why = fmt.Sprintf("the line index has record %s here", e.event)
	}
	x.wrong = append(x.wrong, Finding{File: l.file.Label, Line: in.Number, Offset: in.Offset, Severity: Error, Code: IndexHash, Message: why})
}

// end reports what did not fit. An index of which nothing fits belongs to
// another file, or hashes in a way that is not known.
func (x *lineIndex) end(l *log) {
	if x == nil {
		return
	}
	whole := place{}
	if x.length > l.size {
		l.find(whole, Error, IndexRange, "the log has %d bytes; when the line index was written it had %d", l.size, x.length)
	}
	if x.matched == 0 && len(x.wrong)+len(x.lines) > 0 {
		l.find(whole, Warning, IndexHash, "none of the %d lines of the line index fits: it is of another file, or its hashes are made in another way", len(x.wrong)+len(x.lines))
		return
	}
	for _, f := range x.wrong {
		l.emit(f)
	}
	const most = 100
	n := 0
	for start, e := range x.lines {
		if n++; n <= most {
			l.emit(Finding{File: l.file.Label, Offset: start, Severity: Error, Code: IndexRange, Message: fmt.Sprintf("the line index knows a line at byte %d (record %q, sequence %d) where no line starts", start, e.event, e.sequence)})
		}
	}
	if n > most {
		l.find(whole, Error, IndexRange, "%d more lines of the line index are not in the log", n-most)
	}
}
