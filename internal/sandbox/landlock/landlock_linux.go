// Package landlock is the second layer of the file boundary: whatever the
// mount tree says, the thread may write only below the given paths. It also
// reaches descriptors that were opened outside the sandbox and are opened
// again through /proc.
//
// Landlock is taken as the kernel offers it. An old kernel gives less, and
// that is reported, not refused: the mount tree is the boundary.
package landlock

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights to change a file system, by the interface version that brought them.
const (
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	writeRights2 = unix.LANDLOCK_ACCESS_FS_REFER
	writeRights3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE

	// fileRights are the ones that make sense for a single file; the kernel
	// refuses the others there.
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// minimum is the oldest useful version: the first one forbids every rename
// between two directories, which no build survives.
const minimum = 2

// ruleset mirrors struct landlock_ruleset_attr up to version 6.
type ruleset struct {
	fs     uint64
	net    uint64
	scoped uint64
}

// Restrict confines the calling thread, which must be locked to its goroutine
// and have "no new privileges" set, and everything it starts. It returns the
// interface version in force, 0 when the kernel has none that is useful.
func Restrict(writable []string) (version int, err error) {
	version, err = available()
	if err != nil || version < minimum {
		return 0, err
	}
	set := ruleset{fs: writeRights | writeRights2}
	size := unsafe.Sizeof(set.fs)
	if version >= 3 {
		set.fs |= writeRights3
	}
	if version >= 6 {
		set.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Sizeof(set)
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&set)), size, 0)
	if errno != 0 {
		return 0, fmt.Errorf("make landlock ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, path := range writable {
		if err := allow(int(fd), path, set.fs); err != nil {
			return 0, err
		}
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return 0, fmt.Errorf("apply landlock ruleset: %w", errno)
	}
	return version, nil
}

// Version is the interface version that the kernel offers, 0 for none.
func Version() int {
	v, err := available()
	if err != nil {
		return 0
	}
	return v
}

func available() (int, error) {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == 0:
		return int(v), nil
	case errors.Is(errno, unix.ENOSYS), errors.Is(errno, unix.EOPNOTSUPP):
		return 0, nil // not built in, or switched off at boot
	}
	return 0, fmt.Errorf("ask for landlock: %w", errno)
}

func allow(set int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s for landlock: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("look at %s for landlock: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("add landlock rule for %s: %w", path, errno)
	}
	return nil
}
