package serve

import (
	"context"
	"errors"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
	fold "github.com/openmuse/muse/internal/view/session"
)

// view is what one session looks like on the wire at one place of its log,
// with the way to its log. Reading a stored session and following a loaded one
// build the same view.
type view struct {
	*fold.View
	facts host.Facts
	// replay shows the kept events of the session after a sequence.
	replay func(ctx context.Context, from int64, show func(event.Recorded) error) error
}

func (v *view) id() string { return v.facts.SessionID }

// row is the session as lists and results show it. What the log does not say
// yet the host knows; its name the log says, as of where the view stands.
func (v *view) row(loaded bool) msp.Session {
	row := v.Fold().Row(v.facts.Path, loaded)
	if row.WorkspaceRoot == nil && v.facts.Workspace != "" {
		row.WorkspaceRoot = &v.facts.Workspace
	}
	return row
}

// log is the view's log up to where the view stands.
func (v *view) log(ctx context.Context) fold.LogFrom {
	until := v.Fold().Sequence()
	return func(from int64, yield func(event.Recorded) error) error {
		if from >= until {
			return nil
		}
		err := v.replay(ctx, from, func(e event.Recorded) error {
			if e.Sequence == 0 {
				return nil // shown while it happened: its fate is still to come
			}
			if e.Sequence > until {
				return errReached
			}
			if err := yield(e); err != nil {
				return err
			}
			if e.Sequence == until {
				return errReached
			}
			return nil
		})
		if errors.Is(err, errReached) {
			return nil
		}
		return err
	}
}

// page serves one page, from memory when it lies there.
func (v *view) page(ctx context.Context, p msp.ViewPageParams) (msp.ViewPageResult, error) {
	out, err := v.Page(p)
	if errors.Is(err, fold.ErrBehindWindow) {
		out, err = fold.PageLog(v.Fold(), v.log(ctx), p, fold.DefaultLimits())
	}
	return out, v.refused(err, p)
}

// refused puts what a page is refused for on the wire.
func (v *view) refused(err error, p msp.ViewPageParams) error {
	var large *fold.TooLargeError
	switch {
	case errors.Is(err, fold.ErrNotIssued) && p.Cursor != nil:
		return msp.MissingAnchor(v.id(), *p.Cursor)
	case errors.Is(err, fold.ErrNoBoundary):
		return msp.NoBoundary(v.id(), string(p.Anchor))
	case errors.As(err, &large):
		return msp.PageEventTooLarge(large.Cursor)
	}
	return err
}

// place finds the place that a cursor names.
func (v *view) place(cursor string) (int64, error) {
	n, err := v.Number(cursor)
	if errors.Is(err, fold.ErrNotIssued) {
		err = msp.MissingAnchor(v.id(), cursor)
	}
	return n, err
}

// suffix shows every kept notification after number, oldest first.
func (v *view) suffix(ctx context.Context, number int64, push func(fold.Kept)) error {
	kept, err := v.After(number)
	if errors.Is(err, fold.ErrBehindWindow) {
		return fold.LogAfter(v.id(), v.log(ctx), number, func(k fold.Kept) error {
			push(k)
			return nil
		})
	}
	for _, k := range kept {
		push(k)
	}
	return err
}

// status is whether a turn runs.
func (v *view) status() msp.SessionStatus {
	if v.Fold().ActiveTurn() != nil {
		return msp.SessionStatusRunning
	}
	return msp.SessionStatusIdle
}

// said is the cursor of what a record said by a method. When that is not at
// hand any more it is the cursor behind everything the record said.
func (v *view) said(sequence int64, method string) string {
	kept, err := v.After(sequence*fold.Stride - 1)
	if err == nil { // else the record lies behind the window
		for _, k := range kept {
			if fold.Sequence(k.Number) > sequence {
				break
			}
			if k.Method == method {
				return fold.Cursor(v.id(), k.Number)
			}
		}
	}
	return fold.Cursor(v.id(), fold.LastOf(sequence))
}
