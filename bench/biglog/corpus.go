package biglog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

var errEnough = errors.New("enough")

// Corpus reads source text below a directory until it has size bytes.
func Corpus(dir string, size int) ([]byte, error) {
	var out []byte
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if utf8.Valid(b) {
			out = append(out, b...)
		}
		if len(out) >= size {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return out, err
}
