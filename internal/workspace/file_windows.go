package workspace

import (
	"io/fs"
	"os"
	"strings"
)

const quietOpen = 0

// keepOwner does nothing: a new file inherits the directory's access list.
func keepOwner(*os.File, fs.FileInfo) {}

// checkComponent refuses stream names and the spellings that Windows shortens.
func checkComponent(path, name string) error {
	if strings.ContainsRune(name, ':') || strings.TrimRight(name, ". ") != name {
		return &PathError{Path: path, Why: "not a portable file name: " + name}
	}
	return nil
}
