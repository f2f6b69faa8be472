//go:build unix

package config

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives the command a process group, which its context then ends as a
// whole. With a terminal it stays in the group it is started from: in another it
// could not ask for a password there, and an interrupt would not reach it. Its
// context then ends the command alone.
func ownGroup(cmd *exec.Cmd) {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0); err == nil {
		_ = tty.Close() // it was opened to see whether there is one
		return
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
