package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/cli"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

const echoes = `{"schema_version":1,"provider":"echo"}`

// TestServeExits holds the exit codes that clients tell ends of a host apart by
// (MSP.md 3).
func TestServeExits(t *testing.T) {
	tests := []struct {
		name     string
		settings string
		vars     map[string]string
		args     []string
		code     int
		stderr   string // part of it; "" wants none
	}{
		{"the client leaves", echoes, nil, nil, 0, ""},
		{"an unknown option", echoes, nil, []string{"--nonsense"}, 2, "--nonsense"},
		{"an argument", echoes, nil, []string{"x"}, 2, `"x"`},
		{"a reserved option", echoes, nil, []string{"--listen", "127.0.0.1:1"}, 2, "--listen"},
		{"approval by option", echoes, nil, []string{"--approval-mode", "never"}, 2, "--approval-mode"},
		{"everything allowed by option", echoes, nil, []string{"--yolo"}, 2, "--yolo"},
		{"a network that does not exist", echoes, nil, []string{"--sandbox-network", "some"}, 2, "--sandbox-network"},
		{"a script without its provider", echoes, nil, []string{"--script", "x"}, 2, "--script"},
		{"an option given twice", echoes, nil, []string{"--no-session-log", "--no-session-log"}, 2, "--no-session-log"},
		{"settings that are no JSON", `{`, nil, nil, 3, "settings.json"},
		{"settings of no version", `{}`, nil, nil, 3, "schema_version"},
		{"a provider that nobody knows", `{"schema_version":1,"provider":"nobody"}`, nil, nil, 3, "nobody"},
		{"switched off", echoes, map[string]string{"MUSE_EXPERIMENTAL_SDK_ENABLED": "off"}, nil, 5, "switched off"},
		{"switched off, whatever is asked", echoes, map[string]string{"MUSE_EXPERIMENTAL_SDK_ENABLED": "off"}, []string{"--nonsense", "x"}, 5, "switched off"},
		{"switched off, even for help", `{`, map[string]string{"MUSE_EXPERIMENTAL_SDK_ENABLED": "off"}, []string{"--help"}, 5, "switched off"},
		{"switched on", echoes, map[string]string{"MUSE_EXPERIMENTAL_SDK_ENABLED": "on"}, nil, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, tt.settings)
			for k, v := range tt.vars {
				m.vars[k] = v
			}
			code, stdout, stderr := m.muse(append([]string{"serve"}, tt.args...)...)
			if code != tt.code || stdout != "" {
				t.Errorf("ends with %d and says %q, want %d and nothing", code, stdout, tt.code)
			}
			if tt.stderr == "" && stderr != "" || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("stderr is %q, want %q in it", stderr, tt.stderr)
			}
		})
	}
}

// TestServeEphemeral holds that a host that keeps nothing keeps nothing.
func TestServeEphemeral(t *testing.T) {
	m := newMachine(t, echoes)
	l := m.launch("--no-session-log")
	hello := l.call(msp.MethodInitialize, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "test", Version: "0"}})
	if hello["sessionDurability"] != "ephemeral" {
		t.Errorf("initialize answers %v", hello)
	}
	l.send([]byte(`{"jsonrpc":"2.0","method":"initialized"}`))
	root := m.workspace
	session := l.call(msp.MethodSessionStart, msp.SessionStartParams{CommandID: msptest.CommandID(), WorkspaceRoot: &root})["session"].(map[string]any)
	if session["path"] != "" {
		t.Errorf("a session that is not kept has the log %v", session["path"])
	}
	id := session["sessionId"].(string)
	l.prompt(id, "hello")
	l.awaitNote(msp.NoteTurnCompleted)
	for _, method := range []string{msp.MethodSessionRead, msp.MethodSessionResume, msp.MethodSessionFork, msp.MethodSessionRename, msp.MethodSessionSideChat} {
		e := l.refusedAs(method, map[string]any{"sessionId": id, "commandId": msptest.CommandID(), "name": "n"})
		if e["code"] != float64(-32601) {
			t.Errorf("%s is refused with %v", method, e)
		}
	}
	e := l.refusedAs(msp.MethodSessionSetApprovalMode, map[string]any{"sessionId": id, "commandId": msptest.CommandID(), "mode": "allowAll"})
	if data := e["data"].(map[string]any); data["kind"] != "commandRejected" || !strings.Contains(data["reason"].(string), "ceiling") {
		t.Errorf("a mode above the ceiling is refused with %v", e)
	}
	if list := l.call(msp.MethodSessionList, map[string]any{}); len(list["sessions"].([]any)) != 0 {
		t.Errorf("listed are %v", list)
	}
	l.close()
	if _, err := os.Stat(filepath.Join(m.home, ".local", "share", "muse", "sessions")); !os.IsNotExist(err) {
		t.Errorf("something was kept: %v", err)
	}
}

// TestServeDrains holds that the end of stdin ends a turn as cancelled and the
// session in order.
func TestServeDrains(t *testing.T) {
	mm := newModel(t, answers(nil))
	m := newServeMachine(t, mm.url)
	mm.hold(longRunning)
	l := m.launch()
	l.hello()
	root := m.workspace
	id := l.call(msp.MethodSessionStart, msp.SessionStartParams{CommandID: msptest.CommandID(), WorkspaceRoot: &root})["session"].(map[string]any)["sessionId"].(string)
	l.prompt(id, longRunning)
	if err := l.in.Close(); err != nil {
		t.Fatal(err)
	}
	if ended := l.awaitNote(msp.NoteTurnCompleted); ended.Params["terminal"] != "cancelled" {
		t.Errorf("the turn ends with %v", ended.Params)
	}
	if closed := l.awaitNote(msp.NoteSessionClosed); closed.Params["reason"] != "hostShutdown" || closed.Params["sessionId"] != id {
		t.Errorf("the session is closed with %v", closed.Params)
	}
	if code := <-l.code; code != 0 {
		t.Errorf("the host ends with %d: %s", code, &l.stderr)
	}
	if log := m.log(); !strings.Contains(log, `"terminal":"cancelled"`) || !strings.Contains(log, "exit_reason") {
		t.Error("the log does not say how the turn and the session ended")
	}
}

// TestServeEndsWithItsContext holds that a signal ends a host whose client says
// nothing and does not leave.
func TestServeEndsWithItsContext(t *testing.T) {
	m := newMachine(t, echoes)
	in, _ := io.Pipe() // nobody ever writes or closes
	var out, errs bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	go func() {
		done <- cli.Main(ctx, []string{"serve"}, cli.Env{
			Stdin: in, Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return m.vars[name] },
			Environ: func() []string { return nil }, Getwd: func() (string, error) { return m.workspace, nil }, Now: time.Now,
		})
	}()
	cancel()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the host does not end")
	}
}
