//go:build unix

package config

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A command whose child keeps its output open has answered when it ends.
func TestKeyCommandThatLeavesAChild(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// The child waits for the test to open the pipe, and so does the test for it.
	argv := []string{"/bin/sh", "-c", `cat "$1" & echo ` + goodKey, "sh", pipe}
	key, err := runKeyCommand(t.Context(), argv, os.Environ())
	if err != nil || key != goodKey {
		t.Errorf("key %q, error %v", key, err)
	}
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()

	if _, err := runKeyCommand(t.Context(), []string{"/bin/sh", "-c", `sleep 3 &`}, os.Environ()); err == nil {
		t.Error("no key, and no error")
	}
}

// The end of the context ends what the command started, too.
func TestKeyCommandEndsWhole(t *testing.T) {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0); err == nil {
		tty.Close()
		t.Skip("with a terminal the command has no group of its own")
	}
	pipe := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		// Opening waits for the grandchild, reading for its end.
		f, err := os.Open(pipe)
		if err == nil {
			if _, err = f.Read(make([]byte, 1)); err == nil {
				cancel()
				_, err = io.ReadAll(f)
			}
			f.Close()
		}
		gone <- err
	}()
	argv := []string{"/bin/sh", "-c", `(echo up; sleep 60) >"$1" & wait`, "sh", pipe}
	if _, err := runKeyCommand(ctx, argv, os.Environ()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	select {
	case err := <-gone:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the grandchild lives on")
	}
}
