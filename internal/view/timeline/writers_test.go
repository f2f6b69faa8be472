package timeline_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	reference "github.com/parquet-go/parquet-go"

	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/sqlitefile"
)

const micros = 1790845200300400

func sampleRows() []timeline.Row {
	base := timeline.Row{At: micros, Timed: true, Session: "s", Project: "/srv/proj", Branch: "main", Type: timeline.User, Model: "m", Line: 7, File: "f", Offset: 99}
	row := func(change func(r *timeline.Row)) timeline.Row {
		r := base
		change(&r)
		return r
	}
	return []timeline.Row{
		row(func(r *timeline.Row) { r.Text = timeline.Text{Literal: []byte(`say \"hi\"\n— \u00e9 \ud83d\ude00`)} }),
		row(func(r *timeline.Row) { r.Text = timeline.PlainText("=HYPERLINK(\"http://x\")") }),
		row(func(r *timeline.Row) {
			r.Timed = false
			r.Text = timeline.Text{Prefix: "p: ", Plain: []byte("bad\xff\x00\x1b[2J")}
		}),
		row(func(r *timeline.Row) { r.Project = "+cmd|' /C calc'!A0"; r.Tool = "@x"; r.CallID = "c" }),
		row(func(r *timeline.Row) { r.Text = timeline.PlainText(strings.Repeat("é\U0001F600", 20_000)) }),
	}
}

func write(t *testing.T, w timeline.Writer, rows []timeline.Row) {
	t.Helper()
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestJSONL(t *testing.T) {
	for _, source := range []bool{false, true} {
		var buf bytes.Buffer
		rows := sampleRows()
		write(t, timeline.NewJSONL(&buf, source), rows)
		lines := strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
		if len(lines) != len(rows) {
			t.Fatalf("%d lines", len(lines))
		}
		for i, line := range lines {
			dec := json.NewDecoder(strings.NewReader(line))
			var keys []string
			if _, err := dec.Token(); err != nil {
				t.Fatal(err)
			}
			for dec.More() {
				k, err := dec.Token()
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, k.(string))
				if _, err := dec.Token(); err != nil {
					t.Fatal(err)
				}
			}
			want := timeline.Columns
			if source {
				want = append(append([]string(nil), timeline.Columns...), timeline.SourceColumns...)
			}
			if strings.Join(keys, ",") != strings.Join(want, ",") {
				t.Errorf("columns %v", keys)
			}
			var obj map[string]any
			if err := json.Unmarshal([]byte(line), &obj); err != nil {
				t.Fatal(err)
			}
			if obj["text"] != rows[i].Text.String() || obj["timestamp_utc"] != rows[i].Timestamp() || obj["project_path"] != rows[i].Project || obj["source_line"] != 7.0 {
				t.Errorf("row %d: %.200s", i, line)
			}
		}
		if strings.ContainsAny(buf.String(), "\x1b\x00") || !utf8.Valid(buf.Bytes()) {
			t.Error("raw control characters in the output")
		}
	}
}

