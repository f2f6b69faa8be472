package sandbox

import "github.com/openmuse/muse/internal/sandbox/helper"

// MaybeHelper reports whether args, the command line without the program's
// name, ask for the sandbox helper, and with which exit code to end then. It
// is the first thing that main does.
//
// On Linux and macOS a process with such arguments does not get that far: the
// helper runs while packages are initialised (package helper).
func MaybeHelper(args []string) (code int, handled bool) {
	if !helper.Asked(args) {
		return 0, false
	}
	return ExitUnavailable, true
}
