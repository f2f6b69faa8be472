package workspace

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Handle is a directory entry reached without leaving the tree: an open
// directory and a name in it. What is done through it stays in that directory
// even when the path leads elsewhere by now.
type Handle struct {
	// Info is the entry as it was found, nil when there is none. It is never
	// a symbolic link.
	Info fs.FileInfo
	// Rel is the path from the tree's root, links resolved, with slashes; ""
	// is the root.
	Rel string

	root  *Root
	dir   *os.Root
	owned bool
	name  string
}

// Close releases the directory.
func (h *Handle) Close() error {
	if !h.owned {
		return nil
	}
	return h.dir.Close()
}

// Abs is the entry's absolute path, links resolved.
func (h *Handle) Abs() string { return filepath.Join(h.root.dir, filepath.FromSlash(h.Rel)) }

// Key names the file in maps: one key a file, whatever path led to it.
func (h *Handle) Key() string { return h.Abs() }

// Open opens a regular file for reading. FIFOs and devices are refused before
// and after opening, and opening never waits for a peer.
func (h *Handle) Open() (*os.File, fs.FileInfo, error) {
	if h.Info == nil {
		return nil, nil, &fs.PathError{Op: "open", Path: h.Rel, Err: fs.ErrNotExist}
	}
	if !h.Info.Mode().IsRegular() {
		return nil, nil, notRegular(h.Rel, h.Info.Mode())
	}
	f, err := h.dir.OpenFile(h.name, os.O_RDONLY|quietOpen, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(h.Rel, info.Mode())
	}
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, nil, err
	}
	return f, info, nil
}

// ReadAll reads a regular file of at most limit bytes and returns it with the
// facts it had when opened.
func (h *Handle) ReadAll(limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := h.Open()
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, info, tooLarge(h.Rel, info.Size(), limit)
	}
	// One byte more than the size tells whether the file grew meanwhile.
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return data, info, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", h.Rel, err)
		}
		if int64(len(data)) > limit {
			return nil, info, tooLarge(h.Rel, int64(len(data)), limit)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// ReadDir lists a directory, sorted by name, at most limit entries (0 = all).
func (h *Handle) ReadDir(limit int) ([]fs.DirEntry, error) {
	f, err := h.dir.OpenFile(h.name, os.O_RDONLY|quietOpen, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n := limit
	if n == 0 {
		n = -1
	}
	entries, err := f.ReadDir(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	sortEntries(entries)
	return entries, err
}

// Siblings lists the directory that the entry is in, for suggestions.
func (h *Handle) Siblings(limit int) ([]fs.DirEntry, error) {
	parent := Handle{root: h.root, dir: h.dir, name: "."}
	return parent.ReadDir(limit)
}

// Replace puts data in the entry's place as a whole: readers see the old
// content or the new, and other hard links of the old file keep the old. An
// existing file's permission bits and, where allowed, its owner are kept; a
// new file gets the user's defaults. A file marked read-only is refused. With
// expect, the file must still have the facts of expect.
func (h *Handle) Replace(data []byte, expect fs.FileInfo) (err error) {
	if h.Info != nil && !h.Info.Mode().IsRegular() {
		return notRegular(h.Rel, h.Info.Mode())
	}
	if h.Info != nil && h.Info.Mode().Perm()&0o222 == 0 {
		return &fs.PathError{Op: "write", Path: h.Rel, Err: fs.ErrPermission}
	}
	tmp, f, err := h.createTemp()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = h.dir.Remove(tmp) // best effort: the failure told is the first one
		}
	}()
	if err := h.fill(f, data); err != nil {
		return fmt.Errorf("write %s: %w", h.Rel, err)
	}
	now, err := h.dir.Lstat(h.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if expect != nil {
			return changed(h.Rel)
		}
	case err != nil:
		return err
	case expect != nil && !sameVersion(expect, now):
		return changed(h.Rel)
	case now.IsDir():
		return notRegular(h.Rel, now.Mode())
	}
	if err := h.dir.Rename(tmp, h.name); err != nil {
		return fmt.Errorf("write %s: %w", h.Rel, err)
	}
	h.Info, err = h.dir.Lstat(h.name)
	return err
}

// fill writes the temporary file and gives it the old file's attributes. An
// existing file's new content is synced first: after a power cut there is the
// old text or the new one, never an empty file.
func (h *Handle) fill(f *os.File, data []byte) error {
	_, err := f.Write(data)
	if err == nil && h.Info != nil {
		keepOwner(f, h.Info)
		if err = f.Chmod(h.Info.Mode().Perm()); err == nil {
			err = f.Sync()
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func (h *Handle) createTemp() (string, *os.File, error) {
	for range 16 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return "", nil, fmt.Errorf("name a temporary file: %w", err)
		}
		name := ".muse-tmp-" + hex.EncodeToString(b[:])
		f, err := h.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return name, f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("write %s: no free temporary name", h.Rel)
}

// sameVersion reports whether two looks at a path saw the same unchanged file.
func sameVersion(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func changed(rel string) error {
	return &PathError{Path: rel, Why: "the file was changed by something else meanwhile; read it again", Err: ErrChanged}
}

func tooLarge(rel string, size, limit int64) error {
	return &PathError{Path: rel, Why: fmt.Sprintf("the file has %d bytes; the limit is %d", size, limit), Err: ErrTooLarge}
}

func notRegular(rel string, mode fs.FileMode) error {
	what := "not a regular file"
	switch {
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return &PathError{Path: rel, Why: "the path names " + what, Err: ErrNotRegular}
}

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

// Root is the tree that the entry is in.
func (h *Handle) Root() *Root { return h.root }
