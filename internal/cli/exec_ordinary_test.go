package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOrdinaryWork runs what people let an agent run all day, in a trusted
// workspace under the defaults: nothing is asked, nothing is refused, and the
// programs work inside the sandbox.
func TestOrdinaryWork(t *testing.T) {
	m := newMachine(t, "")
	if code, out, _ := m.muse("sandbox", "check"); code != 0 {
		t.Skip("no sandbox on this machine: " + out)
	}
	for name, text := range map[string]string{
		"hello.txt": "hello\n", "Makefile": "all: built\nbuilt: hello.txt\n\tcp hello.txt built\n",
		"package.json": `{"name":"x","version":"1.0.0","scripts":{"test":"node test.js"}}`, "test.js": "console.log('all pass')\n",
		"test_it.py": "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        open('made-by-test', 'w').close()\n",
	} {
		if err := os.WriteFile(filepath.Join(m.workspace, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", m.workspace, "-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git: %v %s", err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	if err := os.WriteFile(filepath.Join(m.workspace, "hello.txt"), []byte("hello again\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	type step struct{ program, line, prints string }
	var steps []step
	for _, s := range []step{
		{"git", "git status --short", "hello.txt"},
		{"git", "git diff", "+hello again"},
		{"git", "git log --oneline | head -3", "first"},
		{"make", "make", "cp hello.txt built"},
		{"rg", "rg -n hello hello.txt", "1:hello again"},
		{"npm", "npm test", "all pass"},
		{"python3", "python3 -m unittest 2>&1", "OK"},
		{"ls", "ls -la && cat hello.txt", "hello again"},
		{"sed", "sed -n 1,2p hello.txt", "hello again"},
		{"find", "find . -name '*.py' -not -path './.git/*' | xargs wc -l", "test_it.py"},
		{"grep", "grep -rn hello --include='*.txt' .", "hello.txt"},
		{"mkdir", "mkdir -p sub/dir && echo made > sub/dir/file && cat sub/dir/file", "made"},
	} {
		if _, err := exec.LookPath(s.program); err == nil {
			steps = append(steps, s)
		}
	}
	type call struct {
		Name string            `json:"name"`
		Args map[string]string `json:"args"`
	}
	type reply struct {
		Text  string `json:"text,omitempty"`
		Calls []call `json:"tool_calls,omitempty"`
	}
	var replies []reply
	for _, s := range steps {
		replies = append(replies, reply{Calls: []call{{"bash", map[string]string{"command": s.line, "description": "work"}}}})
	}
	data, err := json.Marshal(map[string]any{"schema_version": 1, "replies": append(replies, reply{Text: "done"})})
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(m.home, "model.json")
	if err := os.WriteFile(script, data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := m.muse("exec", "--json", "--provider", "script", "--script", script, "--trust-workspace", "work")
	if code != 0 || strings.Contains(stderr, "held") || strings.Contains(stderr, "denied") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	var texts []string
	for line := range strings.Lines(stdout) {
		var r struct {
			Payload struct{ Kind, Text string } `json:"payload"`
		}
		if json.Unmarshal([]byte(line), &r) == nil && r.Payload.Kind == "tool_result" {
			texts = append(texts, r.Payload.Text)
		}
	}
	if len(texts) != len(steps) {
		t.Fatalf("%d results of %d commands", len(texts), len(steps))
	}
	for i, s := range steps {
		var result struct {
			Code   *int   `json:"exit_code"`
			Output string `json:"output"`
		}
		if err := json.Unmarshal([]byte(texts[i]), &result); err != nil || result.Code == nil || *result.Code != 0 || !strings.Contains(result.Output, s.prints) {
			t.Errorf("%s: %v %s", s.line, err, texts[i])
		}
	}
}
