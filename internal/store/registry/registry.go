// Package registry is how the sessions that are open on this machine find each
// other: runtime/muse in the data root has an entry for each, and a Unix socket
// that answers to the same user (seed 000, Data root; CLI.md 4).
//
//	runtime/muse/                               0700, of this user
//	  .session-registry.mutation.lock           held while entries come and go
//	  sessions/<id>.json                        who has the session open
//	  sessions/<id>.lock                        locked as long as it is
//	  ms-<8 hex digits>.sock                    where it answers
//
// An entry counts as long as its lock is held, and the lock ends with the
// process, however it ends: no entry outlives its session by more than the
// time until somebody looks. What a killed process left is then removed.
//
// A socket accepts connections of the same user only. One request goes over a
// connection: a line of JSON there, a line back. Where the system has no Unix
// sockets, or none whose name would be short enough, sessions are listed and
// cannot be asked.
package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/plainfile"
)

// ErrNoEndpoint is found with errors.Is when a session cannot be asked.
var ErrNoEndpoint = errors.New("session has no endpoint")

// Entry is one open session.
type Entry struct {
	SchemaVersion int       `json:"schema_version"` // 1
	SessionID     string    `json:"session_id"`
	PID           int       `json:"pid"`
	Program       string    `json:"program"` // "muse serve"
	Started       time.Time `json:"started_at"`
	Workspace     string    `json:"workspace_root,omitzero"`
	Name          string    `json:"name,omitzero"`
	Endpoint      string    `json:"endpoint,omitzero"` // path of the socket, "" for none
}

// Registry is the registry of one data root. It keeps nothing open.
type Registry struct {
	dir string
	// SocketDirs are tried in order for a socket whose name would be too long
	// in the registry itself.
	socketDirs []string
}

// New is the registry of a data root. getenv tells the places for sockets when
// the data root lies too deep; it may be nil.
func New(root string, getenv func(string) string) *Registry {
	r := &Registry{dir: filepath.Join(root, "runtime", "muse")}
	if getenv != nil {
		if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			r.socketDirs = append(r.socketDirs, filepath.Join(dir, "openmuse"))
		}
	}
	r.socketDirs = append(r.socketDirs, privateTemp())
	return r
}

func (r *Registry) sessions() string { return filepath.Join(r.dir, "sessions") }

func (r *Registry) entryPath(id string) string { return filepath.Join(r.sessions(), id+".json") }

func (r *Registry) lockPath(id string) string { return filepath.Join(r.sessions(), id+".lock") }

// mutate runs fn while nobody else changes the registry.
func (r *Registry) mutate(ctx context.Context, fn func() error) (err error) {
	if err := private(r.dir); err != nil {
		return err
	}
	if err := private(r.sessions()); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(r.dir, ".session-registry.mutation.lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil || !ok {
		return errors.Join(err, ctx.Err())
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return fn()
}

// private makes dir, if need be, and refuses one that others could write to.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return ownPrivate(dir, info)
}

// Announcement is an entry of this process.
type Announcement struct {
	registry *Registry
	lock     *flock.Flock
	server   *server // nil without an endpoint

	mu    sync.Mutex
	entry Entry
	done  bool
}

// Announce makes the session of e known until Close. The process and the
// endpoint of e are filled in. Requests go to handle, which may be nil for a
// session that cannot be asked.
func (r *Registry) Announce(ctx context.Context, e Entry, handle Handler) (*Announcement, error) {
	if !ident.Valid(e.SessionID) {
		return nil, fmt.Errorf("announce session: %q is not a UUID", e.SessionID)
	}
	e.SchemaVersion, e.PID = 1, os.Getpid()
	a := &Announcement{registry: r, entry: e, lock: flock.New(r.lockPath(e.SessionID), flock.SetPermissions(0o600))}
	err := r.mutate(ctx, func() error {
		r.sweep()
		if ok, err := a.lock.TryLock(); err != nil {
			return err
		} else if !ok {
			return errors.New("another process has announced it")
		}
		if handle != nil {
			var err error
			if a.server, err = r.listen(handle); err != nil && !errors.Is(err, ErrNoEndpoint) {
				return err
			}
			if a.server != nil {
				a.entry.Endpoint = a.server.path
			}
		}
		return r.write(a.entry)
	})
	if err != nil {
		return nil, fmt.Errorf("announce session %s: %w", e.SessionID, errors.Join(err, a.server.close(), a.lock.Unlock()))
	}
	return a, nil
}

