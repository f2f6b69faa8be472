package helper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/openmuse/muse/internal/sandbox/talk"
)

// run runs under the profile. It tries what must fail, reports, and
// becomes the command when the host agrees.
func run() int {
	if err := closeInherited(); err != nil {
		return fails(err)
	}
	m, err := talk.ReceiveFrom(talk.ControlFD)
	if err != nil {
		return fails(fmt.Errorf("read the agent's order: %w", err))
	}
	o, err := talk.DecodeOrder(m.Body)
	if err != nil {
		return fails(err)
	}
	rep := talk.Report{}
	if err := tryBoundary(o); err != nil {
		rep.Failure = err.Error()
	}
	if err := talk.SendTo(talk.ControlFD, rep.Encode()); err != nil {
		return fails(fmt.Errorf("report to the agent: %w", err))
	}
	if m, err = talk.ReceiveFrom(talk.ControlFD); err != nil {
		return fails(fmt.Errorf("wait for the agent's permission: %w", err))
	}
	p, err := talk.DecodePermit(m.Body)
	if err != nil {
		return fails(err)
	}
	if !p.Start || rep.Failure != "" {
		return ExitCode // the host says why
	}
	return becomeCommand(o, p)
}

func becomeCommand(o *talk.Order, p talk.Permit) int {
	if err := os.Chdir(o.Dir); err != nil {
		fmt.Fprintf(os.Stderr, "muse: enter %s: %v\n", o.Dir, err)
		return 126
	}
	if p.NewSession {
		// Fails for the leader of a group, which has a session to itself.
		_, _ = syscall.Setsid()
	}
	err := syscall.Exec(o.Path, o.Args, os.Environ())
	fmt.Fprintf(os.Stderr, "muse: start %s: %v\n", o.Path, err)
	if errors.Is(err, unix.ENOENT) {
		return 127
	}
	return 126
}

// closeInherited marks every descriptor that came with the process, so that
// none reaches the command.
func closeInherited() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("list the inherited descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= talk.ControlFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// errNotConfined says that something succeeded that must fail.
var errNotConfined = errors.New("the file system is not confined")

// tryBoundary does what the profile must forbid: to make a file in the root
// of every protected directory and outside of the writable ones.
func tryBoundary(o *talk.Order) error {
	for _, path := range append(o.Refused, "/private/tmp", os.Getenv("HOME")) {
		if path == "" {
			continue
		}
		if info, err := os.Lstat(path); err == nil && !info.IsDir() {
			if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
				f.Close()
				return fmt.Errorf("%w: %s can be written", errNotConfined, path)
			}
			continue
		}
		probe := filepath.Join(path, ".muse-sandbox-probe")
		err := os.Mkdir(probe, 0o700)
		if err == nil {
			_ = os.Remove(probe) // the finding is what counts
			return fmt.Errorf("%w: %s can be written", errNotConfined, path)
		}
	}
	return nil
}
