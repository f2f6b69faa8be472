package evidence

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func build(t *testing.T, files map[string]string, links map[string]string) *Tree {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, p); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func TestResolve(t *testing.T) {
	tree := build(t, map[string]string{
		"home/bob/.config/muse/settings.json": "{}",
		"Users/Ann/AppData/Local/x":           "x",
		"data/muse/log":                       "log",
	}, map[string]string{
		"home/bob/.local/share/muse": "/data/muse",
		"home/bob/up":                "../../../../../../data/muse/log",
		"home/bob/loop":              "loop",
		"home/bob/out":               "/etc/passwd",
	})
	tests := []struct {
		name, path string
		fold       bool
		want       string
		linked     bool
	}{
		{"plain", "home/bob/.config/muse", false, "home/bob/.config/muse", false},
		{"leading slash", "/home/bob", false, "home/bob", false},
		{"root", "/", false, ".", false},
		{"absolute link starts at the root", "home/bob/.local/share/muse/log", false, "data/muse/log", true},
		{"dots stop at the root", "home/bob/up", false, "data/muse/log", true},
		{"other case", "users/ann/appdata/LOCAL/x", true, "Users/Ann/AppData/Local/x", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tree.Resolve(tt.path, tt.fold)
			if err != nil {
				t.Fatal(err)
			}
			if got.Path != tt.want || got.Linked != tt.linked {
				t.Errorf("got %q linked=%v, want %q linked=%v", got.Path, got.Linked, tt.want, tt.linked)
			}
		})
	}
	for _, p := range []string{"home/bob/loop", "home/bob/out", "USERS/ann", "home/bob/.config/muse/settings.json/x"} {
		if got, err := tree.Resolve(p, false); err == nil {
			t.Errorf("Resolve(%q) = %q, want an error", p, got.Path)
		}
	}
}

func TestOpenFileRefusesWhatIsNoFile(t *testing.T) {
	tree := build(t, map[string]string{"d/file": "text"}, map[string]string{"d/link": "file"})
	d, err := tree.OpenDir("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	f, info, err := d.OpenFile("file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "text" || info.Size() != 4 {
		t.Errorf("read %q, %v", b, err)
	}
	if _, _, err := d.OpenFile("link"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
	if _, _, err := tree.OpenFile("d"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := d.Sub("link"); err == nil {
		t.Error("a link was opened as a directory")
	}
	if runtime.GOOS == "linux" {
		if err := mkfifo(filepath.Join(tree.Name(), "d/pipe")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.OpenFile("pipe"); !errors.Is(err, ErrNotRegular) {
			t.Errorf("a pipe: %v", err)
		}
	}
}
