//go:build unix && !linux && !darwin

package registry

import "net"

// sameUser relies on the directory of the sockets, which is open to this user
// alone.
func sameUser(*net.UnixConn) error { return nil }
