//go:build !unix && !windows

package store

import (
	"errors"
	"runtime"
)

func freeBytes(string) (int64, error) {
	return 0, errors.New("free space is not known on " + runtime.GOOS)
}

func isNotDir(error) bool { return false }

func syncDir(string) error { return nil }

const openQuiet = 0
