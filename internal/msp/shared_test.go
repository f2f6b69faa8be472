package msp

import (
	"os"
	"path/filepath"
	"testing"
)

// sharedDir is the reference material beside the checkout; a lone clone is
// tested with its own fixtures.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("OPENMUSE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no reference material: %v", err)
	}
	return dir
}
