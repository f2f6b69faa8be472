//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// quietOpen keeps open from waiting for a FIFO's writer and from making a
// terminal the controlling one.
const quietOpen = syscall.O_NONBLOCK | syscall.O_NOCTTY

// keepOwner gives f the owner of the file it replaces. Not being allowed to is
// no failure: the file then belongs to whoever edits it, as with any editor.
func keepOwner(f *os.File, old fs.FileInfo) {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if now, err := f.Stat(); err == nil {
		if have, ok := now.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
			return
		}
	}
	_ = f.Chown(int(want.Uid), int(want.Gid))
}

// checkComponent refuses names that the file system would read as another.
func checkComponent(string, string) error { return nil }
