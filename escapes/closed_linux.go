package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// condition is an environment in which no command may start.
type condition struct {
	name string
	row  string // of the fail-closed matrix (THREATS.md 8)
	// launchers it is about; empty means whichever is chosen.
	launchers []string
	// broken names what the process of muse is deprived of; "" for nothing.
	broken string
	// prepare changes the workspace or the arguments.
	prepare func(f facts, args []string) ([]string, error)
	cause   string // in the message
}

const brokenVerb = "__broken"

func conditions() []condition {
	all := []string{"native", "bubblewrap"}
	bwrap := []string{"bubblewrap"}
	workspace := func(dir func(facts) string) func(facts, []string) ([]string, error) {
		return func(f facts, args []string) ([]string, error) {
			for i, a := range args {
				if a == f.Workspace {
					args[i] = dir(f)
				}
			}
			return args, nil
		}
	}
	inside := func(change func(f facts) error) func(facts, []string) ([]string, error) {
		return func(f facts, args []string) ([]string, error) { return args, change(f) }
	}
	return []condition{
		{name: "closed-bwrap-missing", row: "bwrap missing", launchers: bwrap, broken: "bwrap-missing", cause: "bubblewrap not found"},
		{name: "closed-bwrap-runs", row: "bwrap replaced by a program that runs the command", launchers: bwrap, broken: "bwrap-runs", cause: "namespace is the host's"},
		{name: "closed-bwrap-exits-0", row: "bwrap exits 0 without running", launchers: bwrap, broken: "bwrap-exits"},
		{name: "closed-bwrap-dies", row: "helper missing, killed, late", launchers: bwrap, broken: "bwrap-dies"},
		{name: "closed-bwrap-owner", row: "bwrap found inside a writable root or not root-owned", launchers: bwrap, broken: "bwrap-path", cause: "bubblewrap not found"},
		{name: "closed-no-namespaces", row: "user namespaces: limit 0", launchers: all, broken: "no-namespaces", cause: "user.max_user_namespaces"},
		{name: "closed-container-filter", row: "user namespaces: seccomp (container)", launchers: all, broken: "filtered", cause: "namespaces"},
		{name: "closed-masked-proc", row: "/proc cannot be mounted (masked container)", launchers: all, broken: "masked-proc", cause: "proc"},
		{name: "closed-no-seccomp", row: "seccomp refused", launchers: all, broken: "no-seccomp", cause: "system call filter"},
		{name: "closed-ws-root", row: "workspace is /", prepare: workspace(func(facts) string { return "/" }), cause: "root directory"},
		{name: "closed-ws-home", row: "workspace contains $HOME", prepare: workspace(func(f facts) string { return filepath.Dir(f.Home) }), cause: "home directory"},
		{name: "closed-ws-missing", row: "workspace missing", prepare: workspace(func(f facts) string { return f.Workspace + "-gone" }), cause: "no such file"},
		{name: "closed-git-link", row: ".git is a link", cause: "symbolic link", prepare: inside(func(f facts) error {
			return errors.Join(os.RemoveAll(filepath.Join(f.Workspace, ".git")), os.Symlink(f.Outside, filepath.Join(f.Workspace, ".git")))
		})},
		{name: "closed-muse-link", row: ".muse is a link", cause: "symbolic link", prepare: inside(func(f facts) error {
			return os.Symlink("nowhere", filepath.Join(f.Workspace, ".muse"))
		})},
		{name: "closed-mask-broken", row: "mask source unreadable", cause: "not an empty file", prepare: inside(func(f facts) error {
			dir := filepath.Join(f.Home, ".local/share/muse/sandbox")
			return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "nothing"), []byte("x"), 0o644))
		})},
		{name: "closed-state-broken", row: "state cannot be kept", cause: "state directory", prepare: inside(func(f facts) error {
			return os.WriteFile(filepath.Join(f.Home, ".local/share/muse/sandbox"), nil, 0o644)
		})},
		{name: "closed-mode", row: "unknown mode", cause: "unknown network mode", prepare: func(_ facts, args []string) ([]string, error) {
			return append([]string{args[0], args[1], "--network", "open"}, args[2:]...), nil
		}},
		{name: "closed-rule", row: "unknown rule", cause: "unknown protocol", prepare: func(_ facts, args []string) ([]string, error) {
			return append([]string{args[0], args[1], "--allow", "example.org:443:any"}, args[2:]...), nil
		}},
	}
}

// runConditions makes sure that nothing starts under any of them.
func (o options) runConditions() (failed int, err error) {
	for _, c := range conditions() {
		launchers := c.launchers
		if len(launchers) == 0 {
			launchers = []string{"auto"}
		}
		for _, l := range launchers {
			if !o.wants(c.name) || o.launcher != "" && o.launcher != "auto" && l != "auto" && l != o.launcher {
				continue
			}
			ok, err := o.oneCondition(c, l)
			if err != nil {
				return failed, fmt.Errorf("%s: %w", c.name, err)
			}
			if !ok {
				failed++
			}
		}
	}
	return failed, nil
}

