//go:build unix

package repository

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tree writes files ("a/b" → text), directories ("a/") and links ("a" → "->b").
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(mapsKeys(files)) {
		path, text := filepath.Join(dir, name), files[name]
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(text, "->"); {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case link:
			err = os.Symlink(target, path)
		default:
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func mapsKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// inside is the content of a repository with a harmless configuration.
func repositoryFiles(prefix string, more map[string]string) map[string]string {
	files := map[string]string{
		prefix + "HEAD":                     "ref: refs/heads/main\n",
		prefix + "objects/":                 "",
		prefix + "refs/heads/":              "",
		prefix + "hooks/pre-commit.sample":  "#!/bin/sh\n",
		prefix + "config":                   "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
		prefix + "logs/HEAD":                "",
		prefix + "refs/remotes/origin/HEAD": "ref: refs/remotes/origin/main\n",
	}
	for k, v := range more {
		files[prefix+k] = v
	}
	return files
}

func places(t *testing.T, found Found, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range found.Places {
		out = append(out, p.Path+[]string{"", "/dir", "/pointer", "/link", "/bare"}[p.Shape])
	}
	return strings.Join(out, " ")
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, repositoryFiles(".git/", nil))
	tree(t, dir, repositoryFiles("vendor/lib/.git/", nil))
	tree(t, dir, repositoryFiles("testdata/r.git/", nil))
	tree(t, dir, map[string]string{
		"sub/.git": "gitdir: ../.git/modules/sub\n", "linked/.git": "->../vendor/lib/.git", "case/.Git/HEAD": "x",
		"node_modules/a/b/.git/": "", "plain/HEAD": "", "plain/objects/": "", "tree/HEAD": "", "tree/commondir": "x",
		".muse/worktrees/w/.git": "gitdir: x",
	})
	s := NewScanner(dir, []string{".git", ".muse"})
	found, err := s.Before()
	want := "case/.Git/dir linked/.git/link node_modules/a/b/.git/dir sub/.git/pointer testdata/r.git/bare tree/bare vendor/lib/.git/dir"
	if got := places(t, found, err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What appears between two scans is found, also when it appears within one
// tick of the clock that file times are taken from, and when the program that
// made it sets the times back.
func TestScanSeesChanges(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, map[string]string{"a/b/c/": "", "d/": ""})
	s := NewScanner(dir, nil)
	found, err := s.Before()
	if got := places(t, found, err); got != "" {
		t.Fatalf("got %s", got)
	}
	tree(t, dir, map[string]string{"a/b/c/.git": "gitdir: x", "new/deep/.git/": ""})
	old := time.Unix(1_000_000_000, 0)
	for _, d := range []string{"a/b/c", "a/b", "a", "."} {
		if err := os.Chtimes(filepath.Join(dir, d), old, old); err != nil {
			t.Fatal(err)
		}
	}
	found, err = s.After()
	if got := places(t, found, err); got != "a/b/c/.git/pointer new/deep/.git/dir" {
		t.Errorf("got %s", got)
	}
	if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "d", "moved")); err != nil {
		t.Fatal(err)
	}
	tree(t, dir, repositoryFiles("d/bare/", nil))
	found, err = s.After()
	if got := places(t, found, err); got != "a/b/c/.git/pointer d/bare/bare d/moved/deep/.git/dir" {
		t.Errorf("got %s", got)
	}
}

// A directory is read again only when it may have changed.
func TestScanRemembers(t *testing.T) {
	id := stamp{sec: 100}
	if id.settled(time.Unix(100, int64(tick))) {
		t.Error("a change within one tick of the last one would be missed")
	}
	if !id.settled(time.Unix(100, int64(tick)+1)) {
		t.Error("nothing is ever remembered")
	}
	if id.settled(time.Unix(90, 0)) {
		t.Error("a time in the future is relied on")
	}
}

// A directory that can be searched but not listed is no hiding place.
func TestScanOpensHiddenDirectories(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root lists every directory")
	}
	dir := t.TempDir()
	tree(t, dir, repositoryFiles("hidden/r/", nil))
	if err := os.Chmod(filepath.Join(dir, "hidden"), 0o311); err != nil {
		t.Fatal(err)
	}
	s := NewScanner(dir, nil)
	found, err := s.Before()
	if got := places(t, found, err); got != "" {
		t.Errorf("before a command nothing is changed, got %s", got)
	}
	found, err = s.After()
	if got := places(t, found, err); got != "hidden/r/bare" {
		t.Errorf("got %s", got)
	}
}

