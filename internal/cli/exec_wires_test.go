package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/cli"
	"github.com/openmuse/muse/internal/mockmodel"
	"github.com/openmuse/muse/internal/permission"
)

// machine is a home and a workspace of their own, and an environment.
type machine struct {
	t         *testing.T
	home      string
	workspace string
	vars      map[string]string
	planes    permission.Planes
}

func newMachine(t *testing.T, settings string) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir(), workspace: t.TempDir(), vars: map[string]string{}}
	m.vars["HOME"] = m.home
	m.vars["PATH"] = os.Getenv("PATH")
	if settings != "" {
		dir := filepath.Join(m.home, ".config", "muse")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// muse runs one command line in process.
func (m *machine) muse(args ...string) (code int, stdout, stderr string) {
	m.t.Helper()
	var out, errs bytes.Buffer
	environ := []string{}
	for k, v := range m.vars {
		environ = append(environ, k+"="+v)
	}
	code = cli.Main(context.Background(), args, cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Getenv:  func(name string) string { return m.vars[name] },
		Environ: func() []string { return environ },
		Getwd:   func() (string, error) { return m.workspace, nil }, Now: time.Now,
		Planes: m.planes,
	})
	return code, out.String(), errs.String()
}

func (m *machine) log() string {
	m.t.Helper()
	data, err := os.ReadFile(findLog(m.t, m.home))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(data)
}

