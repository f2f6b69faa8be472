package msptest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/cli"
	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// asProgram makes the test binary be muse, so that the flows run against the
// program itself without building it.
const asProgram = "OPENMUSE_MSPTEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
	}
	os.Exit(m.Run())
}

// home is where one person's hosts find everything; a workspace is in it.
type home struct {
	dir, workspace string
	env            []string // beyond what the published clients set
}

// newHome makes a home with a settings file and, if it is not empty, an auth
// file.
func newHome(t *testing.T, settings, auth string) *home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &home{dir: dir, workspace: filepath.Join(dir, "project")}
	config := filepath.Join(dir, ".config", "muse")
	for _, d := range []string{h.workspace, config} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"settings.json": settings, "auth.json": auth} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(config, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

const echoSettings = `{"schema_version":1,"provider":"echo"}`

// launch starts a host as the published clients do (MSP.md 3), without a
// handshake. At the end of the test a host that still runs is ended, and the
// judge's faults are reported.
func (h *home) launch(t *testing.T, args ...string) *msptest.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := msptest.Launch(msptest.Command{
		Path: self, Args: append([]string{"serve"}, args...), Dir: h.workspace,
		Env: append([]string{
			"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TBH_CREDENTIAL_BACKEND=file", "TBH_DISABLE_TELEMETRY=1",
			"MUSE_EXPERIMENTAL_SDK_ENABLED=on", asProgram + "=1",
		}, h.env...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 35*time.Second)
		defer stop()
		if _, err := p.End(ctx); err != nil {
			t.Error(err)
		}
		if err := p.Faults(); err != nil {
			t.Errorf("the judge found faults:\n%v", err)
		}
		if t.Failed() {
			for _, e := range p.Events(0) {
				t.Logf("%s %.1500s", e.Method, e.Raw)
			}
			t.Logf("stderr of the host:\n%s", p.Stderr())
		}
	})
	return p
}

// client is a host after the handshake, with what the flows ask of it again and
// again.
type client struct {
	*msptest.Process
	t       *testing.T
	ctx     context.Context
	home    *home
	welcome msp.InitializeResult
}

// open starts a host and makes the handshake.
func (h *home) open(t *testing.T, args ...string) *client {
	t.Helper()
	return h.openAs(t, msp.InitializeParams{ClientInfo: msp.ClientInfo{Name: "flows", Version: "1.0.0"}}, args...)
}

func (h *home) openAs(t *testing.T, hello msp.InitializeParams, args ...string) *client {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(stop)
	c := &client{Process: h.launch(t, args...), t: t, ctx: ctx, home: h}
	var err error
	if c.welcome, err = c.Initialize(ctx, hello); err != nil {
		t.Fatalf("handshake: %v\n%s", err, c.Stderr())
	}
	return c
}

// must calls a method that has to succeed.
func must[R any](c *client, method string, params any) R {
	c.t.Helper()
	out, err := msptest.Call[R](c.ctx, c.Client, method, params)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return out
}

// refused calls a method that has to be refused with a kind, and returns the
// refusal.
func refused(c *client, kind msp.ErrorKind, method string, params any) *msp.Error {
	c.t.Helper()
	result, err := c.Request(c.ctx, method, params)
	if err == nil {
		c.t.Fatalf("%s was taken: %s", method, result)
	}
	e := msp.AsError(err)
	if e.Kind() != kind {
		c.t.Fatalf("%s: kind %s (%v), want %s", method, e.Kind(), err, kind)
	}
	return e
}

// await waits for a notification after a mark.
func await[P any](c *client, since int, method string, match func(*P) bool) *P {
	c.t.Helper()
	p, err := msptest.AwaitParams(c.ctx, c.Client, since, method, match)
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

// start opens a session in the workspace of the home.
func (c *client) start() msp.SessionStartResult {
	c.t.Helper()
	return must[msp.SessionStartResult](c, msp.MethodSessionStart, msp.SessionStartParams{
		CommandID: msptest.CommandID(), WorkspaceRoot: &c.home.workspace,
	})
}

func textInput(text string) []msp.TurnInputPart {
	return []msp.TurnInputPart{{Type: msp.TurnInputPartTypeText, Text: &text}}
}

// submit starts a turn and returns the mark from before it.
func (c *client) submit(session, text string) (msp.TurnStartResult, int) {
	c.t.Helper()
	mark := c.Mark()
	id := msptest.CommandID()
	ack := must[msp.TurnStartResult](c, msp.MethodTurnStart, msp.TurnStartParams{SessionID: session, CommandID: id, Input: textInput(text)})
	if ack.CommandID != id || ack.TurnID != id {
		c.t.Fatalf("turn/start %s was answered %+v", id, ack)
	}
	return ack, mark
}

// finished waits for the end of a turn.
func (c *client) finished(mark int, turn string) *msp.TurnCompletedParams {
	c.t.Helper()
	return await(c, mark, msp.NoteTurnCompleted, func(p *msp.TurnCompletedParams) bool { return p.TurnID == turn })
}

// read asks for a session as a fold of its log.
func (c *client) read(session string, items bool) msp.SessionReadResult {
	c.t.Helper()
	return must[msp.SessionReadResult](c, msp.MethodSessionRead, msp.SessionReadParams{SessionID: session, ExcludeItems: new(!items)})
}

// leave ends the input and wants a clean exit.
func (c *client) leave() {
	c.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
	defer stop()
	exit, err := c.End(ctx)
	if err != nil || exit.Code != 0 {
		c.t.Fatalf("exit %+v, %v\n%s", exit, err, c.Stderr())
	}
	if left := c.Unfinished(); len(left) > 0 {
		c.t.Errorf("the host left unfinished: %s", strings.Join(left, ", "))
	}
}
