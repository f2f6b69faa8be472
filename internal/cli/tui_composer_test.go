//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onePixel is a picture.
const onePixel = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"

// TestTUIPictures: a picture of --image waits in the composer, one that is
// dropped goes beside it, and both are kept beside the log.
func TestTUIPictures(t *testing.T) {
	home, ws := place(t)
	for _, name := range []string{"one.png", "two three.png"} {
		if err := os.WriteFile(filepath.Join(ws, name), []byte(onePixel+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	model := script(t, home, `{"text":"They are alike."}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--trust-workspace", "--image", "one.png")
	p.seen("[picture 1: one.png, 40 bytes]")
	p.keys("\x1b[200~" + ws + `/two\ three.png` + "\x1b[201~")
	p.seen("[picture 2: two three.png, 46 bytes]")
	p.keys("compare\r")
	p.until("2 pictures attached")
	p.until("They are alike.")
	p.seen("ask for something")
	p.leave()
	kept, err := filepath.Glob(filepath.Join(home, ".local/share/muse/sessions/*/*/*/*/input-assets/*.png"))
	if err != nil || len(kept) != 2 {
		t.Errorf("kept %v, %v", kept, err)
	}
	q := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--image", "none.png")
	q.until("--image none.png: the picture cannot be read")
	<-q.done
}

// TestTUIDraftSurvives: what is being written is there again after kill -9, in
// the same workspace alone, and once.
func TestTUIDraftSurvives(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	p.keys("a precious draft")
	p.seen("› a precious draft")
	kept := func() []string {
		files, err := filepath.Glob(filepath.Join(home, ".local/share/muse/tui-draft-*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	p.wait("the draft on disk", func() bool {
		for _, f := range kept() {
			data, err := os.ReadFile(f)
			if err == nil && strings.Contains(string(data), "precious draft") {
				return true
			}
		}
		p.keys("\x0c") // drawing again makes the test look again
		return false
	})
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.done
	_, other := place(t)
	o := openTerminal(t, home, other, "--provider", "echo", "--trust-workspace")
	o.seen("ask for something")
	o.leave()
	q := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	q.seen("› a precious draft")
	q.seen("what you were writing is back")
	q.seen("echo ·")
	q.keys("\r")
	q.until("echo: a precious draft")
	q.seen("ask for something")
	q.leave()
	if left := kept(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestTUIRules: what is in force is listed with its origin, and an answer that
// was kept can be taken back.
func TestTUIRules(t *testing.T) {
	home, ws := place(t)
	if err := os.WriteFile(filepath.Join(ws, "AGENTS.md"), []byte("Be brief.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, ".config", "muse")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(`{"schema_version":1,"permissions":{"rules":[{"prefix":["git","push"],"verdict":"deny","reason":"not from here"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	model := script(t, home, `{"tool_calls":[{"name":"bash","args":{"command":"git frobnicate now"}}]},{"tool_calls":[{"name":"bash","args":{"command":"python3 -c 1"}}]},{"text":"Done."}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--disable-sandbox", "--trust-workspace", "go")
	p.seen("Always allow in this workspace")
	p.gone("keys are taken in a moment")
	p.keys("3")
	p.seen("python3 -c 1")
	p.gone("keys are taken in a moment")
	p.keys("2")
	p.until("Done.")
	p.seen("ask for something")
	p.ask("/rules")
	p.until("AGENTS.md")
	p.until("deny git push …")
	p.until("not from here")
	p.until("approvals.json")
	p.until("your answer, until this session is closed")
	p.ask("/rules remove")
	p.seen("Take back")
	p.keys("frobnicate\r")
	p.until("taken back: allow git frobnicate")
	p.leave()
	data, err := os.ReadFile(filepath.Join(dir, "approvals.json"))
	if err != nil || strings.Contains(string(data), "frobnicate") {
		t.Errorf("approvals.json holds %s, %v", data, err)
	}
}

// TestTUIInit: /init is an ordinary turn that is shown as what was typed.
func TestTUIInit(t *testing.T) {
	home, ws := place(t)
	model := script(t, home, `{"tool_calls":[{"name":"write_file","args":{"path":"AGENTS.md","content":"# Notes\n"}}]},{"text":"I wrote AGENTS.md."}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--trust-workspace", "--disable-approval")
	p.seen("ask for something")
	p.ask("/init")
	p.until("I wrote AGENTS.md.")
	p.seen("ask for something")
	p.leave()
	if s := p.vt.Text(); strings.Contains(s, "coding agent has to know before") || strings.Count(s, "› /init") != 1 {
		t.Errorf("the turn is not shown as it was typed:\n%s", s)
	}
	if data, err := os.ReadFile(filepath.Join(ws, "AGENTS.md")); err != nil || string(data) != "# Notes\n" {
		t.Errorf("AGENTS.md holds %q, %v", data, err)
	}
	if log := readLog(t, home); !strings.Contains(log, "coding agent has to know before") {
		t.Error("the log does not hold what the agent was told")
	}
	q := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace", "--disable-write")
	q.seen("ask for something")
	q.keys("/init")
	q.seen("› /init")
	q.keys("\r")
	q.seen("there is no command /init")
}

// TestTUISettings: the settings in force are told as muse config explain tells
// them, and the options of this start count.
func TestTUISettings(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	p.ask("/settings provider")
	p.until("provider = echo  [command line --provider]")
	p.ask("/settings nonsense")
	p.until("✗ ")
	p.leave()
}

// TestTUIDiffAfterTrust: what takes trust is there as soon as it is given.
func TestTUIDiffAfterTrust(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo")
	p.seen("Do you trust this workspace?")
	p.keys("y")
	p.seen("ask for something")
	p.ask("/diff")
	p.until("✗ git rev-parse: ")
	p.leave()
}
