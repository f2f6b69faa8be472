package hostiledb

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// make builds a database and returns its bytes.
func build(t *testing.T, statements ...string) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func opener(b []byte) Opener {
	return func(suffix string) (io.ReadCloser, error) {
		if suffix != "" {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	}
}

func read(b []byte, table string, columns ...string) (rows [][]any, err error) {
	db, err := Open(opener(b))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Rows(context.Background(), table, columns, 1000, func(v []any) bool {
		rows = append(rows, append([]any(nil), v...))
		return true
	})
	return rows, err
}

func TestRows(t *testing.T) {
	b := build(t, "CREATE TABLE sessions(id TEXT, root TEXT, n INTEGER)",
		"INSERT INTO sessions VALUES ('a', '/srv/proj', 1), ('b', NULL, 2)",
		"INSERT INTO sessions VALUES ('c', '"+strings.Repeat("x", MaxCell+1)+"', 3)")
	rows, err := read(b, "sessions", "root", "n")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0][0] != "/srv/proj" || rows[0][1] != int64(1) || rows[1][0] != nil || rows[2][0] != nil {
		t.Errorf("got %v", rows)
	}
}

func TestRefusesCode(t *testing.T) {
	b := build(t, "CREATE TABLE real(root TEXT)",
		"CREATE VIEW sessions AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x AS root FROM c")
	if _, err := read(b, "sessions", "root"); !errors.Is(err, ErrNoTable) {
		t.Errorf("a view: %v", err)
	}
	if _, err := read(b, "none", "root"); !errors.Is(err, ErrNoTable) {
		t.Errorf("no table: %v", err)
	}
	if _, err := read(b, "real", "other"); !errors.Is(err, ErrNoTable) {
		t.Errorf("no column: %v", err)
	}
}

// TestDamaged flips, cuts and fills bytes: whatever comes of it, it comes back.
func TestDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	whole := build(t, "CREATE TABLE sessions(id TEXT PRIMARY KEY, root TEXT)",
		"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<200) INSERT INTO sessions SELECT 'id'||x, '/srv/'||x FROM c")
	failed := 0
	for i := range 60 {
		b := bytes.Clone(whole)
		switch i % 3 {
		case 0:
			for range 20 {
				b[rng.IntN(len(b))] ^= byte(1 + rng.IntN(255))
			}
		case 1:
			b = b[:rng.IntN(len(b))]
		case 2:
			at := rng.IntN(len(b) - 600)
			for j := range 512 {
				b[at+j] = 0xff
			}
		}
		if rows, err := read(b, "sessions", "id", "root"); err != nil {
			failed++
		} else if len(rows) > 1000 {
			t.Fatalf("case %d: %d rows", i, len(rows))
		}
	}
	if failed == 0 {
		t.Error("no damage was noticed in 60 files")
	}
}
