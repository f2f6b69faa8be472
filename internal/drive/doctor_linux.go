package drive

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// probeNamespaces makes the namespaces that a sandbox needs, around a program
// that does nothing.
func probeNamespaces(ctx context.Context) error {
	nothing, err := exec.LookPath("true")
	if err != nil {
		return fmt.Errorf("find a program to try it with: %w", err)
	}
	cmd := exec.CommandContext(ctx, nothing)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run()
}

// namespaceCure names the kernel's switch that is off.
func namespaceCure() string {
	for _, s := range []struct{ path, off, cure string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows userns"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000"},
	} {
		if data, err := os.ReadFile(s.path); err == nil && strings.TrimSpace(string(data)) == s.off {
			return s.cure
		}
	}
	return "in a container: allow the clone and unshare system calls, or keep the sandbox off"
}
