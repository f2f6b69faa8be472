package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may lead through, as in Linux.
const maxLinks = 40

// Root is one directory tree held open.
type Root struct {
	dir      string // absolute, links resolved
	given    string // absolute, as the caller spelled it
	root     *os.Root
	guarded  bool // protected names hold
	readOnly bool
}

func openRoot(dir string) (*Root, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace root: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("open workspace root: %w", err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open workspace root: %w", err)
	}
	return &Root{dir: resolved, given: given, root: root}, nil
}

func (r *Root) close() error { return r.root.Close() }

// Close releases a root that Outside opened.
func (r *Root) Close() error { return r.close() }

// Dir is the tree's absolute path with links resolved.
func (r *Root) Dir() string { return r.dir }

// Unguarded is the same tree without protected names, for a write to one that
// was allowed. It need not be closed.
func (r *Root) Unguarded() *Root {
	free := *r
	free.guarded = false
	return &free
}

// Intent says what a path is wanted for.
type Intent int

// The intents. Write refuses protected names; Create also makes missing
// parent directories.
const (
	Read Intent = iota
	Write
	Create
)

// Reach walks to rel and returns a handle on its directory entry, which need
// not exist. Symbolic links are followed as long as they stay in the tree,
// also absolute ones. The error is a *PathError when the tree's rules refuse
// the path and the system's own otherwise. The caller closes the handle.
func (r *Root) Reach(rel string, intent Intent) (*Handle, error) {
	if intent != Read && r.readOnly {
		return nil, &PathError{Path: rel, Why: "this directory may only be read", Err: ErrProtected}
	}
	w := &walk{root: r, intent: intent, path: rel, pending: components(rel)}
	h, err := w.run()
	if err != nil {
		w.closeAll()
		return nil, err
	}
	return h, nil
}

// walk is one walk in progress. Invariant: dirs holds the open directories
// from the root down, without any link between them; names are their names.
type walk struct {
	root    *Root
	intent  Intent
	path    string // as asked for, for messages
	pending []string
	dirs    []*os.Root // below the root; owned
	names   []string
	links   int
}

func (w *walk) run() (*Handle, error) {
	for len(w.pending) > 0 {
		name := w.pending[0]
		w.pending = w.pending[1:]
		if name == ".." {
			if len(w.dirs) == 0 {
				return nil, w.outside()
			}
			w.pop()
			continue
		}
		h, err := w.enter(name)
		if h != nil || err != nil {
			return h, err
		}
	}
	return w.handleOfCurrent()
}

// enter steps onto one component. It returns a handle when the component is
// the last one.
func (w *walk) enter(name string) (*Handle, error) {
	top := len(w.dirs) == 0
	if err := w.checkName(name, top); err != nil {
		return nil, err
	}
	cur := w.current()
	info, err := cur.Lstat(name)
	last := len(w.pending) == 0
	if errors.Is(err, fs.ErrNotExist) {
		if last {
			return w.handle(name, nil), nil
		}
		if w.intent != Create {
			return nil, err
		}
		// The umask narrows this to the user's habit.
		if err := cur.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err = cur.Lstat(name)
	}
	if err != nil {
		return nil, err
	}
	if w.guards() {
		if p := protectedTwin(cur, info, top); p != "" {
			return nil, w.protected(p)
		}
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, w.follow(name)
	case last:
		return w.handle(name, info), nil
	case !info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: w.path, Err: syscall.ENOTDIR}
	}
	return nil, w.push(name, info)
}

// push opens a directory and makes sure that it is the one just looked at, so
// that a link put in its place meanwhile is not followed.
func (w *walk) push(name string, info fs.FileInfo) error {
	sub, err := w.current().OpenRoot(name)
	if err != nil {
		return err
	}
	now, err := sub.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = &PathError{Path: w.path, Why: "a directory on the path was replaced meanwhile; try again", Err: ErrChanged}
	}
	if err != nil {
		_ = sub.Close() // the first error is the one to tell
		return err
	}
	w.dirs = append(w.dirs, sub)
	w.names = append(w.names, name)
	return nil
}

// follow replaces a link by its target in the pending components.
func (w *walk) follow(name string) error {
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "open", Path: w.path, Err: syscall.ELOOP}
	}
	target, err := w.current().Readlink(name)
	if err != nil {
		return err
	}
	if isAbs(target) {
		rest, ok := below(w.root.dir, filepath.Clean(target))
		if !ok {
			return w.outsideBy(name, target)
		}
		for len(w.dirs) > 0 {
			w.pop()
		}
		target = rest
	}
	w.pending = append(components(toSlash(target)), w.pending...)
	return nil
}

func (w *walk) checkName(name string, top bool) error {
	if w.guards() {
		if p := protectedAs(name, top); p != "" {
			return w.protected(p)
		}
	}
	return checkComponent(w.path, name)
}

func (w *walk) guards() bool { return w.root.guarded && w.intent != Read }

func (w *walk) outside() error {
	return &PathError{Path: w.path, Why: "path leads outside the workspace", Err: ErrOutside}
}

func (w *walk) outsideBy(link, target string) error {
	why := fmt.Sprintf("path leads outside the workspace: %s is a link to %s", link, target)
	return &PathError{Path: w.path, Why: why, Err: ErrOutside}
}

func (w *walk) protected(name string) error {
	return &PathError{Path: w.path, Why: name + " is protected: file tools do not write in it", Err: ErrProtected}
}

func (w *walk) current() *os.Root {
	if len(w.dirs) == 0 {
		return w.root.root
	}
	return w.dirs[len(w.dirs)-1]
}

func (w *walk) pop() {
	n := len(w.dirs) - 1
	_ = w.dirs[n].Close() // a directory opened for reading has nothing to lose
	w.dirs, w.names = w.dirs[:n], w.names[:n]
}

func (w *walk) closeAll() {
	for len(w.dirs) > 0 {
		w.pop()
	}
}

// handle hands the current directory over to a Handle and closes the others.
func (w *walk) handle(name string, info fs.FileInfo) *Handle {
	h := &Handle{Info: info, root: w.root, dir: w.root.root, name: name}
	h.Rel = strings.Join(append(append([]string(nil), w.names...), name), "/")
	if n := len(w.dirs); n > 0 {
		h.dir, h.owned = w.dirs[n-1], true
		w.dirs, w.names = w.dirs[:n-1], w.names[:n-1]
	}
	w.closeAll()
	return h
}

// handleOfCurrent is the handle of a directory that was reached as such: the
// root itself, or through a trailing "..".
func (w *walk) handleOfCurrent() (*Handle, error) {
	info, err := w.current().Stat(".")
	if err != nil {
		return nil, err
	}
	rel := strings.Join(w.names, "/")
	h := w.handle(".", info)
	h.Rel = rel
	return h, nil
}

// components splits a slash-separated path and drops what names nothing.
func components(rel string) []string {
	var out []string
	for _, c := range strings.Split(rel, "/") {
		if c != "" && c != "." {
			out = append(out, c)
		}
	}
	return out
}
