// Package workspace is the boundary that file tools work inside. A path the
// model gave is first located in a root by its spelling, then walked one
// component at a time with every directory held open, so that "..", links,
// /proc and directories swapped during the walk cannot lead out. Writing goes
// to a temporary file in the held directory and is renamed into place.
//
// What it cannot tell: a second name (hard link) of a file outside is read like
// any file, since nothing marks it. Writing replaces the name inside and leaves
// the file outside as it is.
//
// The boundary holds whether or not commands run in a sandbox. It also knows
// what Git says about the directory, without running git for it.
package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Workspace is one directory with full access and any number of directories
// that may be read as well. It is safe for concurrent use.
type Workspace struct {
	main *Root

	mu       sync.RWMutex
	readable []*Root
}

// Open opens the workspace at dir, which must be a directory.
func Open(dir string) (*Workspace, error) {
	main, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	main.guarded = true
	return &Workspace{main: main}, nil
}

// AddReadable lets files below dir be read, for example the directory in which
// the session keeps tool output that was too long. The directory must exist.
func (w *Workspace) AddReadable(dir string) error {
	root, err := openRoot(dir)
	if err != nil {
		return err
	}
	root.readOnly = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readable = append(w.readable, root)
	return nil
}

// Close releases the directories.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.main.close()
	for _, r := range w.readable {
		if e := r.close(); err == nil {
			err = e
		}
	}
	return err
}

// Dir is the workspace's absolute path with links resolved.
func (w *Workspace) Dir() string { return w.main.dir }

// Root is the workspace's own tree.
func (w *Workspace) Root() *Root { return w.main }

// Location is a path by its spelling: which tree it names and where in it.
// Nothing was looked at on disk except that the tree exists.
type Location struct {
	Root *Root  // nil when the path is outside of every tree
	Rel  string // slash-separated, not cleaned; "" is the tree itself
	Abs  string // absolute path as far as the spelling tells
}

// Inside reports whether the path names something in a known tree.
func (l Location) Inside() bool { return l.Root != nil }

// Locate finds the tree that path names. A relative path is relative to the
// workspace. An absolute path is inside when it starts with a tree's path,
// either as given or with links resolved; any other spelling is outside, so
// that /proc/self/cwd is not a second name for the workspace.
func (w *Workspace) Locate(path string) (Location, error) {
	if err := checkSpelling(path); err != nil {
		return Location{}, err
	}
	if !isAbs(path) {
		rel := toSlash(path)
		if first, _, _ := strings.Cut(rel, "/"); first == "~" {
			if _, err := w.main.root.Lstat("~"); err != nil {
				return Location{Abs: path}, nil // a home directory, not a file named ~
			}
		}
		return Location{Root: w.main, Rel: rel, Abs: filepath.Join(w.main.dir, path)}, nil
	}
	abs := filepath.Clean(path)
	w.mu.RLock()
	defer w.mu.RUnlock()
	for _, r := range append([]*Root{w.main}, w.readable...) {
		for _, dir := range []string{r.dir, r.given} {
			if rel, ok := below(dir, abs); ok {
				return Location{Root: r, Rel: filepath.ToSlash(rel), Abs: filepath.Join(r.dir, rel)}, nil
			}
		}
	}
	return Location{Abs: abs}, nil
}

// Outside opens the tree that holds an absolute path which a person or a rule
// allowed although it is outside. The caller closes the root.
func Outside(abs string) (*Root, string, error) {
	if !filepath.IsAbs(abs) {
		return nil, "", fmt.Errorf("open %s: not an absolute path", abs)
	}
	abs = filepath.Clean(abs)
	top := filepath.VolumeName(abs) + string(filepath.Separator)
	root, err := openRoot(top)
	if err != nil {
		return nil, "", err
	}
	return root, filepath.ToSlash(strings.TrimPrefix(abs, top)), nil
}

// checkSpelling refuses what no file name can be.
func checkSpelling(path string) error {
	switch {
	case path == "":
		return &PathError{Path: path, Why: "the path is empty"}
	case strings.ContainsRune(path, 0):
		return &PathError{Path: path, Why: "the path holds a NUL character"}
	case strings.HasPrefix(strings.ToLower(path), "file:"):
		return &PathError{Path: path, Why: "give a plain path, not a URL"}
	}
	return nil
}

// isAbs also knows the absolute spellings of Windows that filepath.IsAbs does
// not count: a path that starts at the current drive or names a drive only.
func isAbs(path string) bool {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "/") {
		return true
	}
	return runtime.GOOS == "windows" && (strings.HasPrefix(path, `\`) || filepath.VolumeName(path) != "")
}

func toSlash(path string) string { return filepath.ToSlash(path) }

// below reports whether abs is dir or below it, and the rest of the path.
func below(dir, abs string) (string, bool) {
	if dir == "" || len(abs) < len(dir) {
		return "", false
	}
	head, rest := abs[:len(dir)], abs[len(dir):]
	if head != dir && !(foldsCase && strings.EqualFold(head, dir)) {
		return "", false
	}
	switch {
	case rest == "":
		return "", true
	case os.IsPathSeparator(dir[len(dir)-1]):
		return rest, true
	case os.IsPathSeparator(rest[0]):
		return rest[1:], true
	}
	return "", false
}

// foldsCase says that file names usually match whatever their case.
const foldsCase = runtime.GOOS == "windows" || runtime.GOOS == "darwin"
