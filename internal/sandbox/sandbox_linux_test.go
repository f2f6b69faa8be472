package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openmuse/muse/internal/egress"
)

// The test binary is the helper (package helper), a program to run inside, and a host on which
// something is wrong.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "inside":
		os.Exit(insideMain(os.Args[2:]))
	case len(os.Args) > 2 && os.Args[1] == "host":
		os.Exit(hostMain(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// place is an empty directory that is not below /tmp, so that what is outside
// of the workspace stays in sight.
func place(t *testing.T) string {
	t.Helper()
	base, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "run-")
	if err != nil {
		if errors.Is(err, os.ErrPermission) {
			t.Skipf("a directory outside of /tmp is needed: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeTree(dir); err != nil {
			t.Errorf("clear away: %v", err)
		}
	})
	return dir
}

// house is a workspace with something around it.
type house struct {
	dir, ws, home, outside, secret string
	mu                             sync.Mutex
	notices                        []Notice
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{dir: place(t)}
	h.ws, h.home, h.outside = filepath.Join(h.dir, "ws"), filepath.Join(h.dir, "home"), filepath.Join(h.dir, "outside")
	h.secret = filepath.Join(h.home, "secret")
	for _, d := range []string{h.ws, h.home, h.outside, filepath.Join(h.home, ".cache"), filepath.Join(h.home, "keys")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, h.secret, "hidden-secret")
	write(t, filepath.Join(h.home, "keys", "k"), "hidden-key")
	write(t, filepath.Join(h.outside, "file"), "outside")
	return h
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *house) spec() Spec {
	return Spec{
		Workspace: h.ws, Home: h.home, StateDir: filepath.Join(h.dir, "state"),
		Masks: []string{h.secret, filepath.Join(h.home, "keys")},
		Notify: func(n Notice) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notices = append(h.notices, n)
		},
	}
}

func (h *house) kinds() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var k []string
	for _, n := range h.notices {
		k = append(k, n.Kind+" "+strings.TrimPrefix(n.Path, h.ws+"/"))
	}
	return k
}

func open(t *testing.T, spec Spec) *Session {
	t.Helper()
	s, err := Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// eachLauncher runs a test with every launcher that works here, and says so
// when one does not.
func eachLauncher(t *testing.T, test func(t *testing.T, l LauncherName)) {
	for _, l := range []LauncherName{Native, Bubblewrap} {
		t.Run(string(l), func(t *testing.T) {
			h := newHouse(t)
			spec := h.spec()
			spec.Launcher = l
			if _, err := open(t, spec).Confirm(t.Context()); err != nil {
				t.Skipf("the launcher does not work here: %v", err)
			}
			test(t, l)
		})
	}
}

// ran is what became of a command.
type ran struct {
	code     int
	out, err string
}

// start starts a shell script inside.
func start(t *testing.T, s *Session, c Command, stdin io.Reader) (*exec.Cmd, func() error, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	cmd, release, err := s.Command(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(errors.Join(err, release()))
	}
	return cmd, release, &out, &errs
}

func command(t *testing.T, s *Session, c Command) ran {
	t.Helper()
	cmd, release, out, errs := start(t, s, c, nil)
	err := cmd.Wait()
	if e := release(); e != nil {
		t.Fatalf("release: %v; stderr: %s", e, errs)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func shell(t *testing.T, s *Session, script string, env ...string) ran {
	t.Helper()
	return command(t, s, Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: append([]string{"PATH=" + os.Getenv("PATH")}, env...)})
}

// inside runs a part of insideMain.
func runInside(t *testing.T, s *Session, args ...string) ran {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The binary of `go test` lies in /tmp, which is another one inside.
	copied := filepath.Join(s.spec.Workspace, "inside.test")
	if _, err := os.Lstat(copied); err != nil {
		text, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return command(t, s, Command{Path: copied, Args: append([]string{"muse", "inside"}, args...)})
}

func TestWorkspaceOnly(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		mine := fmt.Sprintf("muse-test-%d", os.Getpid())
		r := shell(t, s, `echo yes > new && cat new && pwd && echo x > /tmp/`+mine+` && cat /tmp/`+mine+` && exit 7`)
		if r.code != 7 || r.out != "yes\n"+h.ws+"\nx\n" {
			t.Errorf("in the workspace: %+v", r)
		}
		for name, script := range map[string]string{
			"write outside":    `echo x > ` + h.outside + `/new`,
			"overwrite":        `echo x > ` + h.outside + `/file`,
			"remove":           `rm -f ` + h.outside + `/file`,
			"dots":             `echo x > ../outside/new`,
			"proc self root":   `echo x > /proc/self/root` + h.outside + `/new`,
			"link and write":   `ln -s ` + h.outside + ` l && echo x > l/new`,
			"hard link":        `ln ` + h.outside + `/file hl && echo x >> hl`,
			"home":             `echo x > ` + h.home + `/new`,
			"etc":              `echo x > /etc/muse-test`,
			"run":              `echo x > /run/muse-test`,
			"proc":             `echo x > /proc/sys/kernel/core_pattern`,
			"read a mask":      `cat ` + h.secret + ` | grep .`,
			"mask by link":     `ln -s ` + h.secret + ` s; grep . s`,
			"mask by root":     `grep . /proc/self/root` + h.secret,
			"masked directory": `ls ` + h.home + `/keys | grep . || cat ` + h.home + `/keys/k`,
			"remove a mask":    `rm -f ` + h.secret,
			"state":            `ls ` + spec.StateDir + ` | grep .`,
		} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", name, r)
			}
		}
		if text, err := os.ReadFile(filepath.Join(h.outside, "file")); err != nil || string(text) != "outside" {
			t.Errorf("the file outside: %q, %v", text, err)
		}
		if _, err := os.Lstat(filepath.Join("/tmp", mine)); err == nil {
			t.Error("/tmp is the host's")
		}
		if r := shell(t, s, "cat /tmp/"+mine); r.out != "x\n" {
			t.Errorf("/tmp is not kept between commands: %+v", r)
		}
		if text, err := os.ReadFile(filepath.Join(s.TempDir(), mine)); err != nil || string(text) != "x\n" {
			t.Errorf("TempDir: %q, %v", text, err)
		}
	})
}

