package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/proc"
)

// inherit hands f to every process started from here on.
func inherit(t *testing.T, f *os.File) {
	t.Helper()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
}

// insideMain is what the tests run in the sandbox. It prints "ok" when
// everything is out of reach that should be.
func insideMain(args []string) int {
	attempts := map[string]func([]string) error{
		"descriptors": tryDescriptors, "processes": tryProcesses, "rights": tryRights, "sockets": trySockets,
		"kernel": tryKernel, "terminal": tryTerminal, "dial": tryDial, "own-server": tryOwnServer,
	}
	if try, ok := attempts[args[0]]; ok {
		if err := try(args[1:]); err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println("ok")
		return 0
	}
	proxy := http.ProxyFromEnvironment
	if args[0] == "get-direct" {
		proxy = nil
	} else if p, err := url.Parse(os.Getenv("HTTP_PROXY")); err == nil {
		proxy = http.ProxyURL(p) // the environment's rules spare loopback
	}
	client := http.Client{Transport: &http.Transport{Proxy: proxy}, Timeout: 20 * time.Second}
	resp, err := client.Get(args[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body), err)
	return 0
}

func tryDescriptors([]string) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/fs/cgroup") {
			return fmt.Errorf("descriptor %d is %s", fd, target)
		}
	}
	for _, pid := range []string{"1", "2"} {
		fds, _ := os.ReadDir("/proc/" + pid + "/fd") // unreadable is as good
		for _, e := range fds {
			if fd, _ := strconv.Atoi(e.Name()); fd > 2 {
				if target, err := os.Readlink("/proc/" + pid + "/fd/" + e.Name()); err == nil && strings.HasPrefix(target, "pipe:") {
					return fmt.Errorf("descriptor %d of process %s is %s", fd, pid, target)
				}
			}
		}
	}
	return nil
}

func tryProcesses(args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("a signal to process %d of the host: %v", pid, err)
	}
	if err := unix.PtraceAttach(os.Getppid()); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("ptrace: %v", err)
	}
	for _, f := range []string{"mem", "environ"} {
		if file, err := os.OpenFile("/proc/1/"+f, os.O_RDWR, 0); err == nil {
			file.Close()
			return fmt.Errorf("/proc/1/%s opens for writing", f)
		}
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	if len(dirs) > 6 {
		return fmt.Errorf("%d processes are in sight", len(dirs))
	}
	return nil
}

func tryRights([]string) error {
	if err := proc.CheckStatus("/proc/self"); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0); err != nil {
		return err
	}
	for name, err := range map[string]error{
		"mount":    unix.Mount("/", "/tmp", "", unix.MS_BIND, ""),
		"unmount":  unix.Unmount("/tmp", unix.MNT_DETACH),
		"chroot":   unix.Chroot("/tmp"),
		"unshare":  unix.Unshare(unix.CLONE_NEWUSER),
		"hostname": unix.Sethostname([]byte("x")),
	} {
		if !errors.Is(err, unix.EPERM) {
			return fmt.Errorf("%s: %v", name, err)
		}
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Max > 1 {
		return fmt.Errorf("core dumps: %+v %v", limit, err)
	}
	return nil
}

func trySockets([]string) error {
	for name, s := range map[string][3]int{
		"unix": {unix.AF_UNIX, unix.SOCK_STREAM, 0}, "unix datagram": {unix.AF_UNIX, unix.SOCK_DGRAM, 0},
		"vsock": {unix.AF_VSOCK, unix.SOCK_STREAM, 0}, "packet": {unix.AF_PACKET, unix.SOCK_RAW, 0},
		"raw": {unix.AF_INET, unix.SOCK_RAW, 1}, "alg": {unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, "audit": {unix.AF_NETLINK, unix.SOCK_RAW, 9},
	} {
		if fd, err := unix.Socket(s[0], s[1], s[2]); err == nil {
			return fmt.Errorf("socket %s: %d", name, fd)
		}
	}
	if _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0); err == nil {
		return errors.New("a datagram pair was made")
	}
	if _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return fmt.Errorf("a stream pair: %w", err)
	}
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) != 1 {
		return fmt.Errorf("interfaces %v, %v", interfaces, err)
	}
	return nil
}

func tryKernel([]string) error {
	var zero [128]byte
	at := uintptr(unsafe.Pointer(&zero[0]))
	for name, c := range map[string][2]uintptr{
		"io_uring_setup": {unix.SYS_IO_URING_SETUP, uintptr(unix.EPERM)}, "bpf": {unix.SYS_BPF, uintptr(unix.EPERM)},
		"userfaultfd": {unix.SYS_USERFAULTFD, uintptr(unix.EPERM)}, "keyctl": {unix.SYS_KEYCTL, uintptr(unix.EPERM)},
		"clone3": {unix.SYS_CLONE3, uintptr(unix.ENOSYS)}, "openat2": {unix.SYS_OPENAT2, uintptr(unix.ENOSYS)},
		"a call of tomorrow": {600, uintptr(unix.ENOSYS)},
	} {
		if _, _, errno := unix.Syscall(c[0], 0, at, 8); uintptr(errno) != c[1] {
			return fmt.Errorf("%s: %v", name, errno)
		}
	}
	if err := os.WriteFile("set-uid", nil, 0o755); err != nil {
		return err
	}
	if err := unix.Chmod("set-uid", 0o4755); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("chmod of a set-uid file: %v", err)
	}
	return filepath.WalkDir("/proc", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return nil // out of reach is as good
		}
		if d.IsDir() && path != "/proc" && (path[6] >= '0' && path[6] <= '9' || path == "/proc/self" || path == "/proc/thread-self") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			if f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
				f.Close()
				return fmt.Errorf("%s opens for writing", path)
			}
		}
		return nil
	})
}

func tryTerminal([]string) error {
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		f.Close()
		return errors.New("/dev/tty is a terminal")
	}
	b := byte('#')
	for fd := range uintptr(3) {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, unix.TIOCSTI, uintptr(unsafe.Pointer(&b))); errno != unix.EPERM {
			return fmt.Errorf("TIOCSTI on descriptor %d: %v", fd, errno)
		}
	}
	return nil
}

// tryDial must fail to connect.
func tryDial(args []string) error {
	c, err := net.DialTimeout("tcp", args[0], 5*time.Second)
	if err == nil {
		c.Close()
		return errors.New("connected")
	}
	return nil
}

// tryOwnServer uses the sandbox's own loopback.
func tryOwnServer([]string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	return c.Close()
}
