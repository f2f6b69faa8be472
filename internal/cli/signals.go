package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e *signalError) Error() string { return fmt.Sprintf("ended by %v", e.sig) }

// withSignals is ctx, ended by SIGINT, SIGTERM or SIGHUP with a signalError as
// its cause. A second signal ends the process the system's way, because a
// person who asks twice does not want to wait. SIGPIPE is ignored: a closed
// stdout must not leave the session log open-ended.
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
			signal.Stop(signals)
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