// A session that may only look gets a workspace like the rest of the machine,
// also below /tmp, where the host's directory is out of sight otherwise.
func TestReadOnlyWorkspace(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher, spec.ReadOnly = l, true
		s := open(t, spec)
		if err := os.WriteFile(filepath.Join(h.ws, "file"), []byte("kept"), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := shell(t, s, `pwd && cat file && echo x > /tmp/x && cat /tmp/x`); r.code != 0 || r.out != h.ws+"\nkeptx\n" {
			t.Errorf("looking: %+v", r)
		}
		for _, script := range []string{"echo x > file", "echo x > new", "rm file", "mkdir d", "chmod 777 file", "mkdir .git", "mv file other"} {
			if r := shell(t, s, script); r.code == 0 {
				t.Errorf("%s: succeeded: %+v", script, r)
			}
		}
		entries, err := os.ReadDir(h.ws)
		if err != nil || len(entries) != 1 {
			t.Errorf("the workspace afterwards: %v, %v", entries, err)
		}
		spec.GitWrite = true
		if s, err := Open(spec); err == nil {
			t.Error("commits in a read-only workspace", s.Close())
		}
	})
}

func TestProtectedNames(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		for _, present := range []bool{false, true} {
			t.Run(fmt.Sprintf("present=%v", present), func(t *testing.T) {
				h := newHouse(t)
				if present {
					for _, n := range DefaultProtected() {
						write(t, filepath.Join(h.ws, n, "config"), "before")
					}
				}
				spec := h.spec()
				spec.Launcher = l
				s := open(t, spec)
				for _, n := range DefaultProtected() {
					for name, script := range map[string]string{
						"make inside":  "mkdir -p N/hooks",
						"write inside": "echo x > N/config",
						"remove":       "rm -rf N; test ! -e N",
						"rename away":  "mv N other && mkdir N",
						"rename over":  "mkdir o && mv -T o N",
						"link":         "ln -sfT /tmp N",
						"link inside":  "ln -s /tmp N/x",
						"file":         "rmdir N 2>/dev/null; echo x > N",
						"chmod":        "chmod 777 N",
						"through link": "mkdir -p s; ln -s ../N s/l; echo x > s/l/probe",
						"touch":        "touch N",
					} {
						if r := shell(t, s, strings.ReplaceAll(script, "N", n)); r.code == 0 {
							t.Errorf("%s %s: succeeded: %+v", name, n, r)
						}
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				for _, n := range DefaultProtected() {
					_, err := os.Lstat(filepath.Join(h.ws, n))
					if present != (err == nil) {
						t.Errorf("%s afterwards: %v", n, err)
					}
					if text, err := os.ReadFile(filepath.Join(h.ws, n, "config")); present && (err != nil || string(text) != "before") {
						t.Errorf("%s/config afterwards: %q, %v", n, text, err)
					}
				}
			})
		}
	})
}

