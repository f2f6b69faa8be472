package sandbox

import (
	"context"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/helper"
	"github.com/openmuse/muse/internal/sandbox/layout"
)

// native makes the boundary itself: our own binary starts as the first
// process of fresh namespaces, mounts the view, and stays there. It needs
// Linux 5.12, and nothing to be installed.
type native struct{}

func (native) name() LauncherName { return Native }

func (native) prepare(_ context.Context, s *Session, _ *layout.Plan, env []string) (*exec.Cmd, error) {
	// The first process shares our memory until it has become the helper, as
	// any other process that Go starts: to copy the page tables of an agent
	// takes longer than all of the namespaces. So nobody can write its user
	// mapping meanwhile, and it does that itself.
	flags := uintptr(unix.CLONE_VM | unix.CLONE_VFORK)
	flags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if s.spec.Network != Enabled {
		flags |= unix.CLONE_NEWNET
	}
	return &exec.Cmd{
		// The link leads to the running program also when its file was
		// replaced meanwhile.
		Path: "/proc/self/exe", Args: []string{"muse", helper.Verb}, Env: env, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: flags,
			// What is needed to mount, to switch on the loopback and to give
			// all of it up again; the program would lose it on the way in.
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP},
			Pdeathsig:   syscall.SIGKILL,
		},
	}, nil
}
