package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// sidecars belong to a database and are worth nothing without it.
var sidecars = [...]string{"-wal", "-shm", "-journal"}

// OpenOrReplace is [Open] for a file that can be made again: a damaged one is
// set aside under the name path+".broken", where the one before it lay, and a
// new one is made. Several processes that find the same damage replace it
// once. replaced says that this call did it.
func OpenOrReplace(ctx context.Context, path string, opts Options) (d *DB, replaced bool, err error) {
	d, err = Open(ctx, path, opts)
	if !errors.Is(err, ErrCorrupt) {
		return d, false, err
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if ok, lockErr := lock.TryLockContext(ctx, 10*time.Millisecond); lockErr != nil || !ok {
		return nil, false, errors.Join(err, lockErr)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	// Another process may have been here while this one waited.
	if d, err = Open(ctx, path, opts); !errors.Is(err, ErrCorrupt) {
		return d, false, err
	}
	if err := setAside(path); err != nil {
		return nil, false, err
	}
	d, err = Open(ctx, path, opts)
	return d, err == nil, err
}

// setAside moves a damaged database out of the way.
func setAside(path string) error {
	if err := os.Rename(path, path+".broken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set damaged database aside: %w", err)
	}
	for _, s := range sidecars {
		if err := os.Remove(path + s); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("set damaged database aside: %w", err)
		}
	}
	return nil
}

// OpenBeside is [OpenOrReplace] at path, or at other when path belongs to
// another program.
func OpenBeside(ctx context.Context, path, other string, opts Options) (d *DB, replaced bool, err error) {
	d, replaced, err = OpenOrReplace(ctx, path, opts)
	if errors.Is(err, ErrForeign) {
		return OpenOrReplace(ctx, other, opts)
	}
	return d, replaced, err
}

// Discard closes a database that turned out to be damaged and sets its file
// aside, unless another process has done so.
func (d *DB) Discard(ctx context.Context) (err error) {
	if d.path == "" {
		return d.Close()
	}
	lock := flock.New(d.path+".lock", flock.SetPermissions(0o600))
	ok, err := lock.TryLockContext(ctx, 10*time.Millisecond)
	if err != nil || !ok {
		return errors.Join(err, d.Close())
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	replaced := d.Replaced()
	// What a damaged database says on closing is of no interest.
	_ = d.Close()
	if replaced {
		return nil
	}
	return setAside(d.path)
}
