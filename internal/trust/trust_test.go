package trust_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/trust"
)

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func setup(t *testing.T) (trust.Store, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "ws")
	write(t, root, "AGENTS.md", "be kind")
	write(t, root, "main.go", "package main")
	return trust.Store{Path: filepath.Join(base, "config", "trust.json")}, root
}

func check(t *testing.T, s trust.Store, dir string) trust.Status {
	t.Helper()
	st, err := s.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func add(t *testing.T, s trust.Store, dir string) {
	t.Helper()
	if _, err := s.Set(t.Context(), dir, trust.Trusted, ""); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyIsTrustedAtFirst(t *testing.T) {
	s, root := setup(t)
	if st := check(t, s, root); st.Trusted || st.Decision != "" || st.Reason == "" {
		t.Errorf("%+v", st)
	}
}

func TestTrustIsBoundToContent(t *testing.T) {
	for name, change := range map[string]func(*testing.T, string){
		"rules file changed":      func(t *testing.T, r string) { write(t, r, "AGENTS.md", "be evil") },
		"rules file gone":         func(t *testing.T, r string) { remove(t, r, "AGENTS.md") },
		"CLAUDE.md added":         func(t *testing.T, r string) { write(t, r, "CLAUDE.md", "x") },
		"hooks added":             func(t *testing.T, r string) { write(t, r, ".muse/hooks.json", "{}") },
		"rules of commands added": func(t *testing.T, r string) { write(t, r, ".muse/permissions.json", "{}") },
		"MCP entry added":         func(t *testing.T, r string) { write(t, r, ".mcp.json", "{}") },
		"skill added":             func(t *testing.T, r string) { write(t, r, ".agents/skills/x/SKILL.md", "x") },
		"agent added":             func(t *testing.T, r string) { write(t, r, ".agents/agents/deep/x.md", "x") },
		"workflow added":          func(t *testing.T, r string) { write(t, r, ".agents/workflows/x.js", "x") },
		"foreign rules added":     func(t *testing.T, r string) { write(t, r, ".claude/CLAUDE.md", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			s, root := setup(t)
			add(t, s, root)
			if st := check(t, s, root); !st.Trusted || !slices.Equal(st.Files, []string{"AGENTS.md"}) {
				t.Fatalf("%+v", st)
			}
			write(t, root, "main.go", "package other")
			if st := check(t, s, root); !st.Trusted {
				t.Fatalf("an ordinary file changed: %+v", st)
			}
			change(t, root)
			if st := check(t, s, root); st.Trusted || len(st.Changed) != 1 || !strings.Contains(st.Reason, "changed") {
				t.Errorf("%+v", st)
			}
			add(t, s, root)
			if st := check(t, s, root); !st.Trusted {
				t.Errorf("trusted again: %+v", st)
			}
		})
	}
}

func remove(t *testing.T, root, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func TestRulesAboveCount(t *testing.T) {
	s, repo := setup(t)
	root := filepath.Join(repo, "a", "b")
	write(t, root, "x", "")
	add(t, s, root)
	write(t, repo, "a/AGENTS.md", "no repository: does not load")
	if st := check(t, s, root); !st.Trusted {
		t.Errorf("%+v", st)
	}
	write(t, repo, ".git/HEAD", "x")
	if st := check(t, s, root); st.Trusted || !slices.Contains(st.Changed, "../AGENTS.md") || !slices.Contains(st.Changed, "../../AGENTS.md") {
		t.Errorf("%+v", st)
	}
}

func TestTrustIsNotInherited(t *testing.T) {
	s, root := setup(t)
	add(t, s, root)
	sub := filepath.Join(root, "sub")
	write(t, sub, "x", "")
	if st := check(t, s, sub); st.Trusted {
		t.Error("a directory below is trusted")
	}
	if st := check(t, s, filepath.Dir(root)); st.Trusted {
		t.Error("the directory above is trusted")
	}
}

func TestAnotherDirectoryAtThePath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories have no number there")
	}
	s, root := setup(t)
	add(t, s, root)
	if err := os.Rename(root, root+".old"); err != nil {
		t.Fatal(err)
	}
	write(t, root, "AGENTS.md", "be kind")
	if st := check(t, s, root); st.Trusted || !strings.Contains(st.Reason, "another directory") {
		t.Errorf("%+v", st)
	}
}

func TestLinksCountByWhereTheyLead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("making links needs rights there")
	}
	s, root := setup(t)
	write(t, root, "../elsewhere/rules.md", "one")
	remove(t, root, "AGENTS.md")
	if err := os.Symlink("../elsewhere/rules.md", filepath.Join(root, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	add(t, s, root)
	if st := check(t, s, root); !st.Trusted {
		t.Fatalf("%+v", st)
	}
	write(t, root, "../elsewhere/rules.md", "two")
	if st := check(t, s, root); st.Trusted {
		t.Error("the target of a link changed unseen")
	}
	link := filepath.Join(filepath.Dir(root), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	add(t, s, link)
	if st := check(t, s, root); !st.Trusted || st.Root != root {
		t.Errorf("a workspace reached over a link: %+v", st)
	}
}

func TestShownFilesAreTheTrustedOnes(t *testing.T) {
	s, root := setup(t)
	shown, err := trust.Take(root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, "AGENTS.md", "swapped while the person was reading")
	if _, err := s.Set(t.Context(), root, trust.Trusted, shown.Sum); err == nil {
		t.Error("files that nobody saw are trusted")
	}
	if st := check(t, s, root); st.Trusted {
		t.Error("trusted")
	}
}

func TestUntrustedStays(t *testing.T) {
	s, root := setup(t)
	add(t, s, root)
	if _, err := s.Set(t.Context(), root, trust.Untrusted, ""); err != nil {
		t.Fatal(err)
	}
	if st := check(t, s, root); st.Trusted || st.Decision != trust.Untrusted {
		t.Errorf("%+v", st)
	}
}

// TestFileFormat: the documented shape is read, what others wrote there stays,
// and an entry that binds to nothing is not trust.
func TestFileFormat(t *testing.T) {
	s, root := setup(t)
	quoted, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	old := "{\n  \"schema_version\": 1,\n  \"future\": {\"a\": [1, 2]},\n  \"projects\": {\n    " + string(quoted) + ": {\"decision\": \"trusted\", \"note\": \"mine\"},\n    \"/other\": {\"decision\": \"untrusted\"}\n  }\n}\n"
	write(t, filepath.Dir(s.Path), "trust.json", old)
	st := check(t, s, root)
	if st.Trusted || st.Decision != trust.Trusted || !strings.Contains(st.Reason, "does not bind") {
		t.Errorf("%+v", st)
	}
	add(t, s, root)
	data, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Version  int            `json:"schema_version"`
		Future   map[string]any `json:"future"`
		Projects map[string]struct {
			Decision string         `json:"decision"`
			Note     string         `json:"note"`
			Own      map[string]any `json:"openmuse"`
		} `json:"projects"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	p := doc.Projects[root]
	if doc.Version != 1 || len(doc.Future) != 1 || p.Decision != "trusted" || p.Note != "mine" || p.Own["content"] == "" || doc.Projects["/other"].Decision != "untrusted" {
		t.Errorf("%s", data)
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[0].Root != "/other" && list[1].Root != "/other" {
		t.Errorf("%+v %v", list, err)
	}
	if info, err := os.Stat(s.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if found, err := s.Remove(t.Context(), root); !found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if found, err := s.Remove(t.Context(), root); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if st := check(t, s, root); st.Decision != "" {
		t.Errorf("%+v", st)
	}
	if found, err := s.Remove(t.Context(), "/other"); !found || err != nil {
		t.Errorf("a path that is gone: %v %v", found, err)
	}
}

// TestDamagedRecordTrustsNothing (THREATS.md 8).
func TestDamagedRecordTrustsNothing(t *testing.T) {
	s, root := setup(t)
	add(t, s, root)
	good, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "{", "[]", `{"schema_version": 7, "projects": {}}`, `{"projects": []}`, `{"projects": {}, "projects": {}}`,
		strings.Replace(string(good), `"trusted"`, `"perhaps"`, 1),
		strings.Replace(string(good), `"content":`, `"content": 1, "x":`, 1),
		string(good[:len(good)-10]),
	} {
		if err := os.WriteFile(s.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if st, err := s.Check(root); st.Trusted || err == nil {
			t.Errorf("%.60q: %+v %v", text, st, err)
		}
		if _, err := s.Set(t.Context(), root, trust.Trusted, ""); err == nil && text != "" && !strings.Contains(text, "perhaps") && !strings.Contains(text, "x") {
			t.Errorf("%.60q was overwritten", text)
		}
	}
}

// TestWritersTakeTurns: two programs that trust at once lose nothing.
func TestWritersTakeTurns(t *testing.T) {
	s, root := setup(t)
	var wg sync.WaitGroup
	for i := range 8 {
		dir := filepath.Join(filepath.Dir(root), "p"+string(rune('0'+i)))
		write(t, dir, "AGENTS.md", "x")
		wg.Go(func() {
			if _, err := s.Set(t.Context(), dir, trust.Trusted, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := s.List(); err != nil || len(list) != 8 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

func TestNotADirectory(t *testing.T) {
	s, root := setup(t)
	for _, dir := range []string{filepath.Join(root, "main.go"), filepath.Join(root, "missing")} {
		if st, err := s.Check(dir); err == nil || st.Trusted {
			t.Errorf("%s: %+v %v", dir, st, err)
		}
	}
}
