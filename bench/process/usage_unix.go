//go:build unix && !linux

package process

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// isolate puts the program into a group of its own.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func endGroup(p *os.Process) {
	// It fails when the group is gone.
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// endOrphans ends what is left of the program's group; nothing tells how many
// that were.
func endOrphans(p *os.Process) int {
	endGroup(p)
	return 0
}

func usage(s *os.ProcessState) (peak, switches int64) {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0
	}
	peak = int64(u.Maxrss)
	if runtime.GOOS != "darwin" { // which counts bytes where others count KiB
		peak <<= 10
	}
	return peak, int64(u.Nvcsw)
}
