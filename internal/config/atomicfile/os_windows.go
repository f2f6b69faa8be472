package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// sharingViolation is ERROR_SHARING_VIOLATION.
const sharingViolation = syscall.Errno(32)

// rename tries again for a short while: a reader that has the file open makes
// the replacement fail, and readers keep it open for an instant only.
func rename(from, to string) error {
	var err error
	for wait := time.Millisecond; wait < 500*time.Millisecond; wait *= 2 {
		err = os.Rename(from, to)
		if err == nil || !errors.Is(err, sharingViolation) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		time.Sleep(wait)
	}
	return err
}

// syncDir: Windows has no directory sync; a rename is journalled.
func syncDir(string) error { return nil }

func keepOwner(*os.File, fs.FileInfo) error { return nil }
