package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e *signalError) Error() string { return fmt.Sprintf("ended by %v", e.sig) }

// patience is how long a run may take to end in order after a signal. A second
// signal within it changes nothing, because ending the process at once would
// leave its commands behind; after it the system's way is open again.
const patience = 2 * time.Second

// withSignals is ctx, ended by SIGINT, SIGTERM or SIGHUP with a signalError as
// its cause. SIGPIPE is ignored: a closed stdout must not leave the session log
// open-ended.
func withSignals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endSignals()...)
	signal.Ignore(pipeSignals()...)
	done := make(chan struct{})
	go func() {
		select {
		case sig := <-signals:
			cancel(&signalError{sig})
			select {
			case <-time.After(patience):
				signal.Stop(signals)
			case <-done:
			}
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// signalCode is the exit code for a context that a signal ended: 128 and the
// signal's number; ok is false when none did.
func signalCode(ctx context.Context) (code int, ok bool) {
	var ended *signalError
	if !errors.As(context.Cause(ctx), &ended) {
		return 0, false
	}
	if n, isNumber := ended.sig.(syscall.Signal); isNumber {
		return 128 + int(n), true
	}
	return 130, true
}

// interruptible runs read, which may wait for ever, until it is done or ctx
// ends. What read was about to set must not be used after an error.
func interruptible(ctx context.Context, read func() error) error {
	done := make(chan error, 1)
	go func() { done <- read() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
