//go:build unix

package trust

import (
	"os"
	"syscall"
)

// inode is a directory's number on its file system, zero when it cannot be
// told.
func inode(dir string) uint64 {
	info, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return st.Ino
}
