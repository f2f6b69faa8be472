package helper

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/talk"
)

// attend starts the command and stays as the first process of the sandbox:
// with its end everything inside ends. It passes signals on and hands out the
// command's exit code, 128 and the number for a signal.
func (h *helper) attend(p talk.Permit) int {
	// Nobody inside may look into this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fails(fmt.Errorf("close the helper to others: %w", err))
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGWINCH)
	attr := &syscall.SysProcAttr{Setsid: p.NewSession}
	if !p.NewSession && onTerminal() {
		// The command takes the terminal, as a shell would hand it over.
		attr.Setpgid, attr.Foreground = true, true
	}
	// The child inherits what this thread has lost.
	pid, err := syscall.ForkExec(h.order.Path, h.order.Args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: attr,
	})
	if err != nil {
		return notStarted(h.order.Path, err)
	}
	go func() {
		for s := range signals {
			if n, ok := s.(syscall.Signal); ok {
				if unix.Kill(-pid, n) != nil {
					_ = unix.Kill(pid, n) // not a group of its own, or gone already
				}
			}
		}
	}()
	return wait(pid)
}

// onTerminal reports whether standard input is a terminal.
func onTerminal() bool {
	_, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil
}

// takeTerminal makes the process the terminal's foreground, apart from the
// launcher's processes: an interrupt typed there would end those.
func takeTerminal() error {
	if err := unix.Setpgid(0, 0); err != nil {
		return fmt.Errorf("make a process group for the terminal: %w", err)
	}
	// Asking from the background stops a process, unless the signal is held
	// back meanwhile.
	var hold, before unix.Sigset_t
	hold.Val[0] = 1 << (unix.SIGTTOU - 1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &hold, &before); err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	err := unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, unix.Getpid())
	if e := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("take the terminal: %w", err)
	}
	return nil
}

// wait reaps every orphan until the command itself ends.
func wait(command int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fails(fmt.Errorf("wait for the command: %w", err))
		case pid != command:
			continue
		case status.Signaled():
			return 128 + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}
