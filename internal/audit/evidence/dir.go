package evidence

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Dir is one open directory of the evidence. Working on the open directory and
// not on paths keeps each step one level deep: fast, and immune to a parent
// being swapped for a link.
type Dir struct{ root *os.Root }

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Entries lists the directory by name.
func (d *Dir) Entries() ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("list directory: %w", err)
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	// A directory on a damaged disk may end early: what was read is kept.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if err != nil {
		return entries, fmt.Errorf("list directory: %w", err)
	}
	return entries, nil
}

// Lstat describes an entry without following it.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// Readlink is the target of a link, as it is written.
func (d *Dir) Readlink(name string) (string, error) { return d.root.Readlink(name) }

// Sub opens a directory in d; a link is refused.
func (d *Dir) Sub(name string) (*Dir, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	after, err := root.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		root.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrChanged}
	}
	return &Dir{root: root}, nil
}

// OpenFile opens a regular file in d for reading and describes it.
func (d *Dir) OpenFile(name string) (*os.File, fs.FileInfo, error) {
	return openFile(d.root, name)
}

// openFile opens only what is a regular file before and after the opening, so
// a pipe cannot hang the reader and a link is not followed.
func openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, before, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	f, err := openQuietly(root, name)
	if err != nil {
		return nil, before, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrChanged}
	}
	if err != nil {
		f.Close()
		return nil, before, err
	}
	return f, info, nil
}
