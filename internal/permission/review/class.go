package review

import "github.com/openmuse/muse/internal/permission/paths"

// Class is what a stage does, in one word. The values appear in explain output
// and in approval events.
type Class string

// The classes of THREATS.md 3.7. The first group may run unasked in on-request
// mode, the second never does.
const (
	// ReadOnly changes nothing and runs nothing else, provably.
	ReadOnly Class = "read-only"
	// ShellState changes variables or directories of the shell only.
	ShellState Class = "shell-state"
	// Edit writes inside the workspace or a temporary directory.
	Edit Class = "workspace-edit"
	// Network fetches through the network gate, which asks by itself.
	Network Class = "network"
	// Project runs code of the project: tests, builds, scripts.
	Project Class = "project-code"
	// Unknown is a program that the review has no rule for.
	Unknown Class = "unknown-program"

	// Dangerous destroys work, or reaches other machines, users or processes.
	Dangerous Class = "dangerous"
	// External runs code that nobody has seen in the project.
	External Class = "external-execution"
	// Tampering writes where later actions of the user are decided.
	Tampering Class = "tampering"
	// Sensitive reads secrets.
	Sensitive Class = "sensitive-read"
	// Environment changes variables that decide which code runs.
	Environment Class = "environment-injection"
)

// Stops reports whether the class needs an answer in on-request mode even with
// the sandbox on.
func (c Class) Stops() bool {
	switch c {
	case Dangerous, External, Tampering, Sensitive, Environment:
		return true
	}
	return false
}

// rank orders the classes that do not stop: a stage has the highest that any
// part of it calls for.
func (c Class) rank() int {
	switch c {
	case ReadOnly:
		return 0
	case ShellState:
		return 1
	case Edit:
		return 2
	case Network:
		return 3
	case Project:
		return 4
	}
	return 5
}

// Finding is the outcome for one stage.
type Finding struct {
	Class Class
	// Reason says in one line what decided the class.
	Reason string
	// Unruled says why no allow rule can pass this stage, or is empty: the
	// command's words do not say all that it does (THREATS.md 3.11).
	Unruled string
}

// Place is what a line is judged against.
type Place struct {
	// Space draws the boundary of the workspace and of secrets.
	Space paths.Space
	// Git tells whether the repository's own configuration starts programs.
	// nil stands for a clean configuration.
	Git func() GitConfig
	// Exists reports whether a path relative to the workspace exists; nil means
	// that the disk is not looked at.
	Exists func(rel string) bool
	// Dashes reports whether a directory holds a name that begins with a dash;
	// nil leaves that unknown, so that a pattern which could match an option
	// stops.
	Dashes func(dir string) (bool, error)
	// Shadowed reports whether a program of this name is found in the workspace
	// before the machine's; nil means never.
	Shadowed func(name string) bool
}

// GitConfig is what the configuration of a repository means for running git.
type GitConfig struct {
	// Quiet is set when no key could start a program: only then is git
	// read-only.
	Quiet bool
	// Runs names a key that starts a program although the environment of every
	// command neutralises hooks, pagers, editors and fsmonitor; empty if none.
	Runs string
	// Key names the first key for which Quiet is not set.
	Key string
}
