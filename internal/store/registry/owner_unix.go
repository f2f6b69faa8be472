//go:build unix

package registry

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// sockets says that this system has sockets with names.
const sockets = true

// ownPrivate refuses a directory of another user or one that others can enter.
func ownPrivate(dir string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is open to other users (mode %04o, not 0700)", dir, info.Mode().Perm())
	}
	return nil
}

// privateTemp is a directory of this user among the temporary files.
func privateTemp() string {
	return filepath.Join(os.TempDir(), "openmuse-"+strconv.Itoa(os.Geteuid()))
}
