package helper

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/landlock"
	"github.com/openmuse/muse/internal/sandbox/proc"
	"github.com/openmuse/muse/internal/sandbox/seccomp"
	"github.com/openmuse/muse/internal/sandbox/talk"
)

// run is the whole life of the helper. Any doubt ends it before the command.
func run() int {
	if err := closeInherited(); err != nil {
		return fails(err)
	}
	if err := limitWait(); err != nil {
		return fails(fmt.Errorf("%w (the helper is started by the agent, not by hand)", err))
	}
	m, err := talk.ReceiveFrom(talk.ControlFD)
	if err != nil {
		return fails(fmt.Errorf("read the agent's order: %w", err))
	}
	o, err := talk.DecodeOrder(m.Body)
	if err != nil {
		return fails(err)
	}
	h := &helper{order: o, listener: -1}
	if err := h.confine(); err != nil {
		// The host turns this into the tool's error; standard error belongs
		// to the command.
		if talk.SendTo(talk.ControlFD, (&talk.Report{Failure: err.Error()}).Encode()) != nil {
			return fails(err)
		}
		return ExitCode
	}
	p, err := h.confirm()
	if err != nil {
		return fails(err)
	}
	if !p.Start {
		return ExitCode // the host says why
	}
	return h.start(p)
}

// closeInherited closes every descriptor that came with the process but for
// the standard streams and the control socket. The runtime's own descriptors
// are told by their close-on-exec flag, which an inherited one cannot have.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("list the inherited descriptors: %w", err)
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= talk.ControlFD {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // somebody else's: its end is not ours to judge
		}
	}
	unix.CloseOnExec(talk.ControlFD)
	return nil
}

type helper struct {
	order    *talk.Order
	listener int
	landlock int
}

// confine finishes the boundary and looks at it.
func (h *helper) confine() error {
	o := h.order
	if o.Launcher == Native {
		if err := mapUser(o.UID, o.GID); err != nil {
			return err
		}
		if err := o.Plan.Apply(); err != nil {
			return err
		}
		if o.Namespaces[len(o.Namespaces)-1] != 0 {
			if err := raiseLoopback(); err != nil {
				return err
			}
		}
	}
	if err := proc.CheckNamespaces("/proc/self", o.Namespaces); err != nil {
		return err
	}
	if err := o.Plan.Verify(); err != nil {
		return err
	}
	if o.Listen {
		fd, err := listen()
		if err != nil {
			return err
		}
		h.listener = fd
	}
	if err := h.renounce(); err != nil {
		return err
	}
	return proc.CheckStatus("/proc/self")
}

// renounce takes away every right that is left. The order matters: the file
// rules need the file system, the filter forbids what came before.
func (h *helper) renounce() error {
	// A crash must not start the host's crash handler with our memory: the
	// kernel treats the limit 1 as "never", also for handlers.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("switch off core dumps: %w", err)
	}
	if err := dropCapabilities(h.order.Launcher == Native); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	version, err := landlock.Restrict(append(h.order.Landlock, terminals()...))
	if err != nil {
		return err
	}
	h.landlock = version
	return seccomp.Install(seccomp.Options{UnixSockets: h.order.UnixSockets})
}

// terminals are the standard streams that are terminals: programs open them
// again by name.
func terminals() []string {
	var paths []string
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			paths = append(paths, "/proc/self/fd/"+strconv.Itoa(fd))
		}
	}
	return paths
}

// limitWait bounds every wait for the host.
func limitWait() error {
	limit := unix.NsecToTimeval(Limit.Nanoseconds())
	if err := unix.SetsockoptTimeval(talk.ControlFD, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return fmt.Errorf("limit the wait for the agent on descriptor %d: %w", talk.ControlFD, err)
	}
	return nil
}

// confirm reports and waits for the host's word.
func (h *helper) confirm() (talk.Permit, error) {
	var rights []int
	if h.listener >= 0 {
		rights = []int{h.listener}
	}
	if err := talk.SendTo(talk.ControlFD, (&talk.Report{Landlock: h.landlock}).Encode(), rights...); err != nil {
		return talk.Permit{}, fmt.Errorf("report to the agent: %w", err)
	}
	if h.listener >= 0 {
		_ = unix.Close(h.listener) // the host holds it now
	}
	m, err := talk.ReceiveFrom(talk.ControlFD)
	if err != nil {
		return talk.Permit{}, fmt.Errorf("wait for the agent's permission: %w", err)
	}
	return talk.DecodePermit(m.Body)
}

// start runs the command. It is the only place that does.
func (h *helper) start(p talk.Permit) int {
	if err := unix.Chdir(h.order.Dir); err != nil {
		fmt.Fprintf(os.Stderr, "muse: enter %s: %v\n", h.order.Dir, err)
		return exitNotStarted
	}
	if h.order.Launcher == Native {
		return h.attend(p)
	}
	if p.NewSession {
		if _, err := unix.Setsid(); err != nil {
			return fails(fmt.Errorf("leave the session of the terminal: %w", err))
		}
	}
	if !p.NewSession && onTerminal() {
		if err := takeTerminal(); err != nil {
			return fails(err)
		}
	}
	err := unixExec(h.order.Path, h.order.Args)
	return notStarted(h.order.Path, err)
}

// Exit codes of a command that could not be started, as shells use them.
const (
	exitNotStarted = 126
	exitNotFound   = 127
)

func notStarted(path string, err error) int {
	fmt.Fprintf(os.Stderr, "muse: start %s: %v\n", path, err)
	if errors.Is(err, unix.ENOENT) {
		return exitNotFound
	}
	return exitNotStarted
}
