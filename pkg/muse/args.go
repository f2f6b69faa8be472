package muse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Flag names of `muse exec` used here. They stand in one block so that a
// renamed flag is a change in one line (seed 001, The Event Stream).
const (
	flagJSON           = "--json"
	flagProvider       = "--provider"
	flagModel          = "--model"
	flagEffort         = "--reasoning-effort"
	flagWorkspace      = "--workspace"
	flagTrust          = "--trust-workspace"
	flagNoApproval     = "--disable-approval"
	flagNoSandbox      = "--disable-sandbox"
	flagSandboxNetwork = "--sandbox-network"
	flagAutoResolve    = "--user-input-auto-resolve"
	flagNoForeign      = "--no-foreign-personal-context"
	flagShellTool      = "--enable-shell-tool"
	flagSessionID      = "--session-id"
	flagPromptFile     = "--prompt-file"
	flagApprovalMode   = "--approval-mode"
	flagApprovalJudge  = "--approval-judge"
	flagMaxSteps       = "--max-model-steps"
	flagOutputSchema   = "--output-schema"
	flagNoWrite        = "--disable-write"
	flagNoShell        = "--disable-shell"
	flagYolo           = "--yolo"
	flagProfile        = "--permission-profile"
	flagKeyStdin       = "--api-key-stdin"
	flagNoLog          = "--no-session-log"
	flagWorktree       = "--worktree"
)

// takesValue lists the flags of `muse exec` whose value is the next word
// (CLI.md 1.2 and 1.3); it is needed to walk pass-through arguments without
// taking a value for a flag.
func takesValue(flag string) bool {
	switch flag {
	case flagProvider, flagModel, flagEffort, flagWorkspace, flagSandboxNetwork, flagSessionID, flagPromptFile, flagApprovalMode,
		flagApprovalJudge, flagMaxSteps, flagOutputSchema, flagProfile,
		"--preset", "--base-url", "--image", "--worktree-base", "--worktree-existing", "--agents", "--echo-delay-ms", "--max-tool-output-bytes",
		"--context-compaction-strategy", "--context-compaction-soft-threshold", "--context-compaction-hard-threshold", "--script":
		return true
	}
	return false
}

// Job is what one run of a profile is about.
type Job struct {
	Workspace  string // absolute directory
	SessionID  string // a UUID; new or, to continue, known
	PromptFile string // absolute path of a file that only the owner can read
	Prompt     string // used only by a profile that passes the prompt as a word
}

// Invocation is a rendered command line without the binary's name.
type Invocation struct {
	Args []string
	Env  []string // NAME=value, set for the run
	// Skipped are flags of the profile that pass-through arguments replaced.
	Skipped []string
}

// Profile renders a job as a command line, or refuses it.
type Profile interface {
	// Name is stable and goes into reports.
	Name() string
	// Build must not have side effects.
	Build(Job) (Invocation, error)
}

// SandboxPosture is what [Supervised] says about the OS sandbox.
type SandboxPosture string

// Sandbox postures.
const (
	// SandboxOff disables the sandbox: under it .git is read-only, so the
	// commits a run is asked to make would fail. The default of seed 001.
	SandboxOff SandboxPosture = "off"
	// SandboxOn keeps it, with the network enabled.
	SandboxOn SandboxPosture = "on"
)

// Supervised is the command line of seed 001: one unattended turn whose
// questions resolve themselves.
type Supervised struct {
	Provider string // empty: the binary's own default
	Model    string // empty: the binary's own default
	Effort   string // empty: the binary's own default (high for Muse Code)
	Sandbox  SandboxPosture
	// AsyncShell leaves the managed shell on. By default the synchronous shell
	// tool is asked for, whose commands cannot wake the model after its turn.
	AsyncShell bool
	// Extra is passed through after the profile's flags and wins over them: a
	// flag given here is not given twice, and a flag that contradicts one here
	// is left out.
	Extra []string
}

var _ Profile = Supervised{}

// Name implements [Profile].
func (Supervised) Name() string { return "supervised" }

