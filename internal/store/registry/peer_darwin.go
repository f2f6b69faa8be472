package registry

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

var errOtherUser = errors.New("the other side is another user")

// sameUser refuses a connection whose other side is another user.
func sameUser(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Xucred
	var sockErr error
	err = raw.Control(func(fd uintptr) { cred, sockErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	if err = errors.Join(err, sockErr); err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() {
		return errOtherUser
	}
	return nil
}
