package helper

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unixExec replaces the process by the command, with the environment that the
// helper was given.
func unixExec(path string, args []string) error {
	return syscall.Exec(path, args, os.Environ())
}

// mapUser makes the agent's user and group the only ones of the namespace
// (user_namespaces(7)): a process may do that for itself, once.
func mapUser(uid, gid uint32) error {
	for _, m := range []struct{ file, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", uid, uid)},
		{"gid_map", fmt.Sprintf("%d %d 1", gid, gid)},
	} {
		if err := os.WriteFile("/proc/self/"+m.file, []byte(m.text), 0); err != nil {
			return fmt.Errorf("map the user into the sandbox: %w", err)
		}
	}
	return nil
}

// dropCapabilities empties every set of the calling thread. When the process
// stays, the other threads follow where the runtime can reach them.
func dropCapabilities(stays bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear the ambient capabilities: %w", err)
	}
	for c := uintptr(0); c <= 63; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last one that this kernel knows
		}
		if errors.Is(err, unix.EPERM) {
			break // no capability to begin with, so the set is out of reach
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	if !stays {
		return nil
	}
	// The other threads run none of the command, so this is for tidiness; with
	// cgo linked in the runtime cannot do it.
	_, _, _ = syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	return nil
}

// listen opens the socket behind which the gate stands. It belongs to the
// sandbox's own network, whoever accepts on it.
func listen() (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open the proxy socket: %w", err)
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		_ = unix.Close(fd) // the first error is the one to tell
		return -1, fmt.Errorf("open the proxy socket on port %d: %w", ProxyPort, err)
	}
	return fd, nil
}

// raiseLoopback switches on the one interface of a fresh network namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch on the loopback interface: %w", err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("switch on the loopback interface: %w", err)
	}
	req.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("switch on the loopback interface: %w", err)
	}
	return nil
}
