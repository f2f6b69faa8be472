// Package atomicfile changes small files that several processes share. A
// reader sees the old content or the new, never a mixture; a writer that is
// killed leaves the old; two writers take turns, so neither's change is lost.
package atomicfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/openmuse/muse/internal/plainfile"
)

// Private is the mode of files and directories that only their owner reads.
const (
	Private    fs.FileMode = 0o600
	PrivateDir fs.FileMode = 0o700
)

// lockRetry is how often a writer asks again for a lock that another holds.
const lockRetry = 5 * time.Millisecond

// LockPath is the lock file beside path: ".settings.json.lock" for
// "settings.json" (seed 000, Config root).
func LockPath(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// Update replaces path's content with what change makes of it, holding the
// lock file from the read to the write. old is nil when there is no file. A
// nil or equal result writes nothing. A file that is written keeps its mode,
// or gets mode when it is new; missing directories are made with PrivateDir.
func Update(ctx context.Context, path string, mode fs.FileMode, change func(old []byte) ([]byte, error)) error {
	return update(ctx, path, change, func(next []byte) error { return Write(path, next, mode) })
}

// UpdateSecret is Update for a file that holds secrets: whatever its mode was,
// a write makes it Private.
func UpdateSecret(ctx context.Context, path string, change func(old []byte) ([]byte, error)) error {
	return update(ctx, path, change, func(next []byte) error { return write(path, next, Private, false) })
}

func update(ctx context.Context, path string, change func(old []byte) ([]byte, error), write func([]byte) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), PrivateDir); err != nil {
		return fmt.Errorf("make the directory of %s: %w", path, err)
	}
	lock := flock.New(LockPath(path), flock.SetPermissions(Private))
	if _, err := lock.TryLockContext(ctx, lockRetry); err != nil {
		return fmt.Errorf("lock %s: %w", LockPath(path), err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()

	old, err := plainfile.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	case old == nil:
		old = []byte{}
	}
	next, err := change(old)
	if err != nil {
		return err
	}
	if next == nil || old != nil && bytes.Equal(old, next) {
		return nil
	}
	return write(next)
}

// Write replaces path's content: a temporary file beside it is written, made
// durable and renamed over it, and the directory entry is made durable too.
// When path is a symbolic link the file it names is replaced and the link
// stays, so that settings kept elsewhere remain linked.
func Write(path string, data []byte, mode fs.FileMode) error {
	return write(path, data, mode, true)
}

func write(path string, data []byte, mode fs.FileMode, keepMode bool) error {
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	info, err := os.Stat(target)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("write %s: not a regular file", path)
	case err == nil && keepMode:
		mode = info.Mode().Perm()
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replace(target, data, mode, info); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(target string, data []byte, mode fs.FileMode, old fs.FileInfo) (err error) {
	temp, err := create(target, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// The write has failed; a leftover that cannot be removed adds
			// nothing to the reason.
			_ = temp.Close()
			_ = os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return err
	}
	// The creation mode was cut by the umask.
	if err := temp.Chmod(mode); err != nil {
		return err
	}
	if err := keepOwner(temp, old); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := rename(temp.Name(), target); err != nil {
		return err
	}
	return syncDir(filepath.Dir(target))
}

// create makes a new file beside target under a name nobody else uses.
func create(target string, mode fs.FileMode) (*os.File, error) {
	for range 100 {
		var salt [6]byte
		if _, err := rand.Read(salt[:]); err != nil {
			return nil, err
		}
		name := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+hex.EncodeToString(salt[:])+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o700)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("no free temporary name beside %s", target)
}

// resolve follows path's links to the file itself, which need not exist.
func resolve(path string) (string, error) {
	for range 40 {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}
