package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/audit/logtest"
	"github.com/openmuse/muse/internal/view/timeline"
)

const (
	sid  = "01a0f000-0000-7000-8000-000000000001"
	kid  = "0f3c2b1a-5d6e-4f70-8a9b-0c1d2e3f4a5b"
	logs = ".local/share/muse/sessions/2026/10/01/"
)

// TestSeedFixture holds the rows of the fixture of seed 000 against what the
// seed expects of them, word by word.
func TestSeedFixture(t *testing.T) {
	home := filepath.Join(shared(t), "fixtures", "home")
	rows, stats := read(t, TimelineOptions{Thinking: true}, home)
	type want struct {
		line            int
		typ, tool, call string
		text, time      string
	}
	wants := []want{
		{1, "system", "", "", "permission mode: approval=on_request reviewer=auto_review profile=:auto-review cause=new_session_default format=profile_v1", "2026-10-01T09:00:00.000Z"},
		{2, "system", "", "", "model: muse-spark-1.3-contributor provider=meta", "2026-10-01T09:00:00.100Z"},
		{4, "system", "", "", "session name: quiet-lyra", "2026-10-01T09:00:00.300Z"},
		{7, "user", "", "", "fix the failing test", "2026-10-01T09:00:01.000Z"},
		{9, "thinking", "", "", "Running the tests first.", "2026-10-01T09:00:03.100Z"},
		{12, "tool_use", "bash", "call_01", "npm test", "2026-10-01T09:00:03.400Z"},
		{16, "tool_result", "bash", "call_01", "[exit 1] 1 failing", "2026-10-01T09:00:04.500Z"},
		{17, "system", "network", "call_02", "approval requested: https registry.example.org:443", "2026-10-01T09:00:05.000Z"},
		{18, "system", "network", "call_02", "permission decision: approved source=llm_judge policy_result=allow amendment=-", "2026-10-01T09:00:06.000Z"},
		{20, "assistant", "", "", "The test fails because the fixture date is stale.", "2026-10-01T09:00:09.000Z"},
		{23, "system", "", "", `parser: unparseable line (Unterminated string starting at: line 1 column 26 (char 25)): {"schema_version":1,"id":"00000000-0000-4000-8000-0000000000`, ""},
	}
	var own, child []row
	for _, r := range rows {
		switch {
		case strings.HasSuffix(r.File, "tui-history.jsonl"):
			if r.Text != "fix the failing test" || r.Time != "" || r.Type != "user" || r.Session != sid || r.Project != "/srv/proj" {
				t.Errorf("prompt history: %v", r)
			}
		case r.Session == kid:
			child = append(child, r)
		default:
			own = append(own, r)
		}
	}
	if len(own) != len(wants) {
		t.Fatalf("%d rows of the session, want %d: %v", len(own), len(wants), own)
	}
	for i, w := range wants {
		r := own[i]
		if r.Line != w.line || r.Type != w.typ || r.Tool != w.tool || r.Call != w.call || r.Text != w.text || r.Time != w.time {
			t.Errorf("row %d: %v, want %v", i, r, w)
		}
		if r.Session != sid || r.Project != "/srv/proj" || r.Branch != "main" || r.Model != "muse-spark-1.3-contributor" {
			t.Errorf("row %d: session %s project %s branch %s model %s", i, r.Session, r.Project, r.Branch, r.Model)
		}
	}
	var got []string
	for _, r := range child {
		got = append(got, fmt.Sprint(r.Line, " ", r.Type, " ", r.Tool))
		if r.Project != "/srv/proj" {
			t.Errorf("subagent row without its parent's project: %v", r)
		}
	}
	if want := "1 system |2 system |4 system |5 tool_use submit_reminder_decision|6 tool_result submit_reminder_decision"; strings.Join(got, "|") != want {
		t.Errorf("subagent rows %s", strings.Join(got, "|"))
	}
	if stats.BadLines != 1 || stats.Logs != 3 {
		t.Errorf("stats %+v", stats)
	}
	if rows, _ := read(t, TimelineOptions{}, home); slices.ContainsFunc(rows, func(r row) bool { return r.Type == "thinking" }) {
		t.Error("reasoning without being asked for")
	}
}

