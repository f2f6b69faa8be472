//go:build !windows

package fault

import (
	"errors"
	"syscall"
)

// unreachable reports that nothing listens there or no route leads there, which
// waiting does not mend.
func unreachable(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
}
