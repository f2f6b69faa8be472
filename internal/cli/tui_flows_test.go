//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The flows below end in what a person has before them: the scrollback, and the
// screen where something is asked. UPDATE_GOLDEN=1 writes them anew.

// waits is a command that ends when the test lets it.
const waits = `{"tool_calls":[{"name":"bash","args":{"command":"until [ -e go ]; do sleep 0.05; done; echo went","description":"wait"}}]}`

// letGo lets the command go on.
func (p *onTerminal) letGo() {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.ws, "go"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

var freely = []string{"--disable-sandbox", "--disable-approval", "--trust-workspace"}

func openScript(t *testing.T, home, ws, replies string, args ...string) *onTerminal {
	t.Helper()
	p := openTerminal(t, home, ws, append(args, "--provider", "script", "--script", script(t, home, replies))...)
	p.seen("ask for something")
	return p
}

func TestTUIFlowDeny(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, runsCommand+`,{"text":"I will not, then."}`, "--disable-sandbox", "--trust-workspace")
	p.ask("make a file")
	p.seen("Run this command?")
	p.gone("keys are taken in a moment")
	p.shot("held")
	p.keys("f")
	p.seen("why not:")
	p.keys("use another name\r")
	p.until("I will not, then.")
	p.leave()
	p.golden("deny")
}

// TestTUIFlowSessionRule: a rule for the session answers the next question of
// its kind.
func TestTUIFlowSessionRule(t *testing.T) {
	home, ws := place(t)
	const call = `{"tool_calls":[{"name":"bash","args":{"command":"touch made","description":"make a file"}}]},`
	p := openScript(t, home, ws, call+call+`{"text":"It was made twice."}`, "--disable-sandbox", "--trust-workspace")
	p.ask("make a file twice")
	p.seen("Run this command?")
	p.gone("keys are taken in a moment")
	p.shot("held-rule")
	p.keys(p.choice("for the session"))
	p.until("It was made twice.")
	p.leave()
	p.golden("session-rule")
	if n := strings.Count(readLog(t, home), `"approval/decide"`); n != 1 {
		t.Errorf("%d decisions are in the log", n)
	}
}

// choice is the key of the choice that says something.
func (p *onTerminal) choice(what string) string {
	p.t.Helper()
	for l := range strings.Lines(p.vt.Screen()) {
		if l = strings.TrimSpace(l); strings.Contains(l, what) && len(l) > 1 && l[1] == ' ' {
			return l[:1]
		}
	}
	p.t.Fatalf("there is no choice %q:\n%s", what, p.vt.Screen())
	return ""
}

func TestTUIFlowSteer(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, waits+`,{"text":"I looked there first."}`, freely...)
	p.ask("wait for me")
	p.seen("Running")
	p.ask("look at b.txt first")
	p.seen("steering » look at b.txt first")
	p.shot("steering")
	p.letGo()
	p.until("I looked there first.")
	p.leave()
	p.golden("steer")
}

func TestTUIFlowQueue(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, waits+`,{"text":"That was the first."},{"text":"And this the second."}`, freely...)
	p.ask("wait for me")
	p.seen("Running")
	p.keys("then the second")
	p.seen("› then the second")
	p.keys("\x1b\r")
	p.seen("queued › then the second")
	p.shot("queued")
	p.letGo()
	p.until("And this the second.")
	p.leave()
	p.golden("queue")
}

func TestTUIFlowInterrupt(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, waits+`,{"text":"Going on."}`, freely...)
	p.ask("wait for me")
	p.seen("Running")
	p.keys("\x1b")
	p.until("Stopped.")
	p.seen("ask for something")
	p.ask("go on")
	p.until("Going on.")
	p.leave()
	p.golden("interrupt")
}

