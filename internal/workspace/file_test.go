package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func open(t *testing.T) *Workspace {
	t.Helper()
	ws, err := Open(t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, ws.Close()) })
	return ws
}

func reach(t *testing.T, ws *Workspace, rel string, intent Intent) *Handle {
	t.Helper()
	h, err := ws.Root().Reach(rel, intent)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close()) })
	return h
}

func TestReplaceKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	ws := open(t)
	name := filepath.Join(ws.Dir(), "run.sh")
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o644, 0o4755} {
		must(t, os.WriteFile(name, []byte("old"), 0o644))
		must(t, os.Chmod(name, mode.Perm()))
		h := reach(t, ws, "run.sh", Write)
		must(t, h.Replace([]byte("new"), nil))
		info, err := os.Stat(name)
		must(t, err)
		if info.Mode().Perm() != mode.Perm() {
			t.Errorf("mode %v became %v", mode.Perm(), info.Mode().Perm())
		}
	}
	must(t, os.Chmod(name, 0o444))
	h := reach(t, ws, "run.sh", Write)
	if err := h.Replace([]byte("x"), nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a read-only file: %v", err)
	}
}

func TestReplaceBreaksHardLinks(t *testing.T) {
	ws := open(t)
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("outside"), 0o644))
	if err := os.Link(outside, filepath.Join(ws.Dir(), "in")); err != nil {
		t.Skip("no hard links here:", err)
	}
	h := reach(t, ws, "in", Write)
	must(t, h.Replace([]byte("changed"), nil))
	data, err := os.ReadFile(outside)
	if err != nil || string(data) != "outside" {
		t.Errorf("the other name holds %q, %v", data, err)
	}
}

func TestReplaceFollowsLinksInside(t *testing.T) {
	ws := open(t)
	must(t, os.WriteFile(filepath.Join(ws.Dir(), "real"), []byte("x"), 0o644))
	if err := os.Symlink("real", filepath.Join(ws.Dir(), "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	h := reach(t, ws, "link", Write)
	must(t, h.Replace([]byte("new"), nil))
	if target, err := os.Readlink(filepath.Join(ws.Dir(), "link")); err != nil || target != "real" {
		t.Errorf("the link became %q, %v", target, err)
	}
	if data, err := os.ReadFile(filepath.Join(ws.Dir(), "real")); err != nil || string(data) != "new" {
		t.Errorf("got %q, %v", data, err)
	}
	if h.Rel != "real" {
		t.Errorf("the handle names %q", h.Rel)
	}
}

func TestReplaceNoticesChanges(t *testing.T) {
	ws := open(t)
	name := filepath.Join(ws.Dir(), "f")
	must(t, os.WriteFile(name, []byte("one"), 0o644))
	h := reach(t, ws, "f", Write)
	_, info, err := h.ReadAll(100)
	must(t, err)
	must(t, os.WriteFile(name, []byte("another"), 0o644))
	if err := h.Replace([]byte("two"), info); !errors.Is(err, ErrChanged) {
		t.Errorf("a change: %v", err)
	}
	must(t, os.Remove(name))
	if err := h.Replace([]byte("two"), info); !errors.Is(err, ErrChanged) {
		t.Errorf("a removal: %v", err)
	}
	if left, err := os.ReadDir(ws.Dir()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCreateMakesDirectories(t *testing.T) {
	ws := open(t)
	h := reach(t, ws, "a/b/c.txt", Create)
	must(t, h.Replace([]byte("x"), nil))
	if data, err := os.ReadFile(filepath.Join(ws.Dir(), "a", "b", "c.txt")); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
	if _, err := ws.Root().Reach("q/r", Write); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Write makes no directories: %v", err)
	}
	if _, err := ws.Root().Reach("a/b/c.txt/d", Create); err == nil {
		t.Error("a file is no directory")
	}
}

func TestReadLimit(t *testing.T) {
	ws := open(t)
	must(t, os.WriteFile(filepath.Join(ws.Dir(), "f"), []byte(strings.Repeat("x", 100)), 0o644))
	h := reach(t, ws, "f", Read)
	if _, _, err := h.ReadAll(99); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if data, _, err := h.ReadAll(100); err != nil || len(data) != 100 {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}

func TestReadableTrees(t *testing.T) {
	ws := open(t)
	extra := t.TempDir()
	must(t, os.WriteFile(filepath.Join(extra, "out.txt"), []byte("spilled"), 0o600))
	if _, err := touch(ws, filepath.Join(extra, "out.txt"), Read); !errors.Is(err, ErrOutside) {
		t.Errorf("before: %v", err)
	}
	must(t, ws.AddReadable(extra))
	if text, err := touch(ws, filepath.Join(extra, "out.txt"), Read); err != nil || text != "spilled" {
		t.Errorf("after: %q, %v", text, err)
	}
	if _, err := touch(ws, filepath.Join(extra, "out.txt"), Write); !errors.Is(err, ErrProtected) {
		t.Errorf("writing: %v", err)
	}
}

func TestOutside(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(name, []byte("x"), 0o644))
	root, rel, err := Outside(name)
	must(t, err)
	defer root.Close()
	h, err := root.Reach(rel, Read)
	must(t, err)
	defer h.Close()
	if data, _, err := h.ReadAll(10); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestWorkspaceThroughLink(t *testing.T) {
	top := t.TempDir()
	must(t, os.Mkdir(filepath.Join(top, "real"), 0o755))
	must(t, os.WriteFile(filepath.Join(top, "real", "f"), []byte("x"), 0o644))
	link := filepath.Join(top, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	ws, err := Open(link)
	must(t, err)
	defer ws.Close()
	for _, dir := range []string{link, ws.Dir()} {
		if text, err := touch(ws, filepath.Join(dir, "f"), Read); err != nil || text != "x" {
			t.Errorf("%s: %q, %v", dir, text, err)
		}
	}
}

func TestSameVersion(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(name, []byte("x"), 0o644))
	a, err := os.Stat(name)
	must(t, err)
	must(t, os.Chtimes(name, time.Time{}, a.ModTime().Add(time.Second)))
	b, err := os.Stat(name)
	must(t, err)
	if sameVersion(a, b) || !sameVersion(a, a) {
		t.Error("a new time is a new version")
	}
}
