package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/openmuse/muse/internal/record"
)

// Stage writes the log's first line, a permission frame without its line feed,
// beside the log that does not exist yet, and makes it durable: under which
// rules a session runs is on disk before anything else of it is. A line staged
// by an earlier attempt that never started is replaced. The lease must be
// held.
func (s *Session) Stage(frame []byte) error {
	if started, err := s.Started(); err != nil || started {
		return errors.Join(err, alreadyStarted(s.ID, started))
	}
	path := filepath.Join(s.Dir, stagedName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stage session %s: %w", s.ID, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("stage session %s: %w", s.ID, err)
	}
	_, err = f.Write(append(bytes.Clone(frame), '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("stage session %s: %w", s.ID, err)
	}
	return nil
}

// Start turns the staged line into the log, in one step: a log never exists
// without its first line. The staged file is gone afterwards. The lease must
// be held.
func (s *Session) Start() error {
	if started, err := s.Started(); err != nil || started {
		return errors.Join(err, alreadyStarted(s.ID, started))
	}
	staged := filepath.Join(s.Dir, stagedName)
	data, err := os.ReadFile(staged)
	if err != nil {
		return fmt.Errorf("start session %s: %w", s.ID, err)
	}
	body, whole := bytes.CutSuffix(data, []byte("\n"))
	line, err := record.ParseLine(body)
	if err == nil && (!whole || line.Kind != record.KindFrame) {
		err = errors.New("it is not one whole frame")
	}
	if err != nil {
		return fmt.Errorf("start session %s: staged first line: %w", s.ID, err)
	}
	if err := os.Rename(staged, s.LogPath()); err != nil {
		return fmt.Errorf("start session %s: %w", s.ID, err)
	}
	return nil
}

func alreadyStarted(id string, started bool) error {
	if !started {
		return nil
	}
	return fmt.Errorf("session %s has started already", id)
}