// TestTUIFlowKillAndResume: after kill -9 in the middle of a command everything
// that was shown is shown again, and the command that was cut off is named.
func TestTUIFlowKillAndResume(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, `{"text":"It is a heron."},`+waits, freely...)
	p.ask("which bird is it")
	p.until("It is a heron.")
	p.ask("/name birds")
	p.until("named birds")
	p.ask("wait for me")
	p.seen("Running")
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.done
	p.letGo() // for what it left running
	// The recording goes on where it was.
	model := script(t, home, `{"text":""},{"text":""},{"text":"On we go."}`)
	q := openTerminal(t, home, ws, append([]string{"resume", "birds", "--provider", "script", "--script", model}, freely...)...)
	q.until("It is a heron.")
	q.until("wait for me")
	q.seen("ask for something")
	q.shot("resumed")
	q.ask("go on")
	q.until("On we go.")
	q.leave()
	q.golden("kill-and-resume")
}

func TestTUIFlowFork(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, `{"text":"This is the first."},{"text":"This is in the copy."}`, freely...)
	p.ask("one")
	p.until("This is the first.")
	p.ask("/fork")
	p.wait("the copied answer", func() bool { return strings.Count(p.vt.Text(), "This is the first.") == 2 })
	p.ask("two")
	p.until("This is in the copy.")
	p.leave()
	p.golden("fork")
}

func TestTUIFlowRewind(t *testing.T) {
	home, ws := place(t)
	path := filepath.Join(ws, "a.txt")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := openScript(t, home, ws, `{"tool_calls":[{"name":"read_file","args":{"path":"a.txt"}}]},`+
		`{"tool_calls":[{"name":"edit_file","args":{"path":"a.txt","find":"before","replace":"after"}}]},{"text":"Changed it."}`, freely...)
	p.ask("change it")
	p.until("Changed it.")
	p.ask("/rewind")
	p.seen("Go back to before")
	p.keys("\r")
	p.seen("the conversation and files")
	p.shot("rewind")
	p.keys("\x1b[B\r")
	p.until("The conversation is back")
	p.seen("› change it")
	p.keys("\x15")
	p.seen("ask for something")
	p.leave()
	p.golden("rewind")
	if data, err := os.ReadFile(path); err != nil || string(data) != "before\n" {
		t.Errorf("a.txt holds %q, %v", data, err)
	}
}

func TestTUIFlowPaste(t *testing.T) {
	home, ws := place(t)
	p := openScript(t, home, ws, `{"text":"That was long."}`, freely...)
	big := strings.Repeat("0123456789abcde\n", 1<<16)
	go func() {
		// The terminal takes it piece by piece.
		_, _ = p.tty.WriteString("\x1b[200~" + big + "\x1b[201~")
	}()
	p.seen("[paste 1: 65537 lines, 1048 KB]")
	p.keys(" end")
	p.seen("KB] end")
	p.shot("paste")
	p.keys("\r")
	p.until("That was long.")
	p.leave()
	p.golden("paste")
	if n := strings.Count(readLog(t, home), "0123456789abcde"); n < 1<<16 {
		t.Errorf("%d of the lines are in the log", n)
	}
}

// TestTUIFlowResizeStorm: after a storm of sizes the words are those of an
// answer in a terminal that never changed.
func TestTUIFlowResizeStorm(t *testing.T) {
	home, ws := place(t)
	var answer strings.Builder
	for n := range 40 {
		fmt.Fprintf(&answer, "Line %02d of the answer stands here once and is long enough to wrap.\\n\\n", n)
	}
	p := openScript(t, home, ws, `{"text":"`+answer.String()+`","chunk":1}`, freely...)
	p.ask("tell me")
	for n := range 40 {
		p.resize(40+(n*37)%70, 10+(n*13)%25)
		p.seen("›")
	}
	p.until("Line 39 of the answer")
	p.resize(100, 30)
	p.seen("ask for something")
	p.leave()
	words := strings.Join(strings.Fields(p.vt.Text()), " ")
	p.compare("resize-storm", strings.ReplaceAll(words, " Line", "\nLine")+"\n")
}
