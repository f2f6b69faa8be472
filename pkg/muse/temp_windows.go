package muse

import (
	"errors"
	"os"
)

// private: the temporary directory is the user's own here.
func private(info os.FileInfo) error {
	if !info.IsDir() {
		return errors.New("not a directory")
	}
	return nil
}