func (o options) oneCondition(c condition, launcher string) (ok bool, err error) {
	h, err := newHost(o.base)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.workspace("git"); err != nil {
		return false, err
	}
	f := h.facts
	marker := filepath.Join(f.Workspace, "ran")
	args := []string{"sandbox", "run", "--launcher", launcher, "--workspace", f.Workspace, "--", "/bin/sh", "-c", "echo ran > " + marker}
	if c.prepare != nil {
		if args, err = c.prepare(f, args); err != nil {
			return false, err
		}
	}
	out, code := o.broken(h, c.broken, args)
	verdict, cause := "CLOSED", c.cause
	if os.Geteuid() != 0 && strings.Contains(out, "bubblewrap not found") {
		cause = "" // where an ordinary user can break things nothing belongs to root
	}
	switch {
	case exists(marker):
		verdict = "RAN"
	case code == brokenNot:
		verdict = "SKIPPED"
	case code != 125 && code != 2:
		verdict = fmt.Sprintf("EXIT-%d", code)
	case code == 125 && !strings.Contains(out, "environment failure: sandbox enforcement unavailable: "), !strings.Contains(out, cause):
		verdict = "MESSAGE"
	}
	fmt.Printf("%-28s %-10s %-9s %.160s\n", c.name+"/"+launcher, verdict, "", firstLine(out))
	return verdict == "CLOSED" || verdict == "SKIPPED", nil
}

// brokenNot is the exit code of a process that could not be broken here.
const brokenNot = 77

// broken runs muse in a process that lacks something.
func (o options) broken(h *host, kind string, args []string) (string, int) {
	muse := o.muse
	if muse == "" {
		var err error
		if muse, err = exec.LookPath("muse"); err != nil {
			return err.Error(), brokenNot
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), attemptLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, muse, args...)
	if kind != "" {
		cmd = exec.CommandContext(ctx, "/proc/self/exe", append([]string{brokenVerb, kind, h.base, muse}, args...)...)
		if strings.HasPrefix(kind, "bwrap") || kind == "no-namespaces" || kind == "masked-proc" {
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
			}
		}
	}
	cmd.Dir = h.base
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.facts.Home}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err.Error(), brokenNot
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// brokenMain breaks this process and becomes the given program.
func brokenMain(kind string, args []string) int {
	base, argv := args[0], args[1:]
	if err := breakProcess(kind, base); err != nil {
		fmt.Println("cannot be broken here:", err)
		return brokenNot
	}
	env := os.Environ()
	if kind == "bwrap-path" {
		env = append(env, "PATH="+filepath.Join(base, "bin"))
	}
	err := syscall.Exec(argv[0], argv, env)
	fmt.Println(err)
	return brokenNot
}

func breakProcess(kind, base string) error {
	const run = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift 2; exec %s \"$@\"\n"
	switch kind {
	case "bwrap-missing":
		return coverBubblewrap(base, "", 0o644)
	case "bwrap-runs":
		return coverBubblewrap(base, fmt.Sprintf(run, os.Args[4]), 0o755)
	case "bwrap-exits":
		return coverBubblewrap(base, "#!/bin/sh\nexit 0\n", 0o755)
	case "bwrap-dies":
		return coverBubblewrap(base, "#!/bin/sh\nkill -9 $$\n", 0o755)
	case "bwrap-path":
		bin := filepath.Join(base, "bin")
		if err := errors.Join(os.MkdirAll(bin, 0o777), os.Chmod(bin, 0o777), os.WriteFile(filepath.Join(bin, "bwrap"), []byte("#!/bin/sh\nexit 0\n"), 0o755)); err != nil {
			return err
		}
		return coverBubblewrap(base, "", 0o644)
	case "no-namespaces":
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "masked-proc":
		return unix.Mount("none", "/proc/irq", "tmpfs", unix.MS_RDONLY, "")
	case "filtered":
		return errors.Join(install(answer(unix.SYS_CLONE3, unix.ENOSYS)), install([]bpf.Instruction{
			bpf.LoadAbsolute{Off: 0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipTrue: 1},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_UNSHARE, SkipTrue: 3},
			bpf.LoadAbsolute{Off: 16, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.CLONE_NEWUSER, SkipTrue: 1},
			bpf.RetConstant{Val: 0x00050000 | uint32(unix.EPERM)},
		}))
	case "no-seccomp":
		return install(answer(unix.SYS_SECCOMP, unix.EINVAL))
	}
	return fmt.Errorf("unknown way to break a process: %s", kind)
}

// coverBubblewrap puts a file in the place of the system's bubblewrap.
func coverBubblewrap(base, text string, mode os.FileMode) error {
	file := filepath.Join(base, "false-bwrap")
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		return err
	}
	covered := false
	for _, path := range []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"} {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if err := unix.Mount(file, real, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		covered = true
	}
	if !covered && mode&0o111 != 0 {
		return errors.New("there is no bubblewrap to take the place of")
	}
	return nil
}

func answer(call uint32, errno unix.Errno) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, bpf.RetConstant{Val: 0x00050000 | uint32(errno)},
	}
}

// install puts a filter on this process and what it becomes.
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
