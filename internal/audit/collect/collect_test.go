package collect

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

var mtime = time.Date(2026, 10, 4, 20, 20, 26, 590_500_100, time.UTC)

// disk lays out files below a fresh directory; a name that ends in "->target"
// is a link, one that ends in "/" a directory.
func disk(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if link, target, ok := strings.Cut(name, "->"); ok {
			mustMkdir(t, filepath.Join(root, filepath.Dir(link)))
			if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			continue
		}
		p := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			mustMkdir(t, p)
			continue
		}
		mustMkdir(t, filepath.Dir(p))
		if err := os.WriteFile(p, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, mtime, mtime); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func mustMkdir(t *testing.T, p string) {
	t.Helper()
	if err := os.MkdirAll(p, 0o755); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, o Options) *Summary {
	t.Helper()
	s, err := tryRun(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryRun(o Options) (*Summary, error) {
	o.Now = func() time.Time { return mtime }
	o.Tool = "test"
	return Run(context.Background(), o)
}

func manifest(t *testing.T, dir string) map[string]Entry {
	t.Helper()
	entries, err := readEntries(filepath.Join(dir, manifestName))
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]Entry{}
	for _, e := range entries {
		m[e.Path] = e
	}
	return m
}

const sessionLog = `{"schema_version":1,"stream":{"kind":"session","id":"s"},"payload_type":"runtime.session.metadata","payload":{"record":{"workspace_root":"/srv/proj"}}}` + "\n"

func linuxDisk(t *testing.T) string {
	return disk(t, map[string]string{
		"home/bob/.config/muse/settings.json":                                        `{"mcpServers":{}}`,
		"home/bob/.config/muse/auth.json":                                            `{"secret":1}`,
		"home/bob/.config/muse/trust.json":                                           `{"projects":{"/srv/trusted":{"decision":"trusted"},"/gone":{"decision":"trusted"}}}`,
		"home/bob/.local/share/muse/sessions/2026/10/01/s/session.jsonl":             sessionLog,
		"home/bob/.local/share/muse/sessions/2026/10/01/s/tool-outputs/t/c-bash.txt": "out",
		"home/bob/.local/share/muse/tui-history.jsonl":                               "\"p\"\n{\"project\":\"/srv/history\",\"session\":\"s\"}\n",
		"home/bob/.local/share/muse/plugins/cache/builtin/x/y":                       "bundled",
		"home/bob/.local/share/muse/plugins/cache/local/mine/SKILL.md":               "mine",
		"home/bob/.muse/projects/p/tracking.json":                                    `{"any":["/srv/tracked"]}`,
		"home/bob/.local/bin/.muse-version":                                          "1.4.2",
		"home/bob/.local/bin/.muse-update.abc/muse":                                  "binary",
		"home/bob/.local/bin/muse-bin-1.4.2":                                         "binary",
		"home/bob/.local/share/muse/evil->/etc":                                      "",
		"home/bob/.bashrc":                                                           "not wanted",
		"srv/proj/AGENTS.md":                                                         "rules",
		"srv/proj/.muse/hooks.json":                                                  "{}",
		"srv/proj/.muse/worktrees/w/main.go":                                         "checkout",
		"srv/proj/main.go":                                                           "not wanted",
		"srv/trusted/CLAUDE.md":                                                      "rules",
		"srv/history/.agents/plans/p.md":                                             "plan",
		"srv/tracked/.mcp.json":                                                      "{}",
		"etc/passwd":                                                                 "root:x",
		"root/.config/muse/settings.json":                                            "{}",
	})
}

func TestCollectLinux(t *testing.T) {
	root := linuxDisk(t)
	out := filepath.Join(t.TempDir(), "out")
	s := run(t, Options{Root: root, Out: out})
	m := manifest(t, out)
	taken := []string{
		"/home/bob/.config/muse/settings.json", "/home/bob/.config/muse/trust.json",
		"/home/bob/.local/share/muse/sessions/2026/10/01/s/session.jsonl",
		"/home/bob/.local/share/muse/sessions/2026/10/01/s/tool-outputs/t/c-bash.txt",
		"/home/bob/.local/share/muse/tui-history.jsonl", "/home/bob/.local/share/muse/plugins/cache/local/mine/SKILL.md",
		"/home/bob/.muse/projects/p/tracking.json", "/home/bob/.local/bin/.muse-version", "/root/.config/muse/settings.json",
		"/srv/proj/AGENTS.md", "/srv/proj/.muse/hooks.json", "/srv/trusted/CLAUDE.md", "/srv/history/.agents/plans/p.md", "/srv/tracked/.mcp.json",
	}
	for _, p := range taken {
		e, ok := m[p]
		if !ok || e.Status != Collected {
			t.Errorf("%s: %+v, want it collected", p, e)
			continue
		}
		want, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(out, e.Out))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: copy differs: %v", p, err)
		}
		sum := sha256.Sum256(want)
		if e.SHA256 != hex.EncodeToString(sum[:]) || e.Size != int64(len(want)) || e.Mode != "0640" || !e.ModTime.Equal(mtime) {
			t.Errorf("%s: wrong facts %+v", p, e)
		}
		info, err := os.Stat(filepath.Join(out, e.Out))
		if err != nil || !info.ModTime().Equal(mtime) || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: copy has time %v mode %v: %v", p, info.ModTime(), info.Mode(), err)
		}
	}
	for p, status := range map[string]Status{
		"/home/bob/.config/muse/auth.json":                  Credential,
		"/home/bob/.local/share/muse/plugins/cache/builtin": Excluded,
		"/home/bob/.local/bin/.muse-update.abc":             Excluded,
		"/srv/proj/.muse/worktrees":                         Excluded,
		"/home/bob/.local/share/muse/evil":                  Link,
	} {
		if m[p].Status != status || m[p].Out != "" {
			t.Errorf("%s: %+v, want %s without a copy", p, m[p], status)
		}
	}
	for p := range m {
		if strings.Contains(p, "main.go") || strings.Contains(p, "passwd") || strings.HasSuffix(p, ".bashrc") || strings.Contains(p, "muse-bin") {
			t.Errorf("%s is in the manifest", p)
		}
	}
	if !m["/home/bob/.config/muse/settings.json"].Sensitive {
		t.Error("settings.json is not marked sensitive")
	}
	if i := slices.IndexFunc(s.Bases, func(b *BaseSummary) bool { return b.Path == "/gone" }); i < 0 || !s.Bases[i].Missing {
		t.Error("a project that is not on the disk is not in the summary")
	}
	report, err := os.ReadFile(filepath.Join(out, reportName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"credentials, not collected:\n  /home/bob/.config/muse/auth.json", "can hold secrets", "/gone: not on this disk", "look by hand"} {
		if !strings.Contains(string(report), want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	if _, err := os.Stat(filepath.Join(out, journalName)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the journal of a finished collection is still there")
	}
}

// TestLargeFile: a file of several pieces comes over whole and is hashed right.
func TestLargeFile(t *testing.T) {
	root := disk(t, map[string]string{"home/bob/.local/share/muse/": ""})
	for i, size := range []int{bufferSize - 1, bufferSize, bufferSize + 1, copyPiece, 2*copyPiece + 77} {
		data := bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size]
		name := filepath.Join("home/bob/.local/share/muse", string(rune('a'+i)))
		if err := os.WriteFile(filepath.Join(root, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		run(t, Options{Root: root, Out: out})
		e := manifest(t, out)["/"+name]
		got, err := os.ReadFile(filepath.Join(out, e.Out))
		sum := sha256.Sum256(data)
		if err != nil || !bytes.Equal(got, data) || e.SHA256 != hex.EncodeToString(sum[:]) || e.Copied != int64(size) {
			t.Errorf("%d bytes: %+v, %v", size, e, err)
		}
	}
}

func TestCredentialsWhenAsked(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, Options{Root: linuxDisk(t), Out: out, IncludeCredentials: true})
	if e := manifest(t, out)["/home/bob/.config/muse/auth.json"]; e.Status != Collected || !e.Sensitive {
		t.Errorf("auth.json: %+v", e)
	}
}

func TestOtherSystems(t *testing.T) {
	root := disk(t, map[string]string{
		"Users/Ann/AppData/LOCAL/Programs/Muse/.muse-version":             "1.4.2",
		"Users/Ann/AppData/LOCAL/Programs/Muse/Muse-Bin-1.4.2.EXE":        "binary",
		"Users/Ann/AppData/LocalLow/muse-shell-sandbox-s/tmp.txt":         "scratch",
		"Users/Ann/.Config/muse/Settings.json":                            "{}",
		"Users/Ann/.Config/muse/Auth.json":                                "{}",
		"Users/Ann/.local/share/muse/sessions/2026/10/01/s/session.jsonl": `{"cwd":"C:\\Work\\Proj"}` + "\n",
		"Work/Proj/AGENTS.md":                                             "rules",
		"Users/Mac/Library/x":                                             "",
		"Users/Mac/.local/bin/.muse-version":                              "1.4.2",
		"Library/Application Support/muse/enterprise-policy.json":         "{}",
	})
	out := filepath.Join(t.TempDir(), "out")
	run(t, Options{Root: root, Out: out})
	m := manifest(t, out)
	for p, want := range map[string]Status{
		"/Users/Ann/AppData/LOCAL/Programs/Muse/.muse-version":             Collected,
		"/Users/Ann/AppData/LOCAL/Programs/Muse/Muse-Bin-1.4.2.EXE":        Excluded,
		"/Users/Ann/AppData/LocalLow/muse-shell-sandbox-s/tmp.txt":         Collected,
		"/Users/Ann/.Config/muse/Settings.json":                            Collected,
		"/Users/Ann/.Config/muse/Auth.json":                                Credential,
		"/Users/Ann/.local/share/muse/sessions/2026/10/01/s/session.jsonl": Collected,
		"/Work/Proj/AGENTS.md":                                             Collected,
		"/Users/Mac/.local/bin/.muse-version":                              Collected,
		"/Library/Application Support/muse/enterprise-policy.json":         Collected,
	} {
		if m[p].Status != want {
			t.Errorf("%s: %q, want %q", p, m[p].Status, want)
		}
	}
}

func TestLinksStayInside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := disk(t, map[string]string{
		"data/sessions/2026/10/01/s/session.jsonl":                  sessionLog,
		"data/conf/settings.json":                                   "{}",
		"home/bob/.local/share/muse/sessions->/data/sessions":       "",
		"home/bob/.config->../../data":                              "",
		"home/eve/.config/muse->" + filepath.Dir(outside):           "",
		"home/eve/.local/share/muse/sessions->../../../../../../..": "",
		"data/muse->conf":                                           "",
	})
	out := filepath.Join(t.TempDir(), "out")
	run(t, Options{Root: root, Out: out, Homes: []string{"home/*"}})
	m := manifest(t, out)
	log := m["/home/bob/.local/share/muse/sessions/2026/10/01/s/session.jsonl"]
	if log.Status != Collected || log.Resolved != "data/sessions/2026/10/01/s/session.jsonl" {
		t.Errorf("the log behind a link: %+v", log)
	}
	if e := m["/home/bob/.config/muse/settings.json"]; e.Status != Collected {
		t.Errorf("settings behind two links: %+v", e)
	}
	for p, e := range m {
		if strings.Contains(p, "secret") || strings.Contains(e.Resolved, "secret") {
			t.Errorf("the outside was reached: %+v", e)
		}
	}
}

func TestDatabaseWithItsLog(t *testing.T) {
	root := disk(t, map[string]string{"home/bob/.local/share/muse/": ""})
	name := filepath.Join(root, "home/bob/.local/share/muse/session-index.db")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0",
		"CREATE TABLE sessions(workspace_root TEXT, workspace_key TEXT)", "INSERT INTO sessions VALUES('/srv/indexed','/srv/indexed')"} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	mustMkdir(t, filepath.Join(root, "srv/indexed"))
	if err := os.WriteFile(filepath.Join(root, "srv/indexed/AGENTS.md"), []byte("rules"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	run(t, Options{Root: root, Out: out})
	m := manifest(t, out)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		e := m["/home/bob/.local/share/muse/session-index.db"+suffix]
		if e.Status != Collected || e.Group != "/home/bob/.local/share/muse/session-index.db" || e.Changed {
			t.Errorf("session-index.db%s: %+v", suffix, e)
		}
	}
	if m["/srv/indexed/AGENTS.md"].Status != Collected {
		t.Error("a project that only the index names was not found")
	}
	copied, err := sql.Open("sqlite", filepath.Join(out, "files/home/bob/.local/share/muse/session-index.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	var got string
	if err := copied.QueryRow("SELECT workspace_root FROM sessions").Scan(&got); err != nil || got != "/srv/indexed" {
		t.Errorf("the copied database says %q, %v", got, err)
	}
}

func TestHostileNames(t *testing.T) {
	root := disk(t, map[string]string{
		"home/bob/.local/share/muse/a\nb\x1b[2J": "one",
		"home/bob/.local/share/muse/..\\..\\up":  "two",
		"home/bob/.local/share/muse/%5C":         "three",
		"home/bob/.local/share/muse/\\":          "four",
		"home/bob/.local/share/muse/d\xff/.. /x": "five",
	})
	dir := filepath.Join(t.TempDir(), "out")
	archive := filepath.Join(t.TempDir(), "out.zip")
	run(t, Options{Root: root, Out: dir})
	run(t, Options{Root: root, Out: archive})
	n := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(p, "muse") {
			n++
			if strings.ContainsAny(strings.TrimPrefix(p, dir), "\n\x1b\\\xff") {
				t.Errorf("raw name in the output: %q", p)
			}
		}
		return err
	})
	if err != nil || n != 5 {
		t.Errorf("%d files: %v", n, err)
	}
	report, err := os.ReadFile(filepath.Join(dir, reportName))
	if err != nil || bytes.ContainsRune(report, 0x1b) {
		t.Errorf("the report lets an escape through: %v", err)
	}
	zr, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	for _, f := range zr.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) || strings.ContainsAny(f.Name, "\n\x1b\\") {
			t.Errorf("bad name in the archive: %q", f.Name)
		}
	}
}

