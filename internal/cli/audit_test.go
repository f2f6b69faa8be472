package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/audit/logtest"
)

const auditSession = "01a0f000-0000-7000-8000-000000000001"

// auditEnv runs audit commands in a home of its own.
type auditEnv struct {
	t    *testing.T
	home string
	tty  bool
}

// newAuditEnv makes a home with one sealed session of ours.
func newAuditEnv(t *testing.T) *auditEnv {
	t.Helper()
	e := &auditEnv{t: t, home: t.TempDir()}
	l := logtest.New(auditSession)
	l.Metadata("/srv/proj", "muse-spark-1.3", "1.4.4-openmuse.0.1.0")
	l.Record("session.name.changed", `{"new_name":"quiet-lyra"}`)
	l.RunModel("r", "muse-spark-1.3")
	l.Run("r", `{"kind":"started","prompt":"say \u001b[31mhi"}`)
	l.Run("r", `{"kind":"model_completed","model":"muse-spark-1.3","usage":{"input_tokens":1000000,"output_tokens":0}}`)
	l.Run("r", `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"ls\",\"password\":\"hunter2hunter2\"}","call_id":"c","name":"bash"}]}`)
	l.Run("r", `{"kind":"assistant_message_committed","text":"=hi"}`)
	l.Record("session.end", `{"record":{"exit_reason":"clean"}}`)
	l.Checkpoint(true)
	e.write(".local/share/muse/sessions/2026/10/01/"+auditSession+"/session.jsonl", string(l.Bytes()))
	e.write(".config/muse/settings.json", "{}")
	e.write(".config/muse/auth.json", "{}")
	return e
}

