//go:build linux || darwin

package sandbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// state is where a session keeps its files:
//
//	STATE/nothing              an empty file, shown in place of masked files
//	STATE/closed               an empty directory nobody may enter, likewise
//	STATE/<workspace>/lock     who uses the workspace (package reserve)
//	STATE/<workspace>/cache    private caches, kept between sessions
//	STATE/<workspace>/run/<session>/{lock,tmp,vartmp}
//
// A workspace is named by the hash of its path.
type state struct {
	base    string
	session string
	lock    *os.File
}

// workspaceDir is the state directory of one writable root.
func workspaceDir(base, root string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(base, hex.EncodeToString(sum[:12]))
}

// openState makes the directories of a new session and clears what sessions
// left behind that are no more.
func openState(base, workspace string) (*state, error) {
	st := &state{base: base}
	if err := st.placeholders(); err != nil {
		return nil, err
	}
	run := filepath.Join(workspaceDir(base, workspace), "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return nil, fmt.Errorf("make the sandbox state directory: %w", err)
	}
	clearDead(run)
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("name the sandbox session: %w", err)
	}
	st.session = filepath.Join(run, hex.EncodeToString(random[:]))
	if err := st.makeSession(); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return st, os.MkdirAll(filepath.Join(workspaceDir(base, workspace), "cache"), 0o700)
}

func (st *state) nothing() string { return filepath.Join(st.base, "nothing") }
func (st *state) closed() string  { return filepath.Join(st.base, "closed") }
func (st *state) tmp() string     { return filepath.Join(st.session, "tmp") }
func (st *state) varTmp() string  { return filepath.Join(st.session, "vartmp") }

// placeholders makes what masks are made of.
func (st *state) placeholders() error {
	f, err := os.OpenFile(st.nothing(), os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o444)
	if err != nil {
		return fmt.Errorf("make an empty file for masks: %w", err)
	}
	info, err := f.Stat()
	_ = f.Close() // opened for reading
	if err != nil || info.Size() != 0 || !info.Mode().IsRegular() {
		return fmt.Errorf("the mask %s is not an empty file", st.nothing())
	}
	if err := os.Mkdir(st.closed(), 0); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make an empty directory for masks: %w", err)
	}
	info, err = os.Lstat(st.closed())
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0 {
		return fmt.Errorf("the mask %s is not a directory that nobody may enter", st.closed())
	}
	return nil
}

func (st *state) makeSession() error {
	for _, dir := range []string{st.session, st.tmp(), st.varTmp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("make the session's directory: %w", err)
		}
	}
	f, err := os.OpenFile(filepath.Join(st.session, "lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("mark the session as alive: %w", err)
	}
	st.lock = f
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("mark the session as alive: %w", err)
	}
	return nil
}

// Close removes the session's directories.
func (st *state) Close() error {
	err := removeTree(st.session)
	if st.lock != nil {
		err = errors.Join(err, st.lock.Close())
		st.lock = nil
	}
	return err
}

// clearDead removes the directories of sessions whose process is gone. What
// cannot be removed is left for the next time.
func clearDead(run string) {
	entries, err := os.ReadDir(run)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(run, e.Name())
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			// Being made this very moment, or being removed.
			if info, e := os.Stat(dir); e != nil || !old(info) {
				continue
			}
		} else if err != nil {
			continue
		}
		if f == nil || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = removeTree(dir) // next time, then
		}
		_ = f.Close() // nothing was written; nil is fine
	}
}

// removeTree removes a directory that commands wrote to, whatever rights they
// left on its parts. Links in it are removed, not followed.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	openUp(root, ".", 0)
	return errors.Join(root.Close(), os.RemoveAll(dir))
}

// openUp gives the owner every right on the directories below dir.
func openUp(root *os.Root, dir string, depth int) {
	if depth > 200 || root.Chmod(dir, 0o700) != nil {
		return
	}
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1) // what is not listed is not opened, and removal says so
	_ = f.Close()               // opened for reading
	for _, e := range entries {
		if e.IsDir() {
			openUp(root, filepath.Join(dir, e.Name()), depth+1)
		}
	}
}

// old reports a directory that nobody can be making any more.
func old(info fs.FileInfo) bool { return time.Since(info.ModTime()) > time.Hour }
