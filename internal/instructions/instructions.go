// Package instructions gathers what the model is told besides the
// conversation: the base prompt, facts about the workspace, and the rules files
// of the user and the project.
//
// Rules of the project are read only when the workspace is trusted, and only
// from inside its working tree: a link that leads out is not followed.
package instructions

import (
	_ "embed" // the base prompt
	"fmt"
	"runtime"
	"strings"
	"time"
)

//go:embed base.md
var base string

// Base is the base prompt: the same for every session.
func Base() string { return strings.TrimSpace(base) }

// Block is one labelled piece of context that goes before the conversation
// (CLI.md 6, "Context blocks"; seed 000, run_context_messages).
type Block struct {
	ID     string // "workspace_identity", "rules.user", "rules.project:<path>"
	Source string // where the text is from: a path, or "muse"
	// Order sorts the blocks; blocks of the same order stay as they are given.
	Order int
	// Lifecycle is the cache class: "stable_prefix" is the same in every
	// session here, "runtime_prefix" differs between sessions.
	Lifecycle string
	Text      string
}

// The orders and cache classes used here.
const (
	orderIdentity = 85
	orderRules    = 100

	stablePrefix  = "stable_prefix"
	runtimePrefix = "runtime_prefix"
)

// Facts are what the environment block says. Empty ones are left out.
type Facts struct {
	Dir    string    // the workspace
	Now    time.Time // only the date is told, so that the text is stable
	Branch string    // Git branch
	Commit string    // when no branch is checked out
	OS     string    // "" is this system
	// Notes are further lines, such as what the sandbox allows.
	Notes []string
}

// Environment is the block that tells the model where it is.
func Environment(f Facts) Block {
	system := f.OS
	if system == "" {
		system = runtime.GOOS + "/" + runtime.GOARCH
	}
	lines := []string{"Workspace: " + f.Dir, "System: " + system}
	if !f.Now.IsZero() {
		lines = append(lines, "Date: "+f.Now.Format(time.DateOnly))
	}
	switch {
	case f.Branch != "":
		lines = append(lines, "Git branch: "+f.Branch)
	case f.Commit != "":
		lines = append(lines, "Git: commit "+f.Commit+" is checked out, no branch")
	}
	lines = append(lines, f.Notes...)
	return Block{
		ID: "workspace_identity", Source: "muse", Order: orderIdentity, Lifecycle: runtimePrefix,
		Text: strings.Join(lines, "\n"),
	}
}

// rulesBlock words one rules file. scope is the directory it holds for, "" for
// the user's own.
func rulesBlock(r rulesFile) Block {
	b := Block{Source: r.path, Order: orderRules, Lifecycle: stablePrefix}
	switch {
	case r.user:
		b.ID = "rules.user"
		b.Text = fmt.Sprintf("The user's own rules (%s):\n\n%s", r.path, r.text)
	case r.scope == ".":
		b.ID = "rules.project:" + r.name
		b.Text = fmt.Sprintf("Rules of this project (%s). They go before the user's general rules:\n\n%s", r.name, r.text)
	default:
		b.ID = "rules.project:" + r.name
		b.Text = fmt.Sprintf("Rules for files in %s (%s). They go before rules of directories above:\n\n%s", r.scope, r.name, r.text)
	}
	return b
}
