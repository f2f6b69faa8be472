//go:build unix

package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// waker waits for input and can be woken meanwhile.
type waker struct {
	in   int
	r, w *os.File
}

func newWaker(in *os.File) (waker, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return waker{}, fmt.Errorf("watch the terminal: %w", err)
	}
	return waker{int(in.Fd()), r, w}, nil
}

// wake makes a wait return.
func (k waker) wake() bool {
	_, err := k.w.Write([]byte{0})
	return err == nil
}

func (k waker) close() error { return errors.Join(k.r.Close(), k.w.Close()) }

// wait reports whether there is input; false when it was woken or after d. A
// negative d waits for ever. It is select and not poll: on macOS poll does not
// know terminals.
func (k waker) wait(d time.Duration) (bool, error) {
	for {
		var set unix.FdSet
		pipe := int(k.r.Fd())
		set.Set(k.in)
		set.Set(pipe)
		var limit *unix.Timeval
		if d >= 0 {
			tv := unix.NsecToTimeval(d.Nanoseconds())
			limit = &tv
		}
		n, err := unix.Select(max(k.in, pipe)+1, &set, nil, nil, limit)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return false, fmt.Errorf("wait for the terminal: %w", err)
		case n == 0:
			return false, nil
		case set.IsSet(pipe):
			_, err := k.r.Read(make([]byte, 16))
			return false, err
		}
		return true, nil
	}
}

func watchSize(ctx context.Context, t *TTY) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	go func() {
		for {
			select {
			case <-signals:
				select {
				case t.size <- struct{}{}:
				default:
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { signal.Stop(signals) }
}

func prepareOutput(int) error { return nil }

// notStopped is after how long it is clear that the process was not stopped.
const notStopped = 300 * time.Millisecond

// Suspend stops the process as ctrl+z does in a shell; it returns when the
// process goes on.
func (t *TTY) Suspend() error {
	return t.Lend(func() error {
		back := make(chan os.Signal, 1)
		signal.Notify(back, syscall.SIGCONT)
		defer signal.Stop(back)
		if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
			return fmt.Errorf("suspend: %w", err)
		}
		// Where nobody could make the process go on (it is the terminal's only
		// program) the system does not stop it.
		select {
		case <-back:
		case <-time.After(notStopped):
		}
		return nil
	})
}

// CanSuspend and CanLend say whether the system has these.
const (
	CanSuspend = true
	CanLend    = true
)
