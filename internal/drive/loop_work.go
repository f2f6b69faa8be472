package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmuse/muse/pkg/muse"
)

// gitTimeout bounds one Git command.
const gitTimeout = time.Minute

// git runs Git in dir. Hooks and the file-system monitor of the repository are
// switched off: these commands only look, or make a worktree of our own.
func git(ctx context.Context, env []string, dir string, args ...string) (string, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return "", fmt.Errorf("find git: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	safe := append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"}, args...)
	return muse.Output(ctx, bin, safe, append(muse.ScrubEnv(env), "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0"), dir)
}

// workDigest identifies the state of a workspace: the tree that HEAD points
// at, and the content of every file that differs from it or is new. Ignored
// files do not count. Outside of Git the whole directory is taken.
func workDigest(ctx context.Context, env []string, dir string) (string, error) {
	h := sha256.New()
	status, err := git(ctx, env, dir, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--", ".")
	if err != nil {
		if err := hashTree(h, dir); err != nil {
			return "", fmt.Errorf("digest workspace: %w", err)
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	top, err := git(ctx, env, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return "", fmt.Errorf("digest workspace: %w", err)
	}
	// A repository without a commit has no tree: every file is new then.
	tree, treeErr := git(ctx, env, dir, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
	if treeErr != nil {
		tree = "none"
	}
	fmt.Fprintf(h, "%s\x00", strings.TrimSpace(tree))
	for entry := range strings.SplitSeq(status, "\x00") {
		if len(entry) < 4 {
			continue
		}
		path := filepath.Join(strings.TrimRight(top, "\r\n"), filepath.FromSlash(entry[3:]))
		fmt.Fprintf(h, "%s\x00", entry[3:])
		if err := hashFile(h, path); err != nil {
			return "", fmt.Errorf("digest workspace: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashFile adds the kind, the executable bit and the content of a file; a
// missing one is a state too.
func hashFile(h hash.Hash, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprint(h, "absent\x00")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(h, "%v %v\x00", info.Mode().Type(), info.Mode().Perm()&0o100 != 0)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00", target)
	case info.Mode().IsRegular():
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrPermission) {
			fmt.Fprintf(h, "unreadable %d\x00", info.Size())
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := io.Copy(h, f); err != nil {
			return err
		}
		fmt.Fprintf(h, "\x00%d\x00", info.Size())
	}
	return nil
}

// treeFiles bounds how many files outside of Git are read in full; beyond it
// size and time stand for the content.
const treeFiles = 20_000

func hashTree(h hash.Hash, dir string) error {
	n := 0
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == ".git" || name == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s\x00", rel)
		if n++; n <= treeFiles {
			return hashFile(h, path)
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			fmt.Fprintf(h, "%d %d\x00", info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
}

// headCommit is the commit that worktrees begin from.
func headCommit(ctx context.Context, env []string, dir string) (string, error) {
	out, err := git(ctx, env, dir, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return "", fmt.Errorf("a worktree for each attempt needs a Git repository with a commit: %w", err)
	}
	return strings.TrimSpace(out), nil
}

// addWorktree makes a fresh worktree of base at path.
func addWorktree(ctx context.Context, env []string, repo, path, base string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("add worktree: %w", err)
	}
	if _, err := git(ctx, env, repo, "worktree", "add", "--detach", "--force", path, base); err != nil {
		return fmt.Errorf("add worktree: %w", err)
	}
	return nil
}

// savePatch writes what a worktree changed against base. The worktree's own
// index is used, so new files are in the patch.
func savePatch(ctx context.Context, env []string, worktree, base, path string) error {
	if _, err := git(ctx, env, worktree, "add", "--all"); err != nil {
		return fmt.Errorf("save patch: %w", err)
	}
	if _, err := git(ctx, env, worktree, "diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--output="+path, base); err != nil {
		return fmt.Errorf("save patch: %w", err)
	}
	return nil
}

// removeWorktree removes a worktree and forgets it.
func removeWorktree(ctx context.Context, env []string, repo, path string) error {
	_, err := git(ctx, env, repo, "worktree", "remove", "--force", "--force", path)
	if _, statErr := os.Lstat(path); errors.Is(statErr, fs.ErrNotExist) {
		_, err = git(ctx, env, repo, "worktree", "prune")
	}
	if err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	return nil
}
