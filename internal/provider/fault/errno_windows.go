package fault

import (
	"errors"

	"golang.org/x/sys/windows"
)

// unreachable reports that nothing listens there or no route leads there, which
// waiting does not mend. The net package returns the Winsock numbers, which the
// names of package syscall do not match.
func unreachable(err error) bool {
	return errors.Is(err, windows.WSAECONNREFUSED) || errors.Is(err, windows.WSAENETUNREACH) || errors.Is(err, windows.WSAEHOSTUNREACH)
}
