package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	xterm "golang.org/x/term"
)

// escapeWait is how long an Esc waits for what may follow it: long enough for
// a slow connection to bring the rest of a sequence, too short to be felt.
const escapeWait = 40 * time.Millisecond

// The modes of a terminal that the UI uses: bracketed paste, reports of focus,
// unambiguous keys where the terminal knows them, a hidden cursor (the UI draws
// its own, see package screen).
const (
	modesOn  = "\x1b[?2004h\x1b[?1004h\x1b[>1u\x1b[?25l"
	modesOff = "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m"
)

// TTY is a terminal in raw mode.
type TTY struct {
	in    *os.File
	out   io.Writer
	fd    int // of the output, for the size
	saved *xterm.State

	lend   chan loan     // requests to leave the terminal alone
	gone   chan struct{} // closed when the reader has ended
	waker  waker
	events chan Event
	size   chan struct{}
	ended  chan error
	stop   func()
}

// Open takes the terminal over. The caller closes it.
func Open(in, out *os.File) (*TTY, error) {
	t := &TTY{
		in: in, out: out, fd: int(out.Fd()), events: make(chan Event, 64),
		size: make(chan struct{}, 1), ended: make(chan error, 1), lend: make(chan loan, 1), gone: make(chan struct{}),
	}
	if err := t.enter(); err != nil {
		return nil, err
	}
	var err error
	if t.waker, err = newWaker(in); err != nil {
		return nil, errors.Join(err, t.leave())
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopSize := watchSize(ctx, t)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(t.gone)
		t.ended <- t.read(ctx)
	})
	t.stop = func() {
		cancel()
		stopSize()
		if t.waker.wake() {
			wg.Wait()
		}
	}
	return t, nil
}

// enter puts the terminal into raw mode.
func (t *TTY) enter() error {
	saved, err := xterm.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("take over the terminal: %w", err)
	}
	t.saved = saved
	if err := prepareOutput(t.fd); err != nil {
		return errors.Join(err, xterm.Restore(int(t.in.Fd()), saved))
	}
	_, err = io.WriteString(t.out, modesOn)
	return err
}

// leave gives the terminal back as it was.
func (t *TTY) leave() error {
	_, err := io.WriteString(t.out, modesOff)
	return errors.Join(err, xterm.Restore(int(t.in.Fd()), t.saved))
}

// Close gives the terminal back.
func (t *TTY) Close() error {
	t.stop()
	return errors.Join(t.leave(), t.waker.close())
}

// Events are what is typed, in order.
func (t *TTY) Events() <-chan Event { return t.events }

// Resized is told of changes of the size; several may be told as one.
func (t *TTY) Resized() <-chan struct{} { return t.size }

// Ended gives the error that ended the input, io.EOF when the terminal went.
func (t *TTY) Ended() <-chan error { return t.ended }

// Size is the terminal's size in columns and rows; 80×24 where it is not told.
func (t *TTY) Size() (width, height int) {
	w, h, err := xterm.GetSize(t.fd)
	if err != nil || w < 1 || h < 1 {
		return 80, 24
	}
	return w, h
}

// Write implements io.Writer.
func (t *TTY) Write(p []byte) (int, error) { return t.out.Write(p) }

// loan is a time in which the reader leaves the terminal alone.
type loan struct{ ready, done chan struct{} }

// Lend gives the terminal as it was to somebody else, an editor for example,
// for as long as use runs.
func (t *TTY) Lend(use func() error) error {
	l := loan{make(chan struct{}), make(chan struct{})}
	defer close(l.done)
	t.lend <- l
	t.waker.wake()
	select {
	case <-l.ready:
	case <-t.gone:
		return io.EOF
	}
	if err := t.leave(); err != nil {
		return err
	}
	err := use()
	return errors.Join(err, t.enter())
}

// rest leaves the terminal alone for a loan.
func (l loan) rest() {
	close(l.ready)
	<-l.done
}

func (t *TTY) read(ctx context.Context) error {
	var d Decoder
	buf := make([]byte, 64<<10)
	for {
		select {
		case l := <-t.lend:
			l.rest()
		default:
		}
		n, err := t.readOnce(&d, buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		events := d.Feed(buf[:n])
		if n == 0 && d.Waiting() {
			events = d.Flush()
		}
		for len(events) > 0 {
			select {
			case t.events <- events[0]:
				events = events[1:]
			case l := <-t.lend:
				l.rest()
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// readOnce reads what is there. It returns 0 bytes when it was woken or when
// nothing followed an Esc in time.
func (t *TTY) readOnce(d *Decoder, buf []byte) (int, error) {
	wait := time.Duration(-1)
	if d.Waiting() {
		wait = escapeWait
	}
	ready, err := t.waker.wait(wait)
	if err != nil || !ready {
		return 0, err
	}
	n, err := t.in.Read(buf)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}
