package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
)

// withLog makes a session that has a log.
func withLog(t *testing.T, root string, at time.Time) *Session {
	t.Helper()
	s, err := Create(root, ident.V7(at), at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.LogPath(), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTrash(t *testing.T) {
	root := t.TempDir()
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	s := withLog(t, root, at)
	view := filepath.Join(root, "sessions", ".msp-view-v1", s.ID)
	if err := os.MkdirAll(view, 0o700); err != nil {
		t.Fatal(err)
	}

	if err := s.Lock("muse exec"); err != nil {
		t.Fatal(err)
	}
	same, err := Find(root, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var inUse *journal.InUseError
	if _, err := same.Trash("test", at, "", ""); !errors.As(err, &inUse) || inUse.Holder.Program != "muse exec" {
		t.Fatalf("a session in use: %v", err)
	}
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}

	thrown, err := same.Trash("test", at, "quiet-lyra", "fix it")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Find(root, s.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is still found: %v", err)
	}
	if _, err := os.Stat(view); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its view is still there: %v", err)
	}
	if _, err := same.Trash("test", at, "", ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("thrown away twice: %v", err)
	}
	list, err := ListTrash(root)
	if err != nil || len(list) != 1 || list[0].Name != "quiet-lyra" || list[0].Title != "fix it" || !list[0].At.Equal(at) || list[0].Dir != thrown.Dir {
		t.Fatalf("trash %+v, %v", list, err)
	}
	if data, err := os.ReadFile(filepath.Join(list[0].Dir, "session.jsonl")); err != nil || string(data) != "{}\n" {
		t.Errorf("its log: %q, %v", data, err)
	}

	back, err := Restore(root, list[0])
	if err != nil || back.Dir != s.Dir {
		t.Fatalf("restored to %v, %v", back, err)
	}
	if ok, err := back.Started(); !ok || err != nil {
		t.Errorf("restored without a log: %v", err)
	}
	if list, err := ListTrash(root); err != nil || len(list) != 0 {
		t.Errorf("trash %+v, %v", list, err)
	}
}

func TestTrashOfOneIDTwice(t *testing.T) {
	root := t.TempDir()
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	s := withLog(t, root, at)
	for i := range 2 {
		if err := os.MkdirAll(s.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trash("test", at.Add(time.Duration(i)*time.Hour), "", ""); err != nil {
			t.Fatal(err)
		}
	}
	list, err := ListTrash(root)
	if err != nil || len(list) != 2 || !list[0].At.After(list[1].At) {
		t.Fatalf("trash %+v, %v", list, err)
	}
	if _, err := Restore(root, list[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(root, list[1]); !errors.Is(err, fs.ErrExist) {
		t.Errorf("restored over another: %v", err)
	}
	if err := Delete(root, list[1]); err != nil {
		t.Fatal(err)
	}
	if list, err := ListTrash(root); err != nil || len(list) != 0 {
		t.Errorf("trash %+v, %v", list, err)
	}
}

// TestOddTrash: what lies in the trash and is none of ours is neither listed
// nor a way out of it.
func TestOddTrash(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"a": `{"session_id":"../../x","shard":"2026/10/01"}`,
		"b": `{"session_id":"01a0f000-0000-7000-8000-000000000001","shard":"../../.."}`,
		"c": `{`,
		"d": `{"session_id":"01a0f000-0000-7000-8000-000000000001","shard":"2026/10/01"}`, // without its session
	} {
		dir := filepath.Join(root, "session-trash", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "trashed.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if name != "d" {
			if err := os.Mkdir(filepath.Join(dir, "session"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list, err := ListTrash(root); err != nil || len(list) != 0 {
		t.Errorf("trash %+v, %v", list, err)
	}
}
