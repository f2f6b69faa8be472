package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Unsandboxed starts commands with all of the user's rights. It is used only
// when the sandbox was switched off in so many words.
type Unsandboxed struct{}

// Command implements Launcher. ctx is not tied to the process: the caller ends
// it as a group.
func (Unsandboxed) Command(_ context.Context, c Command) (*exec.Cmd, func() error, error) {
	cmd := &exec.Cmd{Path: c.Path, Args: c.Args, Dir: c.Dir, Env: c.Env}
	return cmd, func() error { return nil }, nil
}

// NoSandbox runs nothing: it is the launcher when a sandbox is wanted and
// cannot be had. Cause says why.
type NoSandbox struct{ Cause string }

// ErrNoSandbox is in the chain of the refusals of NoSandbox.
var ErrNoSandbox = errors.New("sandbox enforcement unavailable")

// Command implements Launcher.
func (n NoSandbox) Command(context.Context, Command) (*exec.Cmd, func() error, error) {
	cause := n.Cause
	if cause == "" {
		cause = "this build has no sandbox; commands run only with --disable-sandbox or --yolo"
	}
	return nil, nil, fmt.Errorf("%w: %s", ErrNoSandbox, cause)
}

// startFailure is the result of a call whose command could not be started.
// Without a sandbox that is wanted, or without a shell, no other command can be
// either; everything else, such as a directory that is gone or a command too
// long for the system, is about this call. There is no output record.
func startFailure(shell, dir string, err error) Result {
	if errors.Is(err, ErrNoSandbox) {
		return environmentFailure(err)
	}
	if gone := missingDir("workdir", dir); gone != nil {
		return *gone
	}
	if _, e := os.Stat(shell); e != nil {
		return environmentFailure(err)
	}
	r := Fail("no command was started: " + err.Error())
	r.NoOutput = true
	return r
}

// environmentFailure is the result of a call whose command could not be
// started for a reason that the model cannot mend (STREAM.md (a), "Text forms
// seen"). There is no output record.
func environmentFailure(err error) Result {
	r := Fail("environment failure: " + err.Error() + "\n" +
		"No command was started, and none can be until this is mended outside of the session. " +
		"Do not try again and do not make up output: tell the user about this failure.")
	r.NoOutput = true
	return r
}
