package audit

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/view/timeline"
)

// row is a row of the JSONL timeline.
type row struct {
	Time    string `json:"timestamp_utc"`
	Session string `json:"session_id"`
	Project string `json:"project_path"`
	Branch  string `json:"git_branch"`
	Type    string `json:"turn_type"`
	Model   string `json:"model"`
	Tool    string `json:"tool_name"`
	Call    string `json:"tool_use_id"`
	Text    string `json:"text"`
	Line    int    `json:"source_line"`
	File    string `json:"source_file"`
	Offset  int64  `json:"source_offset"`
}

func (r row) String() string {
	return fmt.Sprintf("%s %d %s %s/%s %.80q", r.Time, r.Line, r.Type, r.Tool, r.Call, r.Text)
}

// tree writes files below a fresh directory.
func tree(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read makes the timeline of some paths.
func read(t testing.TB, opts TimelineOptions, paths ...string) ([]row, Stats) {
	t.Helper()
	in, err := Find(paths)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var buf bytes.Buffer
	w := timeline.NewJSONL(&buf, true)
	stats, err := Timeline(context.Background(), in, opts, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var rows []row
	dec := json.NewDecoder(&buf)
	for dec.More() {
		var r row
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if int64(len(rows)) != stats.Rows {
		t.Fatalf("%d rows written, %d counted", len(rows), stats.Rows)
	}
	return rows, stats
}

// archive packs members, in order, under the names given.
func archive(t testing.TB, members ...[2]string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "case.zip")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	zw := zip.NewWriter(f)
	for _, m := range members {
		w, err := zw.Create(m[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

func texts(rows []row) string {
	var s []string
	for _, r := range rows {
		s = append(s, r.Text)
	}
	return strings.Join(s, "|")
}

// shared is the folder with the source documents and their fixtures, which a
// lone clone does not have.
func shared(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("OPENMUSE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "fixtures")); err != nil {
		t.Skipf("no shared fixtures: %v", err)
	}
	return dir
}
