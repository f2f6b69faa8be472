package sandbox

import (
	"errors"

	"github.com/openmuse/muse/internal/sandbox/helper"
)

// ErrUnavailable says that the boundary could not be made or confirmed, so no
// command was started. It is a fault of the environment, not of the command.
var ErrUnavailable = errors.New(helper.Unavailable)

// ExitUnavailable is the exit code that reports ErrUnavailable (THREATS.md 8).
const ExitUnavailable = helper.ExitCode

// unavailableError is a cause as people and drivers read it (STREAM.md,
// reasons of failed tools).
type unavailableError struct{ cause error }

func (e *unavailableError) Error() string        { return ErrUnavailable.Error() + ": " + e.cause.Error() }
func (e *unavailableError) Unwrap() error        { return e.cause }
func (e *unavailableError) Is(target error) bool { return target == ErrUnavailable }

// unavailable marks a cause; one that is marked already stays as it is.
func unavailable(cause error) error {
	if errors.Is(cause, ErrUnavailable) {
		return cause
	}
	return &unavailableError{cause}
}

// plain takes the mark off again, to put several causes into one sentence.
func plain(err error) error {
	var u *unavailableError
	if errors.As(err, &u) {
		return u.cause
	}
	return err
}

// also adds a second error to a first one, if there is one.
func also(err, more error) error {
	switch {
	case more == nil:
		return err
	case err == nil:
		return more
	}
	return errors.Join(err, more)
}
