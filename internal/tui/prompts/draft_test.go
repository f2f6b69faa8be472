package prompts

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/tui/compose"
)

func draft(s string) Draft { return Draft{Draft: compose.State{Text: s, At: len(s)}} }

// leave ends a process in the middle: its lock goes, its file stays.
func leave(t *testing.T, d *Drafts) {
	t.Helper()
	if err := d.lock.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDraftSurvives(t *testing.T) {
	root := t.TempDir()
	a := OpenDrafts(root, "/ws", true)
	if _, ok, err := a.Take(); ok || err != nil {
		t.Fatalf("a draft from nowhere: %v %v", ok, err)
	}
	for _, s := range []string{"one", "one two"} {
		if err := a.Save(draft(s)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(a.path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}

	// Another UI of the workspace, while the first lives, takes and harms nothing.
	b := OpenDrafts(root, "/ws", true)
	if _, ok, err := b.Take(); ok || err != nil {
		t.Fatalf("took a draft that is being written: %v %v", ok, err)
	}
	if err := b.Save(draft("other")); err != nil {
		t.Fatal(err)
	}
	if err := b.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	leave(t, a)

	elsewhere := OpenDrafts(root, "/other", true)
	if _, ok, err := elsewhere.Take(); ok || err != nil {
		t.Fatalf("another workspace took it: %v %v", ok, err)
	}
	c := OpenDrafts(root, "/ws", true)
	k, ok, err := c.Take()
	if err != nil || !ok || k.Draft.Text != "one two" || k.Draft.At != 7 {
		t.Fatalf("took %+v, %v, %v", k, ok, err)
	}
	if err := c.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDraftFaults(t *testing.T) {
	root := t.TempDir()
	a := OpenDrafts(root, "/ws", true)
	if err := a.Save(draft("x")); err != nil {
		t.Fatal(err)
	}
	leave(t, a)
	if err := os.WriteFile(a.path, []byte(`{"draft":`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := OpenDrafts(root, "/ws", true)
	if _, ok, err := b.Take(); ok || err == nil || !strings.Contains(err.Error(), a.path) {
		t.Errorf("broken: %v %v", ok, err)
	}
	if err := b.Save(draft("y")); err != nil || b.path != a.path {
		t.Errorf("the broken file was not replaced: %v %s", err, b.path)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	none := OpenDrafts(root, "/ws", false)
	if _, ok, _ := none.Take(); ok {
		t.Error("took a draft where none are kept")
	}
	if err := none.Save(draft("z")); err != nil {
		t.Error(err)
	}
}
