//go:build unix && !linux

package evidence

import (
	"os"

	"golang.org/x/sys/unix"
)

// openQuietly opens for reading without waiting on a pipe.
func openQuietly(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
}
