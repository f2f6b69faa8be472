package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/store"
)

// exportHome is a home and a workspace for muse export.
type exportHome struct {
	t         *testing.T
	home, cwd string
	now       time.Time
}

func newExportHome(t *testing.T) *exportHome {
	return &exportHome{t: t, home: t.TempDir(), cwd: t.TempDir(), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

func (h *exportHome) data() string { return filepath.Join(h.home, ".local", "share", "muse") }

// session writes a session that was used in workspace and returns it.
func (h *exportHome) session(workspace, text string) *store.Session {
	h.t.Helper()
	s, err := store.Create(h.data(), ident.V7(h.now), h.now)
	if err != nil {
		h.t.Fatal(err)
	}
	j, err := journal.Create(s.LogPath(), journal.Options{Stream: record.Stream{Kind: record.StreamSession, ID: s.ID}})
	if err != nil {
		h.t.Fatal(err)
	}
	root, err := jsontext.AppendQuote(nil, workspace)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range []record.Envelope{
		{PayloadType: "runtime.session.metadata", Payload: jsontext.Value(`{"kind":"metadata","record":{"workspace_root":` + string(root) + `}}`)},
		{PayloadType: "runtime.session", Payload: jsontext.Value(`{"event":{"kind":"started","prompt":"` + text + `"},"kind":"run","run_id":"r"}`)},
		{PayloadType: "session.end", Payload: jsontext.Value(`{"kind":"session_end","record":{"exit_reason":"clean","uptime_ms":5}}`)},
	} {
		if err := j.Append(&e); err != nil {
			h.t.Fatal(err)
		}
	}
	if err := errors.Join(j.Seal(), j.Close()); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// run runs one command line and returns its exit code and what it printed.
func (h *exportHome) run(args ...string) (code int, out, errs string) {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	env := Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv:  func(name string) string { return map[string]string{"HOME": h.home}[name] },
		Environ: func() []string { return []string{"HOME=" + h.home} },
		Getwd:   func() (string, error) { return h.cwd, nil },
		Now:     func() time.Time { return h.now },
	}
	root := newRootCmd(&env)
	if c, _, err := root.Find([]string{"export"}); err != nil || c == root {
		cmd := newExportCmd(&env)
		strictFlags(cmd)
		root.AddCommand(cmd)
	}
	root.SetArgs(append([]string{"export"}, args...))
	code = exitCode(root.ExecuteContext(context.Background()), &env)
	return code, stdout.String(), stderr.String()
}

// document runs an export that has to succeed and returns the document.
func (h *exportHome) document(args ...string) (path, doc string) {
	h.t.Helper()
	code, out, errs := h.run(args...)
	path, ok := strings.CutSuffix(out, "\n")
	if code != 0 || errs != "" || !ok || !filepath.IsAbs(path) || strings.Contains(path, "\n") {
		h.t.Fatalf("export %v: exit %d, stdout %q, stderr %q", args, code, out, errs)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	if !jsontext.Value(data).IsValid() {
		h.t.Fatalf("no JSON:\n%s", data)
	}
	return path, string(data)
}

func TestExportChoosesTheSession(t *testing.T) {
	h := newExportHome(t)
	mine := h.session(h.cwd, "mine")
	other := h.session(t.TempDir(), "other")
	for name, args := range map[string][]string{
		"by default": nil, "last": {"--last"}, "by id": {"--session", mine.ID}, "by path": {"--session", mine.LogPath()},
		"by directory": {"--session", mine.Dir},
	} {
		_, doc := h.document(args...)
		if !strings.Contains(doc, `"prompt":"mine"`) || strings.Contains(doc, `"prompt":"other"`) {
			t.Errorf("%s: wrong session:\n%s", name, doc)
		}
	}
	if _, doc := h.document("--session", other.ID); !strings.Contains(doc, `"prompt":"other"`) {
		t.Error("by id: wrong session")
	}
	// A file in the working directory wins over an id.
	data, err := os.ReadFile(other.LogPath())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.cwd, mine.ID), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, doc := h.document("--session", mine.ID); !strings.Contains(doc, `"prompt":"other"`) {
		t.Error("a path that exists does not win")
	}
}

func TestExportNamesAndNeverOverwrites(t *testing.T) {
	h := newExportHome(t)
	s := h.session(h.cwd, "hi")
	before, err := os.ReadFile(s.LogPath())
	if err != nil {
		t.Fatal(err)
	}
	first, doc := h.document()
	second, again := h.document()
	base := filepath.Join(h.cwd, "trajectory-20261130T120000Z")
	if first != base+".json" || second != base+"-1.json" || doc != again {
		t.Errorf("%s and %s; the same: %v", first, second, doc == again)
	}
	if path, out := h.document("--out", "sub.json"); path != filepath.Join(h.cwd, "sub.json") || out != doc {
		t.Errorf("--out gives %s; the same: %v", path, out == doc)
	}
	code, out, errs := h.run("--out", "sub.json")
	if want := "export failed: could not write " + filepath.Join(h.cwd, "sub.json") + ": file exists\n"; code != 1 || out != "" || errs != want {
		t.Errorf("over a file: exit %d, %q, %q", code, out, errs)
	}
	// A name that a program reserved by an empty file is taken.
	empty := filepath.Join(t.TempDir(), "reserved")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if path, out := h.document("--out", empty); path != empty || out != doc {
		t.Errorf("reserved name: %s", path)
	}
	if info, err := os.Stat(first); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	after, err := os.ReadFile(s.LogPath())
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the log was changed")
	}
}

func TestExportFallsBackToTemp(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for root no directory is closed")
	}
	h := newExportHome(t)
	h.session(h.cwd, "hi")
	if err := os.Chmod(h.cwd, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	if path, _ := h.document(); filepath.Dir(path) != os.TempDir() {
		t.Errorf("written to %s", path)
	}
}

func TestExportRedacted(t *testing.T) {
	h := newExportHome(t)
	const secret = "sk-abcdefgh12345678"
	h.session(h.cwd, "use "+secret)
	if _, doc := h.document(); !strings.Contains(doc, secret) || !strings.Contains(doc, `"redaction":"raw"`) {
		t.Error("the raw document is not raw")
	}
	if _, doc := h.document("--redacted"); strings.Contains(doc, secret) || !strings.Contains(doc, `"redaction":"redacted"`) {
		t.Error("the redacted document is not redacted")
	}
}

func TestExportErrors(t *testing.T) {
	h := newExportHome(t)
	dir := t.TempDir()
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no sessions", nil, 1, "export failed: no retained sessions found for this workspace\nRecovery: pass --session <id|path>\n"},
		{"unknown id", []string{"--session", ident.V4()}, 1, "export failed: session not found: "},
		{"neither", []string{"--session", "nope"}, 1, "export failed: no session nope: it is neither a file nor a session id\n"},
		{"directory without a log", []string{"--session", dir}, 1, "export failed: stat " + filepath.Join(dir, "session.jsonl")},
		{"both", []string{"--session", "x", "--last"}, 2, "--session and --last exclude each other\n"},
		{"empty session", []string{"--session="}, 2, "--session is empty\n"},
		{"empty out", []string{"--out", ""}, 2, "--out is empty\n"},
		{"twice", []string{"--last", "--last"}, 2, "option --last was given twice\n"},
		{"argument", []string{"x"}, 2, `unknown command "x"`},
		{"unknown flag", []string{"--nope"}, 2, "unknown option --nope\n"},
	}
	for _, tt := range tests {
		code, out, errs := h.run(tt.args...)
		if code != tt.code || out != "" || !strings.HasPrefix(errs, tt.want) {
			t.Errorf("%s: exit %d, %q, %q; want %d, %q", tt.name, code, out, errs, tt.code, tt.want)
		}
	}
	s := h.session(h.cwd, "hi")
	if code, _, errs := h.run("--session", s.ID, "--out", filepath.Join(dir, "no", "where")); code != 1 || !strings.Contains(errs, "could not write") {
		t.Errorf("no directory: exit %d, %q", code, errs)
	}
	if code, _, errs := h.run("--session", s.ID, "--out", dir); code != 1 || !strings.Contains(errs, "could not write") {
		t.Errorf("a directory: exit %d, %q", code, errs)
	}
	if entries, err := os.ReadDir(h.cwd); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestExportLeavesNoHalfDocument lets the reading fail in the middle.
func TestExportLeavesNoHalfDocument(t *testing.T) {
	h := newExportHome(t)
	h.session(h.cwd, "hi")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	env := Env{
		Getenv: func(name string) string { return map[string]string{"HOME": h.home}[name] },
		Getwd:  func() (string, error) { return h.cwd, nil }, Now: func() time.Time { return h.now },
	}
	empty := filepath.Join(t.TempDir(), "reserved")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"", "x.json", empty} {
		if _, err := export(ctx, &env, exportOptions{out: out}); !errors.Is(err, context.Canceled) {
			t.Errorf("out %q: %v", out, err)
		}
	}
	if entries, err := os.ReadDir(h.cwd); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if info, err := os.Stat(empty); err != nil || info.Size() != 0 {
		t.Errorf("the reserved file: %v, %v", info, err)
	}
}
