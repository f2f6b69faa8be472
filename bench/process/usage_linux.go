package process

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

// isolate puts the program into a group of its own that dies with the
// launcher, and makes the launcher the parent of what the program leaves.
func isolate(cmd *exec.Cmd) {
	// The parent that Pdeathsig watches is a thread.
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Without it leftovers are not found; they are of no account to a program
	// that leaves none.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

func endGroup(p *os.Process) {
	// It fails when the group is gone.
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}

// endOrphans ends every process that the program left behind, and what those
// leave in turn.
func endOrphans(p *os.Process) int {
	endGroup(p)
	left := 0
	for {
		pids := children()
		if len(pids) == 0 {
			return left
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone is as good
			if got, err := syscall.Wait4(pid, nil, 0, nil); err != nil || got != pid {
				return left // not ours to wait for
			}
			left++
		}
	}
}

// children are the processes whose parent this one is.
func children() []int {
	var out []int
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue // the thread ended
		}
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

func usage(s *os.ProcessState) (peak, switches int64) {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0
	}
	return u.Maxrss << 10, u.Nvcsw
}
