package sessions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/audit/logtest"
)

func call(model string, in, out int) string {
	return fmt.Sprintf(`{"kind":"model_completed","model":%q,"usage":{"input_tokens":%d,"output_tokens":%d,"reasoning_tokens":1,"cached_tokens":0}}`, model, in, out)
}

// home has two sessions in one project, one with a subagent, and one elsewhere.
func home(t *testing.T) *audit.Input {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, l *logtest.Log, tail string) {
		p := filepath.Join(dir, "sessions", name, "session.jsonl")
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, append(l.Bytes(), tail...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const day = 24 * 3600 * 1e6
	one := logtest.New("one")
	one.Profile("on_request", "auto_review", ":auto-review", "start")
	one.Metadata("/srv/proj", "muse-spark-1.3", "")
	one.Branch("main")
	one.Record("session.name.changed", `{"new_name":"quiet-lyra"}`)
	one.RunModel("r1", "muse-spark-1.3")
	one.Run("r1", `{"kind":"started","prompt":"p"}`)
	one.Run("r1", call("muse-spark-1.3", 1_000_000, 0))
	one.Run("r1", `{"kind":"assistant_tool_calls_committed","tool_calls":[{"args":"{}","call_id":"c","name":"bash"}]}`)
	one.Approval("r1", `{"kind":"requested","pending_action_id":"a","tool_call_id":"c","tool_name":"bash","raw_args":"x"}`)
	one.Approval("r1", `{"kind":"decision_applied","pending_action_id":"a","decision":"approved","decision_source":{"kind":"llm_judge"}}`)
	one.Approval("r1", `{"kind":"decision_applied","pending_action_id":"b","decision":"denied","decision_source":{"kind":"user"}}`)
	one.Run("r1", `{"kind":"assistant_message_committed","text":"done"}`)
	one.Run("r1", `{"kind":"terminal","terminal":"failed","reason":"x"}`)
	one.At += day
	one.Run("r1", call("muse-spark-1.3", 2_000_000, 0))
	one.Record("session.end", `{"record":{"exit_reason":"clean"}}`)
	put("2026/10/01/one", one, "cut")
	child := logtest.New("kid")
	child.Record("runtime.session.metadata", `{"record":{"model_id":"muse-spark-1.3","provider_id":"meta"}}`)
	child.Run("kid", `{"kind":"started","prompt":"task"}`)
	child.Run("kid", call("muse-spark-1.3", 1_000_000, 0))
	put("2026/10/01/one/subagent/kid", child, "")
	two := logtest.New("two")
	two.At += 2 * day
	two.Metadata("/srv/proj", "unknown-model", "")
	two.Record("runtime.session", `{"kind":"security_mode","event":{"effective_mode":"yolo"}}`)
	two.Run("r2", `{"kind":"started","prompt":"q"}`)
	two.Run("r2", call("unknown-model", 10, 20))
	put("2026/10/03/two", two, "")
	three := logtest.New("three")
	three.At -= day
	three.Record("runtime.session.route_facts", `{"record":{"cwd":"/srv/other"}}`)
	three.Run("r3", `{"kind":"started","prompt":"q"}`)
	put("2026/09/30/three", three, "")
	in, err := audit.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

func gather(t *testing.T, f audit.Filter) []*Session {
	t.Helper()
	list, _, err := Gather(context.Background(), home(t), f)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func ids(list []*Session) string {
	var s []string
	for _, x := range list {
		s = append(s, x.ID)
	}
	return strings.Join(s, " ")
}

func TestGather(t *testing.T) {
	list := gather(t, audit.Filter{})
	if ids(list) != "three one two" {
		t.Fatalf("sessions: %s", ids(list))
	}
	s := list[1]
	if s.Name != "quiet-lyra" || s.Project != "/srv/proj" || s.Branch != "main" || s.Build != "1.4.2" || s.End != "clean" {
		t.Errorf("facts: %+v", s)
	}
	if s.Prompts != 1 || s.Answers != 1 || s.Calls != 1 || s.Subagents != 1 || s.Failed != 1 || s.BadLines != 1 {
		t.Errorf("counts: %+v", s)
	}
	if a := s.Approvals; a.Asked != 1 || a.Approved != 1 || a.Denied != 1 || a.By["llm_judge"] != 1 || a.By["user"] != 1 {
		t.Errorf("approvals: %+v", a)
	}
	// Four million input tokens at $1.25, the subagent's included.
	if s.Total.Calls != 3 || s.Total.Input != 4_000_000 || s.Total.CostMicros != 5_000_000 {
		t.Errorf("usage: %+v", s.Total)
	}
	if len(s.Modes) != 1 || s.Modes[0] != "approval=on_request reviewer=auto_review profile=:auto-review" {
		t.Errorf("modes: %q", s.Modes)
	}
	if two := list[2]; two.Total.Unpriced != 1 || two.End != "" || two.Modes[0] != "security_mode=yolo" {
		t.Errorf("two: %+v", two)
	}
	if three := list[0]; three.Project != "/srv/other" {
		t.Errorf("three: %+v", three)
	}
}

func TestFilters(t *testing.T) {
	if got := ids(gather(t, audit.Filter{Projects: []string{"/srv/other"}})); got != "three" {
		t.Errorf("by project: %s", got)
	}
	// Only the second day of session one: its second call counts.
	const day = 24 * 3600 * 1e6
	list := gather(t, audit.Filter{Since: logtest.Start + day/2, Until: logtest.Start + 3*day/2})
	if ids(list) != "one" || list[0].Total.Input != 2_000_000 || list[0].Prompts != 0 {
		t.Errorf("the second day: %s %+v", ids(list), list)
	}
	if got := ids(gather(t, audit.Filter{Sessions: []string{"tw"}})); got != "two" {
		t.Errorf("by session: %s", got)
	}
	list = gather(t, audit.Filter{Since: logtest.Start, Until: logtest.Start + day/2})
	if ids(list) != "one" || list[0].Total.Input != 2_000_000 {
		t.Errorf("by time: %s %+v", ids(list), list)
	}
}

func TestProjectsAndSpending(t *testing.T) {
	list := gather(t, audit.Filter{})
	projects := Projects(list)
	if len(projects) != 2 || projects[0].Path != "/srv/proj" || projects[0].Sessions != 2 || projects[0].Total.Input != 4_000_010 || projects[0].Denied != 1 {
		t.Errorf("projects: %+v", projects[0])
	}
	for by, want := range map[string]string{
		"model": ":4000010", "day": "2026-10-01:2000000 2026-10-02:2000000 2026-10-03:10",
		"project": "/srv/other:0 /srv/proj:4000010", "session": "three:0 one:4000000 two:10",
	} {
		var got []string
		for _, s := range Spending(list, by) {
			got = append(got, fmt.Sprintf("%s:%d", s.Group, s.Total.Input))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %s, want %s", by, strings.Join(got, " "), want)
		}
	}
}
