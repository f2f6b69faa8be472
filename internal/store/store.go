// Package store is where things lie below the data root: the directory of each
// session and what belongs into it besides the log, found again by id, by
// workspace or by age.
//
//	sessions/YYYY/MM/DD/<id>/session.jsonl      the log; the shard is the local
//	                                            date on which the session began
//	…/.session.jsonl.permission-init            first line, staged before the log exists
//	…/.session.lock                             the writer's lease
//	…/tool-outputs/, …/tool-outputs/.spool/     results too long for the log
//	…/cli-<uuid>.log                            trace of one process
//	session-admission-locks/session-v1-<id>.lock  lease by id, whatever the shard
//
// (seed 000, Data root; CLI.md 4). Invariants: ids are UUIDs and nothing else
// ever becomes part of a path; no symlink below a directory of the data root is
// followed out of it (sessions itself may be one, to another disk); directories
// are 0700 and files 0600; reading changes nothing.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
)

// ErrNotFound says that there is no such session.
var ErrNotFound = errors.New("session not found")

const (
	sessionsDir  = "sessions"
	admissionDir = "session-admission-locks"
	logName      = "session.jsonl"
	stagedName   = ".session.jsonl.permission-init"
	lockName     = ".session.lock"
	outputsName  = "tool-outputs"
	spoolName    = ".spool"
)

// Session is the directory of one session.
type Session struct {
	ID  string
	Dir string // absolute
	// root is the data root the session was made or found in.
	root  string
	made  []string // directories whose new entries are not synced yet
	lease *journal.Lease
}

// Create makes the directory for a new session that begins at now. A directory
// that is there already, left by a session that never started, is taken as it
// is.
func Create(root, id string, now time.Time) (*Session, error) {
	if !ident.Valid(id) {
		return nil, badID(id)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	s := &Session{ID: id, root: root}
	day := now.Local()
	shard := day.Format("2006/01/02")
	s.Dir = filepath.Join(root, sessionsDir, filepath.FromSlash(shard), id)
	if err := unlinked(root, shard); err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	if err := s.mkdir(s.Dir); err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	info, err := os.Lstat(s.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", s.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create session %s: %w", id, err)
	}
	return s, nil
}

// mkdir makes dir and what is missing above it, and notes which directories
// got a new entry.
func (s *Session) mkdir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		parent := filepath.Dir(dir)
		if parent == dir {
			return err
		}
		if err := s.mkdir(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		s.made = append(s.made, filepath.Dir(dir))
	}
	return err
}

// unlinked refuses a shard that something other than directories leads to:
// [Find] does not follow a link there, so what was written behind it would be
// lost. sessions itself may be a link to another disk.
func unlinked(root, shard string) error {
	at := filepath.Join(root, sessionsDir)
	for _, part := range strings.Split(filepath.ToSlash(shard), "/") {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is not a directory", at)
		}
	}
	return nil
}

// SyncDir makes the names in dir durable, and with them the directories that
// Create made on the way to it. It fits [journal.Options.SyncDir].
func (s *Session) SyncDir(dir string) error {
	for _, d := range append([]string{dir}, s.made...) {
		if err := syncDir(d); err != nil {
			return err
		}
	}
	s.made = nil
	return nil
}

func badID(id string) error {
	return fmt.Errorf("session id %q is not a UUID", id)
}

// LogPath is the session's log. It exists once the session has started.
func (s *Session) LogPath() string { return filepath.Join(s.Dir, logName) }

// OutputsDir is the directory for tool results that are too long for the log.
// Whoever writes to it makes it, with mode 0700.
func (s *Session) OutputsDir() string { return filepath.Join(s.Dir, outputsName) }

// Started reports whether the session has a log.
func (s *Session) Started() (bool, error) {
	info, err := os.Lstat(s.LogPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for the log of session %s: %w", s.ID, err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("log of session %s is not a regular file: %s", s.ID, s.LogPath())
	}
	return true, nil
}

// Lock takes the lease to write the session, first by id and then on the
// directory, without waiting. program is the holder's name for people, "muse
// exec". A lease that is held gives a [*journal.InUseError]. Output files that
// a killed writer left half written are removed.
func (s *Session) Lock(program string) error {
	if s.lease != nil {
		return fmt.Errorf("lock session %s: this process has it already", s.ID)
	}
	dir := filepath.Join(s.root, admissionDir)
	if err := s.mkdir(dir); err != nil {
		return fmt.Errorf("lock session %s: %w", s.ID, err)
	}
	lease, err := journal.Acquire(filepath.Join(dir, "session-v1-"+s.ID+".lock"), s.ID, journal.Self(program, time.Now()))
	if err != nil {
		return err
	}
	if err = lease.Add(filepath.Join(s.Dir, lockName)); err == nil {
		err = s.sweepSpool()
	}
	if err != nil {
		return errors.Join(err, lease.Release())
	}
	s.lease = lease
	return nil
}

// Unlock gives the lease up; without one it does nothing.
func (s *Session) Unlock() error {
	if s.lease == nil {
		return nil
	}
	lease := s.lease
	s.lease = nil
	return lease.Release()
}

// sweepSpool removes what commands of an earlier process were writing.
func (s *Session) sweepSpool() error {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return fmt.Errorf("open session %s: %w", s.ID, err)
	}
	defer root.Close()
	// Outputs that were linked to somewhere else are left alone.
	if err := root.RemoveAll(filepath.Join(outputsName, spoolName)); err != nil && !ignorable(err) {
		return fmt.Errorf("remove unfinished outputs of session %s: %w", s.ID, err)
	}
	return nil
}
