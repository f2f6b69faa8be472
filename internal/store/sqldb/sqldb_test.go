package sqldb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

var notes = Options{Schema: "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)", Marker: "SELECT id, text FROM notes LIMIT 0"}

func open(t *testing.T, path string) *DB {
	t.Helper()
	d, err := Open(t.Context(), path, notes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func add(t *testing.T, d *DB, text string) {
	t.Helper()
	if err := d.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes (text) VALUES (?)", text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, d *DB) (n int) {
	t.Helper()
	if err := d.Read(func(db *sql.DB) error { return db.QueryRow("SELECT count(*) FROM notes").Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "notes.db")
	d := open(t, path)
	add(t, d, "one")
	if n := count(t, d); n != 1 {
		t.Fatalf("%d rows", n)
	}
	if runtime.GOOS != "windows" {
		for _, name := range []string{path, path + "-wal"} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("at rest there are %d files", len(entries))
	}
	if d := open(t, path); count(t, d) != 1 {
		t.Error("the row is gone")
	}
}

// TestOddPaths: a path may hold what means something in an address.
func TestOddPaths(t *testing.T) {
	names := []string{"with space", "50%25 off", "a#b&c=d", "ümlaut"}
	if runtime.GOOS != "windows" {
		names = append(names, "what?mode=memory")
	}
	for _, name := range names {
		path := filepath.Join(t.TempDir(), name, name+".db")
		d := open(t, path)
		add(t, d, "one")
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenRefusesLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "notes.db")); err != nil {
		t.Skip(err)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "notes.db"), notes); err == nil {
		t.Fatal("a link was followed")
	}
	if _, err := os.Stat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Fatal("a file was made behind the link")
	}
}

// TestDamage: whatever is done to the file, it is opened, replaced, or refused
// as damaged; never a crash and never wrong rows.
func TestDamage(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "whole.db")
	d := open(t, whole)
	for range 200 {
		add(t, d, "a note of some length, so that there are pages")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"text":      bytes.Repeat([]byte("no database "), 1000),
		"header":    append(bytes.Repeat([]byte{0xff}, 100), good[100:]...),
		"first":     append(bytes.Clone(good[:100]), bytes.Repeat([]byte{0xff}, 4000)...),
		"truncated": good[:len(good)/2],
	} {
		path := filepath.Join(t.TempDir(), "notes.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, replaced, err := OpenOrReplace(t.Context(), path, notes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var n int
		err = d.Read(func(db *sql.DB) error { return db.QueryRow("SELECT count(*) FROM notes").Scan(&n) })
		switch {
		case replaced && (err != nil || n != 0):
			t.Errorf("%s: the new file has %d rows, %v", name, n, err)
		case !replaced && err != nil && !errors.Is(err, ErrCorrupt):
			t.Errorf("%s: %v is not said to be damage", name, err)
		}
		if replaced {
			if kept, err := os.ReadFile(path + ".broken"); err != nil || !bytes.Equal(kept, data) {
				t.Errorf("%s: the damaged file was not kept: %v", name, err)
			}
		}
		d.Close()
	}
}

func TestForeignIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "notes.db"), filepath.Join(dir, "notes.openmuse.db")
	foreign, err := Open(t.Context(), path, Options{Schema: "CREATE TABLE notes (key TEXT)"})
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	if _, err := Open(t.Context(), path, notes); !errors.Is(err, ErrForeign) {
		t.Fatalf("opened as ours: %v", err)
	}
	d, _, err := OpenBeside(t.Context(), path, other, notes)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Path() != other {
		t.Errorf("opened %s", d.Path())
	}
}

func TestReplacedIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	d := open(t, path)
	if d.Replaced() {
		t.Fatal("replaced at once")
	}
	if err := setAside(path); err != nil {
		t.Fatal(err)
	}
	if !d.Replaced() {
		t.Fatal("not noticed")
	}
}

// TestWritersTakeTurns: connections that write at once all succeed.
func TestWritersTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.db")
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for range writers {
		d := open(t, path)
		wg.Go(func() {
			for range each {
				if err := d.Write(context.Background(), func(tx *sql.Tx) error {
					_, err := tx.Exec("INSERT INTO notes (text) VALUES ('x')")
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := count(t, open(t, path)); n != writers*each {
		t.Fatalf("%d rows", n)
	}
}
