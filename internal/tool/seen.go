package tool

import (
	"crypto/sha256"
	"io/fs"
	"sync"
	"time"
)

// seenFiles remembers which version of a file the model knows: the one it last
// read or wrote in this session. A file that something else changed since must
// be read again before it is edited or replaced. A file the model never read
// may be edited: the text it gave must be in it exactly once, which it can
// know from a search or a command as well.
type seenFiles struct {
	mu    sync.Mutex
	files map[string]version
}

// version identifies a file's content. When the whole content was at hand its
// hash decides, so that a mere touch does not count.
type version struct {
	sum    [sha256.Size]byte
	hashed bool
	size   int64
	mtime  time.Time
}

func versionOf(data []byte, info fs.FileInfo) version {
	return version{sum: sha256.Sum256(data), hashed: true, size: info.Size(), mtime: info.ModTime()}
}

func versionByFacts(info fs.FileInfo) version {
	return version{size: info.Size(), mtime: info.ModTime()}
}

func (s *seenFiles) note(key string, v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]version{}
	}
	s.files[key] = v
}

// known returns the version the model knows, and whether it knows one.
func (s *seenFiles) known(key string) (version, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.files[key]
	return v, ok
}

// stale reports whether the file is another than the model knows.
func (s *seenFiles) stale(key string, now version) bool {
	v, ok := s.known(key)
	if !ok {
		return false
	}
	if v.hashed && now.hashed {
		return v.sum != now.sum
	}
	return v.size != now.size || !v.mtime.Equal(now.mtime)
}

const staleReason = "the file was changed since it was last read here; read it again first"
