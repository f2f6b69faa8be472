package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("small"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"empty": 0, "full": Limit, "over": Limit + 1} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(at(name), size); err != nil {
			t.Fatal(err)
		}
	}
	for name, size := range map[string]int{"small": 2, "empty": 0, "full": Limit} {
		data, err := Read(at(name))
		if err != nil || len(data) != size || data == nil {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	if _, err := Read(at("over")); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("over: %v", err)
	}
	if _, err := Read(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("a directory was read")
	}
}
