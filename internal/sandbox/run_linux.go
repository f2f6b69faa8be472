package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/proc"
	"github.com/openmuse/muse/internal/sandbox/talk"
)

// platform is what a run keeps on Linux.
type platform struct{ launcher launcher }

// ready finds the launcher.
func (r *run) ready(ctx context.Context) (err error) {
	if r.launcher == nil {
		r.launcher, err = r.session.chosen(ctx)
	}
	return err
}

// build plans the view and makes the process and its order.
func (r *run) build(ctx context.Context, names held) (*exec.Cmd, error) {
	s := r.session
	plan, err := s.makePlan(names, r.before)
	if err != nil {
		return nil, err
	}
	cmd, err := r.launcher.prepare(ctx, s, plan, s.environment(r.command.Env, r.command.Dir, s.inNoRepository(names)))
	if err != nil {
		return nil, err
	}
	r.order = &talk.Order{
		Launcher: string(r.launcher.name()), Plan: *plan, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Namespaces: s.host,
		Listen: s.spec.Network == ProxyOnly, UnixSockets: s.spec.UnixSockets,
		Landlock: append([]string{"/dev"}, plan.Writable...),
	}
	return cmd, nil
}

// vouch looks at the process that reported, and takes over its listener.
func (r *run) vouch(m talk.Message, fds []int) (talk.Permit, error) {
	pid, err := m.Sender()
	if err != nil {
		return talk.Permit{}, err
	}
	if err := r.examine(pid); err != nil {
		return talk.Permit{}, err
	}
	if r.order.Listen && !r.trial {
		l, err := listener(fds)
		if err != nil {
			return talk.Permit{}, err
		}
		r.serve(l)
	}
	return talk.Permit{Start: true, NewSession: !proc.LeadsOwnSession(pid)}, nil
}

// examine asks the kernel about the process that reported.
func (r *run) examine(pid int) error {
	base := "/proc/" + strconv.Itoa(pid)
	if pid <= 0 {
		return errors.New("the report does not come from a process of this machine's")
	}
	if err := proc.CheckProgram(base, r.session.helperID); err != nil {
		return err
	}
	if err := proc.CheckNamespaces(base, r.session.host); err != nil {
		return err
	}
	return proc.CheckStatus(base)
}

// listener is the socket that the helper opened and handed out.
func listener(fds []int) (net.Listener, error) {
	if len(fds) != 1 {
		return nil, errors.New("the sandbox did not hand out its proxy socket")
	}
	f := os.NewFile(uintptr(fds[0]), "sandbox proxy")
	fds[0] = -1
	l, err := net.FileListener(f)
	_ = f.Close() // the listener has its own copy
	if err != nil {
		return nil, fmt.Errorf("take over the proxy socket: %w", err)
	}
	return l, nil
}

func isNamespaceLimit(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EUSERS) || errors.Is(err, unix.EINVAL)
}
