package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const kernel = "kernel surface"

// call is an attempt that is one system call. It got out when the call
// succeeds, and also when it fails for want of good arguments: then the kernel
// has looked at them.
func call(name string, nr uintptr, works bool, args ...uintptr) attempt {
	return attempt{name: "kernel-" + name, promise: kernel, ws: "git", works: works, try: func(facts) error {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
		switch errno {
		case unix.EPERM, unix.ENOSYS, unix.EACCES:
			return errno
		}
		return nil
	}}
}

func kernelAttempts() []attempt {
	text := func(s string) uintptr {
		b := append([]byte(s), 0)
		return uintptr(unsafe.Pointer(&b[0]))
	}
	var zero [256]byte
	at := uintptr(unsafe.Pointer(&zero[0]))
	cwd := ^uintptr(99) // AT_FDCWD
	all := []attempt{
		call("mount-bind", unix.SYS_MOUNT, false, text("/"), text("."), 0, unix.MS_BIND, 0),
		call("mount-remount", unix.SYS_MOUNT, false, 0, text(".git"), 0, unix.MS_REMOUNT|unix.MS_BIND, 0),
		call("mount-umount", unix.SYS_UMOUNT2, false, text(".git"), unix.MNT_DETACH),
		call("mount-open-tree", unix.SYS_OPEN_TREE, false, cwd, text("/"), unix.OPEN_TREE_CLONE),
		call("mount-move", unix.SYS_MOVE_MOUNT, false, cwd, text("."), cwd, text("/"), 0),
		call("mount-fsopen", unix.SYS_FSOPEN, false, text("tmpfs"), 0),
		call("mount-fspick", unix.SYS_FSPICK, false, cwd, text("/"), 0),
		call("mount-setattr", unix.SYS_MOUNT_SETATTR, false, cwd, text("/"), 0, at, 32),
		call("mount-pivot-root", unix.SYS_PIVOT_ROOT, false, text("."), text(".")),
		call("chroot", unix.SYS_CHROOT, false, text(".")),
		call("handle-name", unix.SYS_NAME_TO_HANDLE_AT, true, cwd, text("/"), at, at+128, 0),
		call("handle-open", unix.SYS_OPEN_BY_HANDLE_AT, false, cwd, at, 0),
		call("setns", unix.SYS_SETNS, true, 0, 0),
		call("unshare-user", unix.SYS_UNSHARE, true, unix.CLONE_NEWUSER),
		call("unshare-mount", unix.SYS_UNSHARE, false, unix.CLONE_NEWNS),
		call("unshare-net", unix.SYS_UNSHARE, false, unix.CLONE_NEWNET),
		call("unshare-pid", unix.SYS_UNSHARE, false, unix.CLONE_NEWPID),
		call("unshare-time", unix.SYS_UNSHARE, false, unix.CLONE_NEWTIME),
		call("clone3", unix.SYS_CLONE3, true, at, 8),
		call("io-uring", unix.SYS_IO_URING_SETUP, true, 8, at),
		call("bpf", unix.SYS_BPF, false, 0, at, 16),
		call("perf", unix.SYS_PERF_EVENT_OPEN, false, at, 0, ^uintptr(0), ^uintptr(0), 0),
		call("userfaultfd", unix.SYS_USERFAULTFD, false, 0),
		call("keyctl", unix.SYS_KEYCTL, true, 0, ^uintptr(2), 0),
		call("add-key", unix.SYS_ADD_KEY, true, text("user"), text("muse-escape"), at, 1, ^uintptr(2)),
		call("request-key", unix.SYS_REQUEST_KEY, true, text("user"), text("muse-escape"), 0, 0),
		call("kcmp", unix.SYS_KCMP, false, 1, 1, 99, 0, 0),
		call("module", unix.SYS_FINIT_MODULE, false, 0, text(""), 0),
		call("kexec", unix.SYS_KEXEC_LOAD, false, 0, 0, 0, 0),
		call("settimeofday", unix.SYS_SETTIMEOFDAY, false, 1, 0), // a bad address: nothing is set
		call("hostname", unix.SYS_SETHOSTNAME, false, text("x"), 1),
		call("syslog", unix.SYS_SYSLOG, false, 3, at, 16),
		call("acct", unix.SYS_ACCT, false, text("acct")),
		call("quotactl", unix.SYS_QUOTACTL, true, 0, 0, 0, 0),
		call("fanotify", unix.SYS_FANOTIFY_INIT, false, 0, 0),
		call("tomorrow", 700, false),
	}
	return append(all,
		attempt{name: "kernel-mknod", promise: kernel, ws: "git", try: func(facts) error {
			if err := unix.Mknod("disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))); err != nil {
				return err
			}
			f, err := os.Open("disk")
			if err == nil {
				f.Close()
			}
			return err
		}},
		attempt{name: "kernel-set-uid", promise: kernel, ws: "git", works: true, try: script(`echo x > s && chmod u+s s`)},
		attempt{name: "kernel-set-uid-create", promise: kernel, ws: "git", works: true, try: func(facts) error {
			fd, err := unix.Open("s", unix.O_CREAT|unix.O_WRONLY, 0o4755)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_ISUID == 0 {
				return errRefused
			}
			return nil
		}},
		attempt{name: "kernel-capabilities", promise: kernel, ws: "git", try: func(facts) error {
			text, err := os.ReadFile("/proc/self/status")
			if err != nil {
				return err
			}
			for _, line := range []string{"NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"} {
				if !strings.Contains(string(text), line) {
					return nil
				}
			}
			return errors.New("none, and no way to gain one")
		}},
		attempt{name: "kernel-files", promise: kernel, ws: "git", try: scanWritable},
		attempt{name: "kernel-core-pattern", promise: kernel, ws: "git", try: script(`echo x > /proc/sys/kernel/core_pattern`)},
		attempt{name: "kernel-sysrq", promise: kernel, ws: "git", try: func(facts) error {
			f, err := os.OpenFile("/proc/sysrq-trigger", os.O_WRONLY, 0) // opened, not written
			if err == nil {
				f.Close()
			}
			return err
		}},
		attempt{name: "kernel-foreign-table", promise: kernel, ws: "git", try: foreignTable},
	)
}

// scanWritable looks for a file of the kernel's that opens for writing.
func scanWritable(facts) error {
	n := 0
	for _, root := range []string{"/proc", "/sys"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return nil // out of reach
			}
			if d.IsDir() {
				own := root == "/proc" && len(path) > 6 && (path[6] >= '0' && path[6] <= '9' || path == "/proc/self" || path == "/proc/thread-self")
				if own {
					return filepath.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() {
				return nil
			}
			n++
			if f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
				f.Close()
				return fmt.Errorf("%s", path)
			}
			return nil
		})
		if err != nil {
			return nil // found one
		}
	}
	return fmt.Errorf("none of %d files", n)
}
