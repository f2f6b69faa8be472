package tui

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/openmuse/muse/internal/event"
)

// hostile are texts that want to do something to a terminal or to a reader.
func hostile() map[string]string {
	return map[string]string{
		"title":        "\x1b]0;pwned\x07",
		"title st":     "\x1b]2;pwned\x1b\\",
		"clipboard":    "\x1b]52;c;cHduZWQ=\x07",
		"link":         "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
		"notification": "\x1b]9;pwned\x07",
		"iterm file":   "\x1b]1337;File=name=x;inline=1:AAAA\x07",
		"clear":        "\x1b[2J\x1b[H",
		"scrollback":   "\x1b[3J",
		"move":         "\x1b[10A\x1b[5Doverwrite",
		"alternate":    "\x1b[?1049h",
		"mouse":        "\x1b[?1000h",
		"report":       "\x1b[6n\x1b[c\x1b[>q",
		"keyboard":     "\x1b[>31u",
		"reset":        "\x1bc",
		"charset":      "\x1b(0\x0e",
		"dcs":          "\x1bP+q544e\x1b\\",
		"apc":          "\x1b_Gf=24;AAAA\x1b\\",
		"c1 csi":       "\u009b2J",
		"c1 osc":       "\u009d0;pwned\u009c",
		"raw c1":       "\x9b2J\x9d0;pwned\x07",
		"return":       "allowed\rdenied ",
		"backspace":    "safe\b\b\b\bevil",
		"bell":         "\a\a\a",
		"delete":       "a\x7f\x7f",
		"null":         "a\x00b",
		"vertical":     "a\vb\fc",
		"bidi":         "rm \u202egpj.exe",
		"isolate":      "\u2066a\u2069",
		"tags":         "x\U000E0041\U000E0042",
		"zero width":   "pass\u200bword",
		"separator":    "a\u2028b\u2029c",
		"invalid":      "\xff\xfe\xc3",
		"cut escape":   "text \x1b",
		"cut csi":      "text \x1b[",
		"sgr":          "\x1b[8mhidden\x1b[0m",
		"conceal":      "\x1b[30;40mblack on black",
		"sync":         "\x1b[?2026h",
		"paste end":    "\x1b[201~rm -rf ~\r",
	}
}

