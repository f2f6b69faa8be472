package muse

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processGroup is a job object that holds the process and its descendants,
// and a console process group for Ctrl-Break.
type processGroup struct {
	pid uint32
	job windows.Handle
}

func (g *processGroup) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func (g *processGroup) adopt(cmd *exec.Cmd) error {
	g.pid = uint32(cmd.Process.Pid)
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var process windows.Handle
		process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, g.pid)
		if err == nil {
			err = errors.Join(windows.AssignProcessToJobObject(job, process), windows.CloseHandle(process))
		}
	}
	if err != nil {
		return fmt.Errorf("set up job object: %w", errors.Join(err, windows.CloseHandle(job), cmd.Process.Kill()))
	}
	g.job = job
	return nil
}

func (g *processGroup) release() {
	_ = windows.CloseHandle(g.job) // closed once, after everything in it has ended
}

func (g *processGroup) awaitExit(cmd *exec.Cmd) {
	_ = cmd.Wait() // the error is the exit status; ProcessState keeps it
}

func (g *processGroup) interrupt() error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.pid)
}

func (g *processGroup) terminate() error { return g.interrupt() }

func (g *processGroup) kill() error { return windows.TerminateJobObject(g.job, 1) }

func (g *processGroup) sweep(bool) int {
	_ = g.kill() // an empty job cannot be terminated: nothing is left then
	return 0
}

func signalOf(*os.ProcessState) (int, string) { return 0, "" }

// ProcessStart identifies a running process beyond its id; this platform's
// jobs end with their supervisor, so nothing needs to be told apart.
func ProcessStart(int) string { return "" }

// KillRun has nothing to do here: a job ends with the supervisor that held it.
func KillRun(string, int, string) (int, error) { return 0, nil }
