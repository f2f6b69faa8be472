package host

import (
	"context"
	"log/slog"

	"github.com/openmuse/muse/internal/event"
)

// Close ends the session: exitReason is "clean", "interrupted" or "failed".
// The log is sealed and durable, the lease is given back.
func (s *Session) Close(exitReason string) error {
	if s.place == nil {
		return nil
	}
	if s.journal == nil {
		return s.release(nil)
	}
	err := s.record(event.Event{Body: event.SessionEnd{
		ExitReason: exitReason, Schema: 1, SessionID: s.id, UptimeMS: s.opts.Now().Sub(s.opened).Milliseconds(),
		Resources: event.ResourceUsage{SessionLogBytes: s.journal.Size()},
	}})
	if err == nil {
		err = s.journal.Seal()
	}
	ctx, cancel := context.WithTimeout(context.Background(), indexTime)
	defer cancel()
	s.index(ctx)
	if closeErr := s.journal.Close(); err == nil {
		err = closeErr
	}
	s.noteClosed(exitReason, err)
	return s.release(err)
}

// note writes a trouble that stops nothing into the session's trace.
func (s *Session) note(what string, err error) { slog.New(s.trace).Warn(what, "error", err) }

func (s *Session) noteClosed(exitReason string, err error) {
	slog.New(s.trace).Info("session closed", "exit_reason", exitReason, "error", err)
}

// Abandon gives back a session on which Begin was not called: nothing was
// said, so nothing is recorded.
func (s *Session) Abandon() error {
	if s.place == nil {
		return nil
	}
	var err error
	if s.journal != nil {
		err = s.journal.Close()
	}
	return s.release(err)
}

// release gives the lease back. A trace that could not be written is not worth
// failing for: it is there to explain failures.
func (s *Session) release(err error) error {
	_ = s.trace.Close()
	if unlockErr := s.place.Unlock(); err == nil {
		err = unlockErr
	}
	return err
}
