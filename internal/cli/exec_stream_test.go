package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/ident"
)

// TestStreamsPassTheChecker runs each kind of run and gives its stdout to the
// checker of the stream contract.
func TestStreamsPassTheChecker(t *testing.T) {
	shared := os.Getenv("OPENMUSE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	checker := filepath.Join(shared, "tools", "check_stream.py")
	if _, err := os.Stat(checker); err != nil {
		t.Skip("no stream checker here: set OPENMUSE_SHARED to use it")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the stream checker with")
	}
	m := newMachine(t, quick)
	scripts := map[string]string{
		"plain": `{"replies":[{"text":"The answer is four.","reasoning":"sum"},{"text":"And five."}]}`,
		"tools": `{"replies":[{"text":"Let me look.","tool_calls":[{"name":"write_file","args":{"path":"a.txt","content":"a\n"}}]},
			{"tool_calls":[{"name":"bash","args":{"command":"cat a.txt; exit 3","description":"show"}}]},{"text":"done"}]}`,
		"parallel": `{"replies":[{"tool_calls":[{"name":"read_file","args":{"path":"p.txt"}},{"name":"search","args":{"pattern":"x"}},
			{"name":"nope","args":{}},{"name":"read_file","args_text":"{"}]},{"text":"done"}]}`,
		"failed":  `{"replies":[{"text":"partial words","failures":[{"class":"server_error","status":500,"message":"oops","after_deltas":1},{"class":"billing","status":402,"message":"pay"}]}]}`,
		"shell":   `{"replies":[{"tool_calls":[{"name":"shell","args":{"command":"echo out; exit 1"}}]},{"text":"done"}]}`,
		"refused": `{"replies":[{"tool_calls":[{"name":"bash","args":{"command":"true","description":"x"}}]},{"text":"done"}]}`,
	}
	for name, text := range scripts {
		path := filepath.Join(m.home, name+".json")
		text = strings.Replace(text, "{", `{"schema_version":1,`, 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(m.workspace, "p.txt"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	played := func(script string, more ...string) []string {
		return append([]string{"exec", "--json", "--provider", "script", "--script", filepath.Join(m.home, script+".json")}, more...)
	}
	session := ident.V4()
	for _, tt := range []struct {
		name  string
		args  []string
		code  int
		check []string
	}{
		{"plain", played("plain", "--session-id", session), 0, []string{"--turn", "1", "--session-id", session}},
		{"continued", played("plain", "--session-id", session), 0, []string{"--turn", "2", "--session-id", session}},
		{"tools", played("tools", "--disable-sandbox"), 0, nil},
		{"parallel", played("parallel"), 0, nil},
		{"failed", played("failed"), 1, nil},
		{"no sandbox", played("refused"), 0, nil},
		{"shell", played("shell", "--disable-sandbox", "--enable-shell-tool"), 0, nil},
		{"step limited", played("tools", "--disable-sandbox", "--max-model-steps", "1"), 1, nil},
		{"echo", []string{"exec", "--json", "--provider", "echo"}, 0, nil},
		{"extended", append(played("tools", "--disable-sandbox"), "--json-extended"), 0, nil},
		{"kept nowhere", played("parallel", "--no-session-log"), 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := m.muse(append(tt.args, "the prompt")...)
			if code != tt.code {
				t.Fatalf("exit %d, want %d: %s", code, tt.code, stderr)
			}
			args := append([]string{checker, "--allow-prefix", "openmuse.", "--prompt", "the prompt"}, tt.check...)
			cmd := exec.Command(python, append(args, "-")...)
			cmd.Stdin = strings.NewReader(stdout)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
