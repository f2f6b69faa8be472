package process

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// gone waits for the end of a process that is not our child.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Skip("processes cannot be waited for here:", err)
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n != 1 {
			t.Errorf("process %d is still there", pid)
		}
		return
	}
}
