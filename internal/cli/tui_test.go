//go:build unix

package cli_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/openmuse/muse/internal/mockmodel"
)

const runsCommand = `{"reasoning":"A look at the files.","tool_calls":[{"name":"bash","args":{"command":"echo made > made.txt","description":"make a file"}}],"usage":{"input":1200,"output":40}}`

// TestTUIFirstPrompt goes from the first start to an answer: the trust
// question, a command that is asked about, Markdown, the way out.
func TestTUIFirstPrompt(t *testing.T) {
	home, ws := place(t)
	model := script(t, home, runsCommand+`,{"text":"# Done\n\nThe file **made.txt** is there:\n\n`+"```go\\nfunc main() {}\\n```"+`\n\n| file | lines |\n|---|--:|\n| made.txt | 1 |\n","usage":{"input":1300,"output":60}}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--disable-sandbox")
	p.until("Do you trust this workspace?")
	p.keys("y")
	p.seen("NO SANDBOX")
	p.ask("make a file")
	p.seen("Run this command?")
	p.gone("keys are taken in a moment")
	p.keys("1")
	p.until("made.txt │     1")
	p.seen("2.6k tok")
	p.leave()
	p.golden("first-prompt")
	if _, err := os.Stat(filepath.Join(ws, "made.txt")); err != nil {
		t.Error(err)
	}
}

func TestTUIDenyWithFeedback(t *testing.T) {
	home, ws := place(t)
	model := script(t, home, runsCommand+`,{"text":"I will not, then."}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--disable-sandbox", "--trust-workspace", "make a file")
	p.seen("Run this command?")
	p.gone("keys are taken in a moment")
	p.keys("f")
	p.seen("why not:")
	p.keys("use a \x1b[Dnother one")
	p.keys("\r")
	p.until("I will not, then.")
	p.leave()
	if _, err := os.Stat(filepath.Join(ws, "made.txt")); err == nil {
		t.Error("the command ran")
	}
	if !strings.Contains(p.vt.Text(), "you did not allow this") {
		t.Errorf("the decision is not shown:\n%s", p.vt.Text())
	}
	log := readLog(t, home)
	for _, want := range []string{`"openmuse.command.received"`, `approval/decide`, "another one"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not hold %s", want)
		}
	}
}

// readLog is the only session's log.
func readLog(t *testing.T, home string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(home, ".local/share/muse/sessions/*/*/*/*/session.jsonl"))
	if err == nil && len(logs) != 1 {
		err = filepath.WalkDir(filepath.Join(home, ".local/share/muse"), func(path string, _ os.DirEntry, err error) error {
			if filepath.Base(path) == "session.jsonl" {
				logs = append(logs, path)
			}
			return err
		})
	}
	if err != nil || len(logs) == 0 {
		t.Fatalf("no log: %v %v", logs, err)
	}
	data, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTUIResizeStorm resizes the terminal while an answer streams: every line
