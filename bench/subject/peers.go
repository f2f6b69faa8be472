package subject

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/openmuse/muse/internal/mockmodel"

	"github.com/openmuse/muse/bench/service"
)

// Peers are the other agents that are on PATH, in full automatic mode and
// without a sandbox, pointed at the mock service by their own settings.
func Peers() []*Subject {
	var out []*Subject
	for _, s := range []*Subject{codex(), claude(), opencode(), crush(), pi(), gemini()} {
		path, err := exec.LookPath(s.Name)
		if err != nil {
			continue
		}
		if s.Program, err = filepath.Abs(path); err != nil {
			continue
		}
		s.Peer, s.Limit = true, 3*time.Minute
		if s.Version == nil {
			s.Version = []string{"--version"}
		}
		out = append(out, s)
	}
	return out
}

// words are arguments that do not depend on the place.
func words(args ...string) func(Place) []string {
	return func(Place) []string { return args }
}

// write writes a settings file below the home directory.
func write(p Place, name, format string, args ...any) error {
	path := filepath.Join(p.Home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600)
}

func codex() *Subject {
	const mode = "--dangerously-bypass-approvals-and-sandbox"
	return &Subject{
		Name: "codex", Wire: mockmodel.Responses, UI: codexUI(),
		Run:      words("exec", mode, "-m", "gpt-5.5", Prompt),
		Continue: words("exec", mode, "-m", "gpt-5.5", "resume", "--last", Prompt),
		Env:      func(Place) []string { return []string{"MOCK_KEY=" + Key} },
		Configure: func(p Place) error {
			return write(p, ".codex/config.toml", `model_provider = "mock"
approval_policy = "never"

[model_providers.mock]
name = "mock"
base_url = "%s/v1"
wire_api = "responses"
env_key = "MOCK_KEY"

[analytics]
enabled = false

[otel]
exporter = "none"
`, p.URL)
		},
		Logs: Files{Dir: ".codex/sessions", Match: "*.jsonl"},
	}
}

func claude() *Subject {
	args := []string{"-p", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"}
	return &Subject{
		Name: "claude", Wire: mockmodel.Messages, UI: claudeUI(),
		Run:      words(append(args, Prompt)...),
		Continue: words(append(args[:len(args):len(args)], "-c", Prompt)...),
		Env: func(p Place) []string {
			return []string{
				"ANTHROPIC_BASE_URL=" + p.URL, "ANTHROPIC_API_KEY=" + Key,
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "IS_SANDBOX=1",
			}
		},
		Logs: Files{Dir: ".claude/projects", Match: "*.jsonl"},
	}
}

func opencode() *Subject {
	return &Subject{
		Name: "opencode", Wire: mockmodel.Chat, UI: opencodeUI(),
		Run:      words("run", "--auto", "-m", "mock/mock-model", Prompt),
		Continue: words("run", "--auto", "-m", "mock/mock-model", "-c", Prompt),
		Configure: func(p Place) error {
			return write(p, ".config/opencode/opencode.json", `{
  "autoupdate": false, "share": "disabled", "model": "mock/mock-model", "small_model": "mock/mock-model",
  "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock",
    "options": {"baseURL": "%s/v1", "apiKey": "%s"},
    "models": {"mock-model": {"name": "mock-model", "limit": {"context": 200000, "output": 32000}}}}}
}
`, p.URL, Key)
		},
		Logs: Files{Dir: ".local/share/opencode", Match: "opencode*.db*"},
	}
}

func crush() *Subject {
	return &Subject{
		Name: "crush", Wire: mockmodel.Chat, UI: crushUI(),
		Run:      words("run", "-q", Prompt),
		Continue: words("run", "-q", "-C", Prompt),
		Env: func(Place) []string {
			return []string{"CRUSH_DISABLE_METRICS=1", "CRUSH_DISABLE_PROVIDER_AUTO_UPDATE=1"}
		},
		Configure: func(p Place) error {
			const model = `{"model": "mock-model", "provider": "mock"}`
			return write(p, ".config/crush/crush.json", `{
  "models": {"large": %[3]s, "small": %[3]s},
  "providers": {"mock": {"type": "openai-compat", "base_url": "%[1]s/v1", "api_key": "%[2]s",
    "models": [{"id": "mock-model", "name": "mock-model", "context_window": 200000, "default_max_tokens": 32000}]}}
}
`, p.URL, Key, model)
		},
		Logs: Files{InWork: true, Dir: ".crush", Match: "crush.db*"},
	}
}

func pi() *Subject {
	return &Subject{
		Name: "pi", Wire: mockmodel.Chat, UI: piUI(),
		Run:      words("-p", "--provider", "mock", "--model", "mock-model", Prompt),
		Continue: words("-p", "--provider", "mock", "--model", "mock-model", "-c", Prompt),
		Env:      func(Place) []string { return []string{"PI_OFFLINE=1", "PI_TELEMETRY=0"} },
		Configure: func(p Place) error {
			return write(p, ".pi/agent/models.json", `{
  "providers": {"mock": {"baseUrl": "%s/v1", "apiKey": "%s", "api": "openai-completions",
    "models": [{"id": "mock-model", "name": "mock-model", "contextWindow": 200000, "maxTokens": 32000}]}}
}
`, p.URL, Key)
		},
		Logs: Files{Dir: ".pi/agent/sessions", Match: "*.jsonl"},
	}
}

func gemini() *Subject {
	args := []string{"--yolo", "--skip-trust", "-m", "gemini-2.5-pro"}
	return &Subject{
		Name: "gemini", Wire: service.Google, UI: geminiUI(),
		Run:      words(append(args, "-p", Prompt)...),
		Continue: words(append(args[:len(args):len(args)], "-r", "latest", "-p", Prompt)...),
		Env: func(p Place) []string {
			return []string{"GEMINI_API_KEY=" + Key, "GOOGLE_GEMINI_BASE_URL=" + p.URL}
		},
		Configure: func(p Place) error {
			return write(p, ".gemini/settings.json", `{
  "general": {"disableAutoUpdate": true, "enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}}
}
`)
		},
		Logs: Files{Dir: ".gemini/tmp", Match: "session-*.json*"},
	}
}
