//go:build linux || darwin

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmuse/muse/internal/sandbox/reserve"
)

// gitWrite opens the workspace's own repository just far enough for git
// commit. The repository's directory becomes writable, since git replaces its
// files by renaming, and everything in it that names a program or another
// place is mounted read-only on top.
type gitWrite struct {
	dir    string // of the repository, or of the worktree in it
	shared string // objects and references, when the workspace is a worktree
	names  *reserve.Keeper
}

// mayChange reports an entry of a repository that holds content or a position
// and nothing that git obeys.
func mayChange(name string) bool {
	switch strings.TrimSuffix(name, ".lock") {
	case "objects", "refs", "logs", "index", "HEAD", "packed-refs", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD",
		"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "AUTO_MERGE",
		"TAG_EDITMSG", "NOTES_EDITMSG", "shallow", "gc.log", "gc.pid", "reftable":
		return true
	}
	return strings.HasPrefix(name, "sharedindex.")
}

// reservedInRepository must not be made by a command: git reads programs or
// places from them.
func reservedInRepository() []string {
	return []string{"hooks", "info", "config", "config.worktree", "modules", "worktrees", "branches", "remotes"}
}

// unwelcomeInRepository cannot be reserved, because git takes their mere
// presence for a state. They are set aside when a command has made them: the
// user's next "git rebase --continue" would run what is in them.
func unwelcomeInRepository() []string {
	return []string{"commondir", "gitdir", "rebase-merge", "rebase-apply", "sequencer"}
}

// openGitWrite finds the workspace's repository; nil when it has none.
func (s *Session) openGitWrite() (*gitWrite, error) {
	dot := filepath.Join(s.spec.Workspace, ".git")
	info, err := os.Lstat(dot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the repository: %w", err)
	}
	g := &gitWrite{dir: dot}
	if !info.IsDir() {
		dirs := gitDirectories(s.spec.Workspace)
		if len(dirs) != 2 || !strings.HasPrefix(dirs[0], filepath.Join(dirs[1], "worktrees")+"/") {
			return nil, fmt.Errorf("%s does not lead to a worktree of a repository: it cannot be opened for commits", dot)
		}
		g.dir, g.shared = dirs[0], dirs[1]
	}
	g.names = reserve.New(g.dir, workspaceDir(s.spec.StateDir, g.dir), reservedInRepository())
	return g, nil
}

// fixed are the entries of the repository that a command must not change.
// held are the reserved names in it.
func (g *gitWrite) fixed(held []reserve.Name) ([]string, error) {
	entries, err := os.ReadDir(g.dir)
	if err != nil {
		return nil, fmt.Errorf("list the repository: %w", err)
	}
	keep := make([]string, 0, len(entries))
	for _, n := range held {
		keep = append(keep, n.Path)
	}
	for _, e := range entries {
		path := filepath.Join(g.dir, e.Name())
		switch {
		case mayChange(e.Name()) || slices.Contains(keep, path):
		case e.Type()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is a symbolic link: the repository cannot be opened for commits", path)
		default:
			keep = append(keep, path)
		}
	}
	return keep, nil
}

// added are the places of the shared repository that a commit in a worktree
// adds to; the rest of it stays read-only.
func (g *gitWrite) added() []string {
	if g.shared == "" {
		return nil
	}
	var dirs []string
	for _, name := range []string{"objects", "refs", "logs"} {
		if dir := filepath.Join(g.shared, name); isRealDir(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// unwelcome lists what is there of unwelcomeInRepository, and every symbolic
// link: git makes none, and writes through one wherever it leads.
func (g *gitWrite) unwelcome() map[string]bool {
	there := map[string]bool{}
	for _, name := range unwelcomeInRepository() {
		if _, err := os.Lstat(filepath.Join(g.dir, name)); err == nil {
			there[name] = true
		}
	}
	g.links(".", there)
	return there
}

// links adds the symbolic links in a directory of the repository and below it.
// Of the objects only the directories are looked at: nothing is ever written
// over an object that is there.
func (g *gitWrite) links(dir string, there map[string]bool) {
	entries, _ := os.ReadDir(filepath.Join(g.dir, dir)) // what cannot be listed, git cannot use
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			there[name] = true
		case e.IsDir() && !(dir == "objects" && len(e.Name()) == 2) && (dir != "." || mayChange(e.Name())):
			g.links(name, there)
		}
	}
}

// setAside renames what a command made of it, and removes links.
func (g *gitWrite) setAside(before map[string]bool) (moved []string, err error) {
	for name := range g.unwelcome() {
		if before[name] {
			continue
		}
		path := filepath.Join(g.dir, name)
		if info, e := os.Lstat(path); e == nil && info.Mode()&fs.ModeSymlink != 0 {
			// There is nothing in a link to keep.
			if e := os.Remove(path); e != nil {
				err = also(err, fmt.Errorf("remove the link %s: %w", path, e))
			}
			moved = append(moved, path)
			continue
		}
		to := fmt.Sprintf("%s.held-by-muse", path)
		for n := 2; ; n++ {
			if _, e := os.Lstat(to); errors.Is(e, fs.ErrNotExist) {
				break
			}
			to = fmt.Sprintf("%s.held-by-muse-%d", path, n)
		}
		if e := os.Rename(path, to); e != nil {
			err = also(err, fmt.Errorf("set %s aside: %w", path, e))
			continue
		}
		moved = append(moved, path)
	}
	return moved, err
}
