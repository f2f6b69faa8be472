package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A terminal that was opened for the command is the command's own: it is its
// controlling terminal, and an interrupt typed there reaches it.
func TestOwnTerminal(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		cmd, release, err := s.Command(t.Context(), Command{Path: "/bin/sh", Args: []string{"sh", "-c",
			"trap 'echo interrupted; exit 3' INT; test -t 0 && echo ready > /dev/tty; while :; do sleep 0.05; done"}})
		if err != nil {
			t.Fatal(err)
		}
		master, tty, err := pty.Open()
		if err != nil {
			t.Skip(err)
		}
		defer master.Close()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, true, 0
		if err := cmd.Start(); err != nil {
			t.Fatal(errors.Join(err, release()))
		}
		tty.Close()
		if err := master.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		var seen bytes.Buffer
		err = readUntil(master, &seen, "ready")
		if err == nil {
			_, err = master.Write([]byte{3}) // Ctrl-C
		}
		if err == nil {
			err = readUntil(master, &seen, "interrupted")
		}
		_ = cmd.Process.Kill() // it has ended, or the test has failed
		_ = cmd.Wait()
		if err := errors.Join(err, release()); err != nil {
			t.Fatalf("%v; seen %q", err, seen.String())
		}
		if code := cmd.ProcessState.ExitCode(); code != 3 && code != -1 { // -1: the kill was quicker
			t.Errorf("exit code %d, output %q", code, seen.String())
		}
	})
}

func readUntil(r io.Reader, seen *bytes.Buffer, word string) error {
	buf := make([]byte, 256)
	for !strings.Contains(seen.String(), word) {
		n, err := r.Read(buf)
		seen.Write(buf[:n])
		if err != nil {
			return fmt.Errorf("waiting for %q: %w", word, err)
		}
	}
	return nil
}

// The terminal of the user is not: a command that gets it as a stream leaves
// its session, and can neither open it by name nor type into it.
func TestForeignTerminal(t *testing.T) {
	eachLauncher(t, func(t *testing.T, l LauncherName) {
		h := newHouse(t)
		spec := h.spec()
		spec.Launcher = l
		s := open(t, spec)
		runInside(t, s, "terminal") // copies the program
		master, tty, err := pty.Open()
		if err != nil {
			t.Skip(err)
		}
		defer master.Close()
		defer tty.Close()
		cmd, release, err := s.Command(t.Context(), Command{Path: h.ws + "/inside.test", Args: []string{"muse", "inside", "terminal"}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &out, tty
		if err := errors.Join(cmd.Run(), release()); err != nil || out.String() != "ok\n" {
			t.Errorf("%v, %q", err, out.String())
		}
	})
}
