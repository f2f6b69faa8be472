package serve

import (
	"context"
	"errors"

	"github.com/openmuse/muse/internal/host"
	"github.com/openmuse/muse/internal/msp"
)

// wireError is err as the client is told it. A fault of this side is told
// without its insides, which go to stderr.
func (c *conn) wireError(err error) *msp.Error {
	var wire *msp.Error
	var no *host.Refusal
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &no):
		return c.refusal(no)
	case errors.Is(err, context.Canceled), errors.Is(err, host.ErrClosed):
		return msp.NewError(msp.ErrorKindCancelled, "the host is closing")
	}
	c.opts.Note("internal error: %v", err)
	return msp.NewError(msp.ErrorKindInternal, "internal error")
}

// refusal puts a refusal of the host on the wire: the data that belongs to its
// kind, nothing else (MSP.md 9).
func (c *conn) refusal(r *host.Refusal) *msp.Error {
	e := msp.NewError(msp.ErrorKind(r.Kind), "%s", r.Message)
	d := &e.Data
	d.Reason, d.SessionID, d.ApprovalID = r.Reason, r.SessionID, r.ApprovalID
	d.ChoiceID, d.UserInputID, d.LastTurnID = r.ChoiceID, r.UserInputID, r.TurnID
	if r.Capacity > 0 {
		d.Capacity = &r.Capacity
	}
	if r.Requirement != nil {
		d.CurrentRequirementID = &msp.ApprovalRequirementRef{
			ApprovalID: r.Requirement.ApprovalID, SourceIndex: int64(r.Requirement.SourceIndex),
		}
	}
	return e
}

// asRefusal finds the refusal of the host in err.
func asRefusal(err error) (*host.Refusal, bool) {
	var no *host.Refusal
	return no, errors.As(err, &no)
}
