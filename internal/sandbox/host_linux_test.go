package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// hostMain is a host process with something wrong about it. It opens a
// session, runs a command that leaves a mark, and says what became of it.
func hostMain(args []string) int {
	kind, launcher, dir := args[0], LauncherName(args[1]), args[2]
	runtime.LockOSThread()
	if err := breakHost(kind); err != nil {
		fmt.Println("SKIP", err)
		return 0
	}
	s, err := Open(Spec{
		Workspace: filepath.Join(dir, "ws"), Home: filepath.Join(dir, "home"), StateDir: filepath.Join(dir, "state"), Launcher: launcher,
	})
	if err != nil {
		fmt.Println("refused", err)
		return 0
	}
	ctx, cancel := context.WithCancel(context.Background())
	if kind == "cancelled" {
		cancel()
	}
	defer cancel()
	err = markedRun(ctx, s)
	if err = errors.Join(err, s.Close()); err != nil {
		fmt.Println("refused", err)
		return 0
	}
	fmt.Println("ran")
	return 0
}

// markedRun starts the command in this goroutine, whose thread has lost what
// the host has lost.
func markedRun(ctx context.Context, s *Session) error {
	script := "echo ran > mark"
	if mode := os.Getenv("MUSE_TEST_SCRIPT"); mode != "" {
		script = mode
	}
	cmd, release, err := s.Command(ctx, Command{Path: "/bin/sh", Args: []string{"sh", "-c", script}})
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return unavailable(errors.Join(err, release()))
	}
	err = cmd.Wait()
	if e := release(); e != nil {
		return e
	}
	return err
}

func breakHost(kind string) error {
	switch kind {
	case "no-namespaces":
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "masked-proc":
		// What container engines do to parts of /proc.
		return unix.Mount("none", "/proc/irq", "tmpfs", unix.MS_RDONLY, "")
	case "filtered":
		// No new namespaces, as the profiles of container engines have it.
		return errors.Join(answerCalls(unix.ENOSYS, unix.SYS_CLONE3), install([]bpf.Instruction{
			bpf.LoadAbsolute{Off: 0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_UNSHARE, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 16, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.CLONE_NEWUSER, SkipTrue: 1},
			bpf.RetConstant{Val: 0x00050000 | uint32(unix.EPERM)},
		}))
	case "no-seccomp":
		return answerCalls(unix.EINVAL, unix.SYS_SECCOMP)
	case "no-landlock":
		return answerCalls(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET)
	}
	return nil
}

// answerCalls makes the kernel answer some calls of this thread, and of what
// it starts, with errno.
func answerCalls(errno unix.Errno, calls ...uint32) error {
	code := []bpf.Instruction{bpf.LoadAbsolute{Off: 0, Size: 4}}
	for _, nr := range calls {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: 1}, bpf.RetConstant{Val: 0x00050000 | uint32(errno)})
	}
	return install(code)
}

// install puts a filter on every thread: any of them may start the process.
func install(code []bpf.Instruction) error {
	raw, err := bpf.Assemble(append(code, bpf.RetConstant{Val: 0x7fff0000}))
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}