func TestRefusesToHarm(t *testing.T) {
	root := linuxDisk(t)
	if _, err := tryRun(Options{Root: root, Out: filepath.Join(root, "out")}); err == nil || !strings.Contains(err.Error(), "lies in the evidence") {
		t.Errorf("output in the evidence: %v", err)
	}
	busy := t.TempDir()
	if err := os.WriteFile(filepath.Join(busy, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRun(Options{Root: root, Out: busy}); !errors.Is(err, ErrNotOurs) {
		t.Errorf("output with files in it: %v", err)
	}
	old := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryRun(Options{Root: root, Out: old}); !errors.Is(err, ErrNotOurs) {
		t.Errorf("archive that exists: %v", err)
	}
}

func readZip(t *testing.T, name string) map[string]*zip.File {
	t.Helper()
	zr, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { zr.Close() })
	m := map[string]*zip.File{}
	for _, f := range zr.File {
		m[f.Name] = f
	}
	return m
}

func content(t *testing.T, f *zip.File) string {
	t.Helper()
	if f == nil {
		t.Fatal("no such member")
	}
	r, err := f.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r) // checks the CRC at the end
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestZip(t *testing.T) {
	root := linuxDisk(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), (wholeInMemory+bufferSize)/16)
	name := filepath.Join(root, "home/bob/.local/share/muse/big.bin")
	if err := os.WriteFile(name, big, 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.zip")
	run(t, Options{Root: root, Out: out})
	m := readZip(t, out)
	log := m["files/home/bob/.local/share/muse/sessions/2026/10/01/s/session.jsonl"]
	if got := content(t, log); got != sessionLog {
		t.Errorf("log: %q", got)
	}
	// 100 ns is the grain of the time in an archive.
	if !log.Modified.Equal(mtime.Truncate(100*time.Nanosecond)) || log.Mode().Perm() != 0o640 {
		t.Errorf("log has time %v, mode %v", log.Modified, log.Mode())
	}
	if got := content(t, m["files/home/bob/.local/share/muse/big.bin"]); got != string(big) {
		t.Errorf("the large file came back with %d bytes", len(got))
	}
	if !strings.Contains(content(t, m[manifestName]), `"sha256"`) || m[reportName] == nil || m[summaryName] == nil {
		t.Error("the collection's own files are missing")
	}
	for _, left := range []string{out + ".part", out + ".part.jsonl", out + ".part.old"} {
		if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left", left)
		}
	}
}

