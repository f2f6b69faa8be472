// Package search finds lines in the files of a directory tree, like ripgrep:
// in parallel, past what .gitignore names, without an index and with memory
// that does not grow with the tree or its files. Results come in the order of
// their paths whatever order the files were read in, so that a limited answer
// is the same each time.
//
// Files are opened below the tree's directory only: links that lead out, and
// directories swapped during the walk, are not followed.
package search

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Options say where to search and what to return.
type Options struct {
	// Dir is the absolute directory that nothing outside of is read.
	Dir string
	// Paths are files and directories in Dir, slash-separated, clean; "" or
	// "." is Dir. None means Dir. A file named here is searched even if it is
	// hidden, ignored or binary.
	Paths []string
	// Globs select files as rg -g does: the last one that matches decides, "!"
	// excludes, a glob without a slash matches names at any depth.
	Globs []string

	Hidden   bool // names that begin with a dot, except .git
	NoIgnore bool // what .gitignore, .ignore and .git/info/exclude name
	Follow   bool // symbolic links that stay in Dir
	Binary   bool // treat binary files as text

	Before, After int // context lines
	// MaxMatches ends the answer after so many matching lines, or files with
	// FilesOnly; 0 is no limit.
	MaxMatches int
	// FilesOnly wants the paths and no lines.
	FilesOnly bool
	// Workers is how many files are read at once; 0 is the number of CPUs.
	Workers int
}

// Line is one line of a result.
type Line struct {
	Number int
	Text   string // without line end, shortened around the match when very long
	Match  bool   // false for context
}

// File is a file with matches.
type File struct {
	Path  string // relative to Dir, with slashes
	Lines []Line // empty with FilesOnly
	// Matches is the number of matching lines in Lines, 1 with FilesOnly.
	Matches int
}

// Result is what a search found, ordered by path.
type Result struct {
	Files     []File
	Matches   int
	Truncated bool  // there were more than MaxMatches
	Searched  int64 // files read
	Binary    int64 // files passed over as binary
	Unread    int64 // files and directories that could not be read
}

// List finds the files that a search would read, and reads none of them: empty
// and binary files are among them.
func List(ctx context.Context, o Options) (Result, error) {
	o.FilesOnly = true
	return Run(ctx, nil, o)
}

// Run searches. The error is about the options or the context; files that
// cannot be read are only counted.
func Run(ctx context.Context, p *Pattern, o Options) (Result, error) {
	globs, err := parseGlobs(o.Globs)
	if err != nil {
		return Result{}, err
	}
	tree, err := openTree(o.Dir, o.Follow)
	if err != nil {
		return Result{}, fmt.Errorf("search %s: %w", o.Dir, err)
	}
	defer tree.close()
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	w := &walker{opt: o, pattern: p, globs: globs, tree: tree, found: newCollection(o)}
	w.wake = sync.NewCond(&w.mu)
	if err := w.begin(); err != nil {
		return Result{}, err
	}
	stop := context.AfterFunc(ctx, w.abort)
	defer stop()
	var wait sync.WaitGroup
	for range o.Workers {
		wait.Go(func() { w.work(ctx) })
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	r := w.found.result()
	r.Searched, r.Binary, r.Unread = w.searched.Load(), w.binary.Load(), w.unread.Load()
	return r, nil
}