func serve(t *testing.T, opts mockmodel.Options) *mockmodel.Server {
	t.Helper()
	s, err := mockmodel.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// wires are the providers and the base URLs they take on a mock server.
var wires = []struct{ provider, base, key string }{
	{"meta", "/v1", "META_API_KEY"},
	{"openai", "/v1", "OPENAI_API_KEY"},
	{"openai-chat", "/v1", "OPENAI_API_KEY"},
	{"anthropic", "", "ANTHROPIC_API_KEY"},
}

// quick makes three attempts that follow each other at once.
const quick = `{"schema_version":1,"provider_retry":{"max_attempts":3,"base_delay_ms":1,"retry_after_cap_ms":5}}`

// TestEachWireFinishesAToolRun runs three steps with real commands over each
// wire: one connection, the right key, the answer on stdout.
func TestEachWireFinishesAToolRun(t *testing.T) {
	for _, w := range wires {
		t.Run(w.provider, func(t *testing.T) {
			s := serve(t, mockmodel.Options{Steps: 3, Key: "sk-test"})
			m := newMachine(t, quick)
			m.vars[w.key] = "sk-test"
			code, stdout, stderr := m.muse("exec", "--provider", w.provider, "--base-url", s.URL()+w.base, "--model", "mock-1",
				"--disable-sandbox", "run the steps")
			if code != 0 || stdout != "All steps are done.\n" {
				t.Fatalf("exit %d, stdout %q, stderr %s", code, stdout, stderr)
			}
			if n := len(s.Calls()); n != 4 {
				t.Errorf("%d model calls, want 4", n)
			}
			if n := s.Connections(); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
			if log := m.log(); !strings.Contains(log, `\"output\": \"step-3\\n\"`) && !strings.Contains(log, `step-3`) {
				t.Error("the log lacks the output of the last step")
			}
			if first := len(s.Calls()[0].Body); first > 12<<10 {
				t.Errorf("the first request has %d bytes", first)
			}
		})
	}
}

// TestModelFailures is the table of what each failure of a model service does
// to a run: how often it is tried, the exit code and the line on stderr.
func TestModelFailures(t *testing.T) {
	status := func(code int, body string, header ...string) mockmodel.Failure {
		f := mockmodel.Failure{Status: code, Body: body, Header: map[string]string{"X-Request-Id": "req_7"}}
		for i := 0; i+1 < len(header); i += 2 {
			f.Header[header[i]] = header[i+1]
		}
		return f
	}
	apiError := func(kind, message string) string {
		return fmt.Sprintf(`{"error":{"type":%q,"code":%q,"message":%q}}`, kind, kind, message)
	}
	broken := func(b mockmodel.Break) mockmodel.Failure {
		return mockmodel.Failure{Break: b, Body: apiError("server_error", "it broke")}
	}
	for _, tt := range []struct {
		name    string
		failure mockmodel.Failure
		retried bool
		stderr  string // of the run that never succeeds
	}{
		{"429 with seconds", status(429, apiError("rate_limit_exceeded", "slow down"), "Retry-After", "1"), true, `model failed: API error 429 \[request_id=req_7\]: slow down`},
		{"429 with a date", status(429, apiError("rate_limit_exceeded", "slow down"), "Retry-After", "Mon, 30 Nov 2026 00:00:00 GMT"), true, `API error 429`},
		{"429 quota", status(429, apiError("insufficient_quota", "quota used up")), false, `API error 429 \[request_id=req_7\]: quota used up`},
		{"500", status(500, apiError("server_error", "oops")), true, `API error 500`},
		{"502 HTML", status(502, "<html>Bad Gateway</html>"), true, `API error 502`},
		{"503", status(503, apiError("server_error", "down")), true, `API error 503`},
		{"504", status(504, ""), true, `API error 504`},
		{"529 overloaded", status(529, apiError("overloaded_error", "busy")), true, `API error 529`},
		{"401", status(401, apiError("authentication_error", "bad key")), false, `API error 401`},
		{"402", status(402, apiError("billing_error", "Billing verification failed.")), false, `API error 402 \[request_id=req_7\]: Billing verification failed`},
		{"403", status(403, apiError("permission_error", "not yours")), false, `API error 403`},
		{"404 model", status(404, apiError("model_not_found", "no such model")), false, `model`},
		{"400", status(400, apiError("invalid_request_error", "bad request")), false, `API error 400`},
		{"reset mid-stream", broken(mockmodel.Reset), true, `model failed: `},
		{"truncated", broken(mockmodel.Truncate), true, `model failed: `},
		{"ends early", broken(mockmodel.Short), true, `model failed: `},
		{"idle", broken(mockmodel.Idle), true, `model failed: `},
		{"bad UTF-8", broken(mockmodel.BadUTF8), true, `model failed: `},
		{"bad JSON", broken(mockmodel.BadJSON), true, `model failed: `},
		{"error event", broken(mockmodel.ErrorEvent), true, `model failed: .*it broke`},
		{"silent", broken(mockmodel.Silent), true, `model failed: `},
	} {
		for _, w := range wires {
			t.Run(tt.name+"/"+w.provider, func(t *testing.T) {
				t.Parallel()
				for _, failures := range []int{1, 3} {
					var list []mockmodel.Failure
					for range failures {
						list = append(list, tt.failure)
					}
					s := serve(t, mockmodel.Options{Steps: 0, Failures: list})
					m := newMachine(t, quick)
					m.vars[w.key] = "sk-test"
					m.vars["TBH_STREAM_IDLE_TIMEOUT_SECS"], m.vars["TBH_STREAM_FIRST_EVENT_TIMEOUT_SECS"] = "1", "1"
					code, stdout, stderr := m.muse("exec", "--json", "--provider", w.provider, "--base-url", s.URL()+w.base, "--model", "mock-1", "hi")
					mends := tt.retried && failures < 3
					calls := 1
					if tt.retried {
						calls = min(failures+1, 3)
					}
					if n := len(s.Calls()); n != calls {
						t.Errorf("%d failures: %d model calls, want %d", failures, n, calls)
					}
					if mends {
						if code != 0 || !strings.Contains(stdout, `"payload_type":"run.terminal.completed"`) {
							t.Errorf("%d failures: exit %d, stderr %s", failures, code, stderr)
						}
						if !strings.Contains(stderr, "muse: warning: model call failed (attempt 1/3)") {
							t.Errorf("no word of the retry on stderr: %s", stderr)
						}
						continue
					}
					if code != 1 || !strings.Contains(stdout, `"payload_type":"run.terminal.failed"`) {
						t.Errorf("%d failures: exit %d", failures, code)
					}
					if !regexp.MustCompile(`(?m)^agent loop failed: .*` + tt.stderr).MatchString(stderr) {
						t.Errorf("%d failures: stderr %s\nwant %s", failures, stderr, tt.stderr)
					}
					if strings.Contains(stderr+stdout, "sk-test") {
						t.Error("the key was printed")
					}
				}
			})
		}
	}
}
