package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)

func mustCreate(t *testing.T, root, id string, at time.Time) *Session {
	t.Helper()
	s, err := Create(root, id, at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCreate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "data", "muse")
	id := ident.V7(noon)
	s := mustCreate(t, root, id, noon)
	if want := filepath.Join(root, "sessions", "2026", "11", "30", id); s.Dir != want {
		t.Errorf("directory %s, want %s", s.Dir, want)
	}
	if runtime.GOOS != "windows" {
		for dir := s.Dir; len(dir) >= len(root); dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %v", dir, info.Mode())
			}
		}
	}
	if err := s.SyncDir(s.Dir); err != nil {
		t.Error(err)
	}
	again := mustCreate(t, root, id, noon)
	if again.Dir != s.Dir {
		t.Errorf("made again in %s", again.Dir)
	}
	if started, err := s.Started(); err != nil || started {
		t.Errorf("started %v, %v", started, err)
	}
}

func TestOnlyUUIDsAreIDs(t *testing.T) {
	root := t.TempDir()
	for _, id := range []string{"", ".", "..", "../../etc", "x", "0190a000-0000-7000-8000-00000000000g", "0190a000-0000-7000-8000-00000000000/", strings.Repeat("a", 36)} {
		if _, err := Create(root, id, noon); err == nil {
			t.Errorf("created %q", id)
		}
		if _, err := Find(root, id); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("find %q: %v", id, err)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Errorf("something was made: %v, %v", entries, err)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	tests := []struct {
		name string
		id   string
		at   time.Time
	}{
		{"version 7 on its day", ident.V7(noon), noon},
		{"version 7 a day early", ident.V7(noon), noon.AddDate(0, 0, -1)},
		{"version 7 a day late", ident.V7(noon), noon.AddDate(0, 0, 1)},
		{"version 7 far away", ident.V7(noon), noon.AddDate(-2, 3, 0)},
		{"version 4", ident.V4(), noon.AddDate(0, -7, 0)},
	}
	for _, tt := range tests {
		want := mustCreate(t, root, tt.id, tt.at)
		got, err := Find(root, tt.id)
		if err != nil || got.Dir != want.Dir || got.ID != tt.id {
			t.Errorf("%s: found %+v, %v, want %s", tt.name, got, err, want.Dir)
		}
	}
	for _, id := range []string{ident.V4(), ident.V7(noon)} {
		if _, err := Find(root, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("an id nobody has: %v", err)
		}
	}
	if _, err := Find(filepath.Join(root, "none"), ident.V4()); !errors.Is(err, ErrNotFound) {
		t.Errorf("no data root: %v", err)
	}
}

// TestSymlinksLeadNowhere plants symlinks at each level of the tree.
func TestSymlinksLeadNowhere(t *testing.T) {
	outside := t.TempDir()
	id := ident.V7(noon)
	for _, link := range []string{"2026", "2026/11", "2026/11/30", "2026/11/30/" + id} {
		root := t.TempDir()
		rest := strings.TrimPrefix("2026/11/30/"+id, link)
		write(t, filepath.Join(outside, rest, logName), "{}\n")
		at := filepath.Join(root, sessionsDir, filepath.FromSlash(link))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, at); err != nil {
			t.Skip("no symlinks here:", err)
		}
		if s, err := Find(root, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("link at %s: found %+v, %v", link, s, err)
		}
		if s, err := Latest(root, ""); !errors.Is(err, ErrNotFound) {
			t.Errorf("link at %s: latest %+v, %v", link, s, err)
		}
	}
	// A log that is a link does not count either.
	root := t.TempDir()
	s := mustCreate(t, root, id, noon)
	target := filepath.Join(outside, "log")
	write(t, target, "{}\n")
	if err := os.Symlink(target, s.LogPath()); err != nil {
		t.Fatal(err)
	}
	if _, err := Latest(root, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("linked log: %v", err)
	}
	if _, err := s.Started(); err == nil {
		t.Error("linked log counts as started")
	}
}

func logOf(payloads ...string) string {
	var b strings.Builder
	for i, p := range payloads {
		kind := "runtime.session.metadata"
		if strings.Contains(p, "cwd") {
			kind = "runtime.session.route_facts"
		}
		e := record.Envelope{
			SchemaVersion: 1, ID: ident.V4(), Stream: record.Stream{Kind: "session", ID: "s"}, Sequence: int64(i + 1),
			RecordType: "event", Durability: "durable", PayloadType: kind, PayloadSchemaVersion: 1, Payload: []byte(p),
		}
		b.Write(append(e.Append(nil), '\n'))
	}
	return b.String()
}

