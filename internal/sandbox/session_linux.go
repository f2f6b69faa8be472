package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/sandbox/layout"
	"github.com/openmuse/muse/internal/sandbox/repository"
	"github.com/openmuse/muse/internal/sandbox/reserve"
)

// launcher makes the boundary in one way.
type launcher interface {
	name() LauncherName
	// prepare returns the process that ends up as the helper inside.
	prepare(ctx context.Context, s *Session, plan *layout.Plan, env []string) (*exec.Cmd, error)
}

// system is what a session keeps on Linux.
type system struct {
	state    *state
	host     []uint64 // the host's namespaces, 0 for shared ones
	helper   string   // the helper's program, out of reach of every command
	helperID programID
	guards   []guard       // one a writable root
	limit    time.Duration // for one confirmation
	git      *gitWrite     // nil unless the repository is open for commits

	choose   sync.Mutex
	launcher launcher // nil until one has passed its check
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

func (s *Session) open() error {
	st, err := openState(s.spec.StateDir, s.spec.Workspace)
	if err != nil {
		return err
	}
	s.state, s.limit = st, confirmLimit
	if err := s.prepareHost(); err != nil {
		return errors.Join(err, s.close())
	}
	cache := cachePath
	if !isRealDir(runDir) {
		cache = filepath.Join("/tmp", ".cache")
	}
	s.settings = s.buildSettings(cache, "/tmp", s.spec.Network == ProxyOnly)
	if s.spec.GitWrite {
		if s.git, err = s.openGitWrite(); err != nil {
			return errors.Join(err, s.close())
		}
	}
	for _, root := range s.spec.roots {
		names := s.namesFor(root)
		s.guards = append(s.guards, guard{
			root:    root,
			names:   reserve.New(root, workspaceDir(s.spec.StateDir, root), s.withoutOpened(root, names)),
			scanner: repository.NewScanner(root, names),
		})
	}
	return nil
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

// prepareHost notes what the host looks like, to tell the inside from it.
func (s *Session) prepareHost() (err error) {
	if s.host, err = namespaces("/proc/self"); err != nil {
		return err
	}
	if s.spec.Network == Enabled {
		s.host[len(s.host)-1] = 0
	}
	if s.helperID, err = programAt("/proc/self/exe"); err != nil {
		return err
	}
	s.helper, err = os.Executable()
	if err != nil {
		return fmt.Errorf("find our own program: %w", err)
	}
	return nil
}

func (s *Session) close() error {
	if s.state == nil {
		return nil
	}
	return s.state.Close()
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

func (s *Session) releaseNames() error {
	var err error
	for _, k := range s.keepers() {
		for _, path := range k.Disturbed() {
			s.notify("placeholder-removed", path, "%s was reserved while commands ran, and something outside of the sandbox changed it", path)
		}
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

// Confirm finds a launcher whose boundary holds, by starting the helper once
// without a command. Later calls return at once. The error satisfies
// ErrUnavailable.
func (s *Session) Confirm(ctx context.Context) (LauncherName, error) {
	l, err := s.chosen(ctx)
	if err != nil {
		return "", unavailable(err)
	}
	return l.name(), nil
}

// candidates are the launchers to try, in order, and why one is not among
// them.
func (s *Session) candidates() (all []launcher, missing error) {
	switch s.spec.Launcher {
	case Seatbelt:
		return nil, errors.New("the seatbelt launcher is for macOS")
	case Native:
		return []launcher{native{}}, nil
	case Auto:
		all = append(all, native{})
	}
	program, err := findBubblewrap(os.Getenv("PATH"), s.spec.roots)
	if err != nil {
		return all, err
	}
	return append(all, bubblewrap{program}), nil
}

// chosen is the first launcher that passes its check. One that has passed is
// kept; failures are not, since their cause may be mended.
func (s *Session) chosen(ctx context.Context) (launcher, error) {
	s.choose.Lock()
	defer s.choose.Unlock()
	if s.launcher != nil {
		return s.launcher, nil
	}
	candidates, missing := s.candidates()
	var causes []error
	for _, l := range candidates {
		err := s.try(ctx, l)
		if err == nil {
			s.launcher = l
			s.notify("launcher", "", "commands run inside the %s sandbox", l.name())
			return l, nil
		}
		if len(causes) > 0 && errors.Unwrap(causes[0]).Error() == err.Error() {
			return nil, err // not the launchers' fault
		}
		causes = append(causes, fmt.Errorf("%s: %w", l.name(), err))
	}
	if missing != nil {
		causes = append(causes, missing)
	}
	all := causes[0]
	for _, err := range causes[1:] {
		all = fmt.Errorf("%w; %w", all, err)
	}
	return nil, all
}

// try confirms a boundary made by l and starts nothing in it.
func (s *Session) try(ctx context.Context, l launcher) error {
	r := &run{session: s, launcher: l, command: Command{Dir: "/", Path: "/", Args: []string{"none"}}, trial: true}
	if err := s.enter(r); err != nil {
		return err
	}
	cmd, err := r.prepare(ctx)
	if err != nil {
		return errors.Join(err, r.finish())
	}
	stderr := &tail{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		return errors.Join(explainStart(l, err), r.drop())
	}
	waited := cmd.Wait()
	err = r.finish()
	if err == nil {
		return nil
	}
	if line := stderr.last(); line != "" {
		return fmt.Errorf("%w: %s", plain(err), explainBubblewrap(line))
	}
	if waited != nil {
		return fmt.Errorf("%w (%w)", plain(err), waited)
	}
	return plain(err)
}

// explainStart says what a failed start usually means.
func explainStart(l launcher, err error) error {
	if l.name() == Native && (errors.Is(err, os.ErrPermission) || isNamespaceLimit(err)) {
		return fmt.Errorf("make namespaces: %w (%s)", err, namespaceRemedy())
	}
	return fmt.Errorf("start the sandbox: %w", err)
}
