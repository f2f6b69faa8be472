// Package plainfile reads small files that a person keeps: settings, stored
// credentials, recorded models, certificates. A path that leads to a pipe, a
// device or a directory, or to far more than such a file holds, is an error
// that says so; it never blocks the reader and never fills its memory.
package plainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Limit is the size in bytes up to which files are read.
const Limit = 16 << 20

// Open opens the regular file at path for reading, links followed, however
// large it is. A missing file is an error that is [fs.ErrNotExist].
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|quiet, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if kind := kindOf(info.Mode()); kind != "" {
			err = fmt.Errorf("%s is %s, not a regular file", path, kind)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read is the content of the regular file at path, links followed. A missing
// file is an error that is [fs.ErrNotExist].
func Read(path string) (data []byte, err error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > Limit {
		return nil, tooLarge(path)
	}
	var b bytes.Buffer
	b.Grow(int(info.Size()) + bytes.MinRead)
	// The file may grow meanwhile, and those of /proc give no size.
	if _, err := b.ReadFrom(io.LimitReader(f, Limit+1)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if b.Len() > Limit {
		return nil, tooLarge(path)
	}
	return b.Bytes(), nil
}

func tooLarge(path string) error {
	return fmt.Errorf("%s is larger than %d MiB", path, Limit>>20)
}

// kindOf names what is not a regular file, "" for one.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return ""
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}