// TestHostile shows each hostile text in every place that others fill, and
// looks at what the terminal got.
func TestHostile(t *testing.T) {
	for name, evil := range hostile() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 60, 40)
			args := func(v map[string]string) string {
				raw, err := json.Marshal(v)
				if err != nil {
					// JSON holds no invalid UTF-8: as a model sends it.
					return `{"command":"` + strings.ToValidUTF8(evil, "?") + `"}`
				}
				return string(raw)
			}
			run := "run"
			b.happens("", event.Metadata{ModelID: "m" + evil, ProviderID: evil, WorkspaceRoot: "/ws"})
			b.happens("", event.PermissionProfile{Snapshot: event.PermissionSnapshot{Sandbox: "enabled"}})
			b.happens("", event.WorkspaceBranch{Reference: event.Reference{Kind: "branch", Name: "b" + evil}, WorkspaceRoot: "/ws"})
			b.happens("", event.NameChanged{NewName: "n" + evil})
			b.happens(run, event.RunStarted{Prompt: "prompt " + evil})
			text := "# head " + evil + "\n\npara **" + evil + "** `" + evil + "` [" + evil + "](http://x/" + evil + ")\n\n- item " + evil +
				"\n\n```go\ncode " + evil + "\n```\n\n| a" + strings.ReplaceAll(evil, "\n", "") + " | b |\n|---|---|\n| c | " + evil + " |\n"
			for i := 0; i < len(text); i += 7 {
				b.happens(run, event.OutputDelta{MessageID: "m1", Offset: int64(i), Text: text[i:min(i+7, len(text))]})
			}
			b.happens(run, event.AssistantMessage{MessageID: "m1", Text: text})
			b.happens(run, event.SummaryCommitted{MessageID: "m0", Text: "thinks " + evil})
			b.happens(run, event.ToolCalls{MessageID: "m2", Calls: []event.ToolCall{
				{CallID: "c1", Name: "bash", Args: args(map[string]string{"command": "cmd " + evil})},
				{CallID: "c2", Name: "edit_file", Args: args(map[string]string{"path": "p" + evil, "find": "f" + evil, "replace": "r" + evil})},
				{CallID: "c3", Name: "tool" + evil, Args: evil},
			}})
			for _, c := range []string{"c1", "c2", "c3"} {
				b.happens(run, event.EffectStarted{CallID: c, TaskID: "t" + c, ToolName: "bash"})
				b.happens(run, event.TaskProgress{TaskID: "t" + c, Chunk: "output " + evil})
			}
			fields, err := json.Marshal(map[string]any{
				"pending_action_id": "a1", "tool_call_id": "c1", "tool_name": "bash", "openmuse_reason": strings.ToValidUTF8("why "+evil, "?"),
				"approval_subject": map[string]any{"kind": "shell", "command": strings.ToValidUTF8("cmd "+evil, "?"), "stages": []any{
					map[string]any{"argv": []string{strings.ToValidUTF8(evil, "?")}, "position": 0, "total_stages": 2, "resolution": map[string]any{"kind": "held", "diagnostic": strings.ToValidUTF8(evil, "?")}},
					map[string]any{"argv": []string{"b"}, "position": 1, "total_stages": 2, "resolution": map[string]any{"kind": "allowed"}}}},
				"available_choices": []any{map[string]any{"choice_id": "allow", "label": strings.ToValidUTF8("yes "+evil, "?"), "decision": "approved", "scope": "once", "rule_preview": strings.ToValidUTF8(evil, "?")}},
			})
			if err != nil {
				t.Fatal(err)
			}
			b.happens(run, event.Approval{Kind: "requested", Fields: fields})
			b.pass(armAfterTyping)
			b.happens(run, event.Approval{Kind: "decision_applied", Fields: []byte(`{"pending_action_id":"a1","decision":"approved","policy_result":"allow","decision_source":{"kind":"user"}}`)})
			b.happens(run, event.UserInputRequested{CallID: "c3", ID: "u1", ToolName: "request_user_input", Questions: []event.UserQuestion{{
				Header: "h" + evil, ID: "q", Mode: "single", Question: "q" + evil,
				Options: []event.UserOption{{Label: "l" + evil, Description: "d" + evil, Preview: "p" + evil}, {Label: "other"}},
			}}})
			b.pass(armAfterTyping)
			b.happens(run, event.RetryScheduled{Attempt: 1, DelayMS: 5000, MaxAttempts: 3, Reason: "r" + evil})
			b.happens(run, event.ToolResults{BatchID: "m2", Results: []event.ToolResult{
				{CallID: "c1", Text: "tool failed: " + evil, Failed: true}, {CallID: "c2", Text: "ok"}, {CallID: "c3", Text: evil},
			}})
			b.u.details()
			b.u.details()
			b.u.status()
			b.u.draft.Paste("draft " + evil)
			b.draw()
			reason := "because " + evil
			b.happens(run, event.RunTerminal{Terminal: "failed", Reason: &reason})
			b.u.say(0, evil)
			b.u.pick = &picker{title: evil, rows: []pickRow{{label: evil, detail: evil}}}
			b.draw()
			b.u.pick = nil
			b.u.drawer = drawer{kind: '@', rows: []drawerRow{{"x", "f" + evil, evil}}}
			b.draw()
			if odd := b.vt.Odd(); len(odd) > 0 {
				t.Errorf("these sequences reached the terminal: %v\n%s", odd, b.vt.Text())
			}
			for _, r := range b.vt.Text() {
				if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0xe0000) {
					t.Errorf("the terminal shows %U", r)
					break
				}
			}
		})
	}
}
