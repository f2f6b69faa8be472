package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/sandbox"
)

// sandboxed runs a `muse sandbox` command line in a directory of its own.
type sandboxed struct {
	t        *testing.T
	ws, home string
	stdin    io.Reader
	environ  []string
}

func newSandboxed(t *testing.T) *sandboxed {
	t.Helper()
	dir := t.TempDir()
	s := &sandboxed{t: t, ws: filepath.Join(dir, "ws"), home: filepath.Join(dir, "home"), stdin: strings.NewReader("")}
	for _, d := range []string{s.ws, s.home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *sandboxed) run(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	vars := map[string]string{"HOME": s.home, "PATH": os.Getenv("PATH")}
	env := Env{
		Stdin: s.stdin, Stdout: &out, Stderr: &errs, Now: time.Now,
		Getenv: func(name string) string { return vars[name] },
		Environ: func() []string {
			return append([]string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}, s.environ...)
		},
		Getwd: func() (string, error) { return s.ws, nil },
	}
	code = Main(context.Background(), append([]string{"sandbox"}, args...), env)
	return code, out.String(), errs.String()
}

// needSandbox skips a test where nothing can be confined, and says why.
func (s *sandboxed) needSandbox() {
	s.t.Helper()
	if code, _, stderr := s.run("run", "--", "/bin/true"); code != 0 {
		s.t.Skipf("no sandbox here: %s", stderr)
	}
}

