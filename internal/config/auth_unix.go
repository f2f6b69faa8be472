//go:build unix

package config

import (
	"io/fs"
	"os"
)

// readableByOthers reports whether anyone but the owner has a permission on
// the file.
func readableByOthers(path string) (fs.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil {
		// It was just read; a file that is gone now has no readers.
		return 0, false
	}
	mode := info.Mode().Perm()
	return mode, mode&0o077 != 0
}
