package workspace

import "errors"

// ErrOutside is in the chain of every refusal to leave the workspace.
var ErrOutside = errors.New("outside the workspace")

// ErrProtected is in the chain of every refusal to write a protected name.
var ErrProtected = errors.New("protected")

// ErrNotRegular is in the chain when a path names a directory, a FIFO, a
// device or a socket where a file is wanted.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is in the chain when a file is larger than the reader's limit.
var ErrTooLarge = errors.New("file too large")

// ErrChanged is in the chain when a file was changed by somebody else between
// being read and being written.
var ErrChanged = errors.New("file changed meanwhile")

// PathError is a path that cannot be used, with the reason in words for the
// model.
type PathError struct {
	Path string
	Why  string
	Err  error // one of the sentinels above, or nil
}

func (e *PathError) Error() string { return e.Why }

func (e *PathError) Unwrap() error { return e.Err }
