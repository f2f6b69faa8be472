//go:build unix

package repository

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxDirs bounds one scan. Looking again at a directory that did not change
// costs about a microsecond.
const maxDirs = 50000

// Scanner looks for repositories below one root, and looks again quickly: a
// directory's entries are read only when the kernel says that it changed.
// That time cannot be set back by a program. Safe for concurrent use.
type Scanner struct {
	root string
	skip []string
	max  int

	mu    sync.Mutex
	known map[string]*directory // by path relative to the root
}

// directory is what was read of one directory.
type directory struct {
	id       stamp
	settled  bool     // id tells of every change from now on
	children []string // real subdirectories, but those named .git
	git      []string // entries that git may take for .git, in any case
	bare     bool
}

// stamp changes whenever an entry is added, removed or renamed.
type stamp struct {
	dev, ino uint64
	sec      int64
	nsec     int64
}

// tick is longer than any clock step that file times are taken from. A change
// within one step of an earlier one leaves the time as it was.
const tick = 100 * time.Millisecond

// settled reports whether every change after now will change the stamp.
func (t stamp) settled(now time.Time) bool { return now.Sub(time.Unix(t.sec, t.nsec)) > tick }

// NewScanner looks below root, an absolute path without links. The names in
// skip, directly below it, are left out: they are protected as a whole.
func NewScanner(root string, skip []string) *Scanner {
	return &Scanner{root: root, skip: skip, max: maxDirs}
}

// Before returns every repository below the root. The insides of repositories
// are not searched. A directory that cannot be read is skipped.
func (s *Scanner) Before() (Found, error) { return s.scan(false) }

// After is Before once a command has ended. A directory that may be searched
// but not listed hides its entries from us and not from git, so it is made
// readable.
func (s *Scanner) After() (Found, error) { return s.scan(true) }

func (s *Scanner) scan(open bool) (Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &scan{Scanner: s, open: open, now: time.Now(), next: make(map[string]*directory, len(s.known))}
	if err := w.visit("."); err != nil {
		return Found{}, fmt.Errorf("look for repositories in %s: %w", s.root, err)
	}
	s.known = w.next
	slices.SortFunc(w.found.Places, func(a, b Place) int { return strings.Compare(a.Path, b.Path) })
	w.found.Dirs = len(w.next)
	return w.found, nil
}

type scan struct {
	*Scanner
	open  bool
	now   time.Time
	next  map[string]*directory
	found Found
}

// visit looks at the directory rel. Only the root's own errors are returned.
func (w *scan) visit(rel string) error {
	if len(w.next) >= w.max {
		w.found.Truncated = true
		return nil
	}
	abs := w.abs(rel)
	var st unix.Stat_t
	if err := unix.Lstat(abs, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if rel == "." {
			return cmpError(err, unix.ENOTDIR)
		}
		return nil // went away between two looks
	}
	dir := w.known[rel]
	if id := stampOf(&st); dir == nil || dir.id != id || !dir.settled {
		read, err := readDirectory(abs, w.open)
		if err != nil {
			if rel == "." {
				return err
			}
			return nil // unreadable
		}
		dir = read
		dir.id, dir.settled = id, id.settled(w.now)
	}
	w.next[rel] = dir
	for _, name := range dir.git {
		if rel != "." || !slices.Contains(w.skip, name) {
			w.entry(path.Join(rel, name))
		}
	}
	if dir.bare {
		w.found.Places = append(w.found.Places, Place{Path: rel, Shape: Bare, Dev: uint64(st.Dev), Ino: st.Ino})
		if rel != "." {
			return nil
		}
	}
	for _, name := range dir.children {
		if rel == "." && slices.Contains(w.skip, name) {
			continue
		}
		if err := w.visit(path.Join(rel, name)); err != nil {
			return err
		}
	}
	return nil
}

func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// entry notes something named .git.
func (w *scan) entry(rel string) {
	var st unix.Stat_t
	if err := unix.Lstat(w.abs(rel), &st); err != nil {
		return // went away
	}
	p := Place{Path: rel, Dev: uint64(st.Dev), Ino: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		p.Shape = Dir
	case unix.S_IFREG:
		p.Shape = Pointer
	case unix.S_IFLNK:
		p.Shape = Link
	default:
		return // git does not take a device or a pipe
	}
	w.found.Places = append(w.found.Places, p)
}

func (s *Scanner) abs(rel string) string {
	if rel == "." {
		return s.root
	}
	return s.root + "/" + rel
}

func readDirectory(abs string, repair bool) (*directory, error) {
	f, err := openDirectory(abs, repair)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := &directory{}
	var shape insideNames
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			shape.add(e.Name())
			switch {
			case strings.EqualFold(e.Name(), gitName):
				d.git = append(d.git, e.Name())
			case e.IsDir():
				d.children = append(d.children, e.Name())
			}
		}
		if err != nil {
			break // io.EOF, or an error that ends the listing for git as well
		}
	}
	d.bare = shape.repository()
	return d, nil
}

func openDirectory(abs string, repair bool) (*os.File, error) {
	const flags = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	f, err := os.OpenFile(abs, flags, 0)
	if !repair || !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	info, statErr := os.Lstat(abs)
	if statErr != nil || !info.IsDir() || info.Mode().Perm()&0o111 == 0 {
		return nil, err
	}
	if os.Chmod(abs, info.Mode().Perm()|0o500) != nil {
		return nil, err
	}
	return os.OpenFile(abs, flags, 0)
}

// IsBare reports whether dir is itself the inside of a repository.
func IsBare(dir string) bool {
	d, err := readDirectory(dir, false)
	return err == nil && d.bare
}