func TestLatest(t *testing.T) {
	root := t.TempDir()
	one, two := t.TempDir(), t.TempDir()
	quote := func(format, dir string) string { return fmt.Sprintf(format, dir) }
	in := func(dir string) string { return quote(`{"kind":"metadata","record":{"workspace_root":%q}}`, dir) }
	add := func(log string, age time.Duration) string {
		id := ident.V4()
		s := mustCreate(t, root, id, noon.Add(-age))
		write(t, s.LogPath(), log)
		if err := os.Chtimes(s.LogPath(), noon, noon.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return id
	}
	oldOne := add(logOf(in(one)), 100*24*time.Hour)
	moved := add(logOf(in(one), in(two)), 3*time.Hour)
	add(logOf(`{"kind":"route","record":{"cwd":"/elsewhere"}}`)+"{torn", 2*time.Hour)
	newest := add("not a log at all\n", time.Hour)
	add("", 90*time.Minute)
	mustCreate(t, root, ident.V4(), noon) // never started
	write(t, filepath.Join(root, sessionsDir, "2026", "11", "30", "not-an-id", logName), logOf(in(one)))
	write(t, filepath.Join(root, sessionsDir, ".msp-view-v1", "x"), "")

	link := filepath.Join(t.TempDir(), "link")
	tests := []struct {
		name, workspace, want string
	}{
		{"of all", "", newest},
		{"first workspace", one, oldOne},
		{"unclean name", one + "/./", oldOne},
		{"the last workspace counts", two, moved},
		{"by its working directory", "/elsewhere", "*"},
		{"unknown", filepath.Join(one, "sub"), ""},
	}
	if err := os.Symlink(two, link); err == nil {
		tests = append(tests, struct{ name, workspace, want string }{"through a link", link, moved})
	}
	for _, tt := range tests {
		s, err := Latest(root, tt.workspace)
		switch {
		case tt.want == "":
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %+v, %v", tt.name, s, err)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "*" && s.ID != tt.want:
			t.Errorf("%s: %s, want %s", tt.name, s.ID, tt.want)
		}
	}
	if _, err := Latest(filepath.Join(root, "none"), ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("no data root: %v", err)
	}
	// Of logs written at one time the younger id wins.
	root = t.TempDir()
	for range 5 {
		newest = ident.V7(noon)
		s := mustCreate(t, root, newest, noon)
		write(t, s.LogPath(), "")
		if err := os.Chtimes(s.LogPath(), noon, noon); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := Latest(root, ""); err != nil || s.ID != newest {
		t.Errorf("at one time: %+v, %v, want %s", s, err, newest)
	}
}

func TestStageAndStart(t *testing.T) {
	s := mustCreate(t, t.TempDir(), ident.V7(noon), noon)
	if err := s.Start(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start without a staged line: %v", err)
	}
	opts := journal.Options{Stream: record.Stream{Kind: "session", ID: s.ID}, SyncDir: s.SyncDir}
	frame, err := journal.FirstFrame([]record.Envelope{{PayloadType: "a", Payload: []byte(`{}`)}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	line := frame.Append(nil)
	staged := filepath.Join(s.Dir, stagedName)

	write(t, staged, string(line)) // torn: no line feed
	if err := s.Start(); err == nil {
		t.Error("started with a torn line")
	}
	if err := s.Stage(line); err != nil {
		t.Fatal(err)
	}
	if started, err := s.Started(); err != nil || started {
		t.Errorf("a staged session has started: %v, %v", started, err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(staged); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("staged file is still there: %v", err)
	}
	j, report, err := journal.Open(s.LogPath(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if report.LastSequence != 1 {
		t.Errorf("report %+v", report)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stage(line); err == nil {
		t.Error("staged over a log")
	}
	if err := s.Start(); err == nil {
		t.Error("started twice")
	}
}

func TestLock(t *testing.T) {
	root := t.TempDir()
	id := ident.V7(noon)
	s := mustCreate(t, root, id, noon)
	left := filepath.Join(s.OutputsDir(), spoolName, "call_1-bash.txt.tmp")
	kept := filepath.Join(s.OutputsDir(), "task", "call_1-bash.txt")
	write(t, left, "half")
	write(t, kept, "whole")
	if err := s.Lock("muse exec"); err != nil {
		t.Fatal(err)
	}
	if err := s.Lock("muse exec"); err == nil {
		t.Error("locked twice")
	}
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("unfinished output is still there: %v", err)
	}
	if _, err := os.Lstat(kept); err != nil {
		t.Error(err)
	}
	// The same id in another shard is the same session.
	other := mustCreate(t, root, id, noon.AddDate(0, 0, 1))
	var inUse *journal.InUseError
	if err := other.Lock("muse serve"); !errors.As(err, &inUse) || inUse.Holder.Program != "muse exec" {
		t.Errorf("second lock: %v", err)
	}
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}
	// A program that knows the lock in the directory alone is seen, too, and
	// the lease by id is not kept after that refusal.
	foreign, err := journal.Acquire(filepath.Join(other.Dir, lockName), id, journal.Holder{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Lock("muse serve"); !errors.As(err, &inUse) {
		t.Errorf("foreign lock: %v", err)
	}
	if err := foreign.Release(); err != nil {
		t.Fatal(err)
	}
	if err := s.Lock("muse exec"); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Unlock(), s.Unlock(), other.Unlock()); err != nil {
		t.Error(err)
	}
}

func TestSpoolLinkIsNotFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, spoolName, "precious"), "x")
	s := mustCreate(t, t.TempDir(), ident.V4(), noon)
	if err := os.Symlink(outside, s.OutputsDir()); err != nil {
		t.Skip("no symlinks here:", err)
	}
	if err := s.Lock("muse exec"); err != nil {
		t.Fatal(err)
	}
	if err := s.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(outside, spoolName, "precious")); err != nil {
		t.Errorf("a file outside the session was removed: %v", err)
	}
}

func TestTrace(t *testing.T) {
	s := mustCreate(t, t.TempDir(), ident.V4(), noon)
	tr := NewTrace(s.Dir)
	log := slog.New(tr)
	if _, err := os.Lstat(tr.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a silent trace has a file: %v", err)
	}
	log.Info("session opened", "id", s.ID, "note", "two words", "empty", "", "n", 3)
	log.With("run", "r1").WithGroup("model").Warn("line\nbreak", "took", 1500*time.Millisecond, slog.Group("g", "a", true))
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(tr.Path())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	want := []string{
		`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z INFO muse\.store store/store_test\.go:\d+ event="session opened" id=` + s.ID + ` note="two words" empty="" n=3$`,
		`^\S+ WARN muse\.store store/store_test\.go:\d+ event="line\\nbreak" run=r1 model\.took=1\.5s model\.g\.a=true$`,
	}
	if len(lines) != len(want) {
		t.Fatalf("trace is\n%s", data)
	}
	for i, w := range want {
		if !regexp.MustCompile(w).MatchString(lines[i]) {
			t.Errorf("line %d is %s\nwant %s", i+1, lines[i], w)
		}
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(tr.Path()); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if name := filepath.Base(tr.Path()); !regexp.MustCompile(`^cli-[0-9a-f-]{36}\.log$`).MatchString(name) {
		t.Errorf("name %s", name)
	}
}

func TestTraceFailureIsTold(t *testing.T) {
	tr := NewTrace(filepath.Join(string([]byte{0}), "x"))
	if err := tr.Handle(context.Background(), slog.Record{Message: "x"}); err == nil {
		t.Error("writing to nowhere worked")
	}
	if tr.Close() == nil {
		t.Error("the failure is not told at the end")
	}
}

func TestFreeBytes(t *testing.T) {
	dir := t.TempDir()
	if n := FreeBytes(filepath.Join(dir, "not", "there")); n <= 0 {
		t.Errorf("%d bytes free", n)
	}
	if n := FreeBytes(string([]byte{0})); n != 0 {
		t.Errorf("nowhere has %d bytes free", n)
	}
}

// TestCreateBehindALink holds that a session is never made where it is not
// found again.
func TestCreateBehindALink(t *testing.T) {
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.Local)
	const id = "0199a0b1-0000-7000-8000-000000000001"
	for _, tt := range []struct {
		link string // in the data root
		ok   bool
	}{
		{"sessions", true},
		{"sessions/2026", false},
		{"sessions/2026/10", false},
		{"sessions/2026/10/01", false},
	} {
		t.Run(tt.link, func(t *testing.T) {
			root, elsewhere := t.TempDir(), t.TempDir()
			link := filepath.Join(root, filepath.FromSlash(tt.link))
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, link); err != nil {
				t.Skip("no symlinks here: ", err)
			}
			_, err := Create(root, id, now)
			entries, readErr := os.ReadDir(elsewhere)
			if readErr != nil {
				t.Fatal(readErr)
			}
			if (err == nil) != tt.ok || (len(entries) > 0) != tt.ok {
				t.Errorf("Create says %v and leaves %d entries behind the link", err, len(entries))
			}
			if !tt.ok {
				return
			}
			if _, err := Find(root, id); err != nil {
				t.Errorf("it is not found again: %v", err)
			}
		})
	}
}
