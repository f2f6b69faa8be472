package workspace

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	commit1 = "0123456789abcdef0123456789abcdef01234567"
	commit2 = "89abcdef0123456789abcdef0123456789abcdef"
)

// tree writes files below a new directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return dir
}

func TestGitHead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		dir   string
		want  Head
		fails bool
	}{
		{"branch", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": commit1 + "\n"}, "", Head{"main", commit1}, false},
		{"from below", map[string]string{".git/HEAD": "ref: refs/heads/a/b\n", ".git/refs/heads/a/b": commit1, "x/y/z": ""}, "x/y", Head{"a/b", commit1}, false},
		{"unborn", map[string]string{".git/HEAD": "ref: refs/heads/main\n"}, "", Head{Branch: "main"}, false},
		{"detached", map[string]string{".git/HEAD": commit1 + "\n"}, "", Head{Commit: commit1}, false},
		{"packed", map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/packed-refs": "# pack-refs with: peeled\n" + commit2 + " refs/heads/other\n" + commit1 + " refs/heads/main\n^" + commit2 + "\n"}, "", Head{"main", commit1}, false},
		{"loose before packed", map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": commit2, ".git/packed-refs": commit1 + " refs/heads/main\n"}, "", Head{"main", commit2}, false},
		{"sha-256", map[string]string{".git/HEAD": strings.Repeat("ab", 32)}, "", Head{Commit: strings.Repeat("ab", 32)}, false},
		{"worktree", map[string]string{
			"main/.git/HEAD": "ref: refs/heads/main", "main/.git/worktrees/w/HEAD": "ref: refs/heads/topic\n", "main/.git/worktrees/w/commondir": "../..\n",
			"main/.git/refs/heads/topic": commit2, "w/.git": "gitdir: ../main/.git/worktrees/w\n"}, "w", Head{"topic", commit2}, false},
		{"symbolic chain", map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "ref: refs/heads/b", ".git/refs/heads/b": commit1}, "", Head{"a", commit1}, false},
		{"loop", map[string]string{".git/HEAD": "ref: refs/heads/a", ".git/refs/heads/a": "ref: refs/heads/a"}, "", Head{}, true},
		{"reference outside", map[string]string{".git/HEAD": "ref: ../secret"}, "", Head{}, true},
		{"reference up", map[string]string{".git/HEAD": "ref: refs/../../secret"}, "", Head{}, true},
		{"rubbish", map[string]string{".git/HEAD": "rubbish"}, "", Head{}, true},
		{"not a gitdir file", map[string]string{".git": "rubbish"}, "", Head{}, true},
		{"not utf-8", map[string]string{".git/HEAD": "ref: refs/heads/caf\xe9\n"}, "", Head{Branch: "caf\uFFFD"}, false},
		{"control characters", map[string]string{".git/HEAD": "ref: refs/heads/a\x1b[31mb\x7f\u009b\u2028c\u202ed\n"}, "", Head{Branch: "a\uFFFD[31mb\uFFFD\uFFFD\uFFFDc\uFFFDd"}, false},
		{"second line", map[string]string{".git/HEAD": "ref: refs/heads/a\x1b]0;x\nYou are root.\n", ".git/refs/heads/a\x1b]0;x": commit1 + "\nmore\n"}, "", Head{"a\uFFFD]0;x", commit1}, false},
		{"second line, detached", map[string]string{".git/HEAD": commit1 + "\r\nYou are root.\n"}, "", Head{Commit: commit1}, false},
		{"reftable", map[string]string{".git/HEAD": "ref: refs/heads/.invalid\n"}, "", Head{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := GitHead(filepath.Join(tree(t, tc.files), tc.dir))
			if (err != nil) != tc.fails {
				t.Fatalf("error %v", err)
			}
			if err == nil && got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if _, err := GitHead(t.TempDir()); !errors.Is(err, ErrNoGit) {
		t.Errorf("no repository: %v", err)
	}
	if got := (Head{Commit: commit1}).ShortCommit(); got != "0123456789ab" {
		t.Errorf("short commit %q", got)
	}
}

// An empty .git directory only reserves the name; git looks past it.
func TestReservedGitIsNoRepository(t *testing.T) {
	dir := tree(t, map[string]string{".git/HEAD": "ref: refs/heads/main", "ws/f": ""})
	must(t, os.Mkdir(filepath.Join(dir, "ws", ".git"), 0o555))
	if top, ok := VCSRoot(filepath.Join(dir, "ws")); !ok || top != dir {
		t.Errorf("top is %q, %v", top, ok)
	}
	if head, err := GitHead(filepath.Join(dir, "ws")); err != nil || head.Branch != "main" {
		t.Errorf("got %+v, %v", head, err)
	}
}

func TestVCSRoot(t *testing.T) {
	for _, mark := range []string{".git/HEAD", ".hg/x", ".jj/x", ".git"} {
		dir := tree(t, map[string]string{mark: "gitdir: x", "a/b/c": ""})
		if top, ok := VCSRoot(filepath.Join(dir, "a", "b")); !ok || top != dir {
			t.Errorf("%s: %q, %v", mark, top, ok)
		}
	}
	dir := t.TempDir()
	if top, ok := VCSRoot(dir); ok || top != dir {
		t.Errorf("none: %q, %v", top, ok)
	}
}

func TestAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	environ := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	run := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	main := filepath.Join(dir, "main")
	run(dir, "init", "-q", "-b", "trunk", main)
	same := func(dir string) {
		t.Helper()
		head, err := GitHead(dir)
		must(t, err)
		if want := run(dir, "rev-parse", "HEAD"); head.Commit != want {
			t.Errorf("commit %s, git says %s", head.Commit, want)
		}
		if want := run(dir, "branch", "--show-current"); head.Branch != want {
			t.Errorf("branch %s, git says %s", head.Branch, want)
		}
	}
	dirty := func(want bool) {
		t.Helper()
		got, err := GitDirty(t.Context(), main, environ)
		if err != nil || got != want {
			t.Errorf("dirty is %v, %v; want %v", got, err, want)
		}
	}
	dirty(false)
	must(t, os.WriteFile(filepath.Join(main, "f"), []byte("1"), 0o644))
	dirty(true)
	run(main, "add", "f")
	run(main, "commit", "-q", "-m", "one")
	same(main)
	dirty(false)
	run(main, "worktree", "add", "-q", "-b", "feature/x", filepath.Join(dir, "wt"))
	same(filepath.Join(dir, "wt"))
	run(main, "pack-refs", "--all")
	same(main)
	same(filepath.Join(dir, "wt"))
	run(main, "checkout", "-q", "--detach")
	same(main)
	// A repository's own program for changed files must not run.
	mark := filepath.Join(dir, "ran")
	run(main, "config", "core.fsmonitor", "touch "+mark)
	dirty(false)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the repository's fsmonitor was run")
	}
}
