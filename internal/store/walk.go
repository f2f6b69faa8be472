package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmuse/muse/internal/ident"
)

// Started is a session that has a log, as a walk finds it.
type Started struct {
	ID    string
	Shard string // "2026/10/01"
	// Size and Written are those of the log.
	Size    int64
	Written time.Time
}

// Walk calls fn for every session that has a log, those of the newest day
// first. No log is opened. A data root without sessions has none. An error
// from fn ends the walk and is returned as it is.
func Walk(root string, fn func(Started) error) error {
	sh, err := openShards(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("walk sessions: %w", err)
	}
	defer sh.Close()
	var days []string
	if err := sh.days(func(shard string) (bool, error) { days = append(days, shard); return false, nil }); err != nil {
		return fmt.Errorf("walk sessions: %w", err)
	}
	// Several days are looked through at a time: with thousands of sessions
	// nearly all of a list's time is this.
	type found struct {
		all []Started
		err error
	}
	look := make([]chan found, len(days))
	for i := range look {
		look[i] = make(chan found, 1)
	}
	var next atomic.Int64
	var ended atomic.Bool
	var wg sync.WaitGroup
	for range min(len(days), max(1, runtime.GOMAXPROCS(0)), 4) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(days) && !ended.Load(); i = int(next.Add(1)) - 1 {
				all, err := sh.walkDay(days[i])
				look[i] <- found{all, err}
			}
		})
	}
	defer wg.Wait()
	defer ended.Store(true)
	for i := range look {
		day := <-look[i]
		for _, s := range day.all {
			if err := fn(s); err != nil {
				return err
			}
		}
		if day.err != nil {
			return day.err
		}
	}
	return nil
}

// walkDay is the sessions of a day that have a log.
func (sh *shards) walkDay(shard string) ([]Started, error) {
	entries, err := sh.entries(shard)
	if err != nil {
		return nil, fmt.Errorf("walk sessions: %w", err)
	}
	all := make([]Started, 0, len(entries))
	dir := filepath.Join(sh.data, sessionsDir, filepath.FromSlash(shard))
	for _, e := range entries {
		if !e.IsDir() || !ident.Valid(e.Name()) {
			continue
		}
		// By its whole name, for speed: what is in the entry's place by now is
		// only looked at here, and opened through the handle of the sessions.
		info, err := os.Lstat(filepath.Join(dir, e.Name(), logName))
		if err != nil && ignorable(err) {
			continue
		}
		if err != nil {
			return all, fmt.Errorf("walk sessions: %w", err)
		}
		if info.Mode().IsRegular() {
			all = append(all, Started{ID: e.Name(), Shard: shard, Size: info.Size(), Written: info.ModTime()})
		}
	}
	return all, nil
}

// Logs opens logs below a data root for reading, by shard and id. No symlink
// is followed out of the sessions.
type Logs struct{ shards *shards }

// OpenLogs opens the sessions of a data root. Without any, the error is
// fs.ErrNotExist.
func OpenLogs(root string) (*Logs, error) {
	sh, err := openShards(root)
	if err != nil {
		return nil, fmt.Errorf("open sessions: %w", err)
	}
	return &Logs{sh}, nil
}

// Close ends the use of l.
func (l *Logs) Close() error { return l.shards.Close() }

// Open opens a log. What is no regular file is an error and never blocks.
func (l *Logs) Open(shard, id string) (*os.File, fs.FileInfo, error) {
	if !ident.Valid(id) {
		return nil, nil, badID(id)
	}
	f, err := l.shards.OpenFile(filepath.FromSlash(path.Join(shard, id, logName)), os.O_RDONLY|openQuiet, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("log of session %s is not a regular file", id)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Dir is the directory of the session id in shard.
func (l *Logs) Dir(shard, id string) string {
	return filepath.Join(l.shards.data, sessionsDir, filepath.FromSlash(shard), id)
}

// Shard is the place of a session below the sessions, "2026/10/01".
func (s *Session) Shard() string {
	rel, err := filepath.Rel(filepath.Join(s.root, sessionsDir), filepath.Dir(s.Dir))
	if err != nil {
		return "" // Create and Find make directories below the root only
	}
	return filepath.ToSlash(rel)
}

// LogIn is the path of the log in a session's directory.
func LogIn(dir string) string { return filepath.Join(dir, logName) }
