package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// x32 is the bit that selects the x32 table.
const x32 = 0x40000000

// foreignTable makes a call by the numbers of another interface. The filter
// kills who does that, so it happens in a child.
func foreignTable(facts) error {
	if os.Getenv("MUSE_ESCAPE_CHILD") != "" {
		_, _, errno := unix.RawSyscall(x32|41, unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if errno != 0 {
			fmt.Println(errno)
			os.Exit(3)
		}
		os.Exit(0)
	}
	cmd := exec.Command("/proc/self/exe", attemptVerb, "kernel-foreign-table")
	cmd.Env = append(os.Environ(), "MUSE_ESCAPE_CHILD=1")
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return fmt.Errorf("killed by %v", ws.Signal())
		}
		return errors.New("this kernel has no x32 table")
	}
	return err
}
