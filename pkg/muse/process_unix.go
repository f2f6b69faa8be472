//go:build unix

package muse

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// processGroup is the group whose leader is the started process.
type processGroup struct{ pid int }

// prepare gives the process a session of its own: its group is then its own
// too, and it has no terminal on which it could stop and wait for a person.
func (g *processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

func (g *processGroup) adopt(cmd *exec.Cmd) error {
	g.pid = cmd.Process.Pid
	return nil
}

func (g *processGroup) release() {}

func (g *processGroup) interrupt() error { return g.signal(syscall.SIGINT) }

func (g *processGroup) terminate() error { return g.signal(syscall.SIGTERM) }

// signal reaches every process of the group.
func (g *processGroup) signal(sig syscall.Signal) error { return syscall.Kill(-g.pid, sig) }

// kill ends the group, and on platforms that can tell, the descendants that
// moved to groups of their own.
func (g *processGroup) kill() error {
	escaped := descendants(g.pid)
	err := g.signal(syscall.SIGKILL)
	for _, d := range escaped {
		err = errors.Join(err, d.kill())
	}
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// sweep ends what is left of the group after its leader's exit and returns how
// many processes that were. The leader is not reaped yet where the platform
// allows it, so the group's id cannot belong to others.
func (g *processGroup) sweep(bool) int {
	left := groupMembers(g.pid)
	if err := g.signal(syscall.SIGKILL); err != nil {
		return 0 // ESRCH, or EPERM on platforms where only the zombie is left
	}
	return left
}

func signalOf(state *os.ProcessState) (int, string) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return 0, ""
	}
	return int(status.Signal()), status.Signal().String()
}