func TestScanLimit(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"a/", "b/", "c/", "d/"} {
		tree(t, dir, map[string]string{n: ""})
	}
	s := NewScanner(dir, nil)
	s.max = 3
	found, err := s.Before()
	if err != nil || !found.Truncated || found.Dirs != 3 {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestJudge(t *testing.T) {
	const plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	tests := []struct {
		name  string
		files map[string]string // of repository "r/.git/"
		why   string            // "" when it is left alone
	}{
		{"as git makes it", nil, ""},
		{"a clone", map[string]string{"config": plain + "[remote \"origin\"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"}, ""},
		{"a user", map[string]string{"config": plain + "[user]\n\tname = A B\n\temail = a@b.example\n"}, ""},
		{"a comment", map[string]string{"config": plain + "# fsmonitor = x\n; y\n"}, ""},
		{"fsmonitor", map[string]string{"config": "[core]\n\tfsmonitor = touch x\n"}, "core.fsmonitor"},
		{"fsmonitor, capitals", map[string]string{"config": "[CORE]\n\tFsMonitor = touch x\n"}, "core.fsmonitor"},
		{"fsmonitor on one line", map[string]string{"config": "[core] fsmonitor = touch x\n"}, "cannot be read"},
		{"fsmonitor, continued", map[string]string{"config": "[core]\n\tfsmon\\\nitor = x\n"}, "cannot be read"},
		{"boolean without value", map[string]string{"config": "[core]\n\tbare\n"}, "cannot be read"},
		{"worktree", map[string]string{"config": "[core]\n\tworktree = .\n"}, "core.worktree"},
		{"hooks path", map[string]string{"config": "[core]\n\thooksPath = h\n"}, "core.hookspath"},
		{"pager", map[string]string{"config": "[pager]\n\tstatus = x\n"}, "pager.status"},
		{"alias", map[string]string{"config": "[alias]\n\tst = !x\n"}, "alias.st"},
		{"include", map[string]string{"config": "[include]\n\tpath = ../x\n"}, "include.path"},
		{"conditional include", map[string]string{"config": "[includeIf \"gitdir:/\"]\n\tpath = x\n"}, "includeif"},
		{"filter", map[string]string{"config": "[filter \"x\"]\n\tclean = y\n"}, `filter."x".clean`},
		{"diff driver", map[string]string{"config": "[diff \"x\"]\n\ttextconv = y\n"}, `diff."x".textconv`},
		{"worktree configuration", map[string]string{"config": "[extensions]\n\tworktreeConfig = true\n"}, "extensions.worktreeconfig"},
		{"remote helper", map[string]string{"config": "[remote \"o\"]\n\turl = ext::sh -c x\n"}, "remote"},
		{"remote path", map[string]string{"config": "[remote \"o\"]\n\turl = ../x\n"}, "remote"},
		{"remote program", map[string]string{"config": "[remote \"o\"]\n\tuploadpack = x\n"}, "uploadpack"},
		{"old style section", map[string]string{"config": "[diff.x]\n\ttextconv = y\n"}, "cannot be read"},
		{"byte order mark", map[string]string{"config": "\ufeff[core]\n\tbare = false\n"}, "cannot be read"},
		{"quoted value", map[string]string{"config": "[user]\n\tname = \"a\"\n"}, "cannot be read"},
		{"a hook", map[string]string{"hooks/post-checkout": "#!/bin/sh\n"}, "hook post-checkout"},
		{"hooks elsewhere", map[string]string{"hooks": "->../../h"}, "hooks"},
		{"configuration elsewhere", map[string]string{"config": "->../../c"}, "cannot be read"},
		{"a link that git writes through", map[string]string{"COMMIT_EDITMSG": "->../../outside"}, "symbolic link"},
		{"a link below", map[string]string{"logs/HEAD": "->../../../outside"}, "symbolic link"},
		{"common directory", map[string]string{"commondir": "../../x\n"}, "kept elsewhere"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			files := repositoryFiles("r/.git/", nil)
			for k, v := range tt.files {
				for old := range files {
					if strings.HasPrefix(old, "r/.git/"+k+"/") {
						delete(files, old)
					}
				}
				files["r/.git/"+k] = v
			}
			tree(t, dir, files)
			j := judgeOnly(t, dir, Place{Path: "r/.git", Shape: Dir})
			check(t, dir, j, tt.why, "r/.git/HEAD")
		})
	}
}

