package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/logtest"
)

const session = "01a0f000-0000-7000-8000-000000000001"

// sealed is a log of ours with checkpoints and a seal.
func sealed(precise bool) *logtest.Log {
	l := logtest.New(session)
	l.Precise = precise
	l.Profile("on_request", "auto_review", ":auto-review", "new_session_default")
	l.Metadata("/srv/proj", "muse-spark-1.3", "1.4.4-openmuse.0.1.0")
	for i := range 40 {
		run := fmt.Sprintf("run-%d", i)
		l.RunModel(run, "muse-spark-1.3")
		l.Run(run, fmt.Sprintf(`{"kind":"started","prompt":"prompt %d"}`, i))
		l.Run(run, `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"ls -l\"}","call_id":"c","name":"bash"}]}`)
		l.Marker()
		l.Run(run, fmt.Sprintf(`{"kind":"assistant_message_committed","text":"answer %d"}`, i))
		if i%7 == 6 {
			l.Checkpoint(false)
		}
	}
	l.Record("session.end", `{"kind":"session_end","record":{"exit_reason":"clean"}}`)
	l.Checkpoint(true)
	return l
}

// write puts files below a session's directory and opens the session.
func write(t testing.TB, files map[string][]byte) *audit.Input {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sessions/2026/10/01", session)
	for name, data := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in, err := audit.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

func run(t testing.TB, in *audit.Input) ([]Finding, Summary) {
	t.Helper()
	var found []Finding
	s, err := Run(context.Background(), in, func(f Finding) { found = append(found, f) })
	if err != nil {
		t.Fatal(err)
	}
	return found, s
}

func verify(t testing.TB, log []byte) ([]Finding, Summary) {
	t.Helper()
	return run(t, write(t, map[string][]byte{"session.jsonl": log}))
}

func TestSealedLogIsClean(t *testing.T) {
	for _, precise := range []bool{false, true} {
		found, s := verify(t, sealed(precise).Bytes())
		if !s.Clean() || len(found) != 0 || s.Sealed != 1 {
			t.Errorf("precise=%v: %v %+v", precise, found, s)
		}
	}
}

// firstDifference is the first line in which two logs differ.
func firstDifference(a, b []byte) int64 {
	la := bytes.Split(bytes.TrimSuffix(a, []byte{'\n'}), []byte{'\n'})
	lb := bytes.Split(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\n'})
	i := 0
	for i < len(la) && i < len(lb) && bytes.Equal(la[i], lb[i]) {
		i++
	}
	if i == len(la) && i == len(lb) {
		return int64(i) // only the last line feed differs
	}
	return int64(i + 1)
}

// mutate makes one edit of one byte.
func mutate(rng *rand.Rand, log []byte) (string, []byte) {
	b := bytes.Clone(log)
	i := rng.IntN(len(b))
	switch rng.IntN(4) {
	case 0:
		b[i] ^= byte(1 + rng.IntN(255))
		return fmt.Sprintf("edit at %d", i), b
	case 1:
		return fmt.Sprintf("delete at %d", i), append(b[:i], b[i+1:]...)
	case 2:
		c := byte(rng.IntN(256))
		if rng.IntN(4) == 0 {
			c = ' '
		}
		return fmt.Sprintf("insert %q at %d", c, i), append(b[:i], append([]byte{c}, b[i:]...)...)
	}
	j := (i + 1) % len(b)
	b[i], b[j] = b[j], b[i]
	return fmt.Sprintf("swap at %d", i), b
}

// TestEveryByteCounts makes random single-byte edits, deletions, insertions and
// swaps: each is found, and the first line reported is the first that changed.
func TestEveryByteCounts(t *testing.T) {
	log := sealed(true).Bytes()
	rng := rand.New(rand.NewPCG(20261001, 5))
	dir := filepath.Join(t.TempDir(), session)
	name := filepath.Join(dir, "session.jsonl")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 1000; {
		what, bad := mutate(rng, log)
		if bytes.Equal(bad, log) {
			continue
		}
		n++
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := audit.Find([]string{dir})
		if err != nil {
			t.Fatal(err)
		}
		found, _ := run(t, in)
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		var first *Finding
		for i := range found {
			if found[i].Severity != Info && (first == nil || found[i].Line < first.Line) {
				first = &found[i]
			}
		}
		want := firstDifference(log, bad)
		if first == nil || first.Line != want {
			t.Fatalf("%s: first finding %v, want line %d\nall: %v", what, first, want, found)
		}
	}
}

// TestWithoutLineDigests: a checkpoint that has only the running hash shows
// every edit before it, and narrows it down to the lines since the last one.
func TestWithoutLineDigests(t *testing.T) {
	log := sealed(false).Bytes()
	covered := bytes.LastIndexByte(log[:len(log)-1], '\n') // the seal's own line is not
	rng := rand.New(rand.NewPCG(7, 5))
	for n := 0; n < 200; {
		i := rng.IntN(covered)
		bad := bytes.Clone(log)
		bad[i] ^= 1
		n++
		found, s := verify(t, bad)
		if s.Clean() {
			t.Fatalf("edit at %d was not found", i)
		}
		if want := firstDifference(log, bad); found[0].Line > want {
			t.Fatalf("edit at %d: first finding %v, want line %d or one before it", i, found[0], want)
		}
	}
}

// TestLostCheckpoint: a checkpoint that can no longer be read is itself the
// first bad line, though the one after it covers other lines.
func TestLostCheckpoint(t *testing.T) {
	log := sealed(true).Bytes()
	for _, to := range []string{`"openmuse.integrity.chickpoint"`, `"openmuse.integrity.checkpoint`} {
		bad := bytes.Replace(log, []byte(`"openmuse.integrity.checkpoint"`), []byte(to), 1)
		found, _ := verify(t, bad)
		if want := firstDifference(log, bad); len(found) == 0 || found[0].Line != want {
			t.Errorf("%s: %v, want line %d", to, found, want)
		}
	}
}

func codes(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		if f.Severity != Info {
			fmt.Fprintf(&b, "%s@%d ", f.Code, f.Line)
		}
	}
	return strings.TrimSpace(b.String())
}

// plain is a log as Meta's binary writes it.
func plain() *logtest.Log {
	l := logtest.New(session)
	l.Metadata("/srv/proj", "muse-spark-1.3", "")
	l.Run("r", `{"kind":"started","prompt":"p"}`)
	l.Run("r", `{"kind":"assistant_message_committed","text":"a"}`)
	l.Run("r", `{"kind":"terminal","terminal":"completed","reason":null}`)
	l.Record("session.end", `{"kind":"session_end","record":{"exit_reason":"clean"}}`)
	return l
}

func TestFindings(t *testing.T) {
	lines := func(edit func(l [][]byte) [][]byte) func() []byte {
		return func() []byte {
			all := bytes.SplitAfter(plain().Bytes(), []byte{'\n'})
			return bytes.Join(edit(all[:len(all)-1]), nil)
		}
	}
	tests := []struct {
		name string
		log  func() []byte
		want string
	}{
		{"clean", func() []byte { return plain().Bytes() }, ""},
		{"line removed", lines(func(l [][]byte) [][]byte { return append(l[:2], l[3:]...) }), "sequence_gap@3"},
		{"line twice", lines(func(l [][]byte) [][]byte { return append(l[:2:2], l[1:]...) }), "sequence_repeat@3 duplicate_id@3"},
		{"lines swapped", lines(func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l }), "sequence_gap@2 time_reversal@2 sequence_repeat@3"},
		{"cut", func() []byte { b := plain().Bytes(); return b[:len(b)-30] }, "truncated_tail@5"},
		{"no last line feed", func() []byte { b := plain().Bytes(); return b[:len(b)-1] }, "truncated_tail@5"},
		{"NULs at the end", func() []byte { return append(plain().Bytes(), make([]byte, 4096)...) }, "truncated_tail@6"},
		{"not JSON", lines(func(l [][]byte) [][]byte { l[2] = []byte("{oops\n"); return l }), "unreadable_line@3"},
		{"not a record", lines(func(l [][]byte) [][]byte { l[2] = []byte("{\"a\":1}\n"); return l }), "foreign_line@3"},
		{"blank line", lines(func(l [][]byte) [][]byte { l[2] = append(l[2], '\n'); return l }), "blank_line@4"},
		{"key twice", lines(func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte(`"schema_version":1`), []byte(`"schema_version":1,"schema_version":1`), 1)
			return l
		}), "irregular_record@3"},
		{"not UTF-8", lines(func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte(`"text":"a"`), []byte("\"text\":\"\xff\""), 1)
			return l
		}), "irregular_record@3"},
		{"another stream", lines(func(l [][]byte) [][]byte { l[2] = bytes.ReplaceAll(l[2], []byte(session), []byte("other")); return l }), "stream_mismatch@3"},
		{"clock back", func() []byte {
			l := plain()
			l.At -= 60_000_000
			l.Record("session.resumed", `{}`)
			return l.Bytes()
		}, "time_reversal@6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, _ := verify(t, tt.log())
			if got := codes(found); got != tt.want {
				t.Errorf("got %q, want %q\n%v", got, tt.want, found)
			}
			for _, f := range found {
				if f.Line > 1 && f.Offset == 0 {
					t.Errorf("%v has no offset", f)
				}
			}
		})
	}
}

