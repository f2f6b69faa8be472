package subject

import (
	"time"

	"github.com/openmuse/muse/internal/mockmodel"
)

// Muse is the muse binary on its three wires that take any address. The first
// one is what the budgets are about.
func Muse(program string) []*Subject {
	return []*Subject{
		muse("muse", program, "openai-chat", mockmodel.Chat, "/v1", "OPENAI_API_KEY"),
		muse("muse-responses", program, "openai", mockmodel.Responses, "/v1", "OPENAI_API_KEY"),
		muse("muse-messages", program, "anthropic", mockmodel.Messages, "", "ANTHROPIC_API_KEY"),
	}
}

func muse(name, program, provider, wire, path, keyEnv string) *Subject {
	args := func(p Place) []string {
		a := []string{
			"exec", "--provider", provider, "--base-url", p.URL + path, "--model", "mock-1",
			"--disable-sandbox", "--disable-approval",
		}
		if p.Session != "" {
			a = append(a, "--session-id", p.Session)
		}
		return append(a, Prompt)
	}
	return &Subject{
		Name: name, Program: program, Wire: wire, Version: []string{"--version"}, Run: args, Continue: args,
		Env:   func(Place) []string { return []string{keyEnv + "=" + Key} },
		Logs:  Files{Dir: ".local/share/muse", Match: "session.jsonl"},
		Limit: time.Minute,
	}
}