func (e *auditEnv) write(name, text string) {
	e.t.Helper()
	p := filepath.Join(e.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

func (e *auditEnv) run(args ...string) (code int, stdout, stderr string) {
	e.t.Helper()
	var out, errs bytes.Buffer
	vars := map[string]string{"HOME": e.home}
	env := &Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, StdoutTTY: e.tty,
		Getenv:  func(k string) string { return vars[k] },
		Environ: func() []string { return nil },
		Getwd:   os.Getwd,
		Now:     func() time.Time { return time.UnixMicro(logtest.Start).Add(time.Hour) },
	}
	cmd := newAuditCmd(env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	root := newRootCmd(env)
	for _, c := range root.Commands() {
		if c.Name() == cmd.Name() {
			root.RemoveCommand(c)
		}
	}
	strictFlags(cmd)
	root.AddCommand(cmd)
	root.SetArgs(append([]string{"audit"}, args...))
	code = exitCode(root.ExecuteContext(context.Background()), env)
	return code, out.String(), errs.String()
}

func TestAuditTimeline(t *testing.T) {
	e := newAuditEnv(t)
	code, out, errs := e.run("timeline")
	if code != 0 || errs != "" || strings.Count(out, "\n") != 5 || !strings.HasPrefix(out, `{"timestamp_utc":"2026-10-01T09:00:00.000Z","session_id":"`+auditSession+`","project_path":"/srv/proj"`) {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
	if strings.Contains(out, "\x1b") {
		t.Error("an escape came through")
	}
	code, out, _ = e.run("timeline", "--type", "tool_use,assistant", "--since", "2h", "--format", "csv", "--source")
	if code != 0 || !strings.Contains(out, `"'=hi"`) || strings.Count(out, "\r\n") != 3 || !strings.Contains(out, "source_file,source_offset\r\n") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, format := range timelineFormats {
		file := filepath.Join(t.TempDir(), "out")
		if code, _, errs := e.run("timeline", "--format", format, "--out", file); code != 0 {
			t.Errorf("%s: exit %d %s", format, code, errs)
		}
		onDisk, err := os.ReadFile(file)
		if err != nil || len(onDisk) == 0 {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := os.Stat(file + ".part"); err == nil {
			t.Errorf("%s: the unfinished file is left", format)
		}
		_, out, _ := e.run("timeline", "--format", format)
		if format != "sqlite" && out != string(onDisk) || !strings.HasPrefix(out, string(onDisk[:6])) {
			t.Errorf("%s: stdout and the file differ", format)
		}
	}
}

func TestAuditUsageErrors(t *testing.T) {
	e := newAuditEnv(t)
	e.tty = true
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"timeline", "--format", "xml"}, `option --format: "xml" is none of`},
		{[]string{"timeline", "--type", "usr"}, `option --type: "usr" is no turn type`},
		{[]string{"timeline", "--type", "thinking"}, "needs --include-thinking"},
		{[]string{"timeline", "--since", "tomorrow"}, `option --since: "tomorrow" is no time`},
		{[]string{"timeline", "--since", "1h", "--until", "2h"}, "--since is after --until"},
		{[]string{"timeline", "--format", "parquet"}, "does not go to a terminal"},
		{[]string{"timeline", filepath.Join(e.home, "nowhere")}, "no such file"},
		{[]string{"timeline", "--format", "csv", "--format", "csv"}, "given twice"},
		{[]string{"timelin"}, "unknown command"},
		{[]string{"collect"}, "option --out is missing"},
		{[]string{"collect", "--out", "x", "y"}, "unexpected argument"},
		{[]string{"show"}, "a session is missing"},
		{[]string{"usage", "--by", "moon"}, "option --by"},
		{[]string{"sessions", "--until", "x"}, "option --until"},
		{[]string{"redact"}, "option --out is missing"},
		{[]string{"redact", "--out", e.home}, "is not empty"},
		{[]string{"verify", filepath.Join(e.home, "nowhere")}, "no such file"},
	} {
		code, out, errs := e.run(tt.args...)
		if code != 2 || !strings.Contains(errs, tt.want) || out != "" {
			t.Errorf("%v: exit %d, %q", tt.args, code, errs)
		}
	}
}

func TestAuditNothingThere(t *testing.T) {
	e := &auditEnv{t: t, home: t.TempDir()}
	if code, _, errs := e.run("timeline"); code != 1 || !strings.Contains(errs, "nothing was run here yet") {
		t.Errorf("exit %d %q", code, errs)
	}
	e.write("x/other.txt", "")
	for _, verb := range []string{"timeline", "sessions", "redact"} {
		args := []string{verb, filepath.Join(e.home, "x")}
		if verb == "redact" {
			args = append(args, "--out", filepath.Join(e.home, "out"))
		}
		if code, _, errs := e.run(args...); code != 1 || !strings.Contains(errs, "there is no session log") {
			t.Errorf("%s: exit %d %q", verb, code, errs)
		}
	}
	if code, _, errs := e.run("verify", filepath.Join(e.home, "x")); code != 2 {
		t.Errorf("verify: exit %d %q", code, errs)
	}
}

func TestAuditSummaries(t *testing.T) {
	e := newAuditEnv(t)
	code, out, errs := e.run("sessions")
	if code != 0 || !strings.Contains(out, auditSession+" (quiet-lyra)  /srv/proj  muse-spark-1.3") || !strings.Contains(out, "$1.25") || !strings.HasSuffix(out, "clean\n") {
		t.Errorf("sessions: exit %d %s\n%s", code, errs, out)
	}
	code, out, _ = e.run("sessions", "--json")
	var s struct {
		ID    string `json:"session_id"`
		Total struct {
			Cost int64 `json:"cost_micro_usd"`
		} `json:"total"`
	}
	if err := json.Unmarshal([]byte(out), &s); err != nil || code != 0 || s.ID != auditSession || s.Total.Cost != 1_250_000 {
		t.Errorf("sessions --json: %v\n%s", err, out)
	}
	if code, out, _ = e.run("projects"); code != 0 || !strings.Contains(out, "/srv/proj  1         1") {
		t.Errorf("projects: exit %d\n%s", code, out)
	}
	for _, by := range usageGroups {
		if code, out, _ = e.run("usage", "--by", by); code != 0 || strings.Count(out, "1000000") != 2 || !strings.Contains(out, "total") {
			t.Errorf("usage by %s: exit %d\n%s", by, code, out)
		}
	}
	if code, out, _ = e.run("sessions", "--since", "2026-10-02"); code != 0 || strings.Contains(out, auditSession) {
		t.Errorf("sessions of another day: exit %d\n%s", code, out)
	}
}

func TestAuditShow(t *testing.T) {
	e := newAuditEnv(t)
	log := filepath.Join(e.home, ".local/share/muse/sessions/2026/10/01", auditSession, "session.jsonl")
	for _, name := range []string{"last", "quiet-lyra", auditSession, "01a0", log} {
		code, out, errs := e.run("show", name)
		if code != 0 || !strings.Contains(out, `say \x1b[31mhi`) || !strings.Contains(out, "tool bash\n  command: ls\n") || strings.Contains(out, "\x1b") {
			t.Errorf("%s: exit %d %s\n%s", name, code, errs, out)
		}
	}
	if code, _, errs := e.run("show", "nobody"); code != 1 || !strings.Contains(errs, `no session "nobody"`) {
		t.Errorf("exit %d %q", code, errs)
	}
}

func TestAuditVerify(t *testing.T) {
	e := newAuditEnv(t)
	if code, out, errs := e.run("verify"); code != 0 || out != "" || !strings.Contains(errs, "1 log, 9 records, 1 sealed: 0 errors, 0 warnings") {
		t.Errorf("exit %d %q %q", code, out, errs)
	}
	name := ".local/share/muse/sessions/2026/10/01/" + auditSession + "/session.jsonl"
	log, err := os.ReadFile(filepath.Join(e.home, name))
	if err != nil {
		t.Fatal(err)
	}
	e.write(name, strings.Replace(string(log), `"command\":\"ls`, `"command\":\"rm`, 1))
	code, out, _ := e.run("verify")
	if code != 1 || !strings.Contains(out, "session.jsonl:1 (byte 0): error: checkpoint: one of the lines 1 to 8") {
		t.Errorf("exit %d %q", code, out)
	}
	code, out, _ = e.run("verify", "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var f struct {
		Line     int64  `json:"line"`
		Severity string `json:"severity"`
		Code     string `json:"code"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &f); err != nil || code != 1 || f.Code != "checkpoint" || f.Line != 1 || !strings.Contains(lines[len(lines)-1], `"summary":{"logs":1`) {
		t.Errorf("exit %d, %v\n%s", code, err, out)
	}
}

func TestAuditCollectAndBack(t *testing.T) {
	e := newAuditEnv(t)
	out := filepath.Join(t.TempDir(), "case.zip")
	code, report, errs := e.run("collect", "--root", e.home, "--home", ".", "--out", out)
	if code != 0 || !strings.Contains(report, "collected 2 files") || !strings.Contains(report, "credentials, not collected:\n  /.config/muse/auth.json") {
		t.Errorf("collect: exit %d %s\n%s", code, errs, report)
	}
	code, rows, errs := e.run("timeline", out)
	if code != 0 || strings.Count(rows, "\n") != 5 {
		t.Errorf("timeline of the collection: exit %d %s\n%s", code, errs, rows)
	}
	if code, _, errs := e.run("verify", out); code != 0 {
		t.Errorf("verify of the collection: exit %d %s", code, errs)
	}
	if code, _, errs := e.run("collect", "--root", e.home, "--home", ".", "--out", out); code != 2 || !strings.Contains(errs, "exists") {
		t.Errorf("again: exit %d %s", code, errs)
	}
	if code, text, _ := e.run("collect", "--show-catalogue"); code != 0 || !strings.Contains(text, "entry | any     | .config/muse") {
		t.Errorf("catalogue: exit %d", code)
	}
	redacted := filepath.Join(t.TempDir(), "shared")
	code, proof, errs := e.run("redact", out, "--out", redacted)
	if code != 0 || proof != filepath.Join(redacted, "redaction.jsonl")+"\n" || !strings.Contains(errs, "1 secret removed in 1 place") {
		t.Errorf("redact: exit %d %q %q", code, proof, errs)
	}
}
