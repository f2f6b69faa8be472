package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/openmuse/muse/internal/workspace"
)

// file is a directory entry that a call was allowed to use.
type file struct {
	*workspace.Handle
	shown   string          // path as data: relative to the workspace when inside
	outside *workspace.Root // owned; nil when inside
}

// name is the path as a text shows it.
func (f *file) name() string { return printable(f.shown) }

func (f *file) close() {
	_ = f.Close() // directories opened for reading have nothing to lose
	if f.outside != nil {
		_ = f.outside.Close()
	}
}

// reach finds what path names, asks whether the call may use it and returns
// the entry. The caller closes it. A refusal is a result for the model.
func (s *Set) reach(ctx context.Context, call Call, path string, intent workspace.Intent) (*file, *Result) {
	loc, err := s.opt.Workspace.Locate(path)
	if err != nil {
		return nil, failed(err)
	}
	if !loc.Inside() {
		return s.reachOutside(ctx, call, loc, intent)
	}
	kind, first := AskRead, workspace.Read
	if intent != workspace.Read {
		kind, first = AskWrite, workspace.Write
	}
	root := loc.Root
	// The first walk makes nothing: it finds the path to ask about.
	h, err := root.Reach(loc.Rel, first)
	abs := loc.Abs
	var protected error
	switch {
	case err == nil:
		abs = h.Abs()
	case errors.Is(err, workspace.ErrProtected):
		kind, protected, root = AskWriteProtected, err, root.Unguarded()
	case !errors.Is(err, fs.ErrNotExist) || intent != workspace.Create:
		return nil, failed(err)
	}
	if _, no := s.gate(ctx, Ask{Kind: kind, Call: call, Path: abs}); no != nil {
		if h != nil {
			_ = h.Close() // nothing was done through it
		}
		if protected != nil && no.Reason == "permission denied" {
			return nil, failed(protected)
		}
		return nil, no
	}
	if h == nil {
		if h, err = root.Reach(loc.Rel, intent); err != nil {
			return nil, failed(err)
		}
	}
	return &file{Handle: h, shown: s.shown(h)}, nil
}

// reachOutside is reach for a path that the workspace does not hold.
func (s *Set) reachOutside(ctx context.Context, call Call, loc workspace.Location, intent workspace.Intent) (*file, *Result) {
	kind := AskReadOutside
	if intent != workspace.Read {
		kind = AskWriteOutside
	}
	refused := Fail("absolute path is outside the workspace")
	refused.NoOutput = true
	if !filepath.IsAbs(loc.Abs) {
		refused = Fail("path is outside the workspace")
		return nil, &refused
	}
	if _, no := s.gate(ctx, Ask{Kind: kind, Call: call, Path: loc.Abs}); no != nil {
		if no.Reason == "permission denied" {
			no = &refused
		}
		return nil, no
	}
	root, rel, err := workspace.Outside(loc.Abs)
	if err != nil {
		return nil, failed(err)
	}
	h, err := root.Reach(rel, intent)
	if err != nil {
		_ = root.Close() // nothing was done through it
		return nil, failed(err)
	}
	return &file{Handle: h, shown: h.Abs(), outside: root}, nil
}

// shown is how results name a file.
func (s *Set) shown(h *workspace.Handle) string {
	dir := s.opt.Workspace.Dir()
	if rel, err := filepath.Rel(dir, h.Abs()); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return h.Abs()
}

// missing is the result for a file that does not exist, with names from its
// directory that come near.
func (f *file) missing() *Result {
	r := Fail(noSuchFile)
	entries, err := f.Siblings(2000)
	if err != nil {
		return &r // the directory cannot be listed: nothing to suggest
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	base := f.shown[strings.LastIndexByte(f.shown, '/')+1:]
	if near := nearest(base, names, 3); len(near) > 0 {
		r.Text += fmt.Sprintf("\n`%s` does not exist; the directory has %s", f.name(), orList(printableAll(near)))
	}
	return &r
}

// failed words an error of the file system for the model.
func failed(err error) *Result {
	r := Fail(errorText(err))
	return &r
}

func errorText(err error) string {
	var refused *workspace.PathError
	if errors.As(err, &refused) {
		return refused.Why
	}
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noSuchFile
	case errors.Is(err, fs.ErrPermission):
		return "Permission denied (os error 13)"
	case errors.As(err, &errno):
		return errnoText(errno)
	}
	return err.Error()
}

// noSuchFile is what other builds answer for a path that does not exist
// (STREAM.md (a), "Text forms seen").
const noSuchFile = "No such file or directory (os error 2)"

// errnoText is any other system error in the same spelling.
func errnoText(errno syscall.Errno) string {
	text := errno.Error()
	return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(text[:1]), text[1:], int(errno))
}