// TestRecordedLog reads the recorded lines of an old build.
func TestRecordedLog(t *testing.T) {
	rows, stats := read(t, TimelineOptions{}, filepath.Join(shared(t), "fixtures/logs/session_log_R708.1_exemplars.jsonl"))
	var got []string
	for _, r := range rows {
		got = append(got, r.Type+" "+r.Tool)
	}
	if want := "system |system |user |tool_use write_file|tool_result write_file"; strings.Join(got, "|") != want || stats.BadLines != 0 {
		t.Errorf("%s, %+v", strings.Join(got, "|"), stats)
	}
}

// session is a log of the newer form with one of everything that is joined.
func session(id string, start int64) *logtest.Log {
	l := logtest.New(id)
	l.At = start
	l.Profile("on_request", "auto_review", ":auto-review", "new_session_default")
	l.Metadata("/srv/proj", "model-a", "")
	l.Branch("main")
	l.RunModel("r1", "model-a")
	l.Run("r1", `{"kind":"started","prompt":"do it"}`)
	l.Run("r1", `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{\"command\":\"ls\"}","call_id":"c1","name":"bash"}]}`)
	l.Marker()
	l.Run("r1", `{"kind":"tool_result_batch_committed","results":[{"tool_call_id":"c1","text":"{\"output\":\"a\",\"exit_code\":0}"}]}`)
	l.Run("r1", `{"kind":"assistant_message_committed","text":"done"}`)
	l.Run("r1", `{"kind":"terminal","terminal":"completed","reason":null}`)
	return l
}

// home is a home of our own making: a session with a subagent below a
// subagent, prompt history, trust, and files that are not wanted.
func home(t testing.TB) string {
	child := func(id string) []byte {
		l := logtest.New(id)
		l.Record("runtime.session.metadata", `{"record":{"model_id":"model-a","provider_id":"meta"}}`)
		l.Run(id, `{"kind":"started","prompt":"task of `+id+`"}`)
		return l.Bytes()
	}
	return tree(t, map[string][]byte{
		logs + sid + "/session.jsonl":                                       session(sid, logtest.Start).Bytes(),
		logs + sid + "/subagent/" + kid + "/session.jsonl":                  child(kid),
		logs + sid + "/subagent/" + kid + "/subagent/deep/session.jsonl":    child("deep"),
		logs + sid + "/approval-review/7a.jsonl":                            session("review", 0).Bytes(),
		logs + sid + "/approval-review/session.jsonl":                       session("review", 0).Bytes(),
		logs + sid + "/tool-outputs/t/session.jsonl":                        session("spill", 0).Bytes(),
		".local/share/muse/sessions/.msp-view-v1/" + sid + "/session.jsonl": session("view", 0).Bytes(),
		".local/share/muse/tui-history.jsonl":                               []byte("\"typed\"\n{\"project\":\"/srv/proj\",\"session\":\"" + sid + "\"}\n\"alone\"\n{broken\n"),
		".config/muse/trust.json":                                           []byte("{\"schema_version\":1,\n\"projects\":{\"/srv/proj\":{\"decision\":\"trusted\"},\n\"/srv/x\":{}}}"),
		".config/muse/settings.json":                                        []byte("{}"),
	})
}

func TestHome(t *testing.T) {
	dir := home(t)
	mtime := time.UnixMicro(logtest.Start - 5_000_000)
	if err := os.Chtimes(filepath.Join(dir, ".config/muse/trust.json"), mtime, mtime); err != nil {
		t.Fatal(err)
	}
	rows, stats := read(t, TimelineOptions{}, dir)
	for _, r := range rows {
		if r.Session == "review" || r.Session == "spill" || r.Session == "view" {
			t.Errorf("a file that is not wanted was read: %v", r)
		}
	}
	if rows[0].Text != "permission setting: projects./srv/proj.decision=trusted (from .config/muse/trust.json, file mtime)" ||
		rows[0].Project != "/srv/proj" || rows[0].Session != "" || rows[0].Time != "2026-10-01T08:59:55.000Z" || rows[0].Line != 2 {
		t.Errorf("trust: %v", rows[0])
	}
	if rows[1].Line != 3 || !strings.Contains(rows[1].Text, "projects./srv/x.decision=- ") {
		t.Errorf("trust without a decision: %v", rows[1])
	}
	for _, r := range rows {
		if (r.Session == kid || r.Session == "deep") && (r.Project != "/srv/proj" || r.Branch != "main") {
			t.Errorf("a subagent's row lacks its parent's project: %v %s %s", r, r.Project, r.Branch)
		}
	}
	tail := rows[len(rows)-3:]
	if texts(tail[:2]) != "typed|alone" || tail[0].Session != sid || tail[1].Session != "" || tail[1].Line != 3 || !strings.HasPrefix(tail[2].Text, "parser: unparseable line (") {
		t.Errorf("prompt history: %v", tail)
	}
	if stats.Logs != 5 {
		t.Errorf("stats %+v", stats)
	}
}