// TestCSV reads the table back as a spreadsheet would.
func TestCSV(t *testing.T) {
	var buf bytes.Buffer
	rows := sampleRows()
	write(t, timeline.NewCSV(&buf, false), rows)
	records, err := csv.NewReader(bytes.NewReader(buf.Bytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(records[0], ",") != strings.Join(timeline.Columns, ",") || len(records) != len(rows)+1 {
		t.Fatalf("header %v, %d records", records[0], len(records))
	}
	if got := records[1][8]; got != "say \"hi\"\n— é 😀" {
		t.Errorf("text %q", got)
	}
	if got := records[3][8]; got != `p: bad`+"\ufffd"+`\x00\x1b[2J` {
		t.Errorf("control characters: %q", got)
	}
	for i, rec := range records[1:] {
		for _, cell := range rec {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				t.Errorf("row %d has a cell that is a formula: %.40q", i, cell)
			}
			if units := len([]rune(cell)) + strings.Count(cell, "\U0001F600"); units > 32767 {
				t.Errorf("row %d has a cell of %d characters", i, units)
			}
		}
	}
	if !strings.Contains(records[5][8], "[cut here:") {
		t.Error("a cut cell does not say so")
	}
	if !bytes.HasPrefix(buf.Bytes(), []byte("timestamp_utc,")) || !bytes.HasSuffix(buf.Bytes(), []byte("\r\n")) {
		t.Error("the file does not start or end as RFC 4180 has it")
	}
	var empty bytes.Buffer
	write(t, timeline.NewCSV(&empty, true), nil)
	if empty.String() != strings.Join(timeline.Columns, ",")+",source_file,source_offset\r\n" {
		t.Errorf("empty table: %q", empty.String())
	}
}

func TestCSVFormulas(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-1": "'-1", "@SUM": "'@SUM", "\t=1": "'\t=1", "\r=1": `'\x0d=1`, " =1": "' =1", "＝1": "'＝1",
		"a=1": "a=1", " - item": " - item", "": "", "1": "1",
	} {
		var buf bytes.Buffer
		write(t, timeline.NewCSV(&buf, false), []timeline.Row{{Text: timeline.PlainText(text), Type: timeline.User}})
		records, err := csv.NewReader(&buf).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if got := records[1][8]; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

type parquetRow struct {
	At      *time.Time `parquet:"timestamp_utc,optional,timestamp(microsecond)"`
	Session string     `parquet:"session_id"`
	Project string     `parquet:"project_path"`
	Type    string     `parquet:"turn_type"`
	Text    string     `parquet:"text"`
	Line    int64      `parquet:"source_line"`
	File    string     `parquet:"source_file"`
}

func TestParquet(t *testing.T) {
	var buf bytes.Buffer
	rows := sampleRows()
	w, err := timeline.NewParquet(&buf, true)
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, rows)
	got, err := reference.Read[parquetRow](bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(rows) {
		t.Fatalf("%d rows", len(got))
	}
	for i, r := range got {
		if r.Text != rows[i].Text.String() || r.Project != rows[i].Project || r.Type != "user" || r.Line != 7 || r.File != "f" || (r.At == nil) == rows[i].Timed {
			t.Errorf("row %d: %.200v", i, r)
		}
		if r.At != nil && r.At.UnixMicro() != micros {
			t.Errorf("row %d has time %v", i, r.At)
		}
	}
}

func TestSQLite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "timeline.sqlite")
	w, err := sqlitefile.Create(name, true)
	if err != nil {
		t.Fatal(err)
	}
	rows := sampleRows()
	for range 20 { // more than one batch
		rows = append(rows, sampleRows()[:4]...)
	}
	write(t, w, rows)
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	result, err := db.Query("SELECT timestamp_utc, project_path, text, source_line, source_file FROM timeline ORDER BY rowid")
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	n := 0
	for ; result.Next(); n++ {
		var at, project, text, file string
		var line int64
		if err := result.Scan(&at, &project, &text, &line, &file); err != nil {
			t.Fatal(err)
		}
		if at != rows[n].Timestamp() || project != rows[n].Project || text != rows[n].Text.String() || line != 7 || file != "f" {
			t.Errorf("row %d: %s %s %.80q", n, at, project, text)
		}
	}
	if err := result.Err(); err != nil || n != len(rows) {
		t.Errorf("%d rows, want %d: %v", n, len(rows), err)
	}
	if _, err := os.Stat(name + ".part"); err == nil {
		t.Error("the unfinished file is left")
	}
	gone, err := sqlitefile.Create(filepath.Join(t.TempDir(), "x"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Abort(); err != nil {
		t.Errorf("abort: %v", err)
	}
}

// TestTranscript: what a log holds cannot act on the terminal.
func TestTranscript(t *testing.T) {
	var buf bytes.Buffer
	w := timeline.NewTranscript(&buf, "s", 3)
	write(t, w, append(sampleRows(),
		timeline.Row{Session: "s", Type: timeline.ToolUse, Kind: timeline.ToolCall, Tool: "write_file", Raw: []byte(`{"path":"a.go","content":"one\ntwo\nthree\nfour\nfive"}`), Text: timeline.PlainText("a.go")},
		timeline.Row{Session: "child-session", Type: timeline.AssistantRow, Text: timeline.PlainText("from below")}))
	out := buf.String()
	for _, want := range []string{"-- 2026-10-01 (UTC)\n09:00:00  user\n  say \"hi\"\n", `\x00\x1b[2J`, "tool write_file\n  path: a.go\n  content:\n    one\n    two\n    three\n    ... 2 more lines\n", "[subagent child-se] assistant\n  from below\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the transcript lacks %q:\n%.2000s", want, out)
		}
	}
	if strings.ContainsAny(out, "\x1b\x00") {
		t.Error("raw control characters in the transcript")
	}
}

// TestParquetInDuckDB reads the file with a database that many will use for
// it, where it is installed.
func TestParquetInDuckDB(t *testing.T) {
	duckdb, err := exec.LookPath("duckdb")
	if err != nil {
		t.Skip("no duckdb is installed")
	}
	name := filepath.Join(t.TempDir(), "timeline.parquet")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := timeline.NewParquet(f, false)
	if err != nil {
		t.Fatal(err)
	}
	rows := sampleRows()
	write(t, w, rows)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, duckdb, "-csv", "-noheader", "-c",
		"SELECT count(*), count(timestamp_utc), sum(source_line) FROM '"+name+"'").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "5,4,35" {
		t.Errorf("%v: %s", err, out)
	}
}
