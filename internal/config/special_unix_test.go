//go:build unix

package config

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe where a file belongs must neither hold a run up nor be taken for a
// missing file.
func TestPipesAreNoFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	_, settings := ReadSettings(path)
	_, auth := ReadAuth(path)
	for name, err := range map[string]error{"settings": settings, "credentials": auth, "store": StoreKey(context.Background(), path, "meta", "k", "")} {
		if err == nil || !strings.Contains(err.Error(), "is a named pipe") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
