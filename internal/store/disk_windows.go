package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

func freeBytes(dir string) (int64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, err
	}
	return int64(free), nil
}

func isNotDir(err error) bool {
	return errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, windows.ERROR_PATH_NOT_FOUND)
}

// syncDir does nothing: the system keeps its metadata in a journal of its own
// and offers no way to sync a directory.
func syncDir(string) error { return nil }

const openQuiet = 0