// stays, and none is there twice.
func TestTUIResizeStorm(t *testing.T) {
	home, ws := place(t)
	var answer strings.Builder
	for n := range 60 {
		fmt.Fprintf(&answer, "Line %02d of the answer stands here once and is long enough to wrap.\\n\\n", n)
	}
	model := script(t, home, `{"text":"`+answer.String()+`","chunk":1}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--trust-workspace")
	p.seen("ask for something")
	p.ask("tell me")
	for n := range 40 {
		p.resize(40+(n*37)%70, 10+(n*13)%25)
		p.seen("›")
	}
	p.until("Line 59 of the answer")
	p.resize(100, 30)
	p.seen("ask for something")
	p.leave()
	whole := strings.Join(strings.Fields(p.vt.Text()), " ")
	for n := range 60 {
		if got := strings.Count(whole, fmt.Sprintf("Line %02d of", n)); got != 1 {
			t.Errorf("line %d is there %d times", n, got)
		}
	}
	if got := strings.Count(whole, "ask for something"); got != 0 {
		t.Errorf("the prompt was left behind %d times:\n%s", got, p.vt.Text())
	}
}

func TestTUISteerQueueInterrupt(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--echo-delay-ms", "60000", "--trust-workspace")
	p.seen("ask for something")
	p.ask("first")
	p.seen("Working")
	p.keys("second")
	p.seen("› second")
	p.keys("\x1b\r")
	p.seen("queued › second")
	p.keys("\x1b[A") // takes it back
	p.seen("› second")
	p.gone("queued ›")
	p.keys("\x15third")
	p.seen("› third")
	p.keys("\x1b\r")
	p.seen("queued › third")
	p.keys("\x1b")
	p.until("Stopped.")
	p.seen("› third")
	p.gone("queued ›")
	p.keys("\x1b")
	p.wait("two stops", func() bool { return strings.Count(p.vt.Text(), "Stopped.") == 2 })
	p.seen("ask for something")
}

// TestTUIKillAndResume kills muse while a turn runs and goes on.
func TestTUIKillAndResume(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	p.ask("remember the word heron")
	p.until("echo: remember the word heron")
	p.ask("/name birds")
	p.until("named birds")
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.done
	q := openTerminal(t, home, ws, "resume", "birds", "--provider", "echo", "--trust-workspace")
	q.until("echo: remember the word heron")
	q.ask("again")
	q.until("echo: again")
	q.leave()
	if !strings.Contains(q.vt.Text(), "muse resume birds") {
		t.Errorf("the way back is not shown:\n%s", q.vt.Text())
	}
}

func TestTUIRewindAndFork(t *testing.T) {
	home, ws := place(t)
	if err := os.WriteFile(filepath.Join(ws, "a.txt"), []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := script(t, home, `{"tool_calls":[{"name":"read_file","args":{"path":"a.txt"}}]},{"tool_calls":[{"name":"edit_file","args":{"path":"a.txt","find":"before","replace":"after"}}]},{"text":"Changed it."}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--trust-workspace", "--disable-approval")
	p.seen("NO APPROVAL")
	p.ask("change it")
	p.until("Changed it.")
	p.until("+after")
	p.seen("ask for something")
	p.ask("/rewind")
	p.seen("Go back to before")
	p.keys("\r")
	p.seen("the conversation and files")
	p.keys("\x1b[B\r")
	p.until("The conversation is back")
	p.seen("› change it")
	data, err := os.ReadFile(filepath.Join(ws, "a.txt"))
	if err != nil || string(data) != "before\n" {
		t.Errorf("a.txt holds %q, %v", data, err)
	}
	p.keys("\x15")
	p.seen("ask for something")
	p.ask("!echo $((6*7))")
	p.until("│ 42")
	p.ask("/status")
	p.until("workspace")
}

// TestTUIBigPaste pastes a megabyte: it is folded, sent whole, and the prompt
// stays quick.
func TestTUIBigPaste(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	big := strings.Repeat("0123456789abcde\n", 1<<16)
	go func() {
		// The terminal may take less than all at once.
		_, _ = p.tty.WriteString("\x1b[200~" + big + "\x1b[201~")
	}()
	p.seen("[paste 1: 65537 lines, 1048 KB]")
	p.keys(" end")
	p.seen("KB] end")
	p.keys("\r")
	p.until("more rows")
	p.until("echo: 0123456789abcde")
}

func TestTUIWithoutTerminal(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--help")
	p.until("muse [OPTIONS] [PROMPT]")
	p.ended()
	q := openTerminal(t, home, ws, "--yolo", "exec", "hi")
	q.until("options go behind the command: muse exec --yolo")
	<-q.done
	r := openTerminal(t, home, ws, "exce")
	r.until(`did you mean "exec"`)
	<-r.done
}

// TestTUIPlain: without control sequences everything can be done by lines.
func TestTUIPlain(t *testing.T) {
	home, ws := place(t)
	model := script(t, home, runsCommand+`,{"text":"It is **there**."}`)
	p := openTerminal(t, home, ws, "--plain", "--provider", "script", "--script", model, "--disable-sandbox")
	p.until("Do you trust this workspace?")
	p.keys("y\r")
	p.until("NO SANDBOX, asks first")
	p.keys("make a file\r")
	p.until("Type the number, or f and why not.")
	p.keys("what\r")
	p.until("nothing was decided")
	p.keys("1\r")
	p.until("It is there.")
	p.until("Ready.")
	p.keys("/quit\r")
	p.ended()
}

// TestTUIWithoutKey: the UI opens without a key, asks what to use, and says how
// to get a model when that is put off.
func TestTUIWithoutKey(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--trust-workspace")
	p.seen("There is no model yet: no key for meta.")
	p.seen("look around without a model")
	p.keys("look\r")
	p.seen("ask for something")
	p.ask("hello")
	p.until("✗ The turn failed: ")
	p.until("/login")
	p.seen("ask for something")
	p.leave()
	q := openTerminal(t, home, ws, "--trust-workspace", "--plain")
	q.until("missing meta credentials")
	q.until("--provider openai-chat")
}

// TestTUISignInKey: a key that is typed is nowhere to be seen, is kept as muse
// auth keeps it, and the next start asks nothing.
func TestTUISignInKey(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--trust-workspace")
	p.seen("There is no model yet")
	p.keys("anthropic")
	p.seen("1 of ")
	p.keys("\r")
	p.seen("Key for Anthropic")
	p.keys("\x1b[200~sk-secret-word\x1b[201~")
	p.seen("› ••••••••••••••")
	p.keys("\r")
	p.until("✓ anthropic · ")
	p.seen("ask for something")
	p.leave()
	if strings.Contains(p.vt.Text(), "secret-word") {
		t.Errorf("the key was shown:\n%s", p.vt.Text())
	}
	config := filepath.Join(home, ".config", "muse")
	data, err := os.ReadFile(filepath.Join(config, "auth.json"))
	if err != nil || !strings.Contains(string(data), "sk-secret-word") {
		t.Errorf("auth.json holds %s, %v", data, err)
	}
	for _, name := range []string{"auth.json", "settings.json"} {
		if info, err := os.Stat(filepath.Join(config, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	q := openTerminal(t, home, ws, "--trust-workspace")
	q.seen("ask for something")
	q.seen("claude")
	q.ask("/logout")
	q.seen("Forget the key that is kept for anthropic?")
	q.keys("y")
	q.until("removed what was stored for anthropic")
	q.leave()
}

// TestTUISignInServer: a server of the person's own is asked which models it
// has, kept in the settings, and used at once.
func TestTUISignInServer(t *testing.T) {
	home, ws := place(t)
	s := serve(t, mockmodel.Options{Answer: "A local answer.", Catalogue: []mockmodel.Model{{ID: "small-1"}, {ID: "large-2"}}})
	dir := filepath.Join(home, ".config", "muse")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(`{"schema_version":1,"kept_key":[1,2],"tui":{"theme":"contrast"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openTerminal(t, home, ws, "--trust-workspace", "say something")
	p.seen("There is no model yet")
	p.keys("server\r")
	p.seen("Address of the server")
	p.keys("\x15127.0.0.1:1\r")
	p.until("✗ no server answers at http://127.0.0.1:1/v1")
	p.seen("› 127.0.0.1:1")
	p.keys("\x15" + strings.TrimPrefix(s.URL(), "http://") + "\r")
	p.seen("small-1")
	p.keys("large\r")
	p.until("✓ local · large-2")
	p.until("A local answer.")
	p.seen("ask for something")
	p.leave()
	data, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	for _, want := range []string{`"kept_key"`, `"contrast"`, `"local"`, `"large-2"`, s.URL() + "/v1"} {
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("settings.json has no %s: %s, %v", want, data, err)
		}
	}
	q := openTerminal(t, home, ws, "--trust-workspace", "and again")
	q.until("A local answer.")
	q.seen("ask for something")
	q.leave()
}

// TestTUIFork goes on in a copy.
func TestTUIFork(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	p.ask("one")
	p.until("echo: one")
	p.ask("/fork")
	p.until("── session")
	p.wait("the copied answer", func() bool { return strings.Count(p.vt.Text(), "echo: one") == 2 })
	p.ask("two")
	p.until("echo: two")
	p.ask("/new")
	p.wait("a third session", func() bool { return strings.Count(p.vt.Text(), "── session") == 2 })
	p.ask("three")
	p.until("echo: three")
	p.leave()
}

// TestTUIKeymapFaults: what is wrong in the settings is named and harms
// nothing else.
func TestTUIKeymapFaults(t *testing.T) {
	home, ws := place(t)
	dir := filepath.Join(home, ".config", "muse")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	settings := `{"schema_version":1,"tui":{"theme":"mine","themes":{"mine":{"accent":"bright-blue bold"}},"verbose_output":"loud","keymap":{"app.fly":["ctrl+x"],"app.details":["alt+o"]}}}`
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.until(`there is no action "app.fly"`)
	p.until(`tui.verbose_output: there is no "loud": there are less, edits, more`)
	p.seen("ask for something")
	p.keys("\x1bo")
	p.seen("no tool call to show yet")
	p.leave()
}

// TestTUIEditor writes the prompt in an editor that has the terminal meanwhile.
func TestTUIEditor(t *testing.T) {
	home, ws := place(t)
	editor := "#!/bin/sh\nprintf 'editor reads: '\nread line\nprintf '%s and %s' \"$(cat \"$1\")\" \"$line\" > \"$1\"\n"
	if err := os.WriteFile(filepath.Join(home, "editor"), []byte(editor), 0o700); err != nil {
		t.Fatal(err)
	}
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	p.keys("begun")
	p.seen("› begun")
	p.keys("\x07")
	p.seen("editor reads:")
	p.keys("typed there\r")
	p.seen("› begun and typed there")
	p.keys("\r")
	p.until("echo: begun and typed there")
	p.leave()
}

// TestTUISuspendAlone: where nobody could go on with a stopped process it goes
// on by itself.
func TestTUISuspendAlone(t *testing.T) {
	home, ws := place(t)
	p := openTerminal(t, home, ws, "--provider", "echo", "--trust-workspace")
	p.seen("ask for something")
	p.keys("draft")
	p.seen("› draft")
	p.keys("\x1a")
	p.gone("› draft")
	p.seen("› draft")
	p.keys(" kept\r")
	p.until("echo: draft kept")
	p.leave()
}

// TestTUIDecisionInLog: a decision in the UI is in the log what the same
// decision of a session protocol client is, down to the digest of the command.
func TestTUIDecisionInLog(t *testing.T) {
	home, ws := place(t)
	model := script(t, home, runsCommand+`,{"text":"Done."}`)
	p := openTerminal(t, home, ws, "--provider", "script", "--script", model, "--disable-sandbox", "--trust-workspace", "make a file")
	p.seen("Run this command?")
	p.gone("keys are taken in a moment")
	p.keys("1")
	p.until("Done.")
	p.leave()
	log := readLog(t, home)
	find := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(log)
		if m == nil {
			t.Fatalf("the log holds no %s", pattern)
		}
		return m[1]
	}
	const id = `([0-9a-f-]{36})`
	session := find(`"session_id":"` + id + `"`)
	approval := find(`"pending_action_id":"([^"]+)"`)
	var command, digest string
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"approval/decide"`) {
			command = regexp.MustCompile(`"command_id":"` + id + `"`).FindStringSubmatch(line)[1]
			digest = regexp.MustCompile(`"([0-9a-f]{64})"`).FindStringSubmatch(line)[1]
		}
	}
	// What a client of `muse serve` sends (MSP.md 7.4), members in order.
	params := fmt.Sprintf(`{"approvalId":%q,"choiceId":"allow_once","commandId":%q,"requirementId":{"approvalId":%q,"sourceIndex":0},"sessionId":%q}`,
		approval, command, approval, session)
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte("approval/decide\x00"+params))); got != digest {
		t.Errorf("the log has the digest %s, a client's command would have %s", digest, got)
	}
	if by := find(`"decision_source":(\{[^}]*\})`); !strings.Contains(by, `"user"`) || !strings.Contains(by, command) {
		t.Errorf("the decision came from %s", by)
	}
}
