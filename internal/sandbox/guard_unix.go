//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/sandbox/helper"
	"github.com/openmuse/muse/internal/sandbox/repository"
	"github.com/openmuse/muse/internal/sandbox/reserve"
)

// keeping is what a session keeps whatever the launcher.
type keeping struct {
	state  *state
	guards []guard
	limit  time.Duration // for one confirmation
	git    *gitWrite     // nil unless the repository is open for commits
	linger linger
}

// linger keeps the protected names reserved for a moment after a command has
// ended: the next one of a step often follows at once, and making and removing
// directories is a good part of its cost.
type linger struct {
	mu    sync.Mutex
	timer *time.Timer // nil when nothing is kept
}

// lingerTime is short enough that a person does not meet the placeholders.
const lingerTime = time.Second

// openKeeping makes the session's directories.
func (s *Session) openKeeping() (err error) {
	s.limit = helper.Limit
	if s.state, err = openState(s.spec.StateDir, s.spec.Workspace); err != nil {
		return err
	}
	if s.spec.GitWrite {
		if s.git, err = s.openGitWrite(); err != nil {
			return err
		}
	}
	s.openGuards()
	return nil
}

// guard keeps the protected names and the repositories of one root.
type guard struct {
	root    string
	names   *reserve.Keeper
	scanner *repository.Scanner
}

// rootFound are the repositories below a root.
type rootFound struct {
	root   string
	places []repository.Place
}

// openGuards prepares what looks after the writable roots.
func (s *Session) openGuards() {
	for _, root := range s.spec.roots {
		names := s.namesFor(root)
		s.guards = append(s.guards, guard{
			root:    root,
			names:   reserve.New(root, workspaceDir(s.spec.StateDir, root), s.withoutOpened(root, names)),
			scanner: repository.NewScanner(root, names),
		})
	}
}

// namesFor are the protected names of a root. A root that is itself the inside
// of a repository keeps what would run programs.
func (s *Session) namesFor(root string) []string {
	names := append([]string{}, s.spec.Protected...)
	if repository.IsBare(root) {
		names = append(names, "config", "config.worktree", "hooks", "info", "modules", "worktrees")
	}
	return names
}

// withoutOpened leaves out a repository that is open for commits: it is
// protected entry by entry.
func (s *Session) withoutOpened(root string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return s.git != nil && s.git.dir == filepath.Join(root, n)
	})
}

func (s *Session) close() error {
	if s.state == nil {
		return nil
	}
	return also(s.stopLingering(), s.state.Close())
}

// TempDir is where the commands' /tmp is on the host.
func (s *Session) TempDir() string { return s.state.tmp() }

// held are the protected names that exist while a command runs.
type held struct {
	roots []reserve.Name
	git   []reserve.Name // in a repository that is open for commits
}

// keepers are everything that reserves names.
func (s *Session) keepers() []*reserve.Keeper {
	var all []*reserve.Keeper
	for _, g := range s.guards {
		all = append(all, g.names)
	}
	if s.git != nil {
		all = append(all, s.git.names)
	}
	return all
}

// acquire holds the protected names.
func (s *Session) acquire() (held, error) {
	var h held
	keepers := s.keepers()
	for i, k := range keepers {
		names, err := k.Acquire()
		if err != nil {
			for _, done := range keepers[:i] {
				err = also(err, done.Release())
			}
			return held{}, err
		}
		if s.git != nil && k == s.git.names {
			h.git = names
		} else {
			h.roots = append(h.roots, names...)
		}
	}
	return h, nil
}

// releaseNames ends one use of the protected names, after lingerTime if it
// was the last.
func (s *Session) releaseNames() error {
	for _, k := range s.keepers() {
		for _, path := range k.Disturbed() {
			s.notify("placeholder-removed", path, "%s was reserved while commands ran, and something outside of the sandbox changed it", path)
		}
	}
	l := &s.linger
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil { // one use is kept already
		l.timer.Reset(lingerTime)
		return s.dropNames()
	}
	l.timer = time.AfterFunc(lingerTime, func() {
		if err := s.stopLingering(); err != nil {
			s.notify("placeholder-kept", "", "a reserved name could not be given up: %v", err)
		}
	})
	return nil
}

// stopLingering ends the use that was kept.
func (s *Session) stopLingering() error {
	l := &s.linger
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer == nil {
		return nil
	}
	l.timer.Stop()
	l.timer = nil
	return s.dropNames()
}

// inNoRepository reports a workspace whose .git is only a placeholder, with no
// repository around it.
func (s *Session) inNoRepository(names held) bool {
	dot := filepath.Join(s.spec.Workspace, ".git")
	for _, n := range names.roots {
		if n.Path == dot {
			return n.Placeholder && enclosing(filepath.Dir(s.spec.Workspace)) == ""
		}
	}
	return false
}

func (s *Session) dropNames() error {
	var err error
	for _, k := range s.keepers() {
		err = also(err, k.Release())
	}
	return err
}

// scan lists the repositories that are there before a command starts.
func (s *Session) scan() ([]rootFound, error) {
	var all []rootFound
	for _, g := range s.guards {
		found, err := g.scanner.Before()
		if err != nil {
			return nil, err
		}
		if found.Truncated {
			s.notify("scan-incomplete", g.root, "%s has more directories than are looked at: repositories beyond the first %d are not protected", g.root, found.Dirs)
		}
		all = append(all, rootFound{g.root, found.Places})
	}
	return all, nil
}

// judge looks for repositories that were not there before and holds those
// that could run a program.
func (s *Session) judge(before []rootFound) error {
	var failed error
	for i, g := range s.guards {
		found, err := g.scanner.After()
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		old := map[repository.Place]bool{}
		for _, p := range before[i].places {
			old[p] = true
		}
		for _, p := range found.Places {
			if !old[p] {
				failed = errors.Join(failed, s.judgeOne(g.root, p))
			}
		}
	}
	return failed
}

// judgeGit sets aside what a command left in a repository that is open for
// commits.
func (s *Session) judgeGit(before map[string]bool) error {
	if s.git == nil {
		return nil
	}
	moved, err := s.git.setAside(before)
	for _, path := range moved {
		s.notify("repository-held", path, "a command made %s, from which git would run programs: it was renamed", path)
	}
	return err
}

func (s *Session) judgeOne(dir string, p repository.Place) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer root.Close()
	judged, err := repository.Judge(root, p)
	for _, j := range judged {
		path := filepath.Join(dir, filepath.FromSlash(j.Place.Path))
		if j.Renamed == "" {
			if err == nil {
				s.notify("repository-found", path, "a command made the repository %s", path)
			}
			continue
		}
		s.notify("repository-held", path, "a command made the repository %s, and %s: it was made invisible to git by renaming %s to %s",
			path, j.Why, j.Renamed, j.To)
	}
	return err
}
