//go:build unix

package collect

import (
	"io/fs"
	"syscall"
)

// owner is who the file belongs to on the machine.
func owner(info fs.FileInfo) (uid, gid *uint32) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return &st.Uid, &st.Gid
	}
	return nil, nil
}
