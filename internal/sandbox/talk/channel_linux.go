package talk

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const receiveFlags = unix.MSG_CMSG_CLOEXEC

// prepareChannel asks the kernel to say who sent each message.
func prepareChannel(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1)
}

// Sender is the process that sent a message, by its number on the host, as
// the kernel knows it.
func (m Message) Sender() (int, error) {
	controls, err := unix.ParseSocketControlMessage(m.oob)
	if err != nil {
		return 0, fmt.Errorf("read who sent the helper's report: %w", err)
	}
	for _, c := range controls {
		if c.Header.Level == unix.SOL_SOCKET && c.Header.Type == unix.SCM_CREDENTIALS {
			cred, err := unix.ParseUnixCredentials(&c)
			if err != nil {
				return 0, fmt.Errorf("read who sent the helper's report: %w", err)
			}
			return int(cred.Pid), nil
		}
	}
	return 0, errors.New("the kernel does not say who sent the helper's report")
}
