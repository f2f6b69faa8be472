package index

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/store"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		os.Exit(child(root))
	}
	goleak.VerifyTestMain(m)
}

// sessionLog is the log of a session in few lines.
func sessionLog(id string, at time.Time, prompt string, more ...string) []byte {
	var b bytes.Buffer
	n := 0
	add := func(payloadType, payload string) {
		n++
		fmt.Fprintf(&b, `{"schema_version":1,"id":"00000000-0000-4000-8000-%012d","stream":{"kind":"session","id":"%s"},"sequence":%d,"recorded_at":%d,`+
			`"record_type":"event","durability":"durable","causation_id":null,"payload_type":"%s","payload_schema_version":1,"payload":%s}`+"\n",
			n, id, n, at.UnixMicro()+int64(n), payloadType, payload)
	}
	add("runtime.session.metadata", `{"kind":"metadata","record":{"model_id":"m1","provider_id":"echo","workspace_root":"/srv/proj"}}`)
	add("runtime.user_intent.accepted", fmt.Sprintf(`{"model_messages":[{"content":[{"kind":"text","text":%q}]}]}`, prompt))
	add("runtime.session", fmt.Sprintf(`{"event":{"kind":"started","prompt":%q},"kind":"run","run_id":"r"}`, prompt))
	for _, m := range more {
		kind, payload, _ := strings.Cut(m, " ")
		add(kind, payload)
	}
	return b.Bytes()
}

