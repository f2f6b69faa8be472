package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/plainfile"
)

// The trash lies in the data root and holds one directory for each session
// that was thrown away:
//
//	session-trash/<id>[.<n>]/trashed.json   what it was
//	…/session/                              its directory as it was
//
// It is on the same file system as the sessions, so that a session is thrown
// away and brought back by one rename, whole or not at all.
const (
	trashDir    = "session-trash"
	trashedName = "trashed.json"
	trashedBody = "session"
	viewDir     = ".msp-view-v1" // derived views, by session
)

// Trashed is a session in the trash.
type Trashed struct {
	ID    string
	Shard string // where it lay: "2026/10/01"
	At    time.Time
	// Name and Title are for people; a session that is brought back has what its
	// log says.
	Name, Title string
	Dir         string // the session's directory in the trash, absolute

	entry string // the directory in the trash
}

// trashed is trashed.json.
type trashed struct {
	SchemaVersion int       `json:"schema_version"`
	SessionID     string    `json:"session_id"`
	Shard         string    `json:"shard"`
	TrashedAt     time.Time `json:"trashed_at"`
	Name          string    `json:"name,omitzero"`
	Title         string    `json:"title,omitzero"`
}

// Trash throws a session away: its directory is moved into the trash, and what
// was derived from it is removed. A session that is in use gives a
// [*journal.InUseError]. name and title are kept for the list of the trash.
func (s *Session) Trash(program string, now time.Time, name, title string) (t Trashed, err error) {
	if s.lease != nil {
		return t, fmt.Errorf("trash session %s: it is open here", s.ID)
	}
	lease, err := s.claim(program)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	if _, err := os.Lstat(s.Dir); err != nil {
		return t, fmt.Errorf("trash session %s: %w", s.ID, err)
	}
	t = Trashed{ID: s.ID, Shard: s.Shard(), At: now, Name: name, Title: title}
	if t.entry, err = s.trashEntry(); err != nil {
		return t, fmt.Errorf("trash session %s: %w", s.ID, err)
	}
	t.Dir = filepath.Join(t.entry, trashedBody)
	if err := writeTrashed(filepath.Join(t.entry, trashedName), t); err != nil {
		return t, fmt.Errorf("trash session %s: %w", s.ID, err)
	}
	if err := os.Rename(s.Dir, t.Dir); err != nil {
		return t, fmt.Errorf("trash session %s: %w", s.ID, errors.Join(err, os.RemoveAll(t.entry)))
	}
	for _, dir := range []string{filepath.Dir(t.entry), t.entry, filepath.Dir(s.Dir)} {
		if err := syncDir(dir); err != nil {
			return t, fmt.Errorf("trash session %s: %w", s.ID, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(s.root, sessionsDir, viewDir, s.ID)); err != nil {
		return t, fmt.Errorf("trash session %s: remove its view: %w", s.ID, err)
	}
	return t, nil
}

// claim makes sure that nobody has the session open, and keeps it so. The lock
// inside the directory is given back before the directory moves: on some
// systems an open file would hold it in its place. Every writer takes the lock
// by id first.
func (s *Session) claim(program string) (*journal.Lease, error) {
	if err := s.Lock(program); err != nil {
		return nil, err
	}
	if err := s.Unlock(); err != nil {
		return nil, err
	}
	path := filepath.Join(s.root, admissionDir, "session-v1-"+s.ID+".lock")
	return journal.Acquire(path, s.ID, journal.Self(program, time.Now()))
}

// trashEntry makes a new directory in the trash.
func (s *Session) trashEntry() (string, error) {
	base := filepath.Join(s.root, trashDir)
	if err := s.mkdir(base); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join(base, s.ID)
		if n > 1 {
			dir += "." + strconv.Itoa(n)
		}
		if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
	}
}

func writeTrashed(path string, t Trashed) error {
	data, err := json.Marshal(trashed{1, t.ID, t.Shard, t.At.UTC(), t.Name, t.Title}, json.Deterministic(true))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// ListTrash lists the sessions in the trash, those thrown away last first.
// What is no session there is left out.
func ListTrash(root string) ([]Trashed, error) {
	base := filepath.Join(root, trashDir)
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list trash: %w", err)
	}
	var list []Trashed
	for _, e := range entries {
		if t, ok := readTrashed(filepath.Join(base, e.Name())); ok {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Trashed) int { return b.At.Compare(a.At) })
	return list, nil
}

func readTrashed(entry string) (Trashed, bool) {
	data, err := plainfile.Read(filepath.Join(entry, trashedName))
	var t trashed
	if err != nil || json.Unmarshal(data, &t) != nil || !ident.Valid(t.SessionID) || !validShard(t.Shard) {
		return Trashed{}, false
	}
	dir := filepath.Join(entry, trashedBody)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return Trashed{}, false
	}
	return Trashed{ID: t.SessionID, Shard: t.Shard, At: t.TrashedAt, Name: t.Name, Title: t.Title, Dir: dir, entry: entry}, true
}

// validShard reports whether s is YYYY/MM/DD: it becomes part of a path.
func validShard(s string) bool {
	_, err := time.Parse("2006/01/02", s)
	return err == nil
}

// Restore brings a session back to where it lay. A session of the same id that
// is there by now stays, and is an error that is fs.ErrExist.
func Restore(root string, t Trashed) (*Session, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	if _, err := Find(root, t.ID); err == nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, fs.ErrExist)
	} else if !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	s := &Session{ID: t.ID, root: root, Dir: filepath.Join(root, sessionsDir, filepath.FromSlash(t.Shard), t.ID)}
	if err := unlinked(root, t.Shard); err != nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	if err := s.mkdir(filepath.Dir(s.Dir)); err != nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	if err := os.Rename(t.Dir, s.Dir); err != nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	if err := s.SyncDir(filepath.Dir(s.Dir)); err != nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	if err := os.RemoveAll(t.entry); err != nil {
		return nil, fmt.Errorf("restore session %s: %w", t.ID, err)
	}
	return s, nil
}

// Delete removes a session in the trash for ever.
func Delete(root string, t Trashed) error {
	base, err := os.OpenRoot(filepath.Join(root, trashDir))
	if err != nil {
		return fmt.Errorf("delete session %s: %w", t.ID, err)
	}
	defer base.Close()
	name := filepath.Base(t.entry)
	if !strings.HasPrefix(name, t.ID) {
		return fmt.Errorf("delete session %s: it is not in the trash", t.ID)
	}
	if err := base.RemoveAll(name); err != nil {
		return fmt.Errorf("delete session %s: %w", t.ID, err)
	}
	return nil
}