// TestResume interrupts a collection after some files and goes on.
func TestResume(t *testing.T) {
	for _, kind := range []string{"out", "out.zip"} {
		t.Run(kind, func(t *testing.T) {
			root := linuxDisk(t)
			for i := range 200 {
				p := filepath.Join(root, "home/bob/.local/share/muse/local-tracing", string(rune('a'+i%26))+strings.Repeat("x", i))
				mustMkdir(t, filepath.Dir(p))
				if err := os.WriteFile(p, []byte(strings.Repeat("log ", i)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(t.TempDir(), kind)
			ctx, cancel := context.WithCancel(context.Background())
			_, err := Run(ctx, Options{Root: root, Out: out, Now: time.Now, Progress: func(p Progress) {
				if p.Files == 50 {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted run: %v", err)
			}
			// A copy that is done must not be read again: the evidence is
			// changed behind its back with the same size and time.
			c := collector{opts: Options{Out: out}}
			done, err := readEntries(c.journalPath())
			if err != nil || len(done) == 0 {
				t.Fatalf("journal: %d entries, %v", len(done), err)
			}
			var victim Entry
			for _, e := range done {
				if e.Kind == "file" && e.Size > 8 && e.Status == Collected && strings.Contains(e.Path, "local-tracing") {
					victim = e
				}
			}
			real := filepath.Join(root, victim.Path)
			if err := os.WriteFile(real, []byte(strings.Repeat("#", int(victim.Size))), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(real, victim.ModTime, victim.ModTime); err != nil {
				t.Fatal(err)
			}
			s := run(t, Options{Root: root, Out: out})
			if s.Files < 200 {
				t.Errorf("resumed to %d files", s.Files)
			}
			var got []byte
			if kind == "out" {
				got, err = os.ReadFile(filepath.Join(out, victim.Out))
			} else {
				got = []byte(content(t, readZip(t, out)[victim.Out]))
			}
			if err != nil || bytes.Contains(got, []byte("#")) {
				t.Errorf("%s was copied again: %.20q, %v", victim.Path, got, err)
			}
		})
	}
}

func TestRelocatedHome(t *testing.T) {
	root := disk(t, map[string]string{
		"home/bob/": "",
		"data/muse/sessions/2026/10/01/s/session.jsonl": sessionLog,
		"data/muse/skills/bundled/x":                    "vendor",
		"conf/muse/settings.json":                       "{}",
		"conf/muse/auth.json":                           "{}",
	})
	out := filepath.Join(t.TempDir(), "out")
	env := map[string]string{"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/conf"}
	run(t, Options{Root: root, Out: out, OwnHome: "/home/bob", Getenv: func(k string) string { return env[k] }})
	m := manifest(t, out)
	for p, want := range map[string]Status{
		"/home/bob/.local/share/muse/sessions/2026/10/01/s/session.jsonl": Collected,
		"/home/bob/.local/share/muse/skills/bundled":                      Excluded,
		"/home/bob/.config/muse/settings.json":                            Collected,
		"/home/bob/.config/muse/auth.json":                                Credential,
	} {
		if m[p].Status != want {
			t.Errorf("%s: %q, want %q", p, m[p].Status, want)
		}
	}
	if e := m["/home/bob/.config/muse/settings.json"]; e.Resolved != "conf/muse/settings.json" {
		t.Errorf("relocated file says it is at %q", e.Resolved)
	}
}
