package fault

import "golang.org/x/sys/windows"

const refusedErrno = windows.WSAECONNREFUSED
