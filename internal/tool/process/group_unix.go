//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// group is a process group, named by its leader.
type group struct{ id int }

func groupOf(p *os.Process) group { return group{id: p.Pid} }

// ownGroup makes the command the leader of a new process group.
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A new session is a new group as well.
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid
}

// The signals below go to the whole group; that it is gone already is the
// usual case and no failure.

func (g group) terminate() { _ = unix.Kill(-g.id, unix.SIGTERM) }

func (g group) kill() { _ = unix.Kill(-g.id, unix.SIGKILL) }

func (g group) interrupt() { _ = unix.Kill(-g.id, unix.SIGINT) }

func (g group) alive() bool { return unix.Kill(-g.id, 0) == nil }

// killRemains kills the group if it still holds a process with the marker.
// The check keeps a group number that was given to somebody else meanwhile
// from being hit, where the system lets us look.
func (g group) killRemains(marker string) {
	if !g.alive() || !groupHasMarker(g.id, marker) {
		return
	}
	g.kill()
}

// startOnTerminal starts cmd as the leader of a session with a new terminal
// and returns the terminal's other side.
func startOnTerminal(cmd *exec.Cmd) (*os.File, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	defer tty.Close()
	// A size that programs format well for and a reader does not pay much for.
	err = pty.Setsize(master, &pty.Winsize{Rows: 40, Cols: 120})
	if err == nil {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Setpgid = true, true, false
		cmd.SysProcAttr.Ctty = 0 // the number in the child
		err = cmd.Start()
	}
	if err != nil {
		_ = master.Close() // nothing was read from it
		return nil, err
	}
	return master, nil
}

// emptyPipe reads what is in the pipe now without waiting for more.
func emptyPipe(r *os.File, buf []byte, out io.Writer) error {
	raw, err := r.SyscallConn()
	if err != nil {
		return fmt.Errorf("read output: %w", err)
	}
	for {
		var n int
		var readErr error
		if err := raw.Read(func(fd uintptr) bool {
			n, readErr = unix.Read(int(fd), buf)
			return true
		}); err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		switch {
		case n > 0:
			_, _ = out.Write(buf[:n]) // Output.Write does not fail
		case errors.Is(readErr, unix.EINTR):
		case errors.Is(readErr, unix.EAGAIN):
			return nil
		case readErr != nil:
			return fmt.Errorf("read output: %w", readErr)
		default:
			return io.EOF
		}
	}
}

// exitStatus words the end of a process as the logs of other builds do
// (STREAM.md (a), terminal_reason).
func exitStatus(state *os.ProcessState) string {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		name := unix.SignalName(ws.Signal())
		return fmt.Sprintf("signal: %d (%s)", ws.Signal(), name)
	}
	return fmt.Sprintf("exit status: %d", state.ExitCode())
}
