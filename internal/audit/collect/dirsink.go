package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// dirSink writes a collection into a directory. It too works through an
// os.Root: whatever a name of the evidence holds, nothing is written outside.
type dirSink struct {
	root *os.Root

	mu   sync.Mutex
	open map[string]*outDir
	dirs []madeDir
}

// outDir is an open directory of the output, shared by the copies under way.
type outDir struct {
	*os.Root
	users int
}

type madeDir struct {
	name string
	info fs.FileInfo
}

// maxOpenDirs bounds the directories kept open for the next file.
const maxOpenDirs = 64

func newDirSink(dir string) (*dirSink, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create output: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open output: %w", err)
	}
	return &dirSink{root: root, open: map[string]*outDir{}}, nil
}

func (s *dirSink) dir(out string, info fs.FileInfo) error {
	d, err := s.acquire(out)
	if err != nil {
		return err
	}
	s.release(d)
	s.mu.Lock()
	s.dirs = append(s.dirs, madeDir{out, info})
	s.mu.Unlock()
	return nil
}

func (s *dirSink) put(ctx context.Context, out string, info fs.FileInfo, e *Entry, src io.Reader, tap func([]byte)) error {
	dir, err := s.acquire(path.Dir(out))
	if err != nil {
		return err
	}
	defer s.release(dir)
	name := path.Base(out)
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create copy: %w", err)
	}
	var c copied
	if file, ok := src.(*os.File); ok && info.Size() > bufferSize {
		c, err = copyFiles(ctx, f, file, tap)
	} else {
		c, err = copyHash(ctx, f, src, tap)
	}
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", out, err)
	}
	e.result(c)
	if err := dir.Chtimes(name, accessTime(info), info.ModTime()); err != nil {
		return fmt.Errorf("set times of copy: %w", err)
	}
	return nil
}

// acquire opens the output directory name, making it if need be. Each step is
// taken from the directory above, which is mostly open already.
func (s *dirSink) acquire(name string) (*outDir, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acquireLocked(name)
}

func (s *dirSink) acquireLocked(name string) (*outDir, error) {
	if d := s.open[name]; d != nil {
		d.users++
		return d, nil
	}
	parent := &outDir{Root: s.root}
	base := name
	if dir := path.Dir(name); dir != "." {
		p, err := s.acquireLocked(dir)
		if err != nil {
			return nil, err
		}
		defer func() { p.users-- }()
		parent, base = p, path.Base(name)
	}
	if err := s.makeRoom(); err != nil {
		return nil, err
	}
	root, err := parent.OpenRoot(base)
	if errors.Is(err, fs.ErrNotExist) {
		if err = parent.Mkdir(base, 0o700); err == nil {
			root, err = parent.OpenRoot(base)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open output directory: %w", err)
	}
	d := &outDir{Root: root, users: 1}
	s.open[name] = d
	return d, nil
}

// makeRoom closes directories that nobody uses when many are open.
func (s *dirSink) makeRoom() error {
	if len(s.open) < maxOpenDirs {
		return nil
	}
	for n, d := range s.open {
		if d.users == 0 {
			delete(s.open, n)
			if err := d.Close(); err != nil {
				return fmt.Errorf("close output directory: %w", err)
			}
		}
	}
	return nil
}

func (s *dirSink) release(d *outDir) {
	s.mu.Lock()
	d.users--
	s.mu.Unlock()
}

func (s *dirSink) have(e *Entry) (bool, error) {
	info, err := s.root.Lstat(e.Out)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at copy: %w", err)
	}
	return info.Mode().IsRegular() && info.Size() == e.Copied, nil
}

func (s *dirSink) note(name string, text []byte) error {
	if err := s.root.WriteFile(name+".new", text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := s.root.Rename(name+".new", name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (s *dirSink) finish() error {
	// Deepest first: setting a child's times does not touch its parent's, but
	// a directory without the write bit would refuse.
	slices.SortFunc(s.dirs, func(a, b madeDir) int { return strings.Compare(b.name, a.name) })
	for _, d := range s.dirs {
		parent, err := s.acquire(path.Dir(d.name))
		if err != nil {
			return err
		}
		base := path.Base(d.name)
		// The owner keeps the right to look inside and to delete.
		if err = parent.Chmod(base, d.info.Mode().Perm()|0o700); err == nil {
			err = parent.Chtimes(base, time.Time{}, d.info.ModTime())
		}
		s.release(parent)
		if err != nil {
			return fmt.Errorf("set mode and times of output directory: %w", err)
		}
	}
	return s.abort()
}

func (s *dirSink) abort() error {
	var first error
	for _, d := range s.open {
		if err := d.Close(); err != nil && first == nil {
			first = err
		}
	}
	if err := s.root.Close(); err != nil && first == nil {
		first = err
	}
	return first
}

// emptyOrOurs reports whether dir may be collected into: it does not exist, is
// empty, or holds a collection.
func emptyOrOurs(dir string) (bool, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at output: %w", err)
	}
	for _, name := range []string{journalName, manifestName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true, nil
		}
	}
	return len(names) == 0, nil
}
