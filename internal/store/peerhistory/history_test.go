package peerhistory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/verify"
	"github.com/openmuse/muse/internal/record"
)

const session = "01a0f000-0000-7000-8000-000000000001"

// childDir makes the test binary a process that indexes the session there.
const childDir = "OPENMUSE_TEST_PEERHISTORY_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := Update(context.Background(), dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type testLog struct {
	bytes.Buffer
	n int64
}

func (l *testLog) envelope(payloadType, payload string) record.Envelope {
	l.n++
	return record.Envelope{
		SchemaVersion: 1, ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", l.n), Stream: record.Stream{Kind: "session", ID: session},
		Sequence: l.n, RecordedAt: 1790845200000000 + l.n, RecordType: "event", Durability: "durable",
		PayloadType: payloadType, PayloadSchemaVersion: 1, Payload: []byte(payload),
	}
}

func (l *testLog) add(payloadType, payload string) {
	e := l.envelope(payloadType, payload)
	l.Write(append(e.Append(nil), '\n'))
}

func (l *testLog) run(id string) {
	l.add("openmuse.command.received", `{"kind":"command_received","record":{"command_id":"cmd-`+id+`"}}`)
	l.add("openmuse.command.settled", `{"kind":"command_settled","record":{"command_id":"cmd-`+id+`"}}`)
	l.add("runtime.session", `{"event":{"kind":"started","prompt":"x"},"kind":"run","run_id":"`+id+`"}`)
	l.add("runtime.session", `{"event":{"kind":"started","task_id":"t"},"kind":"task","run_id":"`+id+`","task_id":"t"}`)
	l.add("runtime.session", `{"event":{"kind":"assistant_tool_calls_committed","tool_calls":[{"call_id":"a-`+id+`"},{"call_id":"b-`+id+`"}]},"kind":"run","run_id":"`+id+`"}`)
	l.add("runtime.session", `{"event":{"kind":"requested","approval_id":"ask-`+id+`"},"kind":"approval","run_id":"`+id+`"}`)
	l.add("runtime.session", `{"event":{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"a-`+id+`"}]},"kind":"run","run_id":"`+id+`"}`)
	l.add("runtime.session", `{"event":{"kind":"context_compaction_installed","install_id":"inst-`+id+`"},"kind":"run","run_id":"`+id+`"}`)
	l.add("runtime.session", `{"event":{"kind":"terminal","terminal":"completed"},"kind":"run","run_id":"`+id+`"}`)
}

func newLog() *testLog {
	l := &testLog{}
	frame := record.NewPermissionFrame([]record.Envelope{l.envelope("runtime.session.permission_format_declared", "{}"),
		l.envelope("runtime.session.permission_profile_committed", "{}")}, 1, "tx")
	l.Write(append(frame.Append(nil), '\n'))
	return l
}

// place writes a log into a session's directory.
func place(t testing.TB, log []byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), session)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, log)
	return dir
}