func TestNothingOfTheHost(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		// Something open that is not closed on exec, as a surrounding tool
		// leaves it.
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		inherit(t, w)
		for _, what := range []string{"descriptors", "processes", "rights", "sockets", "kernel", "terminal"} {
			if got := runInside(t, s, what, fmt.Sprint(os.Getpid())); got.code != 0 || got.out != "ok\n" {
				t.Errorf("%s: %+v", what, got)
			}
		}
	})
}

func TestEnvironment(t *testing.T) {
	h := newHouse(t)
	spec := h.spec()
	spec.PassEnv = []string{"WANTED"}
	s := open(t, spec)
	r := shell(t, s, "env", "FAKE_API_KEY=k", "SSH_AUTH_SOCK=/x", "GIT_DIR=/x", "LD_PRELOAD=/x", "BASH_FUNC_ls%%=() { :; }", "HOME="+h.home,
		"LC_ALL=C", "WANTED=1", "NODE_OPTIONS=x", "DOCKER_HOST=x", "GIT_CONFIG_COUNT=0", "MUSE_TOOL_USE_ID=call-1", "PATH=/usr/bin:.:/bin:")
	got := map[string]string{}
	for line := range strings.Lines(r.out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		got[name] = value
	}
	for _, name := range []string{"FAKE_API_KEY", "SSH_AUTH_SOCK", "GIT_DIR", "LD_PRELOAD", "BASH_FUNC_ls%%", "NODE_OPTIONS", "DOCKER_HOST"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s=%s was passed on", name, v)
		}
	}
	for name, want := range map[string]string{
		"HOME": h.home, "LC_ALL": "C", "WANTED": "1", "TMPDIR": "/tmp", "GIT_CONFIG_COUNT": "3", "MUSE_TOOL_USE_ID": "call-1",
		"PATH": "/usr/bin:/bin", "HTTPS_PROXY": "http://127.0.0.1:41080", "PWD": h.ws,
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	// In no repository the go command is told not to look for one.
	if enclosing(h.dir) == "" && got["GOFLAGS"] != "-buildvcs=false" {
		t.Errorf("GOFLAGS is %q", got["GOFLAGS"])
	}
	// The first process inside must not carry what the command may not see.
	if r := shell(t, s, `tr '\0' '\n' < /proc/1/environ | grep FAKE`, "FAKE_API_KEY=k"); strings.Contains(r.out, "FAKE") {
		t.Errorf("the environment of the first process: %+v", r)
	}
}

func TestNothingOutlivesACommand(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		mark := fmt.Sprintf("7%d", os.Getpid())
		if r := shell(t, s, "setsid nohup sleep "+mark+" >/dev/null 2>&1 & sleep 0.1; echo started"); r.out != "started\n" {
			t.Errorf("got %+v", r)
		}
		await(t, "sleep "+mark, false)
	})
}

// await waits until a process has the command line, or none has it.
func await(t *testing.T, line string, there bool) {
	t.Helper()
	limit := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for running(line) != there {
		if time.Now().After(limit) {
			t.Fatalf("%q running: %v", line, !there)
		}
		<-tick.C
	}
}

func running(line string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")) == line {
			return true
		}
	}
	return false
}

// A signal to the process's group reaches the command, and ends it.
func TestKilledFromOutside(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		mark := fmt.Sprintf("8%d", os.Getpid())
		r, w := io.Pipe()
		defer r.Close()
		cmd, release, err := s.Command(t.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c", "echo ready; sleep " + mark}})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var ready [6]byte
		if _, err := io.ReadFull(r, ready[:]); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // killed, as asked
		if err := release(); err != nil {
			t.Errorf("release: %v", err)
		}
		await(t, "sleep "+mark, false)
	})
}

