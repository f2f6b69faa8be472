package muse_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/openmuse/muse/pkg/muse/musetest"
)

func TestMain(m *testing.M) {
	if musetest.Active() {
		os.Exit(musetest.Main())
	}
	os.Exit(m.Run())
}

// shared returns a path below the shared reference directory, which lies
// beside a checkout; tests that need it are skipped in a lone clone.
func shared(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("OPENMUSE_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("reference recordings are not here: %v", err)
	}
	return path
}