func TestSandboxRun(t *testing.T) {
	s := newSandboxed(t)
	s.needSandbox()
	secret := filepath.Join(s.home, "secret")
	if err := os.WriteFile(secret, []byte("hidden"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.environ = []string{"FAKE_API_KEY=k"}
	tests := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"output and exit code": {[]string{"--", "/bin/sh", "-c", "echo out; echo err >&2; exit 4"}, 4, "out\n", "err\n"},
		"a program of PATH":    {[]string{"--", "sh", "-c", "pwd"}, 0, s.ws + "\n", ""},
		"input":                {[]string{"--", "cat"}, 0, "typed", ""},
		"no secrets":           {[]string{"--", "sh", "-c", "env | grep -c FAKE"}, 1, "0\n", ""},
		"mask":                 {[]string{"--mask", secret, "--", "cat", secret}, 0, "", ""},
		"no mask":              {[]string{"--", "cat", secret}, 0, "hidden", ""},
		"not found":            {[]string{"--", "no-such-program-anywhere"}, 127, "", "no-such-program-anywhere: command not found\n"},
		"relative program":     {[]string{"--", "./gone"}, 127, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s.stdin = strings.NewReader("typed")
			code, stdout, stderr := s.run(append([]string{"run"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || tt.stderr != "" && stderr != tt.stderr {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
	for _, name := range sandbox.DefaultProtected() {
		if _, err := os.Lstat(filepath.Join(s.ws, name)); err == nil {
			t.Errorf("%s is left in the workspace", name)
		}
	}
}

func TestSandboxRunNetwork(t *testing.T) {
	s := newSandboxed(t)
	s.needSandbox()
	if _, err := os.Stat("/usr/bin/curl"); err != nil {
		t.Skip("curl is needed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		// Ends with the listener.
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	}()
	addr := l.Addr().String()
	curl := []string{"--", "/usr/bin/curl", "-s", "--noproxy", "", "-m", "20", "-o", "/dev/stdout", "-w", " %{http_code}", "http://" + addr + "/"}

	code, stdout, stderr := s.run(append([]string{"run"}, curl...)...)
	if code != 0 || !strings.HasSuffix(stdout, " 403") || !strings.Contains(stderr, addr+":http held for approval") || !strings.Contains(stderr, "nobody can answer") {
		t.Errorf("not approved: exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, stdout, stderr = s.run(append([]string{"run", "--allow", addr + ":http"}, curl...)...)
	if code != 0 || stdout != "here 200" {
		t.Errorf("approved: exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	for _, mode := range []string{"proxy-only", "restricted"} {
		code, stdout, _ = s.run("run", "--network", mode, "--allow", addr+":http", "--", "/usr/bin/curl", "-s", "--noproxy", "*", "-m", "20", "http://"+addr+"/")
		if code != 7 || stdout != "" { // 7: failed to connect
			t.Errorf("%s, past the proxy: exit %d, stdout %q", mode, code, stdout)
		}
	}
	code, stdout, _ = s.run("run", "--network", "enabled", "--", "/usr/bin/curl", "-s", "-m", "20", "http://"+addr+"/")
	if code != 0 || stdout != "here" {
		t.Errorf("enabled: exit %d, stdout %q", code, stdout)
	}
}

func TestSandboxUsage(t *testing.T) {
	s := newSandboxed(t)
	for name, tt := range map[string]struct {
		args  []string
		cause string
	}{
		"no command":         {[]string{"run"}, "a command is needed"},
		"no dashes":          {[]string{"run", "true"}, "a command is needed"},
		"nothing after them": {[]string{"run", "--"}, "a command is needed"},
		"network":            {[]string{"run", "--network", "open", "--", "true"}, "unknown network mode"},
		"launcher":           {[]string{"run", "--launcher", "none", "--", "true"}, "unknown sandbox launcher"},
		"allow":              {[]string{"run", "--allow", "example.org", "--", "true"}, "--allow"},
		"allow everything":   {[]string{"run", "--allow", "*:443:https", "--", "true"}, "--allow"},
		"check network":      {[]string{"check", "--network", "open"}, "unknown network mode"},
		"unknown flag":       {[]string{"run", "--no-sandbox", "--", "true"}, "unknown option --no-sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := s.run(tt.args...)
			if code != 2 || stdout != "" || !strings.Contains(stderr, tt.cause) || !strings.Contains(stderr, "muse sandbox "+tt.args[0]) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// A boundary that cannot be made ends with 125, one line, and no command.
func TestSandboxUnavailable(t *testing.T) {
	s := newSandboxed(t)
	mark := filepath.Join(s.ws, "mark")
	for name, ws := range map[string]string{"root": "/", "home": s.home, "missing": filepath.Join(s.ws, "gone")} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := s.run("run", "--workspace", ws, "--", "/bin/sh", "-c", "echo ran > "+mark)
			if code != 125 || stdout != "" || !strings.HasPrefix(stderr, "environment failure: sandbox enforcement unavailable: ") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			if _, err := os.Lstat(mark); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

func TestSandboxCheck(t *testing.T) {
	s := newSandboxed(t)
	code, stdout, stderr := s.run("check", "--json")
	var report struct {
		OK       *bool
		System   string
		Launcher string
		Network  string
		Checks   []struct{ Name, Status, Detail, Cure string }
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if report.OK == nil || *report.OK != (code == 0) || report.System != runtime.GOOS+"/"+runtime.GOARCH || report.Network != "proxy-only" || stderr != "" {
		t.Errorf("exit %d, report %+v, stderr %q", code, report, stderr)
	}
	if *report.OK != (report.Launcher != "") {
		t.Errorf("ok %v with launcher %q", *report.OK, report.Launcher)
	}
	for _, c := range report.Checks {
		if c.Name == "" || c.Status != "ok" && c.Cure == "" && c.Status == "failed" {
			t.Errorf("a failed check without a cure: %+v", c)
		}
	}
	textCode, text, _ := s.run("check")
	if textCode != code || !strings.Contains(text, "workspace") {
		t.Errorf("exit %d: %s", textCode, text)
	}
	code, stdout, _ = s.run("check", "--json", "--workspace", "/")
	if code != 1 || !strings.Contains(stdout, `"ok": false`) || !strings.Contains(stdout, "root directory") {
		t.Errorf("a workspace that is refused: exit %d, %s", code, fmt.Sprint(stdout))
	}
}