var begin = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// addSession writes a session that was begun n minutes after the first.
func addSession(t testing.TB, root string, n int, prompt string, more ...string) string {
	t.Helper()
	at := begin.Add(time.Duration(n) * time.Minute)
	id := ident.V7(at)
	s, err := store.Create(root, id, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.LogPath(), sessionLog(id, at, prompt, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(s.LogPath(), at, at); err != nil {
		t.Fatal(err)
	}
	return id
}

func open(t testing.TB, root string) *Index {
	t.Helper()
	x := New(Options{Root: root, Fresh: time.Nanosecond, Poll: time.Hour, First: time.Minute})
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func list(t testing.TB, x *Index, q Query) []string {
	t.Helper()
	q.Wait = -1
	page, err := x.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if !page.Whole {
		t.Error("the answer is not up to date")
	}
	return titles(page)
}

func titles(p Page) []string {
	var out []string
	for _, r := range p.Rows {
		out = append(out, r.Title())
	}
	return out
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func named(name string) string {
	return fmt.Sprintf(`session.name.changed {"new_name":%q,"source":"user"}`, name)
}

func onBranch(name string) string {
	return fmt.Sprintf(`session.workspace_branch.observed {"kind":"workspace_branch","record":{"reference":{"kind":"branch","name":%q}}}`, name)
}

func in(dir string) string {
	return fmt.Sprintf(`runtime.session.metadata {"kind":"metadata","record":{"workspace_root":%q}}`, dir)
}

func TestListFollowsTheLogs(t *testing.T) {
	root := t.TempDir()
	x := open(t, root)
	same(t, "nothing", list(t, x, Query{}), nil)
	one := addSession(t, root, 1, "one")
	addSession(t, root, 2, "two")
	same(t, "two sessions", list(t, x, Query{}), []string{"two", "one"})

	s, err := store.Find(root, one)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.LogPath(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(sessionLog(one, begin.Add(time.Hour), "later")); err != nil {
		t.Fatal(err)
	}
	f.Close()
	same(t, "one went on", list(t, x, Query{}), []string{"one", "two"})
	r, err := x.Get(t.Context(), one)
	if err != nil || r.Turns != 2 || r.Prompts() != 2 || !r.Whole || r.Log != s.LogPath() || r.Dir != s.Dir {
		t.Errorf("row %+v, %v", r, err)
	}

	if err := os.RemoveAll(s.Dir); err != nil {
		t.Fatal(err)
	}
	same(t, "one is gone", list(t, x, Query{}), []string{"two"})
	if _, err := x.Get(t.Context(), one); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
}

// TestDamagedIndexIsMadeAgain: whatever lies in the place of the index, the
// list is right and nobody has to do anything.
func TestDamagedIndexIsMadeAgain(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		addSession(t, root, i, fmt.Sprint("session ", i))
	}
	x := open(t, root)
	want := list(t, x, Query{Limit: 200})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, fileName)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoiled := func(from, to int) []byte {
		b := bytes.Clone(good)
		for i := from; i < to; i++ {
			b[i] ^= 0xa5
		}
		return b
	}
	for name, data := range map[string][]byte{
		"missing":   nil,
		"empty":     {},
		"text":      []byte(strings.Repeat("this is no database\n", 500)),
		"header":    spoiled(0, 100),
		"schema":    spoiled(100, 4096),
		"leaves":    spoiled(3*4096, len(good)-4096),
		"every bit": spoiled(4096, len(good)),
		"half":      good[:len(good)/2/4096*4096],
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if data != nil {
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			x := open(t, root)
			same(t, "titles", list(t, x, Query{Limit: 200}), want)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			check(t, path, 200)
		})
	}
}

// check opens an index at rest as another program would.
func check(t *testing.T, path string, rows int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var state string
	var n int
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&state); err != nil || state != "ok" {
		t.Errorf("integrity: %s, %v", state, err)
	}
	err = db.QueryRow(`SELECT count(*) FROM sessions WHERE layout = 'session_jsonl' AND status = 'valid' AND workspace_root = '/srv/proj'
		AND provider_id = 'echo' AND created_at_us > 0 AND session_log_path LIKE '%session.jsonl' AND prompt_count = 1`).Scan(&n)
	if err != nil || n != rows {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestFirstAnswer: the first list of all, which waits for nothing, has the
// sessions that were used last and not none.
func TestFirstAnswer(t *testing.T) {
	root := t.TempDir()
	const n = 3 * batch
	for i := range n {
		addSession(t, root, i, fmt.Sprint("session ", i))
	}
	var want []string
	for i := range DefaultLimit {
		want = append(want, fmt.Sprint("session ", n-1-i))
	}
	page, err := open(t, root).List(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "titles", titles(page), want)
	if page, err := open(t, t.TempDir()).List(t.Context(), Query{}); err != nil || len(page.Rows) != 0 {
		t.Errorf("without sessions: %v, %v", page.Rows, err)
	}
}

// TestStaleRows: rows that say something else than the logs do not survive
// when the log's size or time is not theirs.
func TestStaleRows(t *testing.T) {
	root := t.TempDir()
	id := addSession(t, root, 1, "one")
	x := open(t, root)
	list(t, x, Query{})
	s, err := store.Find(root, id)
	if err != nil {
		t.Fatal(err)
	}
	// Same size, other content, other time.
	if err := os.WriteFile(s.LogPath(), sessionLog(id, begin.Add(time.Minute), "two"), 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, "rewritten", list(t, x, Query{}), []string{"two"})
	// A log that shrank.
	if err := os.WriteFile(s.LogPath(), sessionLog(id, begin.Add(time.Minute), "x"), 0o600); err != nil {
		t.Fatal(err)
	}
	same(t, "shorter", list(t, x, Query{}), []string{"x"})
	// A session in another shard, as after a copy by hand.
	other := filepath.Join(root, "sessions", "2020", "01", "02", id)
	if err := os.MkdirAll(filepath.Dir(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.Dir, other); err != nil {
		t.Fatal(err)
	}
	page, err := x.List(t.Context(), Query{Wait: -1})
	if err != nil || len(page.Rows) != 1 || page.Rows[0].Dir != other {
		t.Errorf("moved: %+v, %v", page.Rows, err)
	}
}

func TestOtherVersionIsMadeAgain(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "one")
	x := open(t, root)
	list(t, x, Query{})
	x.Close()
	db, err := sql.Open("sqlite", filepath.Join(root, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE openmuse_meta SET value = '0'; UPDATE sessions SET first_user_prompt = 'wrong'"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	same(t, "titles", list(t, open(t, root), Query{}), []string{"one"})
}

// TestForeignIndexIsLeftAlone: the index of another program stays as it is.
func TestForeignIndexIsLeftAlone(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "one")
	path := filepath.Join(root, fileName)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE sessions (session_id TEXT PRIMARY KEY, title TEXT, msp_x TEXT NOT NULL); INSERT INTO sessions VALUES ('a', 'b', 'c')"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "titles", list(t, open(t, root), Query{}), []string{"one"})
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before[200:], after[200:]) {
		t.Errorf("the other index changed: %v", err)
	}
}

func TestUnusablePlaces(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "one")
	if err := os.Mkdir(filepath.Join(root, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	same(t, "a directory in its place", list(t, open(t, root), Query{}), []string{"one"})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := open(t, file)
	if page, err := x.List(t.Context(), Query{Wait: -1}); err == nil && len(page.Rows) > 0 {
		t.Error("sessions in a file")
	}
}

func TestMemoryWritesNothing(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "one")
	x := New(Options{Root: root, Memory: true})
	defer x.Close()
	same(t, "titles", list(t, x, Query{}), []string{"one"})
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

// TestOddSessions: what is no session, or none that can be read, is not
// listed and harms nothing.
func TestOddSessions(t *testing.T) {
	root := t.TempDir()
	addSession(t, root, 1, "one")
	day := filepath.Join(root, "sessions", "2026", "10", "02")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "session.jsonl"), sessionLog("x", begin, "outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, log := range []string{"", "\x00\x01", "not json\n", "{}\n", strings.Repeat("x", 100000)} {
		dir := filepath.Join(day, fmt.Sprintf("01a0f000-0000-7000-8000-%012d", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "session.jsonl"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(day, "no-session"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(day, "01a0f000-0000-7000-8000-00000000ffff")); err != nil {
		t.Log(err)
	}
	x := open(t, root)
	same(t, "titles", list(t, x, Query{}), []string{"one"})
	same(t, "again", list(t, x, Query{}), []string{"one"})
}

func TestChanges(t *testing.T) {
	root := t.TempDir()
	x := open(t, root)
	c := x.Watch()
	defer c.Close()
	next := func() Change {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		change, err := c.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return change
	}
	one := addSession(t, root, 1, "one")
	x.Touch(one)
	if got := next(); got.Row.ID != one || got.Removed || got.Row.Title() != "one" {
		t.Fatalf("got %+v", got)
	}
	// Many changes of one session are one when nobody asked meanwhile.
	s, err := store.Find(root, one)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := os.WriteFile(s.LogPath(), sessionLog(one, begin.Add(time.Hour), "one", named(fmt.Sprint("name-", i))), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := x.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := next(); got.Row.Name != "name-4" {
		t.Fatalf("got %+v", got)
	}
	// What another process writes is found by looking.
	two := addSession(t, root, 2, "two")
	if err := os.RemoveAll(s.Dir); err != nil {
		t.Fatal(err)
	}
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for range 2 {
		change := next()
		got[change.Row.ID] = change.Removed
	}
	if len(got) != 2 || !got[one] || got[two] {
		t.Fatalf("got %v", got)
	}
	// Looking without a change tells nothing.
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if change, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %+v, %v", change, err)
	}
}

// TestChangesOfOthers: what another process writes comes into the stream with
// nobody asking.
func TestChangesOfOthers(t *testing.T) {
	root := t.TempDir()
	x := New(Options{Root: root, Fresh: time.Nanosecond, Poll: time.Millisecond})
	defer x.Close()
	c := x.Watch()
	defer c.Close()
	for i := range 3 {
		id := addSession(t, root, i, "x")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		change, err := c.Next(ctx)
		cancel()
		if err != nil || change.Row.ID != id {
			t.Fatalf("%+v, %v", change, err)
		}
	}
}

func TestClosed(t *testing.T) {
	x := New(Options{Root: t.TempDir()})
	c := x.Watch()
	x.Start()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("changes: %v", err)
	}
	if _, err := x.List(t.Context(), Query{Wait: -1}); !errors.Is(err, ErrClosed) {
		t.Errorf("list: %v", err)
	}
	x.Touch(ident.V4())
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}

// TestLargeLog: a large log has a row at once and the right counts soon.
func TestLargeLog(t *testing.T) {
	root := t.TempDir()
	var more []string
	for i := range 3000 {
		more = append(more, `runtime.session {"event":{"kind":"output","chunk":"`+strings.Repeat("x", 1000)+`"},"kind":"task"}`)
		if i%100 == 0 {
			more = append(more, `runtime.session {"event":{"kind":"started","prompt":"again"},"kind":"run","run_id":"q"}`)
		}
	}
	id := addSession(t, root, 1, "large", more...)
	x := open(t, root)
	r, err := x.Get(t.Context(), id)
	if err != nil || r.Whole || r.Title() != "large" {
		t.Fatalf("at first: whole %v, %q, %v", r.Whole, r.Title(), err)
	}
	same(t, "titles", list(t, x, Query{}), []string{"large"})
	if r, err = x.Get(t.Context(), id); err != nil || !r.Whole || r.Turns != 31 {
		t.Fatalf("then: whole %v, %d turns, %v", r.Whole, r.Turns, err)
	}
}