// Build implements [Profile].
func (p Supervised) Build(job Job) (Invocation, error) {
	if job.PromptFile == "" || job.SessionID == "" || job.Workspace == "" {
		return Invocation{}, errors.New("supervised profile: workspace, session id and prompt file are required")
	}
	if err := plainValues(p.Provider, p.Model, p.Effort); err != nil {
		return Invocation{}, fmt.Errorf("supervised profile: %w", err)
	}
	extra, err := parseExtra(p.Extra)
	if err != nil {
		return Invocation{}, fmt.Errorf("supervised profile: %w", err)
	}
	b := argBuilder{extra: extra, args: []string{"exec"}}
	b.flag(flagJSON)
	b.value(flagWorkspace, job.Workspace)
	b.value(flagProvider, p.Provider)
	b.value(flagModel, p.Model)
	b.value(flagEffort, p.Effort)
	b.flag(flagTrust, flagYolo)
	b.flag(flagNoApproval, flagYolo, flagProfile, flagApprovalMode)
	switch p.Sandbox {
	case SandboxOff, "":
		b.flag(flagNoSandbox, flagYolo, flagProfile, flagSandboxNetwork)
	case SandboxOn:
		b.value(flagSandboxNetwork, "enabled", flagYolo, flagProfile, flagNoSandbox)
	default:
		return Invocation{}, fmt.Errorf("supervised profile: sandbox posture %q is neither on nor off", p.Sandbox)
	}
	b.flag(flagAutoResolve)
	b.flag(flagNoForeign)
	if !p.AsyncShell {
		b.flag(flagShellTool, flagNoShell)
	}
	b.value(flagSessionID, job.SessionID)
	b.value(flagPromptFile, job.PromptFile)
	return Invocation{
		Args: append(b.args, p.Extra...), Env: []string{"MUSE_NO_AUTO_UPDATE=1"}, Skipped: b.skipped,
	}, nil
}

// plainValues refuses values that the binary would read as flags.
func plainValues(values ...string) error {
	for _, v := range values {
		if strings.HasPrefix(v, "-") || strings.ContainsAny(v, " \t\r\n\x00") {
			return fmt.Errorf("%q cannot be the value of a flag", clip(v, 60))
		}
	}
	return nil
}

// argBuilder appends flags unless pass-through arguments carry them or one
// that excludes them.
type argBuilder struct {
	extra   []string // names of the flags in the pass-through arguments
	args    []string
	skipped []string
}

func (b *argBuilder) free(name string, excludedBy []string) bool {
	for _, e := range b.extra {
		if e == name || slices.Contains(excludedBy, e) {
			b.skipped = append(b.skipped, name)
			return false
		}
	}
	return true
}

func (b *argBuilder) flag(name string, excludedBy ...string) {
	if b.free(name, excludedBy) {
		b.args = append(b.args, name)
	}
}

func (b *argBuilder) value(name, value string, excludedBy ...string) {
	if value != "" && b.free(name, excludedBy) {
		b.args = append(b.args, name, value)
	}
}

// ExtraError refuses a pass-through argument.
type ExtraError struct{ Arg, Why string }

func (e *ExtraError) Error() string { return fmt.Sprintf("pass-through argument %q: %s", e.Arg, e.Why) }

// parseExtra returns the flag names in pass-through arguments and refuses
// those that would break the supervision.
func parseExtra(extra []string) ([]string, error) {
	var names []string
	for i := 0; i < len(extra); i++ {
		arg := extra[i]
		name, _, hasValue := strings.Cut(arg, "=")
		if why := reserved(name); why != "" {
			return nil, &ExtraError{arg, why}
		}
		if !strings.HasPrefix(arg, "-") {
			// A word after a flag this table does not know may be its value.
			if i == 0 || !strings.HasPrefix(extra[i-1], "--") || knownBoolean(extra[i-1]) {
				return nil, &ExtraError{arg, "the prompt is in a file; a further word would be a second prompt"}
			}
			continue
		}
		if slices.Contains(names, name) && knownBoolean(name) {
			return nil, &ExtraError{arg, "a boolean flag given twice is a usage error"}
		}
		names = append(names, name)
		if takesValue(name) && !hasValue {
			i++
			if i == len(extra) {
				return nil, &ExtraError{arg, "its value is missing"}
			}
		}
	}
	return names, nil
}

// reserved says why a flag cannot be passed through.
func reserved(name string) string {
	switch name {
	case "--":
		return "the prompt is in a file"
	case flagPromptFile:
		return "the prompt file is managed"
	case flagSessionID:
		return "the session id is managed: it locates the session log"
	case flagWorkspace:
		return "the workspace is the supervisor's; set it there"
	case flagKeyStdin:
		return "stdin is closed"
	case flagNoLog:
		return "the session log is where token usage is read from"
	case "-w", flagWorktree, "--worktree-base", "--worktree-existing":
		return "the supervisor's workspace is the workspace"
	case "--subagent-worktree-isolation":
		return "documented as doing nothing"
	}
	return ""
}

func knownBoolean(name string) bool {
	switch name {
	case flagJSON, flagTrust, flagNoApproval, flagNoSandbox, flagAutoResolve, flagNoForeign, flagShellTool, flagNoWrite, flagNoShell, flagYolo,
		"--parallel-tool-calls", "--no-parallel-tool-calls", "--allow-workspace-switch", "--disable-web-tools", "--json-extended":
		return true
	}
	return false
}

// SplitArgs splits a string of arguments as a POSIX shell would: blanks
// separate, single and double quotes and backslashes protect. Nothing is
// expanded.
func SplitArgs(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("split arguments: a quote or backslash is left open")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
