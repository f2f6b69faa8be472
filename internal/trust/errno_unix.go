//go:build unix

package trust

import "syscall"

// errNotDir is what looking below a file gives.
var errNotDir error = syscall.ENOTDIR
