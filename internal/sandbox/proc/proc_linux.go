// Package proc asks the kernel about a process, by its directory in /proc:
// which namespaces it lives in, what it may do, what it runs. Host and helper
// ask the same questions, so that neither has to take the other's word.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errFormat says that the kernel wrote something else than expected.
var errFormat = errors.New("a file of /proc cannot be read")

// NamespaceNames are the namespaces that a command must have to itself.
func NamespaceNames() []string { return []string{"user", "mnt", "pid", "ipc", "uts", "net"} }

// Namespaces are the identities of a process's namespaces; base is its
// directory in /proc.
func Namespaces(base string) ([]uint64, error) {
	names := NamespaceNames()
	ids := make([]uint64, len(names))
	for i, name := range names {
		var st unix.Stat_t
		if err := unix.Stat(base+"/ns/"+name, &st); err != nil {
			return nil, fmt.Errorf("look at the %s namespace of %s: %w", name, base, err)
		}
		ids[i] = st.Ino
	}
	return ids, nil
}

// CheckNamespaces makes sure that none of the namespaces is the host's. An
// entry 0 of host is shared on purpose.
func CheckNamespaces(base string, host []uint64) error {
	own, err := Namespaces(base)
	if err != nil {
		return err
	}
	if len(host) != len(own) {
		return errFormat
	}
	for i, name := range NamespaceNames() {
		if own[i] == host[i] {
			return fmt.Errorf("the %s namespace is the host's", name)
		}
	}
	return nil
}

// CheckStatus makes sure that the kernel holds the process as it should: no
// capability, no way to gain one, and a filter on its system calls.
func CheckStatus(base string) error {
	text, err := os.ReadFile(base + "/status")
	if err != nil {
		return fmt.Errorf("read the state of the sandboxed process: %w", err)
	}
	want := map[string]string{
		"CapInh": "0", "CapPrm": "0", "CapEff": "0", "CapAmb": "0",
		"NoNewPrivs": "1", "Seccomp": "2",
	}
	for line := range bytes.Lines(text) {
		name, value, ok := strings.Cut(string(line), ":")
		if !ok {
			continue
		}
		expected, asked := want[name]
		if !asked {
			continue
		}
		value = strings.TrimSpace(value)
		if zeros := strings.Trim(value, "0"); expected == "0" && zeros != "" || expected != "0" && value != expected {
			return fmt.Errorf("the sandboxed process has %s %s", name, value)
		}
		delete(want, name)
	}
	for name := range want {
		return fmt.Errorf("the state of the sandboxed process does not show %s", name)
	}
	return nil
}

// ProgramID identifies a program file.
type ProgramID struct{ Dev, Ino uint64 }

// ProgramAt identifies the program at a path.
func ProgramAt(path string) (ProgramID, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return ProgramID{}, fmt.Errorf("look at the program %s: %w", path, err)
	}
	return ProgramID{st.Dev, st.Ino}, nil
}

// CheckProgram makes sure that the process runs the helper.
func CheckProgram(base string, helper ProgramID) error {
	running, err := ProgramAt(base + "/exe")
	if err != nil {
		return err
	}
	if running != helper {
		return errors.New("the program that reports from the sandbox is not the helper")
	}
	return nil
}

// LeadsOwnSession reports whether the process lives in a session that a child
// of ours leads: then its terminal was opened for it and is not the user's.
func LeadsOwnSession(pid int) bool {
	session, _, err := sessionAndParent(pid)
	if err != nil || session <= 0 {
		return false
	}
	_, parent, err := sessionAndParent(session)
	return err == nil && parent == os.Getpid()
}

// sessionAndParent reads fields 6 and 4 of /proc/<pid>/stat (proc_pid_stat(5)).
func sessionAndParent(pid int) (session, parent int, err error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	// The name in parentheses may hold anything, also parentheses.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 4 {
		return 0, 0, errFormat
	}
	if parent, err = strconv.Atoi(fields[1]); err != nil {
		return 0, 0, err
	}
	session, err = strconv.Atoi(fields[3])
	return session, parent, err
}
