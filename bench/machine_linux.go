package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem names the file system of a directory.
func fileSystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	names := map[int64]string{
		unix.TMPFS_MAGIC: "tmpfs", unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs",
		unix.BTRFS_SUPER_MAGIC: "btrfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.NFS_SUPER_MAGIC: "nfs",
		unix.F2FS_SUPER_MAGIC: "f2fs",
	}
	if name, ok := names[int64(s.Type)]; ok {
		return name
	}
	return fmt.Sprintf("%#x", s.Type)
}