func TestDirectoryName(t *testing.T) {
	l := logtest.New("99a0f000-0000-7000-8000-000000000009")
	l.Metadata("/p", "m", "")
	found, _ := verify(t, l.Bytes())
	if codes(found) != "stream_mismatch@1" {
		t.Errorf("%v", found)
	}
}

func TestFrameHash(t *testing.T) {
	edit := func(ours bool) []byte {
		l := logtest.New(session)
		l.Profile("on_request", "none", ":x", "start")
		build := ""
		if ours {
			build = "1.4.4-openmuse.0.1.0"
		}
		l.Metadata("/p", "m", build)
		return bytes.Replace(l.Bytes(), []byte("content_sha256\":\"sha256:"), []byte("content_sha256\":\"sha256:0"), 1)
	}
	if found, _ := verify(t, edit(true)); !strings.Contains(codes(found), "frame_hash@1") {
		t.Errorf("ours: %v", found)
	}
	found, s := verify(t, edit(false))
	if s.Errors+s.Warnings > 0 || s.Infos == 0 {
		t.Errorf("a frame whose rule is not known must not be a finding: %v", found)
	}
}

// TestFilesBeside covers what a log names and what lies beside it.
func TestFilesBeside(t *testing.T) {
	child := func(id string) []byte {
		l := logtest.New(id)
		l.Record("runtime.session.metadata", `{"kind":"metadata","record":{"model_id":"m","provider_id":"meta"}}`)
		return l.Bytes()
	}
	const a, b, c = "0f3c2b1a-5d6e-4f70-8a9b-0c1d2e3f4a5b", "1f3c2b1a-5d6e-4f70-8a9b-0c1d2e3f4a5b", "2f3c2b1a-5d6e-4f70-8a9b-0c1d2e3f4a5b"
	sum := sha256.Sum256([]byte("full output"))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	l := logtest.New(session)
	l.Metadata("/p", "m", "")
	l.Run("r", fmt.Sprintf(`{"kind":"memory_reminder_child_session_linked","child_session_id":%q,"child_session_log_path":"subagent/%s/session.jsonl"}`, a, a))
	l.Run("r", fmt.Sprintf(`{"kind":"task_stream_linked","display":{"path":"subagent/%s/session.jsonl","role":"reminder"},"task_id":"t"}`, b))
	l.Record("subagent.control.start_attested", fmt.Sprintf(`{"record":{"subagent_session_id":%q}}`, a))
	ref := func(path string, size int, digest string) {
		l.Task("r", "t", fmt.Sprintf(`{"kind":"tool_output_ref","output_ref":{"path":%q,"byte_len":%d,"digest":%q}}`, path, size, digest))
	}
	ref("tool-outputs/t/good.txt", 11, digest)
	ref("tool-outputs/t/short.txt", 99, digest)
	ref("tool-outputs/t/other.txt", 11, digest)
	ref("tool-outputs/t/gone.txt", 11, digest)
	ref("../../../etc/passwd", 11, digest)
	l.Record("session.end", `{"record":{}}`)
	in := write(t, map[string][]byte{
		"session.jsonl":                     l.Bytes(),
		"subagent/" + a + "/session.jsonl":  child(a),
		"subagent/" + c + "/session.jsonl":  child(c),
		"tool-outputs/t/good.txt":           []byte("full output"),
		"tool-outputs/t/short.txt":          []byte("full output"),
		"tool-outputs/t/other.txt":          []byte("FULL output"),
		"tool-outputs/t/extra.txt":          []byte("?"),
		"tool-outputs/.spool/call-bash.tmp": []byte("?"),
	})
	found, _ := run(t, in)
	want := "orphan_spill@0 missing_subagent@3 spill_mismatch@6 spill_mismatch@7 missing_spill@8 hostile_path@9 orphan_subagent@0"
	if got := codes(found); got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, found)
	}
}

