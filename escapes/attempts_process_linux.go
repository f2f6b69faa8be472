package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const processes = "no host process, socket, terminal, descriptor"

func processAttempts() []attempt {
	return []attempt{
		{name: "process-signal", promise: processes, ws: "git", works: true, try: func(f facts) error { return unix.Kill(f.PID, 0) }},
		{name: "process-ptrace", promise: processes, ws: "git", try: func(f facts) error { return unix.PtraceAttach(f.PID) }},
		{name: "process-ptrace-sibling", promise: processes, ws: "git", works: true, try: func(facts) error {
			cmd := exec.Command("/bin/sleep", "5")
			if err := cmd.Start(); err != nil {
				return err
			}
			defer func() { _ = cmd.Wait() }()
			defer func() { _ = cmd.Process.Kill() }()
			return unix.PtraceAttach(cmd.Process.Pid)
		}},
		{name: "process-memory", promise: processes, ws: "git", try: func(f facts) error {
			var b [8]byte
			_, err := unix.ProcessVMReadv(f.PID, []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			if errors.Is(err, unix.EFAULT) {
				return nil // the process was reached
			}
			return err
		}},
		{name: "process-descriptor", promise: processes, ws: "git", try: func(f facts) error {
			fd, err := unix.PidfdOpen(f.PID, 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(fd, 0, 0)
			return err
		}},
		{name: "process-first", promise: processes, ws: "git", try: func(facts) error {
			for _, name := range []string{"mem", "environ", "fd/0"} {
				if f, err := os.OpenFile("/proc/1/"+name, os.O_WRONLY, 0); err == nil {
					f.Close()
					return nil
				}
			}
			return errRefused
		}},
		{name: "process-list", promise: processes, ws: "git", works: true, try: func(f facts) error {
			dirs, err := filepath.Glob("/proc/[0-9]*")
			if err != nil {
				return err
			}
			for _, d := range dirs {
				for _, name := range []string{"environ", "cmdline"} {
					text, err := os.ReadFile(filepath.Join(d, name))
					if err == nil && strings.Contains(string(text), f.Mark+"-victim") {
						return nil
					}
				}
			}
			return fmt.Errorf("%d processes, the host's is not among them", len(dirs))
		}},
		{name: "process-survivor", promise: processes, ws: "git", works: true, try: func(f facts) error {
			cmd := exec.Command("/bin/bash", "-c", `setsid nohup sleep 6543.`+f.ID+` >/dev/null 2>&1 </dev/null & disown; sleep 0.2`)
			if err := cmd.Run(); err != nil {
				return err
			}
			return errors.New("started; the host is looked at from outside")
		}, check: func(f facts) error {
			if pid := find("sleep 6543." + f.ID); pid != 0 {
				_ = unix.Kill(pid, unix.SIGKILL) // the point is that it was there
				return errors.New("a process outlived the command")
			}
			return nil
		}},
		{name: "process-descriptors", promise: processes, ws: "git", try: func(facts) error {
			entries, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				return err
			}
			for _, e := range entries {
				fd, err := strconv.Atoi(e.Name())
				target, linkErr := os.Readlink("/proc/self/fd/" + e.Name())
				if err == nil && linkErr == nil && fd > 2 && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") && !strings.Contains(target, "cgroup") {
					return nil
				}
			}
			return errors.New("only the standard streams")
		}},
		{name: "process-terminal", promise: processes, ws: "git", try: func(facts) error {
			for _, path := range []string{"/dev/tty", "/dev/console"} {
				if f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0); err == nil {
					f.Close()
					return nil
				}
			}
			return errRefused
		}},
		{name: "process-terminal-input", promise: processes, ws: "git", try: func(facts) error {
			b := byte('#')
			for _, request := range []uintptr{unix.TIOCSTI, unix.TIOCSTI | 1<<32} {
				for fd := range uintptr(3) {
					if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(&b))); errno == 0 {
						return nil
					} else if errno != unix.EPERM {
						return fmt.Errorf("not filtered: %w", errno)
					}
				}
			}
			return errRefused
		}},
		{name: "process-priority", promise: processes, ws: "git", works: true, try: func(f facts) error {
			_, err := unix.Getpriority(unix.PRIO_PROCESS, f.PID)
			return err
		}},
		{name: "process-shared-memory", promise: processes, ws: "git", works: true, try: script(`ipcs -m 2>/dev/null | grep -q @MARK@ || test -e /dev/shm/muse-escape-shm-@RUNID@`)},
	}
}

// find returns a process by its command line, 0 for none.
func find(line string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil && strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")) == line {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f))) // the pattern says so
			return pid
		}
	}
	return 0
}
