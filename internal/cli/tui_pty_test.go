//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/openmuse/muse/internal/tui/vt"
)

// tuiLimit is how long one thing may take to be seen on a busy machine.
const tuiLimit = 40 * time.Second

// onTerminal is muse on a terminal of its own.
type onTerminal struct {
	t    *testing.T
	tty  *os.File
	vt   *vt.Terminal
	cmd  *exec.Cmd
	home string
	ws   string
	done chan error
}

// place is a home and a workspace that several runs share.
func place(t *testing.T) (home, ws string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws = filepath.Join(dir, "home"), filepath.Join(dir, "ws")
	for _, d := range []string{home, ws} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return home, ws
}

func openTerminal(t *testing.T, home, ws string, args ...string) *onTerminal {
	t.Helper()
	p := &onTerminal{t: t, vt: vt.New(80, 24), home: home, ws: ws, done: make(chan error, 1)}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Dir = ws
	p.cmd.Env = []string{asProgram + "=1", "HOME=" + home, "TERM=xterm-256color", "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "EDITOR=" + filepath.Join(home, "editor")}
	var err error
	if p.tty, err = pty.StartWithSize(p.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 32<<10)
		for {
			n, err := p.tty.Read(buf)
			_, _ = p.vt.Write(buf[:n]) // it takes everything
			if err != nil {
				return
			}
		}
	}()
	go func() {
		err := p.cmd.Wait()
		select {
		case <-read: // the rest was shown
		case <-time.After(5 * time.Second):
		}
		p.done <- err
	}()
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // it may have ended meanwhile
		}
		p.tty.Close()
		if odd := p.vt.Odd(); len(odd) > 0 {
			t.Errorf("sequences that the UI does not use reached the terminal: %v", odd)
		}
	})
	return p
}

// keys types.
func (p *onTerminal) keys(s string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

// until waits until the terminal shows something.
func (p *onTerminal) until(what string) {
	p.t.Helper()
	p.wait(what, func() bool { return strings.Contains(p.vt.Text(), what) })
}

// seen waits until the screen, without the scrollback, shows something.
func (p *onTerminal) seen(what string) {
	p.t.Helper()
	p.wait(what, func() bool { return strings.Contains(p.vt.Screen(), what) })
}

func (p *onTerminal) gone(what string) {
	p.t.Helper()
	p.wait("no "+what, func() bool { return !strings.Contains(p.vt.Screen(), what) })
}

func (p *onTerminal) wait(what string, ok func() bool) {
	p.t.Helper()
	limit := time.After(tuiLimit)
	for {
		changed := p.vt.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-limit:
			p.t.Fatalf("waited for %q; the terminal shows\n%s", what, p.vt.Text())
		}
	}
}

// ask sends a prompt once it stands in the composer.
func (p *onTerminal) ask(prompt string) {
	p.t.Helper()
	p.keys(prompt)
	p.seen("› " + prompt)
	p.keys("\r")
}

// leave quits once no turn is running, which ctrl+c would stop, and waits for
// the process.
func (p *onTerminal) leave() {
	p.t.Helper()
	p.gone(" stops")
	p.keys("\x03")
	p.seen("again leaves")
	p.keys("\x03")
	p.ended()
}

func (p *onTerminal) ended() {
	p.t.Helper()
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Fatalf("muse ended with %v; the terminal shows\n%s", err, p.vt.Text())
		}
	case <-time.After(tuiLimit):
		p.t.Fatalf("muse did not end; the terminal shows\n%s", p.vt.Text())
	}
}

func (p *onTerminal) resize(width, height int) {
	p.t.Helper()
	// The terminal changes first, as a real one does, and tells then.
	p.vt.Resize(width, height)
	if err := pty.Setsize(p.tty, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		p.t.Fatal(err)
	}
}

// golden compares what the terminal shows with a file, scrollback and all.
func (p *onTerminal) golden(name string) {
	p.t.Helper()
	p.compare(name, p.vt.Text())
}

// shot compares the screen with a file, where something is being asked or done.
// What is still on its way to the screen has time to get there.
func (p *onTerminal) shot(name string) {
	p.t.Helper()
	name += ".screen"
	if want, err := os.ReadFile(goldenPath(name)); err == nil && os.Getenv("UPDATE_GOLDEN") == "" {
		limit := time.After(tuiLimit / 4)
		for {
			changed := p.vt.Changed()
			if masked(p.vt.Screen(), p.ws) == string(want) {
				return
			}
			select {
			case <-changed:
				continue
			case <-limit:
			}
			break
		}
	}
	p.compare(name, p.vt.Screen())
}

func goldenPath(name string) string { return filepath.Join("testdata", "tui", name+".txt") }

// compare holds a text against a file, with what differs between runs made
// equal. UPDATE_GOLDEN=1 writes the file.
func (p *onTerminal) compare(name, got string) {
	p.t.Helper()
	got = masked(got, p.ws)
	path := goldenPath(name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	if got != string(want) {
		p.t.Errorf("the terminal does not show what %s holds\n--- got\n%s--- want\n%s", path, got, want)
	}
}

// masked is a text with what differs between runs made equal: paths, ids, the
// version, durations.
func masked(text, ws string) string {
	text = strings.ReplaceAll(text, ws, "/workspace")
	for _, m := range []struct{ pattern, by string }{
		{`[0-9a-f]{8}-[0-9a-f-]{27}`, "SESSION-ID"},
		{`muse resume [a-z]+-[a-z0-9-]+`, "muse resume SESSION-ID"}, // a session got a name of its own by now, or not
		{`muse \d+\.\d+\.\d+\S*`, "muse VERSION"},
		{` · (\d+m)?\d+\.?\d*s`, ""},
		{`(Working|Waiting for your (?:decision|answer)) \S+s`, "$1 TIME"},
	} {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.by)
	}
	return text
}

// script writes a recorded model.
func script(t *testing.T, dir, replies string) string {
	t.Helper()
	path := filepath.Join(dir, "model.json")
	if err := os.WriteFile(path, []byte(`{"schema_version":1,"replies":[`+replies+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
