package serve

import (
	"github.com/openmuse/muse/internal/msp"
)

// errorFrame encodes a refusal. What it holds is ours and small, so that it
// cannot fail; if it did, the client would still need an answer.
func (c *conn) errorFrame(id msp.RequestId, e *msp.Error) []byte {
	data, err := msp.EncodeError(id, e)
	if err != nil {
		c.opts.Note("encode error: %v", err)
		data, _ = msp.EncodeError(id, msp.NewError(msp.ErrorKindInternal, "internal error"))
	}
	return data
}

// noteFrame encodes a notification of now.
func (c *conn) noteFrame(name string, params any) ([]byte, error) {
	return msp.EncodeNotification(name, params, c.opts.Now())
}

// askFrame encodes a question of the host with the next id of its own count.
// It is called under the connection's lock.
func (c *conn) askFrame(name string, params any) ([]byte, error) {
	c.requestID++
	return msp.EncodeRequest(msp.IntID(c.requestID), name, params)
}

// gapFrame encodes a view/gap.
func (c *conn) gapFrame(session, after, next string) []byte {
	data, err := c.noteFrame(msp.NoteViewGap, msp.ViewGapParams{SessionID: session, After: after, Next: next})
	if err != nil { // three short strings
		c.opts.Note("%v", err)
	}
	return data
}
