package search

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Both ways of opening keep inside the tree.
func TestTreeWithAndWithoutOpenat2(t *testing.T) {
	dir := files(t, map[string]string{"ws/d/f": "inside", "out/g": "outside"})
	ws := filepath.Join(dir, "ws")
	for link, target := range map[string]string{"up": "../out", "abs": filepath.Join(dir, "out"), "file": "../out/g"} {
		if err := os.Symlink(target, filepath.Join(ws, link)); err != nil {
			t.Fatal(err)
		}
	}
	quick, err := openTree(ws, true)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(ws)
	if err != nil {
		t.Fatal(err)
	}
	for name, tr := range map[string]*tree{"openat2": quick, "os.Root": {root: root}} {
		t.Run(name, func(t *testing.T) {
			defer tr.close()
			c, err := tr.openFile("d/f")
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(readerOf{c})
			c.close()
			if err != nil || string(data) != "inside" || c.size != 6 {
				t.Errorf("got %q, %v", data, err)
			}
			d, err := tr.openDir("")
			if err != nil {
				t.Fatal(err)
			}
			names, err := d.Readdirnames(-1)
			if d.Close() != nil || err != nil || len(names) != 4 {
				t.Errorf("got %v, %v", names, err)
			}
			for _, path := range []string{"up/g", "abs/g", "file", "../out/g", "d", "missing"} {
				if c, err := tr.openFile(path); err == nil {
					c.close()
					t.Errorf("%s was opened", path)
				}
			}
			for _, path := range []string{"up", "abs", "..", "d/f"} {
				if d, err := tr.openDir(path); err == nil {
					t.Errorf("%s was opened: %v", path, d.Close())
				}
			}
		})
	}
}
