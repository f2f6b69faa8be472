package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	text := "./a/b.go:12:  x := y:3: z\n./odd:name.txt:4:text\nbinary file matches\n./c.bin: binary file matches (found \"\\0\" byte around offset 7)\n./last.go:9:no line end"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Places(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"a/b.go:12": true, "odd:name.txt:4": true, "last.go:9": true}
	if d := Difference(want, got); d != "" {
		t.Errorf("places differ: %s", d)
	}
}

func TestDifference(t *testing.T) {
	a, b := map[string]bool{"x:1": true, "y:2": true}, map[string]bool{"y:2": true, "z:3": true}
	if got := Difference(a, a); got != "" {
		t.Errorf("the same differs: %s", got)
	}
	got := Difference(a, b)
	if !strings.Contains(got, "1 missing, such as x:1") || !strings.Contains(got, "1 extra, such as z:3") {
		t.Errorf("difference is %q", got)
	}
}

func TestMake(t *testing.T) {
	dir := t.TempDir()
	if err := Make(dir, 850); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil || n != 850 {
		t.Errorf("%d files, %v", n, err)
	}
}

func TestRipgrepAndOursAskTheSame(t *testing.T) {
	for _, q := range Queries() {
		rg, ours := q.Ripgrep(), q.Ours("/d")
		if slices.Contains(rg, "--fixed-strings") == q.Regex || slices.Contains(ours, "-regex=true") != q.Regex {
			t.Errorf("%s: %q and %q", q.Name, rg, ours)
		}
		if slices.Contains(rg, "--ignore-case") != q.IgnoreCase || slices.Contains(ours, "-ignore-case=true") != q.IgnoreCase {
			t.Errorf("%s: %q and %q", q.Name, rg, ours)
		}
	}
}
