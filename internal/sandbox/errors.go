package sandbox

import (
	"errors"
	"fmt"
)

// ErrUnavailable says that the boundary could not be made or confirmed, so no
// command was started. It is a fault of the environment, not of the command.
var ErrUnavailable = errors.New("environment failure: sandbox enforcement unavailable")

// ExitUnavailable is the exit code that reports ErrUnavailable (THREATS.md 8).
const ExitUnavailable = 125

// unavailable wraps a cause so that it reads as documented (STREAM.md,
// reasons of failed tools) and satisfies errors.Is for both.
func unavailable(cause error) error {
	if errors.Is(cause, ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, cause)
}

func unavailablef(format string, args ...any) error {
	return unavailable(fmt.Errorf(format, args...))
}

// plain takes the general sentence off an error, which is put on again once
// for all launchers.
func plain(err error) error {
	var p interface{ Unwrap() []error }
	if errors.Is(err, ErrUnavailable) && errors.As(err, &p) {
		if parts := p.Unwrap(); len(parts) == 2 && parts[0] == ErrUnavailable {
			return parts[1]
		}
	}
	return err
}
