package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// dirtyLimit is how long git may take: the answer is a detail of the log.
const dirtyLimit = 5 * time.Second

// GitDirty reports whether the working tree that dir is in has changes that
// are not committed, untracked files included. It runs git status once, with
// the repository's hooks, fsmonitor and locks switched off. The repository's
// filters can still run, so it is for trusted workspaces only. environ is the
// environment to run in; GIT_* variables are dropped from it.
func GitDirty(ctx context.Context, dir string, environ []string) (bool, error) {
	top, _, err := gitTop(dir)
	if err != nil {
		return false, err
	}
	git, err := exec.LookPath("git")
	if err != nil {
		return false, fmt.Errorf("look for changes: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dirtyLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "--no-optional-locks", "--no-pager",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull,
		"-c", "submodule.recurse=false",
		"status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty")
	cmd.Dir = top
	cmd.Env = withoutGit(environ)
	cmd.WaitDelay = time.Second
	found := &firstByte{stop: cancel}
	cmd.Stdout = found
	err = cmd.Run()
	if found.seen {
		return true, nil // the run was cut short on purpose
	}
	if err != nil {
		return false, fmt.Errorf("look for changes: %w", err)
	}
	return false, nil
}

// firstByte ends the command at its first output: one change is enough.
type firstByte struct {
	stop func()
	seen bool
}

var errSeen = errors.New("one change is enough")

func (w *firstByte) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	w.seen = true
	w.stop()
	return 0, errSeen
}

func withoutGit(environ []string) []string {
	out := make([]string, 0, len(environ)+2)
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "GIT_") {
			out = append(out, kv)
		}
	}
	return append(out, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}
