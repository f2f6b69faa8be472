package journal

import (
	"io"
	"io/fs"
	"os"
)

// File is what a journal needs of its file. Tests put one in between that
// fails the n-th call.
type File interface {
	io.Reader
	io.ReaderAt
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
}

// openFile opens a file of a session directory without following a symlink in
// its last element.
func openFile(path string, flag int, perm os.FileMode) (File, error) {
	return os.OpenFile(path, flag|noFollow, perm)
}
