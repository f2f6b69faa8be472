//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/openmuse/muse/internal/msp"
	"github.com/openmuse/muse/internal/msp/msptest"
)

// TestTUIDecisionsAreAClients makes the same decision in the UI and as a client
// of `muse serve`, in the same workspace: the log says the same of both.
func TestTUIDecisionsAreAClients(t *testing.T) {
	tests := []struct {
		name   string
		keys   func(*onTerminal)
		choose func(c map[string]any) bool // the choice of the client
		words  string
	}{
		{"allow once", func(p *onTerminal) { p.keys("1") }, func(c map[string]any) bool {
			return c["decision"] == "approved" && c["scope"] == "once"
		}, ""},
		{"allow for the session", func(p *onTerminal) { p.keys(p.choice("for the session")) }, func(c map[string]any) bool {
			return c["scope"] == "session"
		}, ""},
		{"reject", func(p *onTerminal) { p.keys("n") }, func(c map[string]any) bool { return c["acceptsFeedback"] == true }, ""},
		{"reject and say why", func(p *onTerminal) {
			p.keys("f")
			p.seen("why not:")
			p.keys("not there\r")
		}, func(c map[string]any) bool { return c["acceptsFeedback"] == true }, "not there"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home, ws := place(t)
			model := script(t, home, runsCommand+`,{"text":"That is all."}`)
			p := openTerminal(t, home, ws, "--provider", "script", "--script", model)
			p.until("Do you trust this workspace?")
			p.keys("y")
			p.seen("ask for something")
			p.ask("make a file")
			p.seen("Run this command?")
			p.gone("keys are taken in a moment")
			tt.keys(p)
			p.until("That is all.")
			p.leave()
			ui := decisions(t, home, "", tt.words)

			if err := os.RemoveAll(filepath.Join(ws, "made.txt")); err != nil {
				t.Fatal(err)
			}
			m := &machine{t: t, home: home, workspace: ws, vars: map[string]string{"HOME": home, "PATH": os.Getenv("PATH")}}
			l := m.launch("--provider", "script", "--script", model)
			l.hello()
			session := l.call(msp.MethodSessionStart, msp.SessionStartParams{CommandID: msptest.CommandID(), WorkspaceRoot: &ws})["session"].(map[string]any)["sessionId"].(string)
			l.prompt(session, "make a file")
			asked := l.awaitNote(msp.NoteApprovalRequested).Params
			decide := map[string]any{
				"sessionId": session, "commandId": msptest.CommandID(), "approvalId": asked["approvalId"], "requirementId": asked["currentRequirementId"],
			}
			if tt.words != "" {
				decide["feedback"] = tt.words
			}
			for _, c := range asked["availableChoices"].([]any) {
				if c := c.(map[string]any); tt.choose(c) {
					decide["choiceId"] = c["choiceId"]
				}
			}
			l.call(msp.MethodApprovalDecide, decide)
			l.awaitNote(msp.NoteTurnCompleted)
			l.close()
			client := decisions(t, home, session, tt.words)
			if len(ui) < 3 {
				t.Errorf("the log holds %d records of the decision:\n%s", len(ui), strings.Join(ui, "\n"))
			}
			a, b := strings.Join(ui, "\n"), strings.Join(client, "\n")
			if !strings.Contains(a, tt.words) {
				t.Errorf("the log does not hold %q:\n%s", tt.words, a)
			}
			if a != b {
				t.Errorf("in the UI\n%s\nas a client\n%s", a, b)
			}
		})
	}
}

// decisions are the records of a session's log that tell of approvals, with
// what differs from one session to the next made equal, and those that hold
// what the person said. Without a session it is
// the only one there is.
func decisions(t *testing.T, home, session, words string) []string {
	t.Helper()
	log := ""
	err := filepath.WalkDir(filepath.Join(home, ".local/share/muse"), func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) != "session.jsonl" {
			return err
		}
		data, err := os.ReadFile(path)
		if session == "" || strings.Contains(string(data), `"session_id":"`+session+`"`) {
			log = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	ids := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?:call|approval|task|choice)_[0-9a-f]{32}|[0-9a-f]{64}`)
	times := regexp.MustCompile(`"(sequence|recorded_at|[a-z_]*(?:_at|_ms|_us|position|offset))":-?\d+`)
	var out []string
	for line := range strings.Lines(log) {
		told := strings.Contains(line, "approval/decide") || strings.Contains(line, `"pending_action_id"`) || words != "" && strings.Contains(line, words)
		if !told {
			continue
		}
		line = times.ReplaceAllString(strings.TrimSpace(line), `"$1":0`)
		line = ids.ReplaceAllStringFunc(line, func(id string) string {
			if names[id] == "" {
				names[id] = "id-" + string(rune('a'+len(names)%26)) + string(rune('a'+len(names)/26))
			}
			return names[id]
		})
		out = append(out, line)
	}
	return out
}
