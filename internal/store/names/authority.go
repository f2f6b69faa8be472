package names

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/plainfile"
)

// identity is authority.json (seed 000, Data root).
type identity struct {
	SchemaVersion int    `json:"schema_version"`
	AuthorityID   string `json:"authority_id"`
}

// ID is the id of this data root's authority, which every change of a name
// carries. The first who asks mints it.
func (a *Authority) ID(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id != "" {
		return a.id, nil
	}
	path := filepath.Join(a.dir(), "authority.json")
	for range 3 {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		data, err := plainfile.Read(path)
		var known identity
		switch {
		case err == nil && json.Unmarshal(data, &known) == nil && ident.Valid(known.AuthorityID):
			a.id = known.AuthorityID
			return a.id, nil
		case err == nil:
			// Nobody can have used what cannot be read.
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("read name authority: %w", err)
			}
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("read name authority: %w", err)
		}
		if err := a.mint(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("make name authority: %w", err)
		}
	}
	return "", errors.New("read name authority: authority.json changes under the reader")
}

// mint writes authority.json as a whole, unless another process was faster.
func (a *Authority) mint(path string) error {
	data, err := json.Marshal(identity{SchemaVersion: 1, AuthorityID: ident.V4()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(a.dir(), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(a.dir(), ".authority-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone when it was renamed
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link fails when the name is taken, a rename would not.
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	return os.Rename(f.Name(), path) // a file system without links
}

func (a *Authority) dir() string { return filepath.Join(a.opts.Root, "session-name-authority") }
