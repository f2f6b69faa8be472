//go:build !linux

package search

import "os"

// tree opens files below one directory and nothing else.
type tree struct{ root *os.Root }

func openTree(dir string, _ bool) (*tree, error) {
	root, err := os.OpenRoot(dir)
	return &tree{root}, err
}

func (t *tree) close() { _ = t.root.Close() } // open for looking only

// openDir opens a directory for listing.
func (t *tree) openDir(rel string) (*os.File, error) { return openDirIn(t.root, rel) }

// content is an open regular file.
type content struct {
	file *os.File
	size int64
}

// openFile opens a regular file; anything else is errNotFile.
func (t *tree) openFile(rel string) (content, error) {
	info, err := t.root.Stat(rel)
	if err != nil {
		return content{}, err
	}
	if !info.Mode().IsRegular() {
		return content{}, errNotFile
	}
	f, err := t.root.Open(rel)
	if err != nil {
		return content{}, err
	}
	return content{file: f, size: info.Size()}, nil
}

func (c content) read(p []byte) (int, error) { return c.file.Read(p) }

func (c content) close() { _ = c.file.Close() } // nothing was written to it