// judgeOnly judges one place and returns what was said about it.
func judgeOnly(t *testing.T, dir string, p Place) Judgement {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all, err := Judge(root, p)
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// check makes sure that the file is there exactly when nothing was wrong.
func check(t *testing.T, dir string, j Judgement, why, file string) {
	t.Helper()
	_, err := os.Lstat(filepath.Join(dir, file))
	switch {
	case why == "" && (j.Why != "" || err != nil):
		t.Errorf("held (%s), %v", j.Why, err)
	case why != "" && (!strings.Contains(j.Why, why) || err == nil):
		t.Errorf("why %q, want %q; %s is still there: %v", j.Why, why, file, err == nil)
	case why != "":
		if _, err := os.Lstat(filepath.Join(dir, j.To)); err != nil || j.Renamed != file {
			t.Errorf("renamed %s to %s: %v", j.Renamed, j.To, err)
		}
	}
}

func TestJudgeOthers(t *testing.T) {
	evil := map[string]string{"config": "[core]\n\tfsmonitor = x\n"}
	tests := []struct {
		name  string
		files map[string]string
		place Place
		why   string
		file  string
	}{
		{"bare", repositoryFiles("b/", evil), Place{Path: "b", Shape: Bare}, "fsmonitor", "b/HEAD"},
		{"bare root", repositoryFiles("", evil), Place{Path: ".", Shape: Bare}, "fsmonitor", "HEAD"},
		{"pointer to it", mergeFiles(repositoryFiles("b/", evil), map[string]string{"w/.git": "gitdir: ../b\n"}), Place{Path: "w/.git", Shape: Pointer}, "fsmonitor", "w/.git"},
		{"pointer to a harmless one", mergeFiles(repositoryFiles("b/", nil), map[string]string{"w/.git": "gitdir: ../b\n"}), Place{Path: "w/.git", Shape: Pointer}, "", "w/.git"},
		{"pointer outside", map[string]string{"w/.git": "gitdir: ../../b\n"}, Place{Path: "w/.git", Shape: Pointer}, "outside", "w/.git"},
		{"absolute pointer outside", map[string]string{"w/.git": "gitdir: /tmp/x\n"}, Place{Path: "w/.git", Shape: Pointer}, "outside", "w/.git"},
		{"pointer that is none", map[string]string{"w/.git": "x\n"}, Place{Path: "w/.git", Shape: Pointer}, "", "w/.git"},
		{"link", map[string]string{"w/.git": "->../b"}, Place{Path: "w/.git", Shape: Link}, "link", "w/.git"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tree(t, dir, tt.files)
			check(t, dir, judgeOnly(t, dir, tt.place), tt.why, tt.file)
		})
	}
}

func mergeFiles(a, b map[string]string) map[string]string {
	for k, v := range b {
		a[k] = v
	}
	return a
}

// A repository inside a new one is held by itself: a submodule, and what was
// hidden where nobody looks.
func TestJudgeInside(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, repositoryFiles("r/.git/", nil))
	tree(t, dir, repositoryFiles("r/.git/modules/sub/", map[string]string{"config": "[core]\n\tpager = x\n"}))
	tree(t, dir, repositoryFiles("r/.git/objects/aa/", map[string]string{"hooks/pre-commit": "x"}))
	tree(t, dir, repositoryFiles("r/.git/modules/good/", nil))
	tree(t, dir, map[string]string{"r/.git/worktrees/w/HEAD": "x", "r/.git/worktrees/w/commondir": "../..\n"})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	all, err := Judge(root, Place{Path: "r/.git", Shape: Dir})
	if err != nil {
		t.Fatal(err)
	}
	var held []string
	for _, j := range all {
		if j.Renamed != "" {
			held = append(held, j.Renamed)
		}
	}
	slices.Sort(held)
	if got, want := strings.Join(held, " "), "r/.git/modules/sub/HEAD r/.git/objects/aa/HEAD"; got != want {
		t.Errorf("held %s, want %s", got, want)
	}
	again, err := Judge(root, Place{Path: "r/.git", Shape: Dir})
	if err != nil || len(again) != 3 {
		t.Errorf("a second look: %+v, %v", again, err)
	}
}

// A rename is not led outside by a link on the way.
func TestHoldStaysInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	tree(t, outside, repositoryFiles("", map[string]string{"config": "[core]\n\tpager = x\n"}))
	tree(t, dir, map[string]string{"w": "->" + outside})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, _ = Judge(root, Place{Path: "w", Shape: Bare}) // whatever it says, nothing outside may change
	if _, err := os.Lstat(filepath.Join(outside, "HEAD")); err != nil {
		t.Errorf("a file outside was renamed: %v", err)
	}
}

func TestIsBare(t *testing.T) {
	dir := t.TempDir()
	if IsBare(dir) {
		t.Error("an empty directory is no repository")
	}
	tree(t, dir, repositoryFiles("", nil))
	if !IsBare(dir) {
		t.Error("a repository was not recognised")
	}
}