// TestWaysToNameALog: however the input is named, the rows are the same.
func TestWaysToNameALog(t *testing.T) {
	dir := home(t)
	whole, _ := read(t, TimelineOptions{}, dir)
	count := func(rows []row, id string) int {
		n := 0
		for _, r := range rows {
			if r.Session == id {
				n++
			}
		}
		return n
	}
	for _, p := range []string{".local/share/muse", ".local/share/muse/sessions", logs + sid, logs + sid + "/session.jsonl"} {
		rows, _ := read(t, TimelineOptions{}, filepath.Join(dir, p))
		own := count(whole, sid)
		if !strings.HasSuffix(p, "muse") {
			own-- // the prompt history lies above
		}
		if got := count(rows, sid); got != own {
			t.Errorf("%s: %d rows, want %d", p, got, own)
		}
	}
	alone := filepath.Join(dir, logs+sid, "subagent", kid, "subagent/deep/session.jsonl")
	rows, _ := read(t, TimelineOptions{}, alone)
	if len(rows) != 2 || rows[1].Project != "/srv/proj" || rows[1].Type != "system" {
		t.Errorf("a subagent's log alone: %v", rows)
	}
	rows, _ = read(t, TimelineOptions{}, dir, filepath.Join(dir, logs, sid))
	if len(rows) != len(whole) {
		t.Errorf("an input named twice: %d rows, want %d", len(rows), len(whole))
	}
	copied := filepath.Join(t.TempDir(), "renamed.log")
	if err := os.WriteFile(copied, session(sid, logtest.Start).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if rows, _ := read(t, TimelineOptions{}, copied); len(rows) != 6 {
		t.Errorf("a renamed log: %v", rows)
	}
	if _, err := Find([]string{filepath.Join(dir, "nowhere")}); err == nil {
		t.Error("a path that is not there is no error")
	}
}

func TestForeignFiles(t *testing.T) {
	dir := tree(t, map[string][]byte{
		"a/session.jsonl": []byte(`{"type":"session","id":"x"}` + "\n" + `{"stream":{"id":"s"},"payload_type":"session.name.changed","payload":{"new_name":"n"}}` + "\n"),
		"b/session.jsonl": []byte("not json\n7\n[]\n" + `{"stream":{"id":"s"},"payload_type":"session.name.changed","payload":{"new_name":"n"}}` + "\n"),
		"c/session.jsonl": nil,
		"d/session.jsonl": []byte("only noise\n"),
	})
	rows, stats := read(t, TimelineOptions{}, dir)
	if len(stats.Foreign) != 1 || !strings.HasSuffix(stats.Foreign[0], "a/session.jsonl") {
		t.Errorf("foreign: %v", stats.Foreign)
	}
	if len(rows) != 3 || rows[0].Text != "session name: n" || stats.BadLines != 2 {
		t.Errorf("%v %+v", rows, stats)
	}
}

// TestMerge: many logs that overlap come out by time, each in its own order.
func TestMerge(t *testing.T) {
	for _, n := range []int{2, 40, 450} { // read ahead, in step, without open files
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			files := map[string][]byte{}
			for i := range n {
				id := fmt.Sprintf("session-%03d", i)
				l := session(id, logtest.Start+int64(i%7)*500)
				files[logs+id+"/session.jsonl"] = l.Bytes()
			}
			late := session("later", logtest.Start+3600e6)
			files[logs+"later/session.jsonl"] = late.Bytes()
			rows, _ := read(t, TimelineOptions{}, tree(t, files))
			if len(rows) != (n+1)*6 {
				t.Fatalf("%d rows, want %d", len(rows), (n+1)*6)
			}
			checkOrder(t, rows)
			if rows[len(rows)-1].Session != "later" {
				t.Error("the later log is not last")
			}
		})
	}
}

func checkOrder(t *testing.T, rows []row) {
	t.Helper()
	line := map[string]int{}
	last := ""
	for i, r := range rows {
		if r.Time != "" && r.Time < last {
			t.Fatalf("row %d goes back in time: %v after %s", i, r, last)
		}
		if r.Time != "" {
			last = r.Time
		}
		if r.Line < line[r.File] {
			t.Fatalf("row %d goes back in its file: %v", i, r)
		}
		line[r.File] = r.Line
	}
}

