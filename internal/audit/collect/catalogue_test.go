package collect

import (
	"strings"
	"testing"
)

func TestBuiltinCatalogue(t *testing.T) {
	c, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	// Every place that seed 000 names must have a rule.
	want := map[string][]string{
		"entry":      {".config/muse", ".local/share/muse", ".muse", ".local/bin/.muse-*", "AppData/Local/Programs/muse", "AppData/LocalLow/muse-shell-sandbox-*"},
		"exclude":    {".local/share/muse/plugins/cache/builtin", ".local/share/muse/skills/bundled", ".local/share/muse/plugins/marketplaces", ".local/bin/.muse-update.*", "AppData/Local/Programs/muse/muse-bin-*.exe", "AppData/Local/Programs/muse/.muse-update.*.exe", ".muse/worktrees"},
		"credential": {".config/muse/auth.json"},
		"sensitive":  {".config/muse/settings.json"},
		"project":    {"AGENTS.md", "CLAUDE.md", ".muse", ".agents", ".mcp.json", ".claude/settings*.json"},
		"system":     {"Library/Application Support/muse"},
	}
	for kind, patterns := range want {
		for _, p := range patterns {
			found := false
			for _, r := range c.of(kind, "") {
				found = found || r.Pattern == p
			}
			if !found {
				t.Errorf("no %s rule for %s", kind, p)
			}
		}
	}
}

func TestMatcher(t *testing.T) {
	c, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		system, kind, rel string
		fold, want        bool
	}{
		{"linux", "exclude", ".local/share/muse/skills/bundled", false, true},
		{"linux", "exclude", ".local/share/muse/skills/bundled/muse-core/x", false, true},
		{"linux", "exclude", ".local/share/muse/skills/bundled2", false, false},
		{"linux", "exclude", ".local/share/muse/plugins/cache/local/mine", false, false},
		{"linux", "exclude", ".local/bin/.muse-update-lock", false, false},
		{"linux", "exclude", ".local/bin/.muse-update.Ab12cD/muse", false, true},
		{"windows", "exclude", "appdata/local/programs/MUSE/muse-bin-1.4.2.exe", true, true},
		{"windows", "exclude", "AppData/Local/Programs/muse/.muse-launcher.ps1", true, false},
		{"windows", "credential", ".Config/Muse/AUTH.json", true, true},
		{"linux", "credential", ".config/muse/AUTH.json", false, false},
		{"linux", "credential", ".config/muse/.auth.json.lock", false, false},
	}
	for _, tt := range tests {
		_, got := c.matcher(tt.system, tt.fold).find(tt.kind, tt.rel)
		if got != tt.want {
			t.Errorf("%s %s %s fold=%v: %v, want %v", tt.system, tt.kind, tt.rel, tt.fold, got, tt.want)
		}
	}
}

func TestParseCatalogueRefuses(t *testing.T) {
	for _, line := range []string{
		"entry | any | a", "what | any | a | n", "entry | any | | n", "entry | any | /abs | n",
		"entry | any | ../up | n", "entry | any | a/[ | n", "entry | any | a//b | n",
	} {
		if _, err := ParseCatalogue("# head\n" + line + "\n"); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v, want an error that names line 2", line, err)
		}
	}
}

func TestOutName(t *testing.T) {
	tests := []struct {
		name    string
		windows bool
		want    string
	}{
		{"session.jsonl", false, "session.jsonl"},
		{"a\\b", false, "a%5Cb"},
		{"..", false, "%2E%2E"},
		{"bell\a\n", false, "bell%07%0A"},
		{"bad\xff", false, "bad%FF"},
		{"müse", false, "müse"},
		{"c:d", true, "c%3Ad"},
		{"nul.txt", true, "nul.txt%"},
		{"com1", true, "com1%"},
		{"dot.", true, "dot.%"},
		{"c:d", false, "c:d"},
	}
	for _, tt := range tests {
		if got := outName(tt.name, tt.windows); got != tt.want {
			t.Errorf("outName(%q, %v) = %q, want %q", tt.name, tt.windows, got, tt.want)
		}
	}
}

func TestLogTap(t *testing.T) {
	record := func(kind, rest string) string {
		return `{"schema_version":1,"stream":{"kind":"session","id":"s"},"payload_type":"` + kind + `","payload":{` + rest + "}}\n"
	}
	log := record("runtime.session.metadata", `"record":{"workspace_root":"/srv/proj"},"text":"\"cwd\":\"/not/this\""`) +
		record("runtime.session", `"event":{"cwd":"/not/of/the/session"},"x":"`+strings.Repeat("y", 3000)+`"`) +
		record("runtime.session.route_facts", `"record":{"cwd":"C:\\Users\\ann\\p q\\"}`) +
		`{"cwd":"/without/a/type"}` + "\n" + strings.Repeat("z", tapLine+10) + `"cwd":"/too/far"` + "\n" + `{"cwd":"/last/line"}`
	const want = `/last/line|/srv/proj|/without/a/type|C:\Users\ann\p q\`
	for cut := range 3600 {
		tap := newLogTap()
		tap.see([]byte(log[:cut]))
		tap.see([]byte(log[cut:]))
		tap.end()
		if got := strings.Join(tap.found.list(), "|"); got != want {
			t.Fatalf("cut at %d: %s", cut, got)
		}
	}
}
