// Package helper is the first program inside the sandbox: our own binary,
// started again with a hidden argument. It takes away what is left to take
// away, looks at the finished boundary from inside, reports to the host, and
// starts the command only when the host agrees.
//
// It runs while the packages are initialised, and the process never gets to
// main. That is on purpose: a step of the agent is one start of the helper,
// and half of that start would be the initialisation of packages that the
// helper does not use. For the same reason this package imports next to
// nothing.
//
// Run by hand the helper does nothing: it takes its orders from a socket that
// only the agent can have opened.
package helper

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Verb is the hidden argument.
const Verb = "__sandbox-helper"

// Native is the launcher whose boundary the helper makes by itself.
const Native = "native"

// Unavailable begins every message about a boundary that does not hold, and
// ExitCode is what the helper then ends with.
const (
	Unavailable = "environment failure: sandbox enforcement unavailable"
	ExitCode    = 125
)

// Limit is how long the helper and the host wait for each other.
const Limit = 10 * time.Second

// ProxyPort is where a command finds the gate on its own loopback.
const ProxyPort = 41080

// Asked reports whether a command line, without the program's name, is the
// helper's.
func Asked(args []string) bool { return len(args) == 1 && args[0] == Verb }

func init() {
	if len(os.Args) > 0 && Asked(os.Args[1:]) {
		// The host looks at the process's first thread, which this is: it is
		// the one that loses its rights and starts the command.
		runtime.LockOSThread()
		os.Exit(run())
	}
}

// fails ends a helper that cannot tell the host why.
func fails(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", Unavailable, err)
	return ExitCode
}
