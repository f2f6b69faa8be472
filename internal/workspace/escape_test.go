package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const secretText = "outside"

// maze is a workspace with every kind of way out, beside a directory that must
// not be reached.
func maze(t *testing.T) (*Workspace, string) {
	t.Helper()
	top := t.TempDir()
	dir, out := filepath.Join(top, "ws"), filepath.Join(top, "out")
	for _, d := range []string{dir + "/sub/deep", dir + "/.git/hooks", dir + "/.muse", dir + "/.agents", dir + "/nested/.git", out + "/sub", dir + "-sibling"} {
		must(t, os.MkdirAll(d, 0o755))
	}
	for name, text := range map[string]string{
		dir + "/a.txt": "inside", dir + "/sub/b.txt": "inside", dir + "/.git/config": "config", dir + "/nested/.git/config": "config",
		out + "/secret": secretText, out + "/sub/secret": secretText, dir + "-sibling/secret": secretText,
	} {
		must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for link, target := range map[string]string{
		"up": "..", "out": "../out", "outabs": out, "file": "../out/secret", "fileabs": out + "/secret",
		"chain1": "chain2", "chain2": "sub/chain3", "sub/chain3": "../../out", "sub/deep/up3": "../../..",
		"root": "/", "proc": "/proc/self/root", "cwd": "/proc/self/cwd", "loop": "loop", "loopa": "loopb", "loopb": "loopa",
		"dangling": "../out/new", "danglingabs": out + "/new", "gitlink": ".git", "configlink": ".git/config", "hookdir": ".git/hooks",
		"inside": "sub/b.txt", "insideabs": dir + "/sub/b.txt", "insidedir": "sub", "newinside": "sub/new.txt", "subup": "sub/../..", "dotdotfile": "../out/sub/../secret",
		"museabs": dir + "/.muse",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	ws, err := Open(dir)
	must(t, err)
	t.Cleanup(func() { must(t, ws.Close()) })
	return ws, out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// touch locates, reaches and reads or writes a path, as the tools do.
func touch(ws *Workspace, path string, intent Intent) (string, error) {
	loc, err := ws.Locate(path)
	if err != nil {
		return "", err
	}
	if !loc.Inside() {
		return "", ErrOutside
	}
	h, err := loc.Root.Reach(loc.Rel, intent)
	if err != nil {
		return "", err
	}
	defer h.Close()
	if intent != Read {
		return "", h.Replace([]byte("written"), nil)
	}
	data, _, err := h.ReadAll(1 << 20)
	return string(data), err
}

func TestEscapes(t *testing.T) {
	ws, out := maze(t)
	dir := ws.Dir()
	for _, path := range []string{
		"..", "../out/secret", "sub/../../out/secret", "./../out/secret", "sub//..//../out/secret", "../ws-sibling/secret",
		"sub/deep/../../../out/secret", "a.txt/../../out/secret", "../../../../../../../../etc/passwd",
		out + "/secret", dir + "/../out/secret", dir + "-sibling/secret", dir + "/sub/../../out/secret", "/etc/passwd", "//etc/passwd", "/",
		"/proc/self/root/etc/passwd", "/proc/self/cwd/go.mod", "/proc/self/environ", "/proc/1/root/etc/passwd", "/dev/stdin", "/dev/fd/0", "/dev/null",
		"up/out/secret", "up", "out/secret", "out/sub/secret", "outabs/secret", "file", "fileabs", "chain1/secret", "sub/chain3/secret",
		"sub/deep/up3/out/secret", "insidedir/../../out/secret", "root/etc/passwd", "proc/etc/passwd", "cwd/go.mod", "loop", "loopa/x",
		"dangling", "danglingabs", "subup/out/secret", "dotdotfile", "~/x", "~", "~root/.ssh/id_rsa", "file:///etc/passwd", "FILE:/etc/passwd", "", "a\x00b",
		dir + "/up/out/secret", dir + "/outabs/secret",
	} {
		for _, intent := range []Intent{Read, Write, Create} {
			text, err := touch(ws, path, intent)
			if path == "~root/.ssh/id_rsa" && intent == Create {
				continue // an ordinary name in the workspace
			}
			if err == nil || text == secretText {
				t.Errorf("%q with intent %d was let through (%q)", path, intent, text)
			}
		}
	}
	unchanged(t, out)
	for _, path := range []string{"a.txt", "./a.txt", "sub/../a.txt", dir + "/a.txt", "inside", "insideabs", "insidedir/b.txt", "sub/deep/../b.txt", "sub/deep/up3/ws/a.txt"} {
		text, err := touch(ws, path, Read)
		if path == "sub/deep/up3/ws/a.txt" {
			if err == nil {
				t.Errorf("%q leads out and back in", path)
			}
			continue
		}
		if err != nil || text != "inside" {
			t.Errorf("%q: %q, %v", path, text, err)
		}
	}
}

// unchanged fails if anything in the outside directory is not as it was.
func unchanged(t *testing.T, out string) {
	t.Helper()
	n := 0
	must(t, filepath.WalkDir(out, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		data, err := os.ReadFile(p)
		if string(data) != secretText {
			t.Errorf("%s was changed to %q", p, data)
		}
		return err
	}))
	if n != 2 {
		t.Errorf("%d files outside, there were 2", n)
	}
}

func TestProtectedNames(t *testing.T) {
	ws, _ := maze(t)
	dir := ws.Dir()
	for _, path := range []string{
		".git/config", ".git/hooks/post-commit", ".git", ".GIT/config", ".Git/config", ".git./config", ".git /config", ".git../x", "sub/../.git/config",
		"./.git/config", ".//.git/config", dir + "/.git/config", "gitlink/config", "configlink", "hookdir/pre-commit", "nested/.git/config", "nested/.git/hooks/x",
		".git::$INDEX_ALLOCATION/config", ".git:x", "git~1/config", "GIT~1/config", ".g\u200cit/config", ".\u200dgit/x", ".git\ufeff/config", "new/.git/config",
		".muse/hooks.json", ".MUSE/hooks.json", ".mu\u017fe/hooks.json", "muse~1/x", ".agents/skills/x/SKILL.md", ".Agents/x", "AGENTS~1/x", "museabs/hooks.json", ".muse",
		"sub/deep/../../.agents/x", ".git/../.git/config",
	} {
		for _, intent := range []Intent{Write, Create} {
			_, err := touch(ws, path, intent)
			if intent == Write && errors.Is(err, fs.ErrNotExist) && path == "new/.git/config" {
				continue // nothing is made on the way, so .git is not come to
			}
			if !errors.Is(err, ErrProtected) {
				t.Errorf("%q with intent %d: %v", path, intent, err)
			}
		}
	}
	if text, err := touch(ws, ".git/config", Read); err != nil || text != "config" {
		t.Errorf("reading is allowed: %q, %v", text, err)
	}
	for _, path := range []string{".gitignore", ".github/workflows/x.yml", "sub/.muse", "sub/.agents/x", "agents", "git", ".gitmodules", "digit~1", "x.git/config"} {
		if _, err := touch(ws, path, Create); err != nil {
			t.Errorf("%q is an ordinary name: %v", path, err)
		}
	}
	loc, err := ws.Locate(".agents/x")
	must(t, err)
	h, err := loc.Root.Unguarded().Reach(loc.Rel, Create)
	must(t, err)
	must(t, h.Replace([]byte("allowed"), nil))
	must(t, h.Close())
}

func TestProtectedByIdentity(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /elsewhere"), 0o644))
	if err := os.Link(filepath.Join(dir, ".git"), filepath.Join(dir, "alias")); err != nil {
		t.Skip("no hard links here:", err)
	}
	ws, err := Open(dir)
	must(t, err)
	defer ws.Close()
	if _, err := touch(ws, "alias", Write); !errors.Is(err, ErrProtected) {
		t.Errorf("a second name of .git: %v", err)
	}
}

func TestSpecialFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no FIFOs here")
	}
	ws, _ := maze(t)
	makeFIFO(t, filepath.Join(ws.Dir(), "pipe"))
	for _, path := range []string{"pipe", "sub"} {
		for _, intent := range []Intent{Read, Write} {
			if _, err := touch(ws, path, intent); !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s with intent %d: %v", path, intent, err)
			}
		}
	}
}
