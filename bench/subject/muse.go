package subject

import (
	"time"

	"github.com/openmuse/muse/internal/mockmodel"
)

// Muse is the muse binary on its three wires that take any address. The first
// one is what the budgets are about.
func Muse(program string) []*Subject {
	first := muse("muse", program, "openai-chat", mockmodel.Chat, "/v1", "OPENAI_API_KEY", unconfined...)
	first.UI = museUI()
	return []*Subject{
		first,
		muse("muse-responses", program, "openai", mockmodel.Responses, "/v1", "OPENAI_API_KEY", unconfined...),
		muse("muse-messages", program, "anthropic", mockmodel.Messages, "", "ANTHROPIC_API_KEY", unconfined...),
	}
}

// Confined is the muse binary with both of its layers on, in a workspace that
// is trusted: every command is reviewed and runs in the sandbox.
func Confined(program string) *Subject {
	return muse("muse-sandbox", program, "openai-chat", mockmodel.Chat, "/v1", "OPENAI_API_KEY", "--trust-workspace")
}

var unconfined = []string{"--disable-sandbox", "--disable-approval"}

func muse(name, program, provider, wire, path, keyEnv string, layers ...string) *Subject {
	args := func(p Place) []string {
		a := []string{
			"exec", "--provider", provider, "--base-url", p.URL + path, "--model", "mock-1",
		}
		a = append(a, layers...)
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