func put(t testing.TB, dir string, log []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), log, 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *History {
	t.Helper()
	h, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func refresh(t testing.TB, dir string) {
	t.Helper()
	if err := Update(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
}

// right checks that the index of the session in dir covers log and finds
// everything in it.
func right(t *testing.T, dir string, log []byte) {
	t.Helper()
	h := open(t, dir)
	if want := int64(bytes.LastIndexByte(log, '\n') + 1); h.Through() != want {
		t.Fatalf("covers %d bytes of %d", h.Through(), want)
	}
	found := 0
	for raw := range bytes.Lines(log) {
		line := bytes.TrimSuffix(raw, []byte("\n"))
		v, err := record.Scan(line)
		if err != nil || len(line) == len(raw) || v.Kind == record.KindFrame {
			continue
		}
		l, err := h.At(t.Context(), v.Sequence)
		if err != nil {
			t.Fatalf("sequence %d: %v", v.Sequence, err)
		}
		got, err := l.Raw(bytes.NewReader(log))
		if err != nil || !bytes.Equal(got, line) || l.EventID != string(v.ID) {
			t.Fatalf("sequence %d: %q, %v", v.Sequence, got, err)
		}
		found++
	}
	var n int
	if err := h.db.Read(func(db *sql.DB) error {
		return db.QueryRow("SELECT count(*) FROM retained_records WHERE sequence > 2").Scan(&n)
	}); err != nil || n != found {
		t.Fatalf("%d rows for %d records, %v", n, found, err)
	}
}

func TestLookups(t *testing.T) {
	l := newLog()
	l.run("r1")
	l.Write([]byte("not json\n"))
	l.run("r2")
	dir := place(t, l.Bytes())
	if _, err := Open(t.Context(), dir); !errors.Is(err, ErrStale) {
		t.Fatalf("without an index: %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Fatal("looking made something")
	}
	refresh(t, dir)
	right(t, dir, l.Bytes())
	h := open(t, dir)
	for _, tt := range []struct {
		kind, id string
		sequence int64
	}{
		{Command, "cmd-r1", 3}, {Settled, "cmd-r1", 4}, {Turn, "r1", 5}, {Call, "a-r1", 7}, {Call, "b-r1", 7},
		{Approval, "ask-r1", 8}, {Result, "a-r1", 9}, {Compaction, "inst-r1", 10}, {TurnEnd, "r1", 11}, {Turn, "r2", 14},
	} {
		if got, err := h.Find(t.Context(), tt.kind, tt.id); err != nil || got.Sequence != tt.sequence {
			t.Errorf("%s %s: %+v, %v", tt.kind, tt.id, got, err)
		}
	}
	if got, err := h.Last(t.Context(), Compaction); err != nil || got.Sequence != 19 {
		t.Errorf("last compaction %+v, %v", got, err)
	}
	if got, err := h.End(t.Context()); err != nil || got.Sequence != 20 {
		t.Errorf("end %+v, %v", got, err)
	}
	if n, err := h.Count(t.Context(), Turn); err != nil || n != 2 {
		t.Errorf("%d turns, %v", n, err)
	}
	if got, err := h.At(t.Context(), 1); err != nil || got.Start != 0 {
		t.Errorf("the frame's first child %+v, %v", got, err)
	}
	for _, err := range []error{func() error { _, err := h.At(t.Context(), 99); return err }(), func() error { _, err := h.Find(t.Context(), Turn, "r9"); return err }()} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("what is not there: %v", err)
		}
	}
}

// TestGrowing: a log that is indexed again and again while it grows, also in
// the middle of a line, has the index of one that is indexed at once.
func TestGrowing(t *testing.T) {
	l := newLog()
	for i := range 30 {
		l.run(fmt.Sprint("r", i))
	}
	all := l.Bytes()
	dir := place(t, nil)
	r := rand.New(rand.NewPCG(5, 6))
	for at := 0; at < len(all); {
		at = min(len(all), at+r.IntN(len(all)/8))
		put(t, dir, all[:at])
		refresh(t, dir)
		if bytes.IndexByte(all[:at], '\n') > 0 {
			right(t, dir, all[:at])
		}
	}
}

// TestStale: an index of another log, a damaged one and one of a log that was
// cut are noticed, and made anew.
func TestStale(t *testing.T) {
	l := newLog()
	for i := range 400 {
		l.run(fmt.Sprint("r", i))
	}
	all := l.Bytes()
	index := func(dir string) string { return filepath.Join(dir, fileName) }
	for name, spoil := range map[string]func(t *testing.T, dir string) []byte{
		"shorter": func(t *testing.T, dir string) []byte {
			short := all[:bytes.LastIndexByte(all[:len(all)/2], '\n')+1]
			put(t, dir, short)
			return short
		},
		"another beginning": func(t *testing.T, dir string) []byte {
			other := bytes.Clone(all)
			copy(other[bytes.Index(other, []byte(`"id":"`))+6:], "ffffffff")
			put(t, dir, other)
			return other
		},
		"another end": func(t *testing.T, dir string) []byte {
			other := bytes.Replace(all, []byte(`"run_id":"r399"`), []byte(`"run_id":"x399"`), -1)
			put(t, dir, other)
			return other
		},
		"text in its place": func(t *testing.T, dir string) []byte {
			if err := os.WriteFile(index(dir), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
			return all
		},
		"damaged pages": func(t *testing.T, dir string) []byte {
			b, err := os.ReadFile(index(dir))
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(b); i++ {
				b[i] ^= 0x5a
			}
			if err := os.WriteFile(index(dir), b, 0o600); err != nil {
				t.Fatal(err)
			}
			return all
		},
		"cut in half": func(t *testing.T, dir string) []byte {
			info, err := os.Stat(index(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(index(dir), info.Size()/2/4096*4096); err != nil {
				t.Fatal(err)
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := place(t, all)
			refresh(t, dir)
			log := spoil(t, dir)
			refresh(t, dir)
			right(t, dir, log)
		})
	}
}

// TestForeign: an index that another program wrote stays as it is.
func TestForeign(t *testing.T) {
	l := newLog()
	l.run("r1")
	dir := place(t, l.Bytes())
	db, err := sql.Open("sqlite", filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE retained_records (line_start INTEGER, line_end INTEGER, raw_sha256 TEXT)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	refresh(t, dir)
	right(t, dir, l.Bytes())
	if _, err := os.Stat(filepath.Join(dir, ownName)); err != nil {
		t.Error(err)
	}
}

// TestKilled: a process that is killed while it makes an index leaves one that
// the next completes.
func TestKilled(t *testing.T) {
	l := newLog()
	for i := range 3000 {
		l.run(fmt.Sprint("r", i))
	}
	dir := place(t, l.Bytes())
	r := rand.New(rand.NewPCG(7, 8))
	for range 6 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(20+r.IntN(200))*time.Millisecond, func() {
			// It may have ended by itself.
			_ = cmd.Process.Kill()
		})
		_ = cmd.Wait()
		timer.Stop()
		cancel()
	}
	refresh(t, dir)
	right(t, dir, l.Bytes())
}

// TestVerify: our index is one that the audit understands, and by which it
// finds an edit.
func TestVerify(t *testing.T) {
	l := newLog()
	for i := range 5 {
		l.run(fmt.Sprint("r", i))
	}
	dir := place(t, l.Bytes())
	refresh(t, dir)
	codes := func() map[string]int {
		in, err := audit.Find([]string{filepath.Join(dir, "session.jsonl")})
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		got := map[string]int{}
		if _, err := verify.Run(t.Context(), in, func(f verify.Finding) { got[f.Code]++ }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := codes(); got[verify.IndexHash]+got[verify.IndexRange] != 0 {
		t.Errorf("a log that nobody touched: %v", got)
	}
	put(t, dir, bytes.Replace(l.Bytes(), []byte(`"prompt":"x"`), []byte(`"prompt":"y"`), 1))
	if got := codes(); got[verify.IndexHash] != 1 {
		t.Errorf("an edited log: %v", got)
	}
}

func BenchmarkUpdate(b *testing.B) {
	l := newLog()
	for i := range 20000 {
		l.run(fmt.Sprint("r", i))
		l.add("runtime.session", `{"event":{"kind":"output","chunk":"`+strings.Repeat("x", 3000)+`"},"kind":"task"}`)
	}
	dir := place(b, l.Bytes())
	b.SetBytes(int64(l.Len()))
	for b.Loop() {
		refresh(b, dir)
		b.StopTimer()
		os.Remove(filepath.Join(dir, fileName))
		b.StartTimer()
	}
}
