package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"github.com/openmuse/muse/internal/plainfile"
	"github.com/openmuse/muse/internal/tui/compose"
)

// draftSlots is how many UIs of one workspace keep a draft at a time; those
// beyond keep none.
const draftSlots = 8

// maxDraft bounds a draft that is kept.
const maxDraft = 8 << 20

// Drafts keeps what is being written in a workspace, so that it survives the
// process: a file tui-draft-HASH-N.json beside the history, with a lock that
// its writer holds while it lives. A draft is taken over only when nobody holds
// it. Its methods are not for concurrent use.
type Drafts struct {
	base    string // of the files' paths, "" keeps nothing
	project string
	lock    *flock.Flock // of the slot that is ours, nil for none yet
	path    string
}

// Draft is a draft as it is kept. Pictures are the paths of the pictures in it,
// by their marks.
type Draft struct {
	SchemaVersion int               `json:"schema_version"`
	Project       string            `json:"project"`
	Draft         compose.State     `json:"draft"`
	Pictures      map[string]string `json:"pictures,omitempty"`
}

// OpenDrafts is where the drafts of a workspace are kept; with keep false
// nothing is read or written.
func OpenDrafts(dataRoot, project string, keep bool) *Drafts {
	if !keep {
		return &Drafts{}
	}
	sum := sha256.Sum256([]byte(project))
	return &Drafts{base: filepath.Join(dataRoot, "tui-draft-"+hex.EncodeToString(sum[:8])), project: project}
}

func (d *Drafts) slot(n int) string { return fmt.Sprintf("%s-%d.json", d.base, n) }

// claim makes a slot ours; false when another process holds it.
func (d *Drafts) claim(path string) (bool, error) {
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return false, errors.Join(err, lock.Close())
	}
	d.lock, d.path = lock, path
	return true, nil
}

// Take takes over a draft that a process left behind; false when there is none.
func (d *Drafts) Take() (Draft, bool, error) {
	if d.base == "" {
		return Draft{}, false, nil
	}
	for n := range draftSlots {
		path := d.slot(n)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		ok, err := d.claim(path)
		if err != nil {
			return Draft{}, false, fmt.Errorf("take over a draft: %w", err)
		}
		if !ok {
			continue
		}
		data, err := plainfile.Read(path)
		var kept Draft
		if err == nil {
			err = json.Unmarshal(data, &kept)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // sent meanwhile
		case err != nil:
			// It is ours now and goes with the next draft: a file that cannot
			// be read must not come back at every start.
			return Draft{}, false, fmt.Errorf("the draft in %s cannot be read: %w", path, err)
		case kept.Project == d.project && kept.SchemaVersion == 1 && kept.Draft.Text != "":
			return kept, true, nil
		}
		return Draft{}, false, nil
	}
	return Draft{}, false, nil
}

// Save keeps a draft in the place of the one before. It is whole at every
// moment; it is not forced to the disk, which only a machine that stops at once
// would miss.
func (d *Drafts) Save(k Draft) error {
	if d.base == "" {
		return nil
	}
	k.SchemaVersion, k.Project = 1, d.project
	data, err := json.Marshal(k, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("keep the draft: %w", err)
	}
	if len(data) > maxDraft {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(d.base), 0o700); err != nil {
		return fmt.Errorf("keep the draft: %w", err)
	}
	for n := 0; d.lock == nil && n < draftSlots; n++ {
		if _, err := d.claim(d.slot(n)); err != nil {
			return fmt.Errorf("keep the draft: %w", err)
		}
	}
	if d.lock == nil {
		return nil // so many write here at once that this draft is not kept
	}
	next := d.path + ".new"
	// What is left there is of a process that ended while it wrote.
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep the draft: %w", err)
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keep the draft: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(next, d.path)
	}
	if err != nil {
		return fmt.Errorf("keep the draft: %w", err)
	}
	return nil
}

// Remove forgets the draft: it was sent.
func (d *Drafts) Remove() error {
	if d.lock == nil {
		return nil
	}
	if err := os.Remove(d.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget the draft: %w", err)
	}
	return nil
}

// Close gives the slot back. A draft that is kept stays.
func (d *Drafts) Close() error {
	if d.lock == nil {
		return nil
	}
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		// Somebody who opened the lock at this very moment holds a name that
		// is gone; both may then keep a draft here, and the later one stays.
		_ = os.Remove(d.path + ".lock")
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}
