package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git runs the real one, where there is one.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is needed")
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

const commit = `git -c user.name=a -c user.email=a@b.example `

func TestGitWrite(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		git(t, h.ws, "init", "-q")
		git(t, h.ws, "commit", "-q", "--allow-empty", "-m", "first")
		spec := h.spec()
		spec.Launcher = l
		if r := shell(t, open(t, spec), "echo x > f && git add f"); r.code == 0 {
			t.Errorf("without the choice: %+v", r)
		}
		spec.GitWrite = true
		s := open(t, spec)
		if r := shell(t, s, "echo x > f && git add f && "+commit+"commit -q -m second && git branch side && git status --short"); r.code != 0 {
			t.Errorf("a commit: %+v", r)
		}
		if got := git(t, h.ws, "log", "--format=%s"); got != "second\nfirst" {
			t.Errorf("the log says %q", got)
		}
		for name, script := range map[string]string{
			"config":           "git config core.pager x",
			"config directly":  "echo x >> .git/config",
			"config by rename": "cp .git/config .git/c && mv -f .git/c .git/config",
			"hook":             "mkdir -p .git/hooks && echo x > .git/hooks/pre-commit",
			"rename hooks":     "mv .git/hooks .git/h && mkdir .git/hooks",
			"info":             "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
			"worktree config":  "echo x > .git/config.worktree",
			"modules":          "mkdir -p .git/modules/x",
			"worktrees":        "mkdir -p .git/worktrees/x",
			"remotes":          "mkdir -p .git/remotes && echo x > .git/remotes/origin",
			"whole repository": "mv .git other && mkdir .git",
			"remove config":    "rm -f .git/config",
		} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", name, r)
			}
		}
		shell(t, s, "mkdir .git/rebase-merge && echo 'exec touch x' > .git/rebase-merge/git-rebase-todo; mkdir e; echo e > .git/commondir")
		for _, n := range []string{"rebase-merge", "commondir"} {
			if _, err := os.Lstat(filepath.Join(h.ws, ".git", n)); err == nil {
				t.Errorf("%s is still there", n)
			}
		}
		// What the user's next commit would write through.
		for _, name := range []string{".git/COMMIT_EDITMSG", ".git/logs/HEAD", ".git/ORIG_HEAD", ".git/objects/00"} {
			shell(t, s, "rm -rf "+name+" && ln -s "+h.outside+"/file "+name)
			if _, err := os.Readlink(filepath.Join(h.ws, name)); err == nil {
				t.Errorf("the link %s is still there", name)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		git(t, h.ws, "fsck")
		entries, err := os.ReadDir(filepath.Join(h.ws, ".git"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() == "config.worktree" || e.Name() == "remotes" {
				t.Errorf("the placeholder %s is left", e.Name())
			}
		}
	})
}

func TestGitWriteInWorktree(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		main := filepath.Join(h.dir, "main")
		if err := os.Mkdir(main, 0o755); err != nil {
			t.Fatal(err)
		}
		git(t, main, "init", "-q")
		git(t, main, "commit", "-q", "--allow-empty", "-m", "first")
		git(t, main, "worktree", "add", "-q", filepath.Join(h.ws, "tree"))
		spec := h.spec()
		spec.Launcher, spec.GitWrite, spec.Workspace = l, true, filepath.Join(h.ws, "tree")
		s := open(t, spec)
		if r := shell(t, s, "echo x > f && git add f && "+commit+"commit -q -m second && git status --short"); r.code != 0 {
			t.Errorf("a commit: %+v", r)
		}
		if got := git(t, spec.Workspace, "log", "--format=%s"); got != "second\nfirst" {
			t.Errorf("the log says %q", got)
		}
		gitdir := filepath.Join(main, ".git", "worktrees", "tree")
		for name, script := range map[string]string{
			"pointer":         "echo 'gitdir: /tmp/x' > .git",
			"shared config":   "echo x >> " + main + "/.git/config",
			"shared hook":     "echo x > " + main + "/.git/hooks/pre-commit",
			"common dir":      "echo /tmp > " + gitdir + "/commondir",
			"worktree config": "echo x > " + gitdir + "/config.worktree",
			"main worktree":   "echo x > " + main + "/file",
		} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", name, r)
			}
		}
	})
}
