//go:build unix

// Package reserve keeps names in a workspace from being made by a sandboxed
// command while they do not exist: an empty directory takes their place as
// long as a command runs, and is mounted read-only in its sandbox (THREATS.md
// 4.4).
//
// Taking such a directory away while another sandbox has it mounted would
// open the name there. So every command holds a shared lock on the
// workspace's state, across processes, and only the one who gets it alone
// removes what is left. A killed process leaves empty directories, never a
// stale lock; the next command that ends takes them away.
package reserve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrUnprotectable says that a name cannot be kept read-only as it is.
var ErrUnprotectable = errors.New("cannot be kept read-only")

// Keeper reserves names directly below one directory. Its methods are safe
// for concurrent use.
type Keeper struct {
	root  string
	state string
	names []string

	mu    sync.Mutex
	users int
	lock  *os.File
	known map[string]bool // names ever reserved here, by any process
	held  []Name
}

// Name is one protected name while a command runs.
type Name struct {
	Path string // absolute
	Dir  bool
	// Placeholder is set when the name stands for nothing: it was made to
	// keep others from making it.
	Placeholder bool
}

// New keeps names below root; state is a directory of this root alone, out of
// reach of every sandbox.
func New(root, state string, names []string) *Keeper {
	return &Keeper{root: root, state: state, names: names}
}

// Files in the state directory.
const (
	lockFile = "lock"
	listFile = "reserved"
)

// placeholderMode keeps everybody from writing, the owner included.
const placeholderMode = 0o555

// Acquire makes sure that every name exists, or cannot be made by anybody
// with our rights, and returns the ones that exist. Each Acquire that
// succeeds needs one Release.
func (k *Keeper) Acquire() ([]Name, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users == 0 {
		if err := k.share(); err != nil {
			return nil, err
		}
	}
	held, err := k.hold()
	if err != nil {
		if k.users == 0 {
			err = errors.Join(err, k.end())
		}
		return nil, err
	}
	k.users++
	k.held = held
	return slices.Clone(held), nil
}

// Release ends one use. The last user of the last process removes the
// placeholders.
func (k *Keeper) Release() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users--; k.users > 0 {
		return nil
	}
	return k.end()
}

func (k *Keeper) share() error {
	if err := os.MkdirAll(k.state, 0o700); err != nil {
		return fmt.Errorf("make the sandbox state directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(k.state, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the workspace lock: %w", err)
	}
	if err := flock(f, unix.LOCK_SH); err != nil {
		_ = f.Close() // nothing was written
		return fmt.Errorf("lock the workspace: %w", err)
	}
	k.lock = f
	k.known = map[string]bool{}
	list, err := os.ReadFile(filepath.Join(k.state, listFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = f.Close() // as above
		return fmt.Errorf("read the reserved names: %w", err)
	}
	for name := range strings.SplitSeq(string(list), "\n") {
		if name != "" && filepath.IsLocal(name) && !strings.Contains(name, "/") {
			k.known[name] = true
		}
	}
	return nil
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (k *Keeper) hold() ([]Name, error) {
	var held []Name
	for _, name := range k.names {
		n, err := k.one(name)
		if err != nil {
			return nil, err
		}
		if n.Path != "" {
			held = append(held, n)
		}
	}
	return held, nil
}

// one returns a zero Name when nobody with our rights can make the name.
func (k *Keeper) one(name string) (Name, error) {
	path := filepath.Join(k.root, name)
	for range 2 {
		info, err := os.Lstat(path)
		switch {
		case err == nil:
			return k.existing(name, path, info)
		case !errors.Is(err, fs.ErrNotExist):
			return Name{}, fmt.Errorf("look at %s: %w", path, err)
		}
		if err := k.record(name); err != nil {
			return Name{}, err
		}
		err = os.Mkdir(path, placeholderMode)
		switch {
		case err == nil:
			return Name{Path: path, Dir: true, Placeholder: true}, nil
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
			return Name{}, nil
		case !errors.Is(err, fs.ErrExist):
			return Name{}, fmt.Errorf("reserve %s: %w", path, err)
		}
		// Somebody made it between the two looks: look again.
	}
	return Name{}, fmt.Errorf("%s keeps changing: %w", path, ErrUnprotectable)
}

func (k *Keeper) existing(name, path string, info fs.FileInfo) (Name, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return Name{}, fmt.Errorf("%s is a symbolic link: it %w", path, ErrUnprotectable)
	case info.IsDir():
		return Name{Path: path, Dir: true, Placeholder: k.known[name] && isPlaceholder(path, info)}, nil
	case info.Mode().IsRegular():
		return Name{Path: path}, nil
	}
	return Name{}, fmt.Errorf("%s is neither a file nor a directory: it %w", path, ErrUnprotectable)
}

func isPlaceholder(path string, info fs.FileInfo) bool {
	if info.Mode().Perm()&0o222 != 0 {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// record notes name before it is made, so that a crash in between leaves a
// note without a directory, which is harmless.
func (k *Keeper) record(name string) error {
	if k.known[name] {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(k.state, listFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("note the reserved name: %w", err)
	}
	_, err = f.WriteString(name + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("note the reserved name: %w", err)
	}
	k.known[name] = true
	return nil
}

// end gives up the shared lock and cleans up when nobody else holds it.
func (k *Keeper) end() error {
	defer func() {
		_ = k.lock.Close() // gives up the lock; nothing was written to it
		k.lock, k.held = nil, nil
	}()
	if err := flock(k.lock, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil // another sandbox is at work and will clean up
		}
		return fmt.Errorf("lock the workspace: %w", err)
	}
	var failed error
	for name := range k.known {
		path := filepath.Join(k.root, name)
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !isPlaceholder(path, info) {
			continue // became something real, or is gone
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("remove the placeholder: %w", err))
		}
	}
	return failed
}

// Disturbed reports a placeholder that is no longer what it was: the user, or
// another program outside, took it away while commands were running.
func (k *Keeper) Disturbed() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var gone []string
	for _, n := range k.held {
		if !n.Placeholder {
			continue
		}
		if info, err := os.Lstat(n.Path); err != nil || !info.IsDir() || !isPlaceholder(n.Path, info) {
			gone = append(gone, n.Path)
		}
	}
	return gone
}
