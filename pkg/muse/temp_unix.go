//go:build unix

package muse

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// private refuses a directory that others own, can enter, or put a link in
// place of.
func private(info os.FileInfo) error {
	if !info.IsDir() {
		return errors.New("not a directory")
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("mode is %#o, want 0700", perm)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("owned by user %d", st.Uid)
	}
	return nil
}