func TestStandardInput(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		cmd, release, out, _ := start(t, s, Command{Path: "/bin/cat", Args: []string{"cat"}}, strings.NewReader("passed on"))
		if err := errors.Join(cmd.Wait(), release()); err != nil || out.String() != "passed on" {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

func TestExitCodes(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		write(t, filepath.Join(h.ws, "plain"), "no program")
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		for want, c := range map[int]Command{
			127: {Path: "/nowhere/program", Args: []string{"program"}},
			126: {Path: filepath.Join(h.ws, "plain"), Args: []string{"plain"}},
			143: {Path: "/bin/sh", Args: []string{"sh", "-c", "kill -TERM $$"}},
			3:   {Path: "/bin/sh", Args: []string{"sh", "-c", "exit 3"}},
		} {
			if r := command(t, s, c); r.code != want {
				if want == 143 && l == Bubblewrap && r.code == 128+15 {
					continue
				}
				t.Errorf("want %d, got %+v", want, r)
			}
		}
		if r := command(t, s, Command{Path: "/bin/pwd", Args: []string{"pwd"}, Dir: filepath.Join(h.ws, "gone")}); r.code != 126 {
			t.Errorf("a directory that is not there: %+v", r)
		}
	})
}

func TestNetwork(t *testing.T) {
	srv, hits := loopbackServer(t)
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		k, err := egress.ParseKey(strings.TrimPrefix(srv, "http://") + ":http")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var events []string
		for mode, allowed := range map[Network]bool{ProxyOnly: true, Restricted: false} {
			spec := h.spec()
			spec.Launcher, spec.Network = l, mode
			spec.Gate = egress.New(egress.Options{
				Allow: []egress.Rule{egress.RuleFor(k)},
				Observe: func(e egress.Event) {
					mu.Lock()
					defer mu.Unlock()
					events = append(events, e.Kind+" "+e.Request.Origin.CallID)
				},
			})
			s := open(t, spec)
			before := hits()
			if r := runInside(t, s, "dial", strings.TrimPrefix(srv, "http://")); r.out != "ok\n" {
				t.Errorf("%s: straight to the host's loopback: %+v", mode, r)
			}
			if hits() != before {
				t.Errorf("%s: the host's server was reached past the gate", mode)
			}
			r := runInside(t, s, "get", srv)
			if got := strings.HasPrefix(r.out, "200 here"); got != allowed {
				t.Errorf("%s: through the gate: %+v", mode, r)
			}
			r = runInside(t, s, "get", "http://example.org/")
			if mode == ProxyOnly && !strings.HasPrefix(r.out, "403 ") || mode == Restricted && r.code == 0 {
				t.Errorf("%s: what was not approved: %+v", mode, r)
			}
			if r := runInside(t, s, "own-server"); r.out != "ok\n" {
				t.Errorf("%s: a server of its own: %+v", mode, r)
			}
		}
		spec := h.spec()
		spec.Launcher, spec.Network = l, Enabled
		if r := runInside(t, open(t, spec), "get-direct", srv); !strings.HasPrefix(r.out, "200 here") {
			t.Errorf("enabled: %+v", r)
		}
	})
}

// loopbackServer counts who comes.
func loopbackServer(t *testing.T) (url string, hits func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		n++
		mu.Unlock()
		_, _ = io.WriteString(w, "here") // the test reads it
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		_ = srv.Close() // the test is over
		<-done
	})
	return "http://" + l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// Connections are attributed to the call whose command made them.
func TestConnectionsAreAttributed(t *testing.T) {
	h := newHouse(t)
	asked := make(chan egress.Request, 4)
	spec := h.spec()
	spec.Gate = egress.New(egress.Options{Ask: func(_ context.Context, r egress.Request) egress.Answer {
		asked <- r
		return egress.Answer{Reason: "no"}
	}})
	s := open(t, spec)
	runInside(t, s, "get", "http://one.example/")
	if r := <-asked; r.Host != "one.example" {
		t.Errorf("asked about %+v", r)
	}
	self := filepath.Join(h.ws, "inside.test")
	command(t, s, Command{Path: self, Args: []string{"muse", "inside", "get", "http://two.example/"}, Origin: egress.Origin{CallID: "call-2"}})
	if r := <-asked; r.Origin.CallID != "call-2" {
		t.Errorf("asked for %+v", r)
	}
}
