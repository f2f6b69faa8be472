package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/openmuse/muse/internal/workspace"
)

// spool keeps what is too long for the model. While a call runs its output is
// in .spool/<call>-<kind>.txt.tmp; a file that a result names moves to
// <task>/<call>-<kind>.txt (seed 000, "Files"; CLI.md 4).
type spool struct {
	mu       sync.Mutex
	dir      string // absolute; "" until a temporary one is made
	temp     bool
	readable bool // the workspace knows dir
}

// open makes the temporary file of a call.
func (s *spool) open(call Call, kind string) (*os.File, error) {
	dir, err := s.root()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, ".spool")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make spill directory: %w", err)
	}
	name := filepath.Join(dir, fileName(call.ID)+"-"+kind+".txt.tmp")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make spill file: %w", err)
	}
	return f, nil
}

func (s *spool) root() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	dir, err := os.MkdirTemp("", "muse-outputs-")
	if err != nil {
		return "", fmt.Errorf("make spill directory: %w", err)
	}
	s.dir, s.temp = dir, true
	return dir, nil
}

// keep closes a file that open made, moves it to its lasting place under the
// call that reports it and lets the model read it there.
func (s *spool) keep(f *os.File, call Call, kind string, ws *workspace.Workspace) (*Spill, error) {
	sum, size, err := digest(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, fmt.Errorf("keep spill file: %w", err)
	}
	root, err := s.root()
	if err != nil {
		return nil, err
	}
	task := fileName(call.TaskID)
	name := fileName(call.ID) + "-" + kind + ".txt"
	dir := filepath.Join(root, task)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep spill file: %w", err)
	}
	path := filepath.Join(dir, name)
	if err := os.Rename(f.Name(), path); err != nil {
		return nil, fmt.Errorf("keep spill file: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.readable {
		if err := ws.AddReadable(root); err != nil {
			return nil, err
		}
		s.readable = true
	}
	spill := &Spill{Path: path, Kind: kind, Bytes: size, SHA: sum}
	if !s.temp {
		spill.Name = filepath.ToSlash(filepath.Join(filepath.Base(root), task, name))
	}
	return spill, nil
}

// discard removes a file that open made and nothing names.
func (s *spool) discard(f *os.File) {
	if f == nil {
		return
	}
	// What cannot be removed stays in .spool, which is for leftovers.
	_ = f.Close()
	_ = os.Remove(f.Name())
}

func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	if s.temp {
		return os.RemoveAll(s.dir)
	}
	// The directory of unfinished files goes when it is empty.
	err := os.Remove(filepath.Join(s.dir, ".spool"))
	if errors.Is(err, fs.ErrNotExist) || err != nil && notEmpty(filepath.Join(s.dir, ".spool")) {
		return nil
	}
	return err
}

func notEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// digest is the file's content hash as the log writes it, and its size.
func digest(f *os.File) (string, int64, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, nil
}

// fileName makes a file name of an id, which may come from a model.
func fileName(id string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, shorten(id, 100))
	if safe == "" {
		return "none"
	}
	return safe
}
