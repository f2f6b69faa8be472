package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/tui/keymap"
	"github.com/openmuse/muse/internal/tui/screen"
)

// TestDocs holds docs/tui.md against the commands, the keys, the roles and the
// screens; UPDATE_DOCS=1 writes them there.
func TestDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "tui.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	want := doc
	for name, text := range map[string]string{
		"commands": docCommands(), "keys": docKeys(t), "screens": docScreens(t),
		"roles": strings.Join(screen.RoleNames()[1:], ", "),
	} {
		part := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->).*?(<!-- end -->)`)
		if !part.MatchString(want) {
			t.Fatalf("%s has no part %s", path, name)
		}
		want = part.ReplaceAllStringFunc(want, func(string) string { return "<!-- " + name + " -->" + text + "<!-- end -->" })
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if doc != want {
		t.Errorf("%s is not up to date: UPDATE_DOCS=1 go test ./internal/tui -run TestDocs", path)
	}
}

func docCommands() string {
	var b strings.Builder
	b.WriteString("\n\n| command | |\n|---|---|\n")
	for _, c := range Commands() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(c.Usage, "|", `\|`), c.Help)
	}
	b.WriteString("\n")
	return b.String()
}

func docKeys(t *testing.T) string {
	t.Helper()
	m, faults := keymap.New(nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var b strings.Builder
	b.WriteString("\n\n| action | keys | |\n|---|---|---|\n")
	for _, r := range m.Rows() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Action, strings.Join(r.Keys, ", "), r.Help)
	}
	b.WriteString("\n")
	return b.String()
}

func docScreens(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n")
	shot := func(title string, f *bench) {
		fmt.Fprintf(&b, "\n%s\n\n```text\n%s```\n", title, f.vt.Text())
	}
	begin := func() *bench {
		f := newBench(t, 80, 24)
		window := int64(200_000)
		f.u.Version = "VERSION"
		f.u.banner()
		f.happens("", event.Metadata{ModelID: "example-model", ProviderID: "example", WorkspaceRoot: "/ws"})
		f.happens("", event.PermissionProfile{Snapshot: event.PermissionSnapshot{Approval: "untrusted", Sandbox: "enabled", Network: "proxy_only", Reviewer: "human"}})
		f.happens("", event.WorkspaceBranch{Reference: event.Reference{Kind: "branch", Name: "main"}, WorkspaceRoot: "/ws"})
		f.happens("run", event.RunStarted{Prompt: "make the tests pass"})
		f.happens("run", event.RequestConfigured{ContextLimit: window})
		return f
	}
	f := begin()
	f.happens("run", event.ToolCalls{MessageID: "m", Calls: []event.ToolCall{{CallID: "c1", Name: "bash", Args: `{"command":"go test ./..."}`}}})
	f.happens("run", event.EffectStarted{CallID: "c1", TaskID: "t1", ToolName: "bash"})
	f.happens("run", event.TaskProgress{TaskID: "t1", Chunk: "ok  \texample/a\n--- FAIL: TestSum\n"})
	f.pass(3 * time.Second)
	f.types("look at sum.go first")
	shot("A turn that runs, with a prompt being written:", f)

	f = begin()
	f.happens("run", event.Approval{Kind: "requested", Fields: []byte(`{"pending_action_id":"a1","tool_call_id":"c1","tool_name":"bash","openmuse_source_index":1,"openmuse_reason":"stage 2 of 2, git push: no rule allows it",
		"approval_subject":{"command":"go test ./... && git push origin main","stages":[
		{"argv":["go","test","./..."],"argv_complete":true,"position":0,"total_stages":2,"resolution":{"kind":"allowed"}},
		{"argv":["git","push","origin","main"],"argv_complete":true,"position":1,"total_stages":2,"resolution":{"kind":"held"}}],"suggested_prefix":{"argv_prefix":["git","push"],"label":"git push"}},
		"available_choices":[{"choice_id":"a","label":"Allow once","decision":"approved","scope":"once"},
		{"choice_id":"b","label":"Always allow in this workspace","decision":"approvedPolicyAmendment","scope":"localPersistent","rule_preview":"git push … — with any further words"},
		{"choice_id":"c","label":"Reject","decision":"abort","scope":"once","accepts_feedback":true}]}`)})
	f.pass(time.Second)
	shot("A command that is held:", f)

	f = begin()
	f.happens("run", event.UserInputRequested{CallID: "c1", ID: "u1", ToolName: "request_user_input", Questions: []event.UserQuestion{{
		Header: "Storage", ID: "q", Mode: "single", Question: "Where is the cache to be kept?",
		Options: []event.UserOption{{Label: "In memory", Description: "gone with the process"}, {Label: "On disk", Description: "kept between runs"}},
	}}})
	f.pass(time.Second)
	shot("A question of the agent:", f)

	f = begin()
	f.happens("run", event.RunTerminal{Terminal: "completed"})
	f.types("/re")
	shot("Commands while they are typed:", f)
	b.WriteString("\n")
	return b.String()
}
