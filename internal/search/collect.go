package search

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// collection gathers results from all workers and keeps the first MaxMatches
// of them in the order of paths. Once it is full, files that sort behind its
// last one need not be read any more.
type collection struct {
	limit int
	bound atomic.Pointer[string] // path of the last file kept, when full

	mu      sync.Mutex
	files   []File // not ordered
	matches int
	more    bool
}

func newCollection(o Options) *collection { return &collection{limit: o.MaxMatches} }

// wanted reports whether matches in a file could still be in the answer.
func (c *collection) wanted(path string) bool {
	bound := c.bound.Load()
	return bound == nil || comparePaths(path, *bound) <= 0
}

func (c *collection) add(f File) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = append(c.files, f)
	c.matches += f.Matches
	if c.limit > 0 && c.matches > c.limit {
		c.trim()
	}
}

// skipped notes that a file behind the bound was not read.
func (c *collection) skipped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.more = true
}

// trim drops the last files as long as the limit holds without them. One match
// more than the limit is kept, to know that there was more.
func (c *collection) trim() {
	slices.SortFunc(c.files, func(a, b File) int { return comparePaths(a.Path, b.Path) })
	for len(c.files) > 0 {
		last := c.files[len(c.files)-1]
		if c.matches-last.Matches <= c.limit {
			break
		}
		c.matches -= last.Matches
		c.files = c.files[:len(c.files)-1]
		c.more = true
	}
	if c.matches > c.limit {
		bound := c.files[len(c.files)-1].Path
		c.bound.Store(&bound)
	}
}

func (c *collection) result() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.files, func(a, b File) int { return comparePaths(a.Path, b.Path) })
	r := Result{Files: c.files, Matches: c.matches, Truncated: c.more}
	if c.limit == 0 || r.Matches <= c.limit {
		return r
	}
	r.Truncated = true
	over := r.Matches - c.limit
	last := &r.Files[len(r.Files)-1]
	r.Matches = c.limit
	if over >= last.Matches {
		r.Files = r.Files[:len(r.Files)-1]
		return r
	}
	last.cutMatches(over)
	return r
}

// cutMatches drops the last n matching lines and the context after them.
func (f *File) cutMatches(n int) {
	f.Matches -= n
	left := f.Matches
	for i, line := range f.Lines {
		if line.Match {
			if left == 0 {
				f.Lines = f.Lines[:i]
				return
			}
			left--
		}
	}
}

// comparePaths orders paths by their components, so that a directory's files
// stay together.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		case a[i] < b[i]:
			return -1
		}
		return 1
	}
	return strings.Compare(a[n:], b[n:])
}
