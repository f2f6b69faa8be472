//go:build unix && !linux

package muse

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// awaitExit leaves the waiting to Wait: this platform has no way to wait
// without reaping that the standard library offers.
func (g *processGroup) awaitExit(cmd *exec.Cmd) {
	// The error is the exit status; Wait's second call reports from
	// ProcessState.
	_ = cmd.Wait()
}

type identity struct{}

func (identity) kill() error { return nil }

// descendants outside the group cannot be listed here.
func descendants(int) []identity { return nil }

func groupMembers(pgid int) int {
	if syscall.Kill(-pgid, 0) == nil {
		return 1
	}
	return 0
}

// ProcessStart identifies a running process beyond its id; empty when it is
// not running or the platform cannot tell.
func ProcessStart(pid int) string {
	out, err := exec.Command("/bin/ps", "-o", "lstart=", "-p", fmt.Sprint(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// KillRun ends the group that a killed supervisor left behind, when its leader
// is still the process that was recorded.
func KillRun(_ string, pid int, start string) (int, error) {
	if pid <= 1 || start == "" || ProcessStart(pid) != start {
		return 0, nil
	}
	if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return 0, fmt.Errorf("kill group %d: %w", pid, err)
	}
	return 1, nil
}
