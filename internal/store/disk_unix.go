//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// openQuiet keeps the opening of a pipe or a terminal from waiting or taking
// it over.
const openQuiet = unix.O_NONBLOCK | unix.O_NOCTTY

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
