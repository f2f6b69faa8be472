package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// needExchange skips the test where the file system cannot swap names.
func needExchange(t *testing.T) {
	t.Helper()
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, p := range []string{a, b} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		t.Skip("names cannot be swapped here:", err)
	}
}

// exchange swaps two names at one instant.
func exchange(t *testing.T, a, b string) {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		t.Error(err)
	}
}

// TestFileToolsUnderRace swaps a directory for links while every file tool
// works below it.
func TestFileToolsUnderRace(t *testing.T) {
	needExchange(t)
	s, dir := newSet(t, nil)
	out := t.TempDir()
	write(t, out, "secret", "outside")
	write(t, dir, ".git/secret", "protected")
	write(t, dir, "race/secret", "inside")
	victim := filepath.Join(dir, "race")
	targets := []string{out, ".git"}
	for i, target := range targets {
		if err := os.Symlink(target, fmt.Sprintf("%s-link%d", victim, i)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i = (i + 1) % len(targets) {
			select {
			case <-stop:
				return
			default:
			}
			link := fmt.Sprintf("%s-link%d", victim, i)
			exchange(t, victim, link)
			exchange(t, victim, link)
		}
	})
	done := map[string]int{}
	for i := range 150 {
		for tool, args := range map[string]m{
			"read_file": {"path": "race/secret"}, "write_file": {"path": fmt.Sprintf("race/new%d", i), "content": "x"},
			"edit_file": {"path": "race/secret", "find": "e", "replace": "e!"}, "search": {"pattern": "out", "paths": "race"},
		} {
			r := call(t, s, tool, args)
			if strings.Contains(r.Text, "|outside") || strings.Contains(r.Text, ":outside") {
				t.Fatalf("%s reached out: %s", tool, r.Text)
			}
			if !r.Failed {
				done[tool]++
			}
		}
	}
	close(stop)
	swapper.Wait()
	for _, d := range []string{out, filepath.Join(dir, ".git")} {
		entries, err := os.ReadDir(d)
		if err != nil || len(entries) != 1 {
			t.Errorf("%s has %v, %v", d, entries, err)
		}
	}
	if content(t, out, "secret") != "outside" || content(t, dir, ".git/secret") != "protected" {
		t.Error("a file was changed")
	}
	if len(done) != 4 {
		t.Errorf("the race let too little through to test anything: %v", done)
	}
}
