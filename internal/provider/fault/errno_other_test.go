//go:build !windows

package fault

import "syscall"

const refusedErrno = syscall.ECONNREFUSED
