package instructions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project makes files below a new directory and returns it.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ids(r Rules) string {
	var out []string
	for _, b := range r.Blocks {
		out = append(out, b.ID)
	}
	return strings.Join(out, " ")
}

const git = ".git/HEAD"

func TestProjectLevels(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		dir     string
		trusted bool
		want    string
	}{
		{"untrusted", map[string]string{git: "x", "AGENTS.md": "a"}, "", false, ""},
		{"top", map[string]string{git: "x", "AGENTS.md": "a"}, "", true, "rules.project:AGENTS.md"},
		{"agents before claude", map[string]string{git: "x", "AGENTS.md": "a", "CLAUDE.md": "c"}, "", true, "rules.project:AGENTS.md"},
		{"claude as fallback", map[string]string{git: "x", "CLAUDE.md": "c"}, "", true, "rules.project:CLAUDE.md"},
		{"in .agents", map[string]string{git: "x", ".agents/AGENTS.md": "c", "CLAUDE.md": "c"}, "", true, "rules.project:.agents/AGENTS.md"},
		{"in .claude", map[string]string{git: "x", ".claude/CLAUDE.md": "c"}, "", true, "rules.project:.claude/CLAUDE.md"},
		{"each level", map[string]string{git: "x", "AGENTS.md": "a", "b/CLAUDE.md": "b", "b/c/AGENTS.md": "c", "b/c/d/AGENTS.md": "d", "e/AGENTS.md": "e"}, "b/c", true,
			"rules.project:AGENTS.md rules.project:b/CLAUDE.md rules.project:b/c/AGENTS.md"},
		{"above the top", map[string]string{"AGENTS.md": "a", "p/.git/HEAD": "x", "p/AGENTS.md": "p"}, "p", true, "rules.project:AGENTS.md"},
		{"no working tree", map[string]string{"AGENTS.md": "a", "b/AGENTS.md": "b"}, "b", true, "rules.project:AGENTS.md"},
		{"worktree file", map[string]string{".git": "gitdir: /x", "AGENTS.md": "a", "s/AGENTS.md": "s"}, "s", true, "rules.project:AGENTS.md rules.project:s/AGENTS.md"},
		{"empty", map[string]string{git: "x", "AGENTS.md": " \n"}, "", true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(project(t, tc.files), tc.dir)
			r := Load(Options{Dir: dir, Trusted: tc.trusted})
			if got := ids(r); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings: %q", r.Warnings)
			}
		})
	}
}

