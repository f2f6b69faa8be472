//go:build unix

package permission_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/openmuse/muse/internal/permission"
)

// A pipe or a device in the place of a file of rules neither blocks the reader
// nor fills its memory.
func TestRulesInSpecialFiles(t *testing.T) {
	ws := t.TempDir()
	path := filepath.Join(ws, permission.ProjectRulesFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func() error{
		"a pipe":   func() error { return syscall.Mkfifo(path, 0o644) },
		"a device": func() error { return os.Symlink("/dev/zero", path) },
	} {
		if err := make(); err != nil {
			t.Fatal(err)
		}
		for what, read := range map[string]func() error{
			"the project's rules": func() error { _, err := permission.ReadProjectRules(ws); return err },
			"a policy":            func() error { _, err := permission.ReadPolicy(path); return err },
			"kept approvals":      func() error { _, err := permission.Kept{Path: path}.Read(); return err },
		} {
			if err := read(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s in %s: %v", what, name, err)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
