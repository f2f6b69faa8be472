package store

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// FreeBytes is the space left for this user on the file system of dir, or of
// the nearest directory above it that exists; 0 when it is not known. It feeds
// session.opened.observed, where nothing depends on it.
func FreeBytes(dir string) int64 {
	for {
		n, err := freeBytes(dir)
		parent := filepath.Dir(dir)
		if err == nil {
			return n
		}
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return 0
		}
		dir = parent
	}
}
