package search

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// tree opens files below one directory and nothing else. openat2 does that in
// one call; without it os.Root does.
type tree struct {
	fd      int
	resolve uint64
	root    *os.Root // nil when openat2 works
}

func openTree(dir string, follow bool) (*tree, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	t := &tree{fd: fd, resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		t.resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	probe, err := t.openat(".", unix.O_PATH|unix.O_DIRECTORY)
	if err == nil {
		return t, unix.Close(probe)
	}
	_ = unix.Close(fd) // an O_PATH descriptor has nothing to lose
	t.root, err = os.OpenRoot(dir)
	return t, err
}

func (t *tree) close() {
	// Both are open for looking only.
	if t.root != nil {
		_ = t.root.Close()
		return
	}
	_ = unix.Close(t.fd)
}

// openat opens rel with the tree's restrictions. The kernel asks to try again
// when a directory above was moved meanwhile.
func (t *tree) openat(rel string, flags uint64) (int, error) {
	if rel == "" {
		rel = "."
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: t.resolve}
	for range 8 {
		fd, err := unix.Openat2(t.fd, rel, &how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

// openDir opens a directory for listing.
func (t *tree) openDir(rel string) (*os.File, error) {
	if t.root != nil {
		return openDirIn(t.root, rel)
	}
	fd, err := t.openat(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: rel, Err: err}
	}
	return os.NewFile(uintptr(fd), path.Base(orDot(rel))), nil
}

// content is an open regular file.
type content struct {
	fd   int
	file *os.File // instead of fd without openat2
	size int64
}

// openFile opens a regular file; anything else is errNotFile.
func (t *tree) openFile(rel string) (content, error) {
	if t.root != nil {
		f, err := t.root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != nil {
			return content{}, err
		}
		return contentOf(f)
	}
	fd, err := t.openat(rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return content{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd) // nothing was read from it
		return content{}, errNotFile
	}
	return content{fd: fd, size: st.Size}, nil
}

func contentOf(f *os.File) (content, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was read from it
		return content{}, errNotFile
	}
	return content{file: f, size: info.Size()}, nil
}

func (c content) read(p []byte) (int, error) {
	if c.file != nil {
		return c.file.Read(p)
	}
	for {
		n, err := unix.Read(c.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (c content) close() {
	// Nothing was written to it.
	if c.file != nil {
		_ = c.file.Close()
		return
	}
	_ = unix.Close(c.fd)
}
