package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// errNotFile says that a path names something else than a regular file.
var errNotFile = errors.New("not a regular file")

// openDirIn opens a directory for listing; anything else is an error.
func openDirIn(root *os.Root, rel string) (*os.File, error) {
	f, err := root.Open(orDot(rel))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: rel, Err: errors.New("not a directory")}
	}
	if err != nil {
		_ = f.Close() // nothing was read from it
		return nil, err
	}
	return f, nil
}

// batch is how many files of one directory are one piece of work.
const batch = 32

// walker walks a tree and searches its files with several goroutines. Work is
// taken from the top of a stack, on which a directory's entries lie in order,
// so that the walk is nearly in the order of the paths.
type walker struct {
	opt     Options
	pattern *Pattern
	globs   globSet
	tree    *tree
	found   *collection
	prefix  string // path of Dir below the working tree's top, "" or with a slash at the end

	searched, binary, unread atomic.Int64

	mu      sync.Mutex
	wake    *sync.Cond
	stack   []job
	active  int // jobs being done
	aborted bool
}

// job is a directory to list, or files of one directory to search.
type job struct {
	dir   string // relative to Dir, "" or with a slash at the end
	level *level
	files []string // names in dir; nil = list dir
	named bool     // files were named by the caller
}

// begin puts the paths to search on the stack.
func (w *walker) begin() error {
	above := w.levelsAbove()
	paths := w.opt.Paths
	if len(paths) == 0 {
		paths = []string{""}
	}
	for _, p := range slices.Backward(paths) {
		p = strings.TrimPrefix(path.Clean("/"+p), "/")
		if err := w.push(p, above); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) push(p string, above *level) error {
	d, err := w.tree.openDir(p)
	if err == nil {
		_ = d.Close() // opened to see whether it can be
		dir, lv := "", above
		// The rules between Dir and the path hold as well.
		for _, name := range strings.Split(p, "/") {
			if p == "" {
				break
			}
			lv = w.enter(dir, lv, nil)
			dir += name + "/"
		}
		w.stack = append(w.stack, job{dir: dir, level: lv})
		return nil
	}
	f, err := w.tree.openFile(p)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	f.close()
	dir, name := path.Split(p)
	w.stack = append(w.stack, job{dir: dir, files: []string{name}, named: true})
	return nil
}

func (w *walker) abort() {
	w.mu.Lock()
	w.aborted = true
	w.mu.Unlock()
	w.wake.Broadcast()
}

// work does jobs until there are none and nobody can add any.
func (w *walker) work(ctx context.Context) {
	var s *scanner // nil: the files are listed and not read
	if w.pattern != nil {
		s = newScanner(w.pattern, w.opt)
	}
	for {
		w.mu.Lock()
		for len(w.stack) == 0 && w.active > 0 && !w.aborted {
			w.wake.Wait()
		}
		if len(w.stack) == 0 || w.aborted {
			w.mu.Unlock()
			w.wake.Broadcast()
			return
		}
		j := w.stack[len(w.stack)-1]
		w.stack = w.stack[:len(w.stack)-1]
		w.active++
		w.mu.Unlock()

		var more []job
		if j.files != nil {
			w.search(ctx, s, j)
		} else {
			more = w.list(j)
		}

		w.mu.Lock()
		w.active--
		w.stack = append(w.stack, more...)
		w.mu.Unlock()
		w.wake.Broadcast()
	}
}

// list reads a directory and returns what to do next, last first.
func (w *walker) list(j job) []job {
	if !w.found.wanted(j.dir) {
		w.found.skipped()
		return nil
	}
	d, err := w.tree.openDir(strings.TrimSuffix(j.dir, "/"))
	if err != nil {
		w.unread.Add(1)
		return nil
	}
	var id fs.FileInfo
	if w.opt.Follow {
		if id, err = d.Stat(); err != nil || j.level.holds(id) {
			_ = d.Close() // a loop of links, or unreadable
			return nil
		}
	}
	entries, err := d.ReadDir(-1)
	if err != nil {
		w.unread.Add(1) // what could be listed is searched
	}
	_ = d.Close() // nothing was written
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	lv := w.enter(j.dir, j.level, entries)
	if id != nil {
		own := level{up: j.level}
		if lv != j.level {
			own = *lv
		}
		own.id = id
		lv = &own
	}
	var jobs []job
	var files []string
	for _, e := range entries {
		dir, ok := w.selects(j.dir, e, lv)
		switch {
		case !ok:
		case dir:
			jobs = append(jobs, job{dir: j.dir + e.Name() + "/", level: lv})
		default:
			files = append(files, e.Name())
		}
	}
	for part := range slices.Chunk(files, batch) {
		jobs = append(jobs, job{dir: j.dir, files: part})
	}
	slices.Reverse(jobs)
	// The files of a directory come before its directories: they are at hand.
	slices.SortStableFunc(jobs, func(a, b job) int { return min(len(a.files), 1) - min(len(b.files), 1) })
	return jobs
}

// selects reports whether an entry is a file to search or a directory to
// enter.
func (w *walker) selects(dir string, e fs.DirEntry, lv *level) (isDir, ok bool) {
	name := e.Name()
	mode := e.Type()
	if mode&fs.ModeSymlink != 0 {
		if !w.opt.Follow {
			return false, false
		}
		mode = w.target(dir + name)
	}
	isDir = mode.IsDir()
	if !isDir && !mode.IsRegular() || isDir && name == ".git" {
		return false, false
	}
	switch w.globs.judge(dir+name, name, isDir) {
	case ignored:
		return isDir, false
	case included:
		return isDir, true
	}
	v := unsaid
	if !w.opt.NoIgnore {
		v = lv.judge(w.prefix+dir+name, name, isDir)
	}
	return isDir, v == included || v == unsaid && (w.opt.Hidden || name[0] != '.')
}

// target is the type of what a link leads to, if that is in the tree.
func (w *walker) target(rel string) fs.FileMode {
	if d, err := w.tree.openDir(rel); err == nil {
		_ = d.Close() // opened to see whether it can be
		return fs.ModeDir
	}
	if f, err := w.tree.openFile(rel); err == nil {
		f.close()
		return 0
	}
	return fs.ModeIrregular
}

// search searches files of one directory.
func (w *walker) search(ctx context.Context, s *scanner, j job) {
	for _, name := range j.files {
		rel := j.dir + name
		if !w.found.wanted(rel) {
			w.found.skipped()
			return // the rest sorts behind it
		}
		if s == nil {
			w.found.add(File{Path: rel, Matches: 1})
			continue
		}
		f, err := w.tree.openFile(rel)
		if err != nil {
			w.unread.Add(1)
			continue
		}
		w.searched.Add(1)
		result, err := s.file(ctx, f, j.named)
		f.close()
		switch {
		case err != nil && ctx.Err() != nil:
			return
		case errors.Is(err, errBinary):
			w.binary.Add(1)
		case err != nil:
			w.unread.Add(1)
		case result.Matches > 0:
			result.Path = rel
			w.found.add(result)
		}
	}
}
