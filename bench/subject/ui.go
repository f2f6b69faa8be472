package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// UI is how a program is used on a terminal.
type UI struct {
	// Open are the arguments of a new session, Resume those of going on with
	// the session of the place; nil where that is not measured.
	Open, Resume func(Place) []string
	// Configure writes what keeps the program from asking at its first start.
	Configure func(Place) error
	// Composer reports whether the screen shows the prompt, ready to be typed
	// into.
	Composer func(screen string) bool
	// Submit is the key that sends the prompt.
	Submit string
	// Streams says that the service can send the program an answer piece by
	// piece.
	Streams bool
}

// TerminalEnviron is the environment of a program that is used on a terminal.
func (s *Subject) TerminalEnviron(p Place) []string {
	env := slices.DeleteFunc(s.Environ(p), func(e string) bool { return strings.HasPrefix(e, "TERM=") })
	return append(env, "TERM=xterm-256color", "COLORTERM=truecolor")
}

func shows(what string) func(string) bool {
	return func(screen string) bool { return strings.Contains(screen, what) }
}

// museUI is the muse binary as a person opens it: approval and sandbox on.
func museUI() *UI {
	args := func(before ...string) func(Place) []string {
		return func(p Place) []string {
			a := append(slices.Clone(before), "--provider", "openai-chat", "--base-url", p.URL+"/v1", "--model", "mock-1", "--trust-workspace")
			if len(before) > 0 {
				a = append(a, p.Session)
			}
			return a
		}
	}
	return &UI{Open: args(), Resume: args("resume"), Composer: shows("› "), Submit: "\r", Streams: true}
}

func codexUI() *UI {
	return &UI{
		Open: words("-m", "gpt-5.5", "--dangerously-bypass-approvals-and-sandbox"), Submit: "\r", Streams: true,
		Composer: shows("Ask Codex"),
		Configure: func(p Place) error {
			path := filepath.Join(p.Home, ".codex", "config.toml")
			have, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read the settings of codex: %w", err)
			}
			return os.WriteFile(path, fmt.Appendf(have, "\n[projects.%q]\ntrust_level = \"trusted\"\n", p.Work), 0o600)
		},
	}
}

func claudeUI() *UI {
	return &UI{
		Open: words("--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"), Submit: "\r", Streams: true,
		Composer: func(screen string) bool { return strings.Contains(screen, "❯") || strings.Contains(screen, "> ") },
		Configure: func(p Place) error {
			return write(p, ".claude.json", `{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
  "customApiKeyResponses": {"approved": ["%s"], "rejected": []},
  "projects": {"%s": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}
`, Key, filepath.ToSlash(p.Work))
		},
	}
}

func opencodeUI() *UI {
	return &UI{Open: words("-m", "mock/mock-model"), Composer: shows("Ask anything"), Submit: "\r", Streams: true}
}

func crushUI() *UI {
	return &UI{Open: words(), Composer: shows(">"), Submit: "\r", Streams: true}
}

func piUI() *UI {
	return &UI{Open: words("--provider", "mock", "--model", "mock-model"), Composer: shows("mock-model"), Submit: "\r", Streams: true}
}

func geminiUI() *UI {
	return &UI{Open: words("--skip-trust", "-m", "gemini-2.5-pro"), Composer: shows("Type your message"), Submit: "\r"}
}
