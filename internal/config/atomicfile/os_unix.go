//go:build unix

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

func rename(from, to string) error { return os.Rename(from, to) }

// syncDir makes a rename durable. Some file systems cannot sync a directory
// and say so with EINVAL; the rename itself has happened.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// keepOwner gives the new file the old one's owner when root replaces a
// user's file: otherwise the user could no longer read it.
func keepOwner(f *os.File, old fs.FileInfo) error {
	if old == nil || os.Geteuid() != 0 {
		return nil
	}
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