// TestClockGoesBack: rows are by time even when a log is not, and lose nothing.
func TestClockGoesBack(t *testing.T) {
	l := session(sid, logtest.Start)
	l.At -= 3600e6
	l.Run("r1", `{"kind":"assistant_message_committed","text":"an hour ago"}`)
	l.At += 7200e6
	big := strings.Repeat("x", 1<<20)
	for i := range 30 { // more than is sorted in memory
		l.At -= 2 * l.Step
		l.Run("r1", fmt.Sprintf(`{"kind":"assistant_message_committed","text":"%d %s"}`, i, big))
	}
	rows, _ := read(t, TimelineOptions{}, tree(t, map[string][]byte{logs + sid + "/session.jsonl": l.Bytes(), logs + "b/session.jsonl": session("b", logtest.Start).Bytes()}))
	if len(rows) != 6+1+30+6 || rows[0].Text != "an hour ago" {
		t.Fatalf("%d rows, first %v", len(rows), rows[0])
	}
	last := ""
	for _, r := range rows {
		if r.Time < last {
			t.Fatalf("%v after %s", r, last)
		}
		last = r.Time
	}
	if !strings.HasPrefix(rows[len(rows)-1].Text, "0 xxx") {
		t.Errorf("last row %v", rows[len(rows)-1])
	}
}

func TestFilters(t *testing.T) {
	dir := home(t)
	at := func(s string, upper bool) int64 {
		n, err := ParseTime(s, upper, time.UnixMicro(logtest.Start))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	tests := []struct {
		name string
		f    Filter
		keep func(r row) bool
	}{
		{"type", Filter{Types: []timeline.TurnType{timeline.ToolUse, timeline.ToolOutput}}, func(r row) bool { return r.Type == "tool_use" || r.Type == "tool_result" }},
		{"tool", Filter{Tools: []string{"bash"}}, func(r row) bool { return r.Tool == "bash" }},
		{"session", Filter{Sessions: []string{sid}}, func(r row) bool { return r.Session == sid }},
		{"start of a session id", Filter{Sessions: []string{"0f3c"}}, func(r row) bool { return r.Session == kid }},
		{"project", Filter{Projects: []string{"/srv/"}}, func(r row) bool { return strings.HasPrefix(r.Project, "/srv/") }},
		{"not a neighbour", Filter{Projects: []string{"/srv/pro"}}, func(row) bool { return false }},
		{"since", Filter{Since: at("2026-10-01T09:00:00.006Z", false)}, func(r row) bool { return r.Time >= "2026-10-01T09:00:00.006Z" }},
		{"until", Filter{Until: at("2026-10-01T09:00:00.006Z", true)}, func(r row) bool { return r.Time != "" && r.Time <= "2026-10-01T09:00:00.006Z" }},
		{"a day", Filter{Since: at("2026-10-01", false), Until: at("2026-10-01", true)}, func(r row) bool { return strings.HasPrefix(r.Time, "2026-10-01") }},
	}
	whole, _ := read(t, TimelineOptions{}, dir)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []row
			for _, r := range whole {
				if tt.keep(r) {
					want = append(want, r)
				}
			}
			got, stats := read(t, TimelineOptions{Filter: tt.f}, dir)
			if !slices.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
			if stats.Undated != tt.f.Bounded() {
				t.Errorf("rows without a time were left out: %v", stats.Undated)
			}
		})
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	for s, want := range map[string][2]string{
		"2026-10-01":                {"2026-10-01T00:00:00Z", "2026-10-01T23:59:59.999999Z"},
		"2026-10-01T09:00":          {"2026-10-01T09:00:00Z", "2026-10-01T09:00:59.999999Z"},
		"2026-10-01T09:00:00+02:00": {"2026-10-01T07:00:00Z", "2026-10-01T07:00:00Z"},
		"2026-10-01 09:00:00.5":     {"2026-10-01T09:00:00.5Z", "2026-10-01T09:00:00.5Z"},
		"24h":                       {"2026-10-01T12:00:00Z", "2026-10-01T12:00:00Z"},
		"7d":                        {"2026-09-25T12:00:00Z", "2026-09-25T12:00:00Z"},
	} {
		for i, upper := range []bool{false, true} {
			got, err := ParseTime(s, upper, now)
			if err != nil || time.UnixMicro(got).UTC().Format(time.RFC3339Nano) != want[i] {
				t.Errorf("%s upper=%v: %v, %v", s, upper, time.UnixMicro(got).UTC(), err)
			}
		}
	}
	for _, s := range []string{"", "yesterday", "-3h", "2026-13-01", "d"} {
		if _, err := ParseTime(s, false, now); err == nil {
			t.Errorf("%q is taken for a time", s)
		}
	}
}

