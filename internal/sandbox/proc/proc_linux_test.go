package proc

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The test process is on the host: every question must be answered with no.
func TestOnTheHost(t *testing.T) {
	own, err := Namespaces("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckNamespaces("/proc/self", own); err == nil || !strings.Contains(err.Error(), "the user namespace is the host's") {
		t.Errorf("got %v", err)
	}
	for i, name := range NamespaceNames() {
		others := append([]uint64{}, own...)
		for j := range others {
			if j != i {
				others[j] = 0 // shared on purpose
			}
		}
		if err := CheckNamespaces("/proc/self", others); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if err := CheckNamespaces("/proc/self", own[:2]); err == nil {
		t.Error("fewer namespaces than there are were accepted")
	}
	if err := CheckStatus("/proc/self"); err == nil {
		t.Error("a process with rights, or without a filter, was accepted")
	}
}

func TestCheckProgram(t *testing.T) {
	self, err := ProgramAt("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckProgram("/proc/self", self); err != nil {
		t.Errorf("our own: %v", err)
	}
	other, err := ProgramAt("/bin/sh")
	if err != nil {
		t.Skip(err)
	}
	if err := CheckProgram("/proc/self", other); err == nil {
		t.Error("another program was accepted")
	}
}

func TestLeadsOwnSession(t *testing.T) {
	if LeadsOwnSession(os.Getpid()) {
		t.Error("this process does not live in a session of its own child")
	}
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	if LeadsOwnSession(cmd.Process.Pid) {
		t.Error("a child in our session does not lead one")
	}
	// The session is 0 where its leader lives outside of our process namespace.
	own, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if session, parent, err := sessionAndParent(cmd.Process.Pid); err != nil || session != own || parent != os.Getpid() {
		t.Errorf("session %d instead of %d, parent %d, %v", session, own, parent, err)
	}
}

// A name may look like the fields that follow it.
func TestNameInStat(t *testing.T) {
	dir := t.TempDir()
	program := dir + "/a) R 1 2 3 (b"
	text, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	if _, parent, err := sessionAndParent(cmd.Process.Pid); err != nil || parent != os.Getpid() {
		t.Errorf("parent %s, %v", fmt.Sprint(parent), err)
	}
}
