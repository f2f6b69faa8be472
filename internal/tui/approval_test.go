package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
)

// staged is a line with two held stages, asked about at one of them.
func staged(kind, id string, at int) event.Approval {
	first, second, choices := "held", "held", ""
	if at == 1 {
		first = "approved"
		choices = `{"choice_id":"allow_always","label":"Always allow in this workspace","decision":"approvedPolicyAmendment","scope":"localPersistent","rule_preview":"git push … — with any further words; it would also pass: git push origin old"},`
	}
	offer := ""
	if at == 1 {
		offer = `,"suggested_prefix":{"argv_prefix":["git","push"],"label":"git push"}`
	}
	return event.Approval{Kind: kind, Fields: []byte(fmt.Sprintf(`{"pending_action_id":%q,"tool_call_id":"c-%s","tool_name":"bash","openmuse_reason":"stage %d of 2 needs you","openmuse_source_index":%d,
		"approval_subject":{"kind":"tool_action","command":"make deploy && git push origin main","stages":[
		{"argv":["make","deploy"],"argv_complete":true,"position":0,"total_stages":2,"resolution":{"kind":%q}},
		{"argv":["git","push","origin","main"],"argv_complete":true,"position":1,"total_stages":2,"resolution":{"kind":%q}}]%s},
		"available_choices":[{"choice_id":"allow_once","label":"Allow once","decision":"approved","scope":"once"},%s
		{"choice_id":"abort","label":"Reject","decision":"abort","scope":"once","accepts_feedback":true}]}`, id, id, at+1, at, first, second, offer, choices))}
}

// TestStagedApproval: each stage is a question of its own, marked in the line,
// with its own reason, and a decision names it.
func TestStagedApproval(t *testing.T) {
	b := newBench(t, 140, 40)
	b.happens("run", event.RunStarted{Prompt: "go"})
	b.happens("run", event.ToolCalls{MessageID: "m", Calls: []event.ToolCall{{CallID: "c0", Name: "bash", Args: `{"command":"cd x; git push origin dev | cat"}`}}})
	b.happens("run", event.ToolResults{Results: []event.ToolResult{{CallID: "c0", Text: "ok"}}})
	b.happens("run", staged("requested", "a1", 0))
	b.happens("run", staged("requested", "a2", 0))
	b.pass(time.Second)
	b.shows("? Run this command?  stage 1 of 2  1 more question waits")
	b.shows("stage 1 of 2 needs you")
	b.shows("▸ 1 make deploy  held")
	b.shows("· 2 git push origin main  asked next")
	b.hides("would also pass")
	b.types("1")
	b.answered()
	b.happens("run", staged("requirement_decided", "a1", 1))
	b.shows("keys are taken in a moment") // the next stage is another question
	b.pass(time.Second)
	b.shows("stage 2 of 2 needs you")
	b.shows("✓ 1 make deploy  you allowed it")
	b.shows("▸ 2 git push origin main  held")
	b.shows("2 Always allow in this workspace  git push … — with any further words")
	b.shows("would also pass: git push origin dev (as before), git push origin old (as before), git push --force")
	b.types("1")
	b.answered()
	want := []host.Decision{
		{ApprovalID: "a1", RequirementID: "a1", SourceIndex: 0, ChoiceID: "allow_once"},
		{ApprovalID: "a1", RequirementID: "a1", SourceIndex: 1, ChoiceID: "allow_once"},
	}
	if got := fmt.Sprint(b.s.decided); got != fmt.Sprint(want) {
		t.Errorf("decided %s\nwant %v", got, want)
	}
}

// TestSmallApproval: on the smallest screen the command, where it stands in the
// line, and every key are seen; the rest can be printed.
func TestSmallApproval(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {40, 14}, {60, 16}} {
		b := newBench(t, size[0], size[1])
		b.happens("run", event.RunStarted{Prompt: "go"})
		b.happens("run", staged("requested", "a1", 1))
		b.pass(time.Second)
		screen := b.vt.Screen()
		for _, want := range []string{"? Run this command?", "$ make deploy", "  1 ", "  2 ", "  3 ", "  f "} {
			if !strings.Contains(screen, want) {
				t.Errorf("at %v there is no %q:\n%s", size, want, screen)
			}
		}
		b.types("\x0f")
		b.shows("--force")
	}
}

// TestAlsoPasses: what a rule would also pass is told of rules that are open at
// their end, and of no others.
func TestAlsoPasses(t *testing.T) {
	for _, r := range []struct {
		prefix []string
		want   string
	}{
		{[]string{"git", "push"}, "git push --force"},
		{[]string{"npm", "run"}, "npm run ANY-SCRIPT"},
		{[]string{"make"}, "make ANY-TARGET"},
		{[]string{"frob"}, "frob ANY-WORDS"},
	} {
		got := strings.Join(r.prefix, " ") + " " + behind(r.prefix)[0]
		if got != r.want {
			t.Errorf("%v: %s, want %s", r.prefix, got, r.want)
		}
	}
}

// TestNetworkAndFile: holds of connections and files name what they are about.
func TestNetworkAndFile(t *testing.T) {
	b := newBench(t, 80, 30)
	b.happens("run", event.RunStarted{Prompt: "go"})
	b.happens("run", event.Approval{Kind: "requested", Fields: []byte(`{"pending_action_id":"n1","tool_call_id":"c1","tool_name":"bash",
		"approval_subject":{"network":{"host":"example.org","port":443,"protocol":"https"},"origin":{"kind":"command","command":"curl https://example.org/x"}},
		"available_choices":[{"choice_id":"allow_once","label":"Allow once","decision":"approved","scope":"once"},
		{"choice_id":"allow_session","label":"Allow for the session","decision":"approvedForSession","scope":"session","rule_preview":"example.org:443:https"},
		{"choice_id":"abort","label":"Reject","decision":"abort","scope":"once","accepts_feedback":true}]}`)})
	b.pass(time.Second)
	b.shows("? Connect to this host?")
	b.shows("https example.org port 443")
	b.shows("$ curl https://example.org/x")
	b.shows("2 Allow for the session  example.org:443:https")
	b.types("f")
	b.types("not that host\r")
	b.answered()
	if d := b.s.decided[0]; d.ChoiceID != "abort" || d.Feedback != "not that host" {
		t.Errorf("decided %+v", d)
	}
	b.happens("run", event.Approval{Kind: "decision_applied", Fields: []byte(`{"pending_action_id":"n1","decision":"abort","policy_result":"deny","decision_source":{"kind":"user"}}`)})
	b.happens("run", event.Approval{Kind: "requested", Fields: []byte(`{"pending_action_id":"f1","tool_call_id":"c2","tool_name":"write_file","openmuse_protected_write":true,
		"approval_subject":{"path":"/ws/.git/hooks/pre-commit","access":"write"},
		"available_choices":[{"choice_id":"allow_once","label":"Allow once","decision":"approved","scope":"once"},
		{"choice_id":"abort","label":"Reject","decision":"abort","scope":"once","accepts_feedback":true}]}`)})
	b.pass(time.Second)
	b.shows("? Write this file?")
	b.shows("write /ws/.git/hooks/pre-commit")
	b.shows("protected file")
}