// TestLineIndex verifies against the index that Meta's binary keeps.
func TestLineIndex(t *testing.T) {
	log := plain().Bytes()
	index := func(t *testing.T, log []byte, hash func(line []byte) string) []byte {
		name := filepath.Join(t.TempDir(), "x.sqlite3")
		db, err := sql.Open("sqlite", name)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(q string, args ...any) {
			if _, err := db.Exec(q, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec("CREATE TABLE source_snapshot(source_len INTEGER)")
		exec("CREATE TABLE retained_records(line_start INTEGER, line_end INTEGER, event_id TEXT, stream_kind TEXT, stream_id TEXT, sequence INTEGER, raw_sha256 TEXT)")
		exec("INSERT INTO source_snapshot VALUES (?)", len(log))
		at := 0
		for i, line := range bytes.SplitAfter(log, []byte{'\n'}) {
			if len(line) == 0 {
				break
			}
			exec("INSERT INTO retained_records VALUES (?,?,?,?,?,?,?)", at, at+len(line), "", "session", session, i+1, hash(bytes.TrimSuffix(line, []byte{'\n'})))
			at += len(line)
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
	bare := func(line []byte) string { h := sha256.Sum256(line); return hex.EncodeToString(h[:]) }
	fed := func(line []byte) string { return bare(append(bytes.Clone(line), '\n')) }
	edited := bytes.Replace(log, []byte(`"text":"a"`), []byte(`"text":"b"`), 1)
	shorter := log[:bytes.LastIndexByte(log[:len(log)-1], '\n')+1]
	tests := []struct {
		name string
		log  []byte
		hash func([]byte) string
		want string
	}{
		{"clean", log, bare, ""},
		{"with line feeds", log, fed, ""},
		{"edited", edited, bare, "index_hash@3"},
		{"cut by a line", shorter, fed, "index_range@0 index_range@0"},
		{"another rule", log, func([]byte) string { return strings.Repeat("ab", 32) }, "index_hash@0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, _ := run(t, write(t, map[string][]byte{"session.jsonl": tt.log, indexName: index(t, log, tt.hash)}))
			if got := codes(found); got != tt.want {
				t.Errorf("got %q, want %q\n%v", got, tt.want, found)
			}
		})
	}
	found, _ := run(t, write(t, map[string][]byte{"session.jsonl": log, indexName: []byte("SQLite format 3\x00 nonsense")}))
	if codes(found) != "unreadable_file@0" {
		t.Errorf("a damaged index: %v", found)
	}
}

// TestNoise: whatever the bytes, verification ends and reports.
func TestNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	log := sealed(false).Bytes()
	for range 100 {
		b := bytes.Clone(log)
		for range 1 + rng.IntN(50) {
			b[rng.IntN(len(b))] = byte(rng.IntN(256))
		}
		if found, s := verify(t, b); s.Clean() || len(found) == 0 {
			t.Fatal("noise was not noticed")
		}
	}
}
