// Package gitconfig reads what a repository's own configuration makes git run,
// from the files, without starting git: git would already obey what it reads
// (THREATS.md 3.9). Only repository and work tree scope count; what the user
// and the machine configured is the user's own.
package gitconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/permission/review"
)

// maxConfig bounds the file that is read; a larger one is not a configuration.
const maxConfig = 1 << 20

// Reader answers for one directory and remembers the answer until a file
// changes.
type Reader struct {
	dir string

	mu    sync.Mutex
	state map[string]stamp
	last  review.GitConfig
}

type stamp struct {
	mod  time.Time
	size int64
	err  string
}

// NewReader makes a reader for git started in dir.
func NewReader(dir string) *Reader { return &Reader{dir: dir} }

// Config says what the configuration in force means for running git in the
// reader's directory. What cannot be read counts as starting programs.
func (r *Reader) Config() review.GitConfig {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != nil && r.unchanged() {
		return r.last
	}
	files, err := Files(r.dir)
	r.state = map[string]stamp{filepath.Join(r.dir, ".git"): stampOf(filepath.Join(r.dir, ".git"))}
	if err != nil {
		r.last = review.GitConfig{Key: err.Error(), Runs: err.Error()}
		return r.last
	}
	out := review.GitConfig{Quiet: true}
	for _, f := range files {
		r.state[f] = stampOf(f)
		one, err := readFile(f)
		if err != nil {
			one = review.GitConfig{Key: err.Error(), Runs: err.Error()}
		}
		out = join(out, one)
	}
	r.last = out
	return out
}

func (r *Reader) unchanged() bool {
	for path, was := range r.state {
		if stampOf(path) != was {
			return false
		}
	}
	return true
}

func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{err: err.Error()}
	}
	return stamp{mod: info.ModTime(), size: info.Size()}
}

func join(a, b review.GitConfig) review.GitConfig {
	out := review.GitConfig{Quiet: a.Quiet && b.Quiet, Key: a.Key, Runs: a.Runs}
	if out.Key == "" {
		out.Key = b.Key
	}
	if out.Runs == "" {
		out.Runs = b.Runs
	}
	return out
}

// Files lists the configuration files of the repository that git would find
// from dir. There are none outside a repository. A directory that only looks
// like a bare repository is refused: git would obey its configuration unless it
// is told not to.
func Files(dir string) ([]string, error) {
	for at := filepath.Clean(dir); ; {
		dot := filepath.Join(at, ".git")
		info, err := os.Stat(dot)
		switch {
		case err == nil && info.IsDir() && repository(dot):
			return configs(dot)
		case err == nil && !info.IsDir():
			gitdir, err := follow(dot)
			if err != nil {
				return nil, err
			}
			return configs(gitdir)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("look for a repository: %w", err)
		}
		if repository(at) {
			return nil, fmt.Errorf("%s looks like a bare repository", at)
		}
		up := filepath.Dir(at)
		if up == at {
			return nil, nil
		}
		at = up
	}
}

// repository reports whether a directory has the shape that git takes for a
// repository.
func repository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			// A linked work tree has HEAD and commondir only.
			if name != "HEAD" {
				if _, err := os.Lstat(filepath.Join(dir, "commondir")); err == nil {
					return true
				}
			}
			return false
		}
	}
	return true
}

// follow reads a ".git" file: "gitdir: PATH".
func follow(dot string) (string, error) {
	data, err := readSmall(dot)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dot, err)
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !ok || target == "" {
		return "", fmt.Errorf("%s does not name a repository", dot)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(dot), target)
	}
	return target, nil
}

// configs lists the configuration files of a git directory, and of the one
// that it shares with its siblings.
func configs(gitdir string) ([]string, error) {
	common := gitdir
	data, err := readSmall(filepath.Join(gitdir, "commondir"))
	switch {
	case err == nil:
		common = strings.TrimSpace(string(data))
		if !filepath.IsAbs(common) {
			common = filepath.Join(gitdir, common)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read the shared repository of %s: %w", gitdir, err)
	}
	return []string{filepath.Join(common, "config"), filepath.Join(gitdir, "config.worktree")}, nil
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil, fmt.Errorf("%s is not a small regular file", path)
	}
	return os.ReadFile(path)
}

func readFile(path string) (review.GitConfig, error) {
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return review.GitConfig{Quiet: true}, nil
	}
	if err != nil {
		return review.GitConfig{}, fmt.Errorf("read the repository's configuration: %w", err)
	}
	return Evaluate(string(data)), nil
}
