//go:build unix

package script

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestLoadRefusesPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "is a named pipe") {
		t.Errorf("%v", err)
	}
}
