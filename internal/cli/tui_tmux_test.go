//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// inTmux is muse in a window of a tmux server of its own.
type inTmux struct {
	t      *testing.T
	socket string
	ws     string
}

func openTmux(t *testing.T, home, ws string, args ...string) *inTmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	// The path of a socket has to be short.
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		t.Fatal(err)
	}
	m := &inTmux{t: t, socket: filepath.Join(dir, "s"), ws: ws}
	t.Cleanup(func() {
		_ = m.command("kill-server").Run() // it may have ended
		os.RemoveAll(dir)
	})
	line := []string{"exec", "env", "-i", asProgram + "=1", "HOME=" + home, "TERM=tmux-256color", "TMUX=" + m.socket, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", os.Args[0]}
	for _, a := range args {
		line = append(line, strconv.Quote(a))
	}
	m.run("-f", os.DevNull, "new-session", "-d", "-x", "80", "-y", "24", "-c", ws, strings.Join(line, " "))
	m.run("set-option", "-g", "remain-on-exit", "on")
	return m
}

func (m *inTmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.ws, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "SHELL=/bin/sh"}
	return cmd
}

func (m *inTmux) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %s: %v: %s", args, err, out)
	}
	return string(out)
}

// keys types; names such as Enter are keys.
func (m *inTmux) keys(keys ...string) {
	m.t.Helper()
	m.run(append([]string{"send-keys"}, keys...)...)
}

// text is the scrollback and the screen, wrapped lines joined.
func (m *inTmux) text() string {
	m.t.Helper()
	return m.run("capture-pane", "-p", "-J", "-S", "-")
}

// until waits for something on the terminal. tmux tells nobody when a window
// changes, so that there is nothing to wait for but the next look.
func (m *inTmux) until(what string, ok func(string) bool) {
	m.t.Helper()
	limit := time.After(tuiLimit)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		text := m.text()
		if ok(text) {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			m.t.Fatalf("waited for %s; tmux shows\n%s", what, text)
		}
	}
}

func (m *inTmux) shows(what string) {
	m.t.Helper()
	m.until(strconv.Quote(what), func(text string) bool { return strings.Contains(text, what) })
}

// TestTUIInTmux goes through a session in a real terminal: a command that is
// denied with a word, one that is allowed, sizes that change while an answer
// streams. What the scrollback holds in the end is what the terminal of the
// other tests would hold.
func TestTUIInTmux(t *testing.T) {
	home, ws := place(t)
	var answer strings.Builder
	for n := range 30 {
		answer.WriteString("Line " + strconv.Itoa(n+10) + " of the answer stands here once and is long enough to wrap.\\n\\n")
	}
	model := script(t, home, runsCommand+`,{"text":"I will not, then."},`+runsCommand+`,{"text":"`+answer.String()+`","chunk":1}`)
	m := openTmux(t, home, ws, "--provider", "script", "--script", model, "--disable-sandbox", "--trust-workspace")
	m.shows("ask for something")
	held := func() {
		m.until("a question that takes keys", func(text string) bool {
			return strings.Contains(text, "Run this command?") && !strings.Contains(text, "keys are taken in a moment")
		})
	}
	m.keys("-l", "make a file")
	m.shows("› make a file")
	m.keys("Enter")
	held()
	m.keys("f")
	m.shows("why not:")
	m.keys("-l", "use another name")
	m.keys("Enter")
	m.shows("I will not, then.")
	m.shows("ask for something")
	m.keys("-l", "make it here")
	m.shows("› make it here")
	m.keys("Enter")
	m.shows("Run this command?")
	held()
	m.keys("1")
	for n := range 12 {
		m.run("resize-window", "-x", strconv.Itoa(50+(n*37)%60), "-y", strconv.Itoa(12+(n*13)%20))
		m.shows("›")
	}
	m.shows("Line 39 of the answer")
	m.run("resize-window", "-x", "100", "-y", "30")
	m.shows("ask for something")
	m.keys("C-c")
	m.shows("again leaves")
	m.keys("C-c")
	m.shows("Go on with: muse resume")
	words := strings.Join(strings.Fields(masked(m.text(), ws)), " ")
	words, _, _ = strings.Cut(words, " Pane is dead")
	want, err := os.ReadFile(goldenPath("tmux"))
	got := strings.NewReplacer(" Line", "\nLine", " ›", "\n›").Replace(words) + "\n"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(goldenPath("tmux"), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("tmux does not show what %s holds\n--- got\n%s--- want\n%s", goldenPath("tmux"), got, want)
	}
}
