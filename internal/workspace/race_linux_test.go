package workspace

import (
	"fmt"
	"os"
	"path/filepath"
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

// TestRacingLinks swaps a directory with links while it is walked, and checks
// that neither a file outside nor a protected one is ever reached.
func TestRacingLinks(t *testing.T) {
	needExchange(t)
	ws, out := maze(t)
	dir := ws.Dir()
	victim := filepath.Join(dir, "race")
	must(t, os.Mkdir(victim, 0o755))
	must(t, os.WriteFile(filepath.Join(victim, "secret"), []byte("inside"), 0o644))
	must(t, os.WriteFile(filepath.Join(victim, "config"), []byte("inside"), 0o644))
	links := []string{out, "../out", ".git", "sub/../../out"}
	for i, target := range links {
		must(t, os.Symlink(target, fmt.Sprintf("%s-link%d", victim, i)))
	}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i = (i + 1) % len(links) {
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
	rounds := 500
	reached := 0
	for range rounds {
		for _, path := range []string{"race/secret", dir + "/race/secret"} {
			text, err := touch(ws, path, Read)
			if text == secretText {
				t.Fatalf("read %q outside", text)
			}
			if err == nil {
				reached++
			}
		}
		_, _ = touch(ws, "race/secret", Write)  // refused or inside
		_, _ = touch(ws, "race/config", Create) // refused or inside
	}
	close(stop)
	swapper.Wait()
	unchanged(t, out)
	if data, err := os.ReadFile(filepath.Join(dir, ".git", "config")); err != nil || string(data) != "config" {
		t.Errorf(".git/config is %q, %v", data, err)
	}
	if reached == 0 {
		t.Error("the race never let a read through: it tests nothing")
	}
}
