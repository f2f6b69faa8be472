package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
)

// Cache keeps saved views in a directory, one below it for each session. All of
// it may be deleted at any time; what is missing, of another build or of
// another log is folded again.
type Cache struct {
	// Dir is the directory of all sessions' views (seed 000, Data root:
	// sessions/.msp-view-v1). "" keeps nothing.
	Dir string
}

const (
	cacheFile = "view"
	olderFile = "view.json" // of builds before
)

// Saved is the newest record of which a cache holds the view, 0 when none does.
func (v *View) Saved() int64 { return v.saved }

// Keep saves a view of the log at path.
func (c Cache) Keep(v *View, path string) error {
	if c.Dir == "" || path == "" {
		return nil
	}
	log, err := imprintOf(path, 0)
	if err != nil {
		return fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err)
	}
	data, err := v.save(log)
	if err != nil {
		return err
	}
	dir := filepath.Join(c.Dir, v.fold.s.Session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err)
	}
	tmp, err := os.CreateTemp(dir, cacheFile+".*.tmp")
	if err != nil {
		return fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err)
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), filepath.Join(dir, cacheFile))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keep the view of session %s: %w", v.fold.s.Session, err), os.Remove(tmp.Name()))
	}
	v.saved = v.fold.s.Sequence
	_ = os.Remove(filepath.Join(dir, olderFile)) // most have none
	return nil
}

// Reach is the newest record that the kept view of a session says it has taken
// in, 0 without one. It is a cheap look: whether the view is of use shows when
// it is read.
func (c Cache) Reach(sessionID string) int64 {
	if c.Dir == "" || !filepath.IsLocal(sessionID) {
		return 0
	}
	f, err := os.Open(filepath.Join(c.Dir, sessionID, cacheFile))
	if err != nil {
		return 0
	}
	defer f.Close() // only read
	head := make([]byte, 1<<20)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0
	}
	rest, ok := bytes.CutPrefix(head[:n], []byte(savedMagic))
	if !ok || len(rest) < 4 {
		return 0
	}
	r := unpacker{rest: rest[4:]}
	var in saved
	if json.Unmarshal(r.text(), &in) != nil {
		return 0
	}
	return in.State.Sequence
}

// load is the kept view of a session, nil when there is none that is of use.
func (c Cache) load(sessionID, path string, limits Limits) *View {
	if c.Dir == "" || path == "" || !filepath.IsLocal(sessionID) {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(c.Dir, sessionID, cacheFile))
	if err != nil {
		return nil // a cache that cannot be read is no cache
	}
	v, was, err := restore(data, limits)
	if err != nil || v.fold.s.Session != sessionID {
		return nil
	}
	if now, err := imprintOf(path, was.Size); err != nil || now != was {
		return nil
	}
	return v
}

// Read is the view of a session's log, which lies at path: the kept one brought
// up to date, or one that is folded from the beginning. A kept view is of use
// when the log begins with what it was made of, as far as [imprint] tells, and
// the record it ends with is still in its place.
func (c Cache) Read(sessionID, path string, log LogFrom, limits Limits) (*View, error) {
	if v := c.load(sessionID, path, limits); v != nil {
		at := v.fold.s.Sequence
		ok, err := v.goOn(log)
		if err != nil {
			return nil, err
		}
		if ok {
			v.saved = at
			return v, nil
		}
	}
	return ReadLog(sessionID, log, limits)
}

var errOtherLog = errors.New("the log is another one")

// goOn applies what came after the view was saved; false when the view is not
// of this log.
func (v *View) goOn(log LogFrom) (bool, error) {
	end := v.fold.s.Record
	if end.Sequence == 0 {
		return false, nil
	}
	found := false
	err := log(end.Sequence-1, func(r event.Recorded) error {
		if !found {
			if r.Sequence != end.Sequence || r.ID != end.ID {
				return errOtherLog
			}
			found = true
			return nil
		}
		_, err := v.Apply(r)
		return err
	})
	if errors.Is(err, errOtherLog) {
		return false, nil
	}
	return found, err
}

// Forget throws the kept view of a session away.
func (c Cache) Forget(sessionID string) error {
	if c.Dir == "" || !filepath.IsLocal(sessionID) {
		return nil
	}
	var all error
	for _, name := range []string{cacheFile, olderFile} {
		if err := os.Remove(filepath.Join(c.Dir, sessionID, name)); !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// imprint tells whether a log is one that was seen before and has only grown: a
// log is appended to and never changed. It costs the reading of a few blocks,
// whatever the log's size, and so does not notice a byte that was changed in
// the middle; `muse audit verify` does.
type imprint struct {
	Size       int64  `json:"size"`
	Head, Tail string // sums of the first and the last bytes of those
}

const (
	imprintHead = 4 << 10
	imprintTail = 64 << 10
)

// imprintOf is the imprint of the first size bytes of a log, 0 for all of its
// lines.
func imprintOf(path string, size int64) (s imprint, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return s, err
	}
	if size == 0 {
		if size, err = wholeLines(f, info.Size()); err != nil {
			return s, err
		}
	}
	if info.Size() < size {
		return s, errOtherLog
	}
	s.Size = size
	if s.Head, err = sumOf(f, 0, min(size, imprintHead)); err != nil {
		return s, err
	}
	s.Tail, err = sumOf(f, max(0, size-imprintTail), size)
	return s, err
}

// wholeLines is the size of a log without a line that is being written, or that
// a process did not live to end: it will be taken off.
func wholeLines(f io.ReaderAt, size int64) (int64, error) {
	from := max(0, size-imprintTail)
	data := make([]byte, size-from)
	if _, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return size - int64(len(data)-1-bytes.LastIndexByte(data, '\n')), nil
}

func sumOf(f io.ReaderAt, from, to int64) (string, error) {
	data := make([]byte, to-from)
	if _, err := f.ReadAt(data, from); err != nil && !(errors.Is(err, io.EOF) && len(data) == 0) {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
