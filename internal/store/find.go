package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openmuse/muse/internal/ident"
)

// Find finds a session by its id. The time in a version 7 id leads straight to
// its shard; any other id is looked for in all shards, newest first. The error
// is [ErrNotFound] when there is none.
func Find(root, id string) (*Session, error) {
	if !ident.Valid(id) {
		return nil, badID(id)
	}
	sh, err := openShards(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return nil, fmt.Errorf("find session %s: %w", id, err)
	}
	defer sh.Close()
	if born, ok := ident.Time(id); ok {
		// The date is that of the place where the session began, which may
		// have been a day away from here.
		for _, days := range []int{0, -1, 1} {
			if s, err := sh.session(day(born.AddDate(0, 0, days)), id); err != nil || s != nil {
				return s, err
			}
		}
	}
	var found *Session
	err = sh.days(func(shard string) (bool, error) {
		found, err = sh.session(shard, id)
		return found != nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("find session %s: %w", id, err)
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return found, nil
}

func day(t time.Time) string { return t.Local().Format("2006/01/02") }

// shards walks sessions/YYYY/MM/DD. Everything goes through an [os.Root], so
// that no symlink leads out of it.
type shards struct {
	data string // the data root, absolute
	*os.Root
}

func openShards(root string) (*shards, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(filepath.Join(root, sessionsDir))
	if err != nil {
		return nil, err
	}
	return &shards{root, r}, nil
}

// session is the session id in shard, nil when there is none. A symlink is
// none.
func (sh *shards) session(shard, id string) (*Session, error) {
	rel := path.Join(shard, id)
	info, err := sh.Lstat(filepath.FromSlash(rel))
	switch {
	case err != nil && ignorable(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, nil
	}
	return &Session{ID: id, root: sh.data, Dir: filepath.Join(sh.data, sessionsDir, filepath.FromSlash(rel))}, nil
}

// ignorable errors say that something is not there, or not in a place that
// counts.
func ignorable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err) || escapes(err)
}

// escapes reports that a name leads out of an os.Root, for which there is no
// exported error value.
func escapes(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Err != nil && p.Err.Error() == "path escapes from parent"
}

// days calls fn for each shard, newest first, until it says stop.
func (sh *shards) days(fn func(shard string) (stop bool, err error)) error {
	years, err := sh.digits(".", 4)
	if err != nil {
		return err
	}
	for _, y := range years {
		months, err := sh.digits(y, 2)
		if err != nil {
			return err
		}
		for _, m := range months {
			days, err := sh.digits(path.Join(y, m), 2)
			if err != nil {
				return err
			}
			for _, d := range days {
				if stop, err := fn(path.Join(y, m, d)); err != nil || stop {
					return err
				}
			}
		}
	}
	return nil
}

// digits lists the directories in dir whose names are n digits, highest first.
func (sh *shards) digits(dir string, n int) ([]string, error) {
	entries, err := sh.entries(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if len(e.Name()) == n && strings.Trim(e.Name(), "0123456789") == "" && e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

func (sh *shards) entries(dir string) ([]fs.DirEntry, error) {
	f, err := sh.Open(filepath.FromSlash(dir))
	if err != nil && ignorable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}