// Entry is the entry as others see it.
func (a *Announcement) Entry() Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.entry
}

// Rename says that the session has another name.
func (a *Announcement) Rename(name string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || a.entry.Name == name {
		return nil
	}
	a.entry.Name = name
	if err := a.registry.write(a.entry); err != nil {
		return fmt.Errorf("announce session %s: %w", a.entry.SessionID, err)
	}
	return nil
}

// Close takes the entry back. Requests under way are ended.
func (a *Announcement) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return nil
	}
	a.done = true
	errs := []error{a.server.close()}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	errs = append(errs, a.registry.mutate(ctx, func() error {
		return errors.Join(remove(a.registry.entryPath(a.entry.SessionID)), remove(a.registry.lockPath(a.entry.SessionID)))
	}), a.lock.Unlock())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("take back the announcement of session %s: %w", a.entry.SessionID, err)
	}
	return nil
}

// write puts an entry into its place as a whole.
func (r *Registry) write(e Entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(r.sessions(), ".entry-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), r.entryPath(e.SessionID))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// read is the entry in a file.
func (r *Registry) read(id string) (Entry, error) {
	data, err := plainfile.Read(r.entryPath(id))
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	if err := json.Unmarshal(bytes.TrimSpace(data), &e); err != nil {
		return e, err
	}
	if e.SessionID != id {
		return e, fmt.Errorf("entry of %s is about another session", id)
	}
	return e, nil
}

// List is the sessions that are open now, those opened last first. Entries
// that processes left behind are removed.
func (r *Registry) List(ctx context.Context) ([]Entry, error) {
	ids, err := r.ids()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var list []Entry
	stale := false
	for _, id := range ids {
		held, err := r.held(id)
		if err != nil {
			return nil, fmt.Errorf("list open sessions: %w", err)
		}
		if !held {
			stale = true
			continue
		}
		// One that goes away, or says nothing readable, is none.
		if e, err := r.read(id); err == nil {
			list = append(list, e)
		}
	}
	if stale {
		// The list is right whether or not it can be tidied up.
		_ = r.mutate(ctx, func() error { r.sweep(); return nil })
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return b.Started.Compare(a.Started) })
	return list, ctx.Err()
}

// ids are the ids of all entries.
func (r *Registry) ids() ([]string, error) {
	entries, err := os.ReadDir(r.sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list open sessions: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && ident.Valid(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// held reports whether a process has the lock of an entry.
func (r *Registry) held(id string) (bool, error) {
	lock := flock.New(r.lockPath(id), flock.SetFlag(os.O_RDWR))
	ok, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !ok {
		return true, nil
	}
	return false, lock.Unlock()
}

// sweep removes what processes left that ended without taking it back. The
// mutation lock must be held. What cannot be removed stays for the next time.
func (r *Registry) sweep() {
	ids, err := r.ids()
	if err != nil {
		return
	}
	used := map[string]bool{}
	for _, id := range ids {
		e, readErr := r.read(id)
		if held, err := r.held(id); err != nil || held {
			used[e.Endpoint] = true
			continue
		}
		if readErr == nil && r.ownSocket(e.Endpoint) {
			_ = remove(e.Endpoint)
		}
		_ = remove(r.entryPath(id))
		_ = remove(r.lockPath(id))
	}
	r.sweepTemps()
	r.sweepSockets(used)
}

// sweepTemps removes half-written entries: nobody writes one while another
// process has the mutation lock, but a rename of a session; its file is young.
func (r *Registry) sweepTemps() {
	entries, err := os.ReadDir(r.sessions())
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), ".entry-") && time.Since(info.ModTime()) > time.Minute {
			_ = remove(filepath.Join(r.sessions(), e.Name()))
		}
	}
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
