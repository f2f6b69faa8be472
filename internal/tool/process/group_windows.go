package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object: it holds the command and everything it starts.
type group struct {
	job windows.Handle
	pid uint32
}

// ownGroup lets the command be interrupted without us.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
}

// groupOf puts a started process into a job that ends with us. When the system
// refuses, the process alone is reached.
func groupOf(p *os.Process) group {
	g := group{pid: uint32(p.Pid)}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = assign(job, g.pid)
	}
	if err != nil {
		_ = windows.CloseHandle(job) // it holds nothing
		return g
	}
	g.job = job
	return g
}

func assign(job windows.Handle, pid uint32) error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }()
	return windows.AssignProcessToJobObject(job, h)
}

// terminate asks console programs to end.
func (g group) terminate() { g.interrupt() }

func (g group) interrupt() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.pid) // kill follows
}

func (g group) kill() {
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1) // gone already: fine
		return
	}
	if p, err := os.FindProcess(int(g.pid)); err == nil {
		_ = p.Kill() // gone already: fine
	}
}

// alive cannot look and leaves it to the job to know.
func (g group) alive() bool { return g.job != 0 }

func (g group) killRemains(string) {
	if g.job != 0 {
		g.kill()
	}
}

// killMarked does nothing: the job holds all descendants.
func killMarked(string) {}

func startOnTerminal(*exec.Cmd) (*os.File, error) {
	return nil, errors.New("tty is not available on Windows: run the command without it")
}

// emptyPipe cannot look into a pipe here; what comes later is not waited for.
func emptyPipe(*os.File, []byte, io.Writer) error { return nil }

func exitStatus(state *os.ProcessState) string {
	return fmt.Sprintf("exit status: %d", state.ExitCode())
}
