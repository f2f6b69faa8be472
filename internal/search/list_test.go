package search

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestList lists what a search would read, empty and binary files too, in the
// order of their paths, and leaves out what is ignored.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD": "x", ".gitignore": "ignored\n", "ignored/a": "x", "b/empty": "", "b/binary": "\x00\x01", "a.txt": "x\n", ".hidden": "x",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int][]string{0: {"a.txt", "b/binary", "b/empty"}, 2: {"a.txt", "b/binary"}} {
		r, err := List(context.Background(), Options{Dir: dir, MaxMatches: limit})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range r.Files {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, want) || r.Searched != 0 || r.Truncated != (limit == 2) {
			t.Errorf("limit %d: %q, %+v; want %q", limit, got, r, want)
		}
	}
}
