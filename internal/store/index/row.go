package index

import (
	"database/sql"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/store"
	"github.com/openmuse/muse/internal/store/summary"
)

// Row is what the index knows of one session.
type Row struct {
	ID  string
	Dir string // absolute
	// Log is the path of the session's log.
	Log string
	summary.Summary
	Size    int64     // of the log when it was read
	Written time.Time // of the log when it was read
	// Whole says that the log was read to its end: until then Turns and Prompts
	// are those of its ends only.
	Whole bool

	shard string
	state summary.State
}

// Shard is where the session lies below the sessions, "2026/10/01".
func (r *Row) Shard() string { return r.shard }

// fresh reports whether the row is of the log as it lies there.
func (r *Row) fresh(f store.Started) bool {
	return r.Size == f.Size && r.Written.Equal(f.Written) && r.shard == f.Shard
}

// key is the form of a workspace in which it is compared.
func key(dir string) string {
	if dir == "" {
		return ""
	}
	dir = filepath.Clean(dir)
	if runtime.GOOS == "windows" {
		dir = strings.ToLower(dir)
	}
	return dir
}

// values are the columns of r.
func (r *Row) values() []any {
	s := &r.Summary
	status := valid
	if !s.Readable() {
		status = unread
	}
	var fork, side summary.Provenance
	if s.Forked != nil {
		fork = *s.Forked
	}
	if s.Side != nil {
		side = *s.Side
	}
	var client summary.Client
	if s.Client != nil {
		client = *s.Client
	}
	var mode summary.ApprovalMode
	if s.Mode != nil {
		mode = *s.Mode
	}
	title := s.Title()
	return []any{
		r.ID, r.Dir, r.Log, layout, s.Root(), key(s.Root()), s.Provider, s.Model,
		s.Branch, title, s.FirstPrompt, s.Search, s.Created, s.Updated, s.Prompts(), status, s.Name,
		fork.Session, fork.Command, fork.CutCursor, fork.Explicit,
		side.Session, side.Command, side.CutCursor, summary.Fold(s.Name), s.NameSource,
		summary.Fold(title), s.Description, s.Workspace, s.Cwd, s.Intents, s.Turns,
		s.Active, s.End, client.Name, client.Title, client.Version,
		mode.Mode, mode.Source, mode.Command, r.shard, r.Size, r.Written.UnixNano(),
		r.state.Through, r.state.Head[:], r.state.Tail[:], r.Whole,
	}
}

// scan reads what values wrote.
func (r *Row) scan(rows *sql.Rows) error {
	var fork, side summary.Provenance
	var client summary.Client
	var mode summary.ApprovalMode
	var written int64
	var head, tail []byte
	var skip any // what follows from other columns
	s := &r.Summary
	err := rows.Scan(
		&r.ID, &r.Dir, &r.Log, &skip, &skip, &skip, &s.Provider, &s.Model,
		&s.Branch, &skip, &s.FirstPrompt, &s.Search, &s.Created, &s.Updated, &skip, &skip, &s.Name,
		&fork.Session, &fork.Command, &fork.CutCursor, &fork.Explicit,
		&side.Session, &side.Command, &side.CutCursor, &skip, &s.NameSource,
		&skip, &s.Description, &s.Workspace, &s.Cwd, &s.Intents, &s.Turns,
		&s.Active, &s.End, &client.Name, &client.Title, &client.Version,
		&mode.Mode, &mode.Source, &mode.Command, &r.shard, &r.Size, &written,
		&r.state.Through, &head, &tail, &r.Whole,
	)
	if err != nil {
		return err
	}
	copy(r.state.Head[:], head)
	copy(r.state.Tail[:], tail)
	r.Written = fromNanos(written)
	s.ID = r.ID
	if fork.Session != "" {
		s.Forked = &fork
	}
	if side.Session != "" {
		s.Side = &side
	}
	if client.Name != "" {
		s.Client = &client
	}
	if mode.Mode != "" {
		s.Mode = &mode
	}
	return nil
}

// fromNanos is the time as it comes back from the index.
func fromNanos(ns int64) time.Time { return time.Unix(0, ns) }