// TestArchive reads a zip file in place, whatever its names.
func TestArchive(t *testing.T) {
	log := string(session(sid, logtest.Start).Bytes())
	child := logtest.New(kid)
	child.Run(kid, `{"kind":"started","prompt":"task"}`)
	name := archive(t,
		[2]string{"files/home/bob/" + logs + sid + "/session.jsonl", log},
		[2]string{"files/home/bob/" + logs + sid + "/subagent/" + kid + "/session.jsonl", string(child.Bytes())},
		[2]string{"../../../../etc/cron.d/session.jsonl", string(session("up", logtest.Start).Bytes())},
		[2]string{`C:\Users\ann\session.jsonl`, string(session("win", logtest.Start).Bytes())},
		[2]string{"/abs/session.jsonl", string(session("abs", logtest.Start).Bytes())},
		[2]string{"/abs/session.jsonl", "twice"},
		[2]string{"x/approval-review/session.jsonl", string(session("review", 0).Bytes())},
		[2]string{"files/home/bob/.config/muse/trust.json", `{"projects":{"/p":{"decision":"trusted"}}}`},
	)
	rows, stats := read(t, TimelineOptions{}, name)
	seen := map[string]int{}
	for _, r := range rows {
		seen[r.Session]++
		if r.Session == kid && r.Project != "/srv/proj" {
			t.Errorf("subagent in the archive: %v", r)
		}
		if strings.Contains(r.File, "..") || strings.Contains(r.File, `\`) {
			t.Errorf("a name of the archive is shown as it is: %s", r.File)
		}
	}
	if seen[sid] != 6 || seen[kid] != 1 || seen["up"] != 6 || seen["win"] != 6 || seen["abs"] != 6 || seen["review"] != 0 || seen[""] != 1 {
		t.Errorf("rows by session: %v", seen)
	}
	if len(stats.Problems) != 1 || !strings.Contains(stats.Problems[0].Err.Error(), "twice") {
		t.Errorf("problems: %v", stats.Problems)
	}
	bad := filepath.Join(t.TempDir(), "bad.zip")
	if err := os.WriteFile(bad, []byte("PK\x03\x04 nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find([]string{bad}); err == nil {
		t.Error("an archive that is none is no error")
	}
}

// TestLinksAreNotFollowedOut: a link out of the input gives nothing, one that
// moves the sessions inside it is followed.
func TestLinksAreNotFollowedOut(t *testing.T) {
	outside := tree(t, map[string][]byte{"session.jsonl": session("outside", logtest.Start).Bytes()})
	dir := tree(t, map[string][]byte{"disk/2026/10/01/" + sid + "/session.jsonl": session(sid, logtest.Start).Bytes(), "data/muse/x": nil})
	for link, target := range map[string]string{"data/muse/sessions": "../../disk", "out": outside, "session.jsonl": filepath.Join(outside, "session.jsonl"), "muse": outside} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	rows, _ := read(t, TimelineOptions{}, filepath.Join(dir, "data"))
	if len(rows) != 0 {
		t.Errorf("a link out of the input was followed: %v", rows)
	}
	rows, _ = read(t, TimelineOptions{}, dir)
	if len(rows) != 6 || slices.ContainsFunc(rows, func(r row) bool { return r.Session == "outside" }) {
		t.Errorf("%v", rows)
	}
}

// TestBytes is how lines end and what stands before them.
func TestBytes(t *testing.T) {
	log := session(sid, logtest.Start).Bytes()
	want, _ := read(t, TimelineOptions{}, tree(t, map[string][]byte{"session.jsonl": log}))
	for name, data := range map[string][]byte{
		"CRLF":               bytes.ReplaceAll(log, []byte{'\n'}, []byte("\r\n")),
		"byte order mark":    append([]byte("\ufeff"), log...),
		"no last line feed":  bytes.TrimSuffix(log, []byte{'\n'}),
		"blank lines at end": append(bytes.Clone(log), "\n\n  \n"...),
	} {
		rows, stats := read(t, TimelineOptions{}, tree(t, map[string][]byte{"session.jsonl": data}))
		if texts(rows) != texts(want) || stats.BadLines != 0 {
			t.Errorf("%s: %v %+v", name, rows, stats)
		}
	}
}
