package cli

import (
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/term"

	"github.com/openmuse/muse/internal/permission"
)

// Env is everything a command takes from the process around it. Tests hand in
// buffers, a map of variables and a fixed clock.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Environ        func() []string
	Getwd          func() (string, error)
	Now            func() time.Time
	StdoutTTY      bool
	StderrTTY      bool
	// Planes are the files of the machine's administrator.
	Planes permission.Planes
}

// System is the real process environment.
func System() Env {
	return Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ, Getwd: os.Getwd, Now: time.Now,
		StdoutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Planes:    permission.PlaneFiles(runtime.GOOS, os.Getenv),
	}
}
