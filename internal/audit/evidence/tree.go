// Package evidence opens files of a machine that is not trusted: a mounted
// disk, a collected home, an archive. Everything goes through an [os.Root], so
// no name, link or race in the evidence leads out of it; only regular files
// are ever opened for reading, nothing is created, changed or executed.
//
// Paths in the evidence are slash-separated and relative to its root.
package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// maxLinks bounds how many symbolic links one path may pass, as the kernel
// bounds them.
const maxLinks = 40

// ErrNotRegular is returned for sockets, pipes, devices and links where a
// regular file is wanted.
var ErrNotRegular = errors.New("not a regular file")

// ErrChanged says that a name led to another file than the one looked at.
var ErrChanged = errors.New("the file was replaced while it was being opened")

// Tree is a directory of evidence.
type Tree struct {
	root *os.Root
	name string
}

// Open opens dir as the root that nothing leads out of.
func Open(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open evidence: %w", err)
	}
	return &Tree{root: root, name: dir}, nil
}

// Name is the directory the tree was opened as.
func (t *Tree) Name() string { return t.name }

// Close releases the directory.
func (t *Tree) Close() error { return t.root.Close() }

// Place is where a path leads inside the tree.
type Place struct {
	Path   string // without links, in the spelling of the directory entries; "." is the root
	Info   fs.FileInfo
	Linked bool // a link was followed on the way
}

// Resolve follows p inside the tree the way the machine the evidence came from
// would have: an absolute link target starts at the tree's root, and ".." stops
// there. With fold, names match whatever their case, as on Windows and macOS;
// an exact match wins.
func (t *Tree) Resolve(p string, fold bool) (Place, error) {
	todo := components(p)
	var done []string
	place := Place{}
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			done = done[:max(len(done)-1, 0)]
			continue
		}
		info, name, err := t.lookup(done, name, fold)
		if err != nil {
			return Place{}, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(todo) > 0 && !info.IsDir() {
				return Place{}, &fs.PathError{Op: "resolve", Path: p, Err: fs.ErrNotExist}
			}
			done = append(done, name)
			continue
		}
		if links++; links > maxLinks {
			return Place{}, &fs.PathError{Op: "resolve", Path: p, Err: errors.New("too many links")}
		}
		target, err := t.root.Readlink(join(done, name))
		if err != nil {
			return Place{}, fmt.Errorf("read link: %w", err)
		}
		place.Linked = true
		if fold {
			target = slashed(target)
		}
		if strings.HasPrefix(target, "/") {
			done = done[:0]
		}
		todo = append(components(target), todo...)
	}
	place.Path = join(done, "")
	info, err := t.root.Lstat(place.Path)
	if err != nil {
		return Place{}, fmt.Errorf("resolve %s: %w", p, err)
	}
	place.Info = info
	return place, nil
}

// lookup finds name in the directory done, in another case if need be.
func (t *Tree) lookup(done []string, name string, fold bool) (fs.FileInfo, string, error) {
	info, err := t.root.Lstat(join(done, name))
	if err == nil || !fold || !errors.Is(err, fs.ErrNotExist) {
		return info, name, err
	}
	dir, openErr := t.root.Open(join(done, ""))
	if openErr != nil {
		return nil, "", err
	}
	defer dir.Close()
	names, readErr := dir.Readdirnames(-1)
	if readErr != nil {
		return nil, "", err
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			info, err := t.root.Lstat(join(done, n))
			return info, n, err
		}
	}
	return nil, "", err
}

// OpenDir opens a directory by its resolved path.
func (t *Tree) OpenDir(p string) (*Dir, error) {
	root, err := t.root.OpenRoot(p)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	return &Dir{root: root}, nil
}

// OpenFile opens a regular file by its resolved path.
func (t *Tree) OpenFile(p string) (*os.File, fs.FileInfo, error) {
	return openFile(t.root, p)
}

// slashed turns a Windows link target into one of ours: backslashes are
// separators, and a drive letter stands for the root.
func slashed(target string) string {
	target = strings.ReplaceAll(target, `\`, "/")
	if len(target) >= 3 && target[1] == ':' && target[2] == '/' {
		return target[2:]
	}
	return target
}

func components(p string) []string {
	var parts []string
	for part := range strings.SplitSeq(p, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

func join(done []string, name string) string {
	p := path.Join(path.Join(done...), name)
	if p == "" {
		return "."
	}
	return p
}
