package tool

import (
	"errors"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// gone waits for the end of a process that is not our child.
func gone(t *testing.T, id string) {
	t.Helper()
	pid, err := strconv.Atoi(id)
	if err != nil {
		t.Fatal(err)
	}
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
