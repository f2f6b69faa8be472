package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// Execution is exactly what an allowed line may start: one shell by its
// absolute path, the text that was reviewed, and what makes the environment the
// one it was reviewed for (THREATS.md 3.12).
type Execution struct {
	// Path is bash's absolute path, Args its argument list with argv[0].
	Path string
	Args []string
	// Dir is the absolute directory to start in.
	Dir string
	// Set are variables that must have these values, Env the ones the call
	// added. The rest of the environment is an allow list of the sandbox.
	Set, Env []string
	// Unsandboxed is set for an escalated line that a person allowed.
	Unsandboxed bool

	binding string
	epoch   func() int64
	used    atomic.Bool
}

// Errors of Redeem.
var (
	errUsed    = errors.New("the approval was used already")
	errChanged = errors.New("what would run is not what was reviewed")
)

// Redeem spends the permission: it succeeds once, and only for the very text,
// directory, environment changes and permission epoch that were decided on.
// Whoever starts the command calls it last.
func (x *Execution) Redeem(text, dir string, env []string) error {
	if x == nil {
		return errChanged
	}
	if binding(text, dir, env, x.epoch(), x.Unsandboxed) != x.binding {
		return fmt.Errorf("start the command: %w", errChanged)
	}
	if x.used.Swap(true) {
		return fmt.Errorf("start the command: %w", errUsed)
	}
	return nil
}

// binding is the identity of a decision about a line.
func binding(text, dir string, env []string, epoch int64, unsandboxed bool) string {
	h := sha256.New()
	put := func(s string) { fmt.Fprintf(h, "%d:%s;", len(s), s) }
	put(text)
	put(dir)
	for _, e := range env {
		put(e)
	}
	put(fmt.Sprint(epoch, unsandboxed))
	return hex.EncodeToString(h.Sum(nil))
}

// FixedEnvironment are the variables that every command gets whatever the host
// has: they keep git from running what a repository's configuration names, and
// pagers and editors from starting (THREATS.md 3.9).
func FixedEnvironment() []string {
	return []string{
		"GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit",
		"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=core.hooksPath", "GIT_CONFIG_VALUE_2=/dev/null",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=false", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
	}
}

// FindBash gives the absolute path of the shell that lines are reviewed for.
// $SHELL and PATH have no say: another shell would read the line differently.
func FindBash() (string, error) {
	for _, p := range bashPaths() {
		info, err := os.Stat(p)
		if err == nil && info.Mode().IsRegular() {
			return p, nil
		}
	}
	return "", fmt.Errorf("no bash in %s: commands are reviewed as bash reads them, so no other shell can run them", strings.Join(bashPaths(), ", "))
}

// shellArgs are bash's arguments for a line.
func shellArgs(text string, login bool) []string {
	args := []string{"bash", "--norc", "--noprofile", "-c", text}
	if login {
		args = []string{"bash", "--login", "-c", text}
	}
	return args
}
