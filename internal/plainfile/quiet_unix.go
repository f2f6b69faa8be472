//go:build unix

package plainfile

import "syscall"

// quiet opens a pipe without waiting for its other end, and a terminal without
// making it this process's own.
const quiet = syscall.O_NONBLOCK | syscall.O_NOCTTY
