//go:build linux || darwin

package talk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ControlFD is the helper's end of the control socket. Nothing else but the
// standard streams is handed down.
const ControlFD = 3

// maxMessage bounds one message in bytes.
const maxMessage = 16 << 20

// Message is one length-prefixed piece of the dialogue with what came beside
// it.
type Message struct {
	Body []byte
	oob  []byte // control data of the socket
}

// Channel is the host's end of the control socket.
type Channel struct{ file *os.File }

// NewChannel makes a connected pair. The child's end goes to the helper; the
// caller closes both.
func NewChannel() (host *Channel, child *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the control socket: %w", err)
	}
	// A process started by another goroutine between these calls inherits the
	// socket at worst; the helper closes what it does not know.
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	if err := errors.Join(prepareChannel(fds[0]), unix.SetNonblock(fds[0], true)); err != nil {
		_, _ = unix.Close(fds[0]), unix.Close(fds[1]) // nothing was written
		return nil, nil, fmt.Errorf("prepare the control socket: %w", err)
	}
	return &Channel{os.NewFile(uintptr(fds[0]), "sandbox control")}, os.NewFile(uintptr(fds[1]), "sandbox helper control"), nil
}

// Close ends the dialogue.
func (c *Channel) Close() error { return c.file.Close() }

// SetDeadline bounds every wait on the socket.
func (c *Channel) SetDeadline(t time.Time) error { return c.file.SetDeadline(t) }

// Send writes one message.
func (c *Channel) Send(body []byte) error {
	_, err := c.file.Write(append(header(body), body...))
	return err
}

// Receive reads one message. Only what came beside its first bytes is
// returned as control data.
func (c *Channel) Receive() (Message, error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return Message{}, err
	}
	return readMessage(func(p, oob []byte) (n, oobn int, err error) {
		e := raw.Read(func(fd uintptr) bool {
			n, oobn, err = receiveOn(int(fd), p, oob)
			return !errors.Is(err, unix.EAGAIN)
		})
		return n, oobn, errors.Join(e, err)
	})
}

// ReceiveFrom reads one message from a blocking descriptor.
func ReceiveFrom(fd int) (Message, error) {
	return readMessage(func(p, oob []byte) (int, int, error) { return receiveOn(fd, p, oob) })
}

func receiveOn(fd int, p, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(fd, p, oob, receiveFlags)
		if !errors.Is(err, unix.EINTR) {
			return n, oobn, err
		}
	}
}

// SendTo writes one message to a blocking descriptor, with descriptors beside
// it.
func SendTo(fd int, body []byte, rights ...int) error {
	data := append(header(body), body...)
	var oob []byte
	if len(rights) > 0 {
		oob = unix.UnixRights(rights...)
	}
	for len(data) > 0 {
		n, err := unix.SendmsgN(fd, data, oob, nil, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		data, oob = data[n:], nil
	}
	return nil
}

func header(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
}

func readMessage(read func(p, oob []byte) (n, oobn int, err error)) (Message, error) {
	var m Message
	oob := make([]byte, 256)
	fill := func(p []byte) error {
		for len(p) > 0 {
			n, oobn, err := read(p, oob)
			if err != nil {
				return err
			}
			if n == 0 {
				return io.ErrUnexpectedEOF
			}
			if m.oob == nil && oobn > 0 {
				m.oob = append([]byte{}, oob[:oobn]...)
			}
			p = p[n:]
		}
		return nil
	}
	var head [4]byte
	if err := fill(head[:]); err != nil {
		return m, err
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxMessage {
		return m, ErrMessage
	}
	m.Body = make([]byte, size)
	return m, fill(m.Body)
}

// Rights are the descriptors that came beside a message. The caller owns them.
func (m Message) Rights() ([]int, error) {
	if len(m.oob) == 0 {
		return nil, nil
	}
	controls, err := unix.ParseSocketControlMessage(m.oob)
	if err != nil {
		return nil, fmt.Errorf("read what came with the helper's report: %w", err)
	}
	var fds []int
	for _, c := range controls {
		if c.Header.Level != unix.SOL_SOCKET || c.Header.Type != unix.SCM_RIGHTS {
			continue
		}
		more, err := unix.ParseUnixRights(&c)
		if err != nil {
			return fds, fmt.Errorf("read what came with the helper's report: %w", err)
		}
		fds = append(fds, more...)
	}
	return fds, nil
}
