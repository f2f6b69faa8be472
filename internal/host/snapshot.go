package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/openmuse/muse/internal/event"
)

// Limits of what is kept of files before tools change them.
const (
	maxSnapshot     = 8 << 20   // one file
	maxSnapshots    = 256 << 20 // one session
	snapshotsDir    = "file-snapshots"
	digestPrefix    = "sha256:"
	omittedTooLarge = "too_large"
	omittedLimit    = "limit"
	omittedOther    = "not_regular"
)

// keepBefore keeps the state of a file that a tool is about to change, so that
// a rewind can bring it back. The first state of a turn is the one that counts.
// What cannot be kept is recorded as such and stops nothing.
func (s *Session) keepBefore(callID, path string) {
	if s.place == nil {
		return
	}
	run := s.currentRun()
	s.snapshots.Lock()
	defer s.snapshots.Unlock()
	s.state.mu.Lock()
	known := slices.ContainsFunc(s.state.snapshots, func(f snapshot) bool { return f.run == run && f.Path == path })
	s.state.mu.Unlock()
	if known || run == "" {
		return
	}
	snap := event.FileSnapshot{CallID: callID, Path: path}
	data, info, err := readBefore(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		snap.Existed, snap.Omitted = true, omittedOther
	default:
		snap.Existed, snap.Mode, snap.Bytes = true, int64(info.Mode().Perm()), info.Size()
		snap.Digest, snap.Omitted = s.keepContent(data, info.Size())
	}
	// A failure of the log shows with the next record of the turn.
	_, _ = s.rec.Record(event.Event{Run: run, Body: snap})
}

// readBefore reads a regular file up to the limit.
func readBefore(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("not a regular file")
	}
	if info.Size() > maxSnapshot {
		return nil, info, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSnapshot+1))
	if err != nil {
		return nil, nil, err
	}
	return data, info, nil
}

// keepContent writes content under its digest; omitted says why it did not.
func (s *Session) keepContent(data []byte, size int64) (digest, omitted string) {
	if size > maxSnapshot || len(data) > maxSnapshot {
		return "", omittedTooLarge
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	dir := filepath.Join(s.place.Dir, snapshotsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", omittedLimit
	}
	if s.snapshotBytes == 0 {
		s.snapshotBytes = dirSize(dir)
	}
	if s.snapshotBytes+int64(len(data)) > maxSnapshots {
		return "", omittedLimit
	}
	err := writeNew(filepath.Join(dir, name), data)
	switch {
	case errors.Is(err, os.ErrExist):
	case err != nil:
		return "", omittedLimit
	default:
		s.snapshotBytes += int64(len(data))
	}
	return digestPrefix + name, ""
}

func dirSize(dir string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var total int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}

// content is what was kept under a digest, checked against it.
func (s *Session) content(digest string) ([]byte, error) {
	name := digest[min(len(digest), len(digestPrefix)):]
	if len(name) != 2*sha256.Size || digest != digestPrefix+name {
		return nil, fmt.Errorf("%q is no digest", oneLine(digest, 80))
	}
	root, err := os.OpenRoot(filepath.Join(s.place.Dir, snapshotsDir))
	if err != nil {
		return nil, fmt.Errorf("read kept file: %w", err)
	}
	defer root.Close()
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read kept file: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != name {
		return nil, errors.New("the kept file is damaged")
	}
	return data, nil
}
