package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiffBeforeFirstCommit: in a repository without a commit what was added is
// new, and it is no failure that there is nothing to compare with.
func TestDiffBeforeFirstCommit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := &tuiRun{root: t.TempDir()}
	for _, args := range [][]string{{"init", "-q"}, {"add", "a.txt"}} {
		if err := os.WriteFile(filepath.Join(r.root, "a.txt"), []byte("first\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.git(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.diff(t.Context())
	if err != nil || !strings.Contains(got, "\n+first\n") {
		t.Errorf("diff is %q, %v", got, err)
	}
}
