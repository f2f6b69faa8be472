//go:build !linux && !darwin

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// There is no boundary on this system yet, and none is pretended.

// errUnsupported is what every attempt ends with.
var errUnsupported = errors.New("no sandbox for this system")

type system struct{}

type run struct {
	session *Session
	command Command
}

func (s *Session) open() error {
	return fmt.Errorf("%w (%s): commands run only with --disable-sandbox", errUnsupported, runtime.GOOS)
}

func (s *Session) close() error { return nil }

// TempDir is where the commands' temporary directory is on the host.
func (s *Session) TempDir() string { return "" }

// Confirm fails: there is no launcher.
func (s *Session) Confirm(context.Context) (LauncherName, error) {
	return "", unavailable(errUnsupported)
}

func (r *run) prepare(context.Context) (*exec.Cmd, error) { return nil, errUnsupported }

func (r *run) finish() error {
	r.session.leave(r)
	return nil
}

func (r *CheckReport) examineSystem() {
	r.add("system", StatusFailed, errUnsupported.Error()+" ("+runtime.GOOS+")", "use Linux or macOS, or run commands without a boundary by --disable-sandbox")
}

func (r *CheckReport) examineLaunchers(context.Context, *Session) {}
