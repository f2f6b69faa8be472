//go:build unix

package journal

import (
	"os"
	"syscall"
)

// noFollow makes opening a symlink fail.
const noFollow = syscall.O_NOFOLLOW

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
