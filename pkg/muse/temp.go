package muse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// TempVariable names a directory to use as the managed temporary root.
const TempVariable = "MUSE_DRIVE_TMP"

// TempRoot is a private directory for the files of running supervisors. What a
// killed supervisor left there is removed when the root is opened next: each
// run holds a lock that the system drops with its process, so neither a reused
// process id nor a long run is ever mistaken.
type TempRoot struct{ dir string }

const (
	runPrefix  = "run-"
	lockSuffix = ".lock"
	rootLock   = "root.lock"
)

// DefaultTempRoot is $MUSE_DRIVE_TMP, else muse-drive-<uid> in the system's
// temporary directory.
func DefaultTempRoot(getenv func(string) string) string {
	if dir := getenv(TempVariable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(os.TempDir(), "muse-drive-"+strconv.Itoa(os.Getuid()))
}

// OpenTempRoot creates the root (mode 0700) if need be, refuses one that
// others own or can write, and sweeps it.
func OpenTempRoot(dir string) (*TempRoot, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("open temporary root: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("open temporary root: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("open temporary root: %w", err)
	}
	if err := private(info); err != nil {
		return nil, fmt.Errorf("open temporary root %s: %w", dir, err)
	}
	t := &TempRoot{dir: dir}
	if err := t.locked(t.sweep); err != nil {
		return nil, fmt.Errorf("sweep temporary root: %w", err)
	}
	return t, nil
}

// Dir is the root's path.
func (t *TempRoot) Dir() string { return t.dir }

// locked runs f while no other process creates or sweeps runs.
func (t *TempRoot) locked(f func() error) (err error) {
	lock := flock.New(filepath.Join(t.dir, rootLock), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}

// sweep removes the runs whose owners are gone.
func (t *TempRoot) sweep() error {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	var errs error
	for _, e := range entries {
		name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		if !strings.HasPrefix(name, runPrefix) {
			continue
		}
		path := filepath.Join(t.dir, name)
		if !isLock {
			if _, err := os.Lstat(path + lockSuffix); errors.Is(err, os.ErrNotExist) {
				errs = errors.Join(errs, os.RemoveAll(path))
			}
			continue
		}
		lock := flock.New(path+lockSuffix, flock.SetPermissions(0o600))
		mine, err := lock.TryLock()
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}
		if mine {
			errs = errors.Join(errs, os.RemoveAll(path), lock.Close(), os.Remove(path+lockSuffix))
		}
	}
	return errs
}

// TempRun is one run's directory under the root.
type TempRun struct {
	root *TempRoot
	dir  string
	lock *flock.Flock
}

// NewRun creates a directory (mode 0700) that lives until Close, or until the
// next sweep after its process is gone.
func (t *TempRoot) NewRun() (*TempRun, error) {
	r := &TempRun{root: t}
	err := t.locked(func() error {
		dir, err := os.MkdirTemp(t.dir, runPrefix)
		if err != nil {
			return err
		}
		r.dir = dir
		r.lock = flock.New(dir+lockSuffix, flock.SetPermissions(0o600))
		mine, err := r.lock.TryLock()
		if err == nil && !mine {
			err = errors.New("a new lock is already held")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create temporary run directory: %w", err)
	}
	return r, nil
}

// Dir is the run's directory.
func (r *TempRun) Dir() string { return r.dir }

// WriteFile creates a file (mode 0600) in the run's directory and returns its
// absolute path. name must be a plain file name.
func (r *TempRun) WriteFile(name string, data []byte) (string, error) {
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "", fmt.Errorf("write temporary file %q: not a plain name", name)
	}
	path := filepath.Join(r.dir, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("write temporary file: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("write temporary file: %w", err)
	}
	return path, nil
}

// Close removes the directory and everything in it. A second call does
// nothing.
func (r *TempRun) Close() error {
	if r.lock == nil {
		return nil
	}
	lock := r.lock
	r.lock = nil
	err := r.root.locked(func() error {
		return errors.Join(os.RemoveAll(r.dir), lock.Close(), os.Remove(r.dir+lockSuffix))
	})
	if err != nil {
		return fmt.Errorf("remove temporary run directory: %w", err)
	}
	return nil
}
