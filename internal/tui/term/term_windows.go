package term

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// waker cannot wake a read of a console: the reader is left to itself.
type waker struct{}

func newWaker(*os.File) (waker, error)         { return waker{}, nil }
func (waker) wake() bool                       { return false }
func (waker) close() error                     { return nil }
func (waker) wait(time.Duration) (bool, error) { return true, nil }

// sizeEvery is how often the size is looked at: consoles send no signal.
const sizeEvery = 300 * time.Millisecond

func watchSize(ctx context.Context, t *TTY) (stop func()) {
	go func() {
		tick := time.NewTicker(sizeEvery)
		defer tick.Stop()
		w, h := t.Size()
		for {
			select {
			case <-tick.C:
				if nw, nh := t.Size(); nw != w || nh != h {
					w, h = nw, nh
					select {
					case t.size <- struct{}{}:
					default:
					}
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {}
}

// prepareOutput makes a console understand escape sequences.
func prepareOutput(fd int) error {
	var mode uint32
	h := windows.Handle(fd)
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return fmt.Errorf("look at the console: %w", err)
	}
	if err := windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING); err != nil {
		return fmt.Errorf("set up the console: %w", err)
	}
	return nil
}

// Suspend is not there.
func (t *TTY) Suspend() error { return errors.New("this system cannot suspend a program") }

// CanSuspend and CanLend say whether the system has these.
const (
	CanSuspend = false
	CanLend    = false
)