func TestUserRules(t *testing.T) {
	all := map[string]string{
		"config/AGENTS.md": "one", "config/CLAUDE.md": "two",
		"home/.claude/CLAUDE.md": "three", "codex/AGENTS.md": "four", "home/.codex/AGENTS.md": "five",
	}
	order := []string{"config/AGENTS.md", "config/CLAUDE.md", "home/.claude/CLAUDE.md", "codex/AGENTS.md"}
	dir := project(t, all)
	o := Options{Dir: dir, ConfigDir: filepath.Join(dir, "config"), Home: filepath.Join(dir, "home"), CodexHome: filepath.Join(dir, "codex")}
	for _, name := range order {
		r := Load(o)
		if len(r.Blocks) != 1 || !strings.HasSuffix(r.Blocks[0].Text, "\n\n"+all[name]) {
			t.Fatalf("want %s, got %+v", name, r.Blocks)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if r := Load(o); len(r.Blocks) != 0 {
		t.Errorf("CODEX_HOME is set, its default is not looked at: %+v", r.Blocks)
	}
	o.CodexHome = ""
	if r := Load(o); len(r.Blocks) != 1 {
		t.Errorf("the default of CODEX_HOME: %+v", r.Blocks)
	}
	o.NoForeign = true
	if r := Load(o); len(r.Blocks) != 0 {
		t.Errorf("foreign rules in spite of NoForeign: %+v", r.Blocks)
	}
}

func TestUserRulesComeFirstAndWithoutTrust(t *testing.T) {
	dir := project(t, map[string]string{"c/AGENTS.md": "mine", "p/.git/HEAD": "x", "p/AGENTS.md": "theirs"})
	o := Options{Dir: filepath.Join(dir, "p"), ConfigDir: filepath.Join(dir, "c")}
	if got := ids(Load(o)); got != "rules.user" {
		t.Errorf("untrusted: %q", got)
	}
	o.Trusted = true
	if got := ids(Load(o)); got != "rules.user rules.project:AGENTS.md" {
		t.Errorf("trusted: %q", got)
	}
	o.Dir = o.ConfigDir
	if got := ids(Load(o)); got != "rules.user" {
		t.Errorf("the same file twice: %q", got)
	}
}

func TestLimits(t *testing.T) {
	dir := project(t, map[string]string{
		git: "x", "AGENTS.md": strings.Repeat("top line\n", 5000), "d/AGENTS.md": strings.Repeat("deep line\n", 4000),
		"big/AGENTS.md": strings.Repeat("x", maxRulesFile+1),
		"bin/AGENTS.md": "a\x00b",
	})
	r := Load(Options{Dir: filepath.Join(dir, "d"), Trusted: true})
	total := 0
	for _, b := range r.Blocks {
		total += len(b.Text)
	}
	if total > maxRulesTotal+1000 || len(r.Blocks) != 2 {
		t.Errorf("%d blocks with %d bytes", len(r.Blocks), total)
	}
	if !strings.HasSuffix(r.Blocks[1].Text, "deep line") || strings.Count(r.Blocks[1].Text, "deep line") != 4000 {
		t.Error("the deepest file was cut")
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "is cut to") {
		t.Errorf("warnings: %q", r.Warnings)
	}
	for _, sub := range []string{"big", "bin"} {
		r := Load(Options{Dir: filepath.Join(dir, sub), Trusted: true})
		if len(r.Blocks) != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "is not used") {
			t.Errorf("%s: %s %q", sub, ids(r), r.Warnings)
		}
	}
}

func TestRulesDoNotLeaveTheTree(t *testing.T) {
	dir := project(t, map[string]string{"p/.git/HEAD": "x", "secret": "secret", "p/docs/RULES.md": "inside"})
	p := filepath.Join(dir, "p")
	link := filepath.Join(p, "AGENTS.md")
	for _, target := range []string{"../secret", filepath.Join(dir, "secret")} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip("no symbolic links here:", err)
		}
		r := Load(Options{Dir: p, Trusted: true})
		if len(r.Blocks) != 0 || len(r.Warnings) != 1 {
			t.Errorf("%s: %+v %q", target, r.Blocks, r.Warnings)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("docs/RULES.md", link); err != nil {
		t.Fatal(err)
	}
	if r := Load(Options{Dir: p, Trusted: true}); len(r.Blocks) != 1 || !strings.Contains(r.Blocks[0].Text, "inside") {
		t.Errorf("a link inside: %+v %q", r.Blocks, r.Warnings)
	}
}

func TestBaseIsShort(t *testing.T) {
	if n := len(Base()); n > 2560 {
		t.Errorf("the base prompt has %d bytes, more than 2.5 KB", n)
	}
}

func TestEnvironment(t *testing.T) {
	b := Environment(Facts{Dir: "/w", OS: "linux/amd64", Branch: "main", Now: time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC), Notes: []string{"Network: none"}})
	want := "Workspace: /w\nSystem: linux/amd64\nDate: 2026-11-30\nGit branch: main\nNetwork: none"
	if b.Text != want || b.Order != 85 {
		t.Errorf("got %q", b.Text)
	}
	if b := Environment(Facts{Dir: "/w", Commit: "0123456789ab"}); !strings.Contains(b.Text, "commit 0123456789ab") {
		t.Errorf("got %q", b.Text)
	}
}
