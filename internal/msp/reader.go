package msp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// FrameCap is the largest frame either side may send, in bytes without the line
// feed (MSP.md 2).
const FrameCap = 10_485_760

// Reader takes frames from a stream of lines. It is for one goroutine.
type Reader struct {
	in *bufio.Reader
}

// NewReader reads frames from in.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10)}
}

// OversizedError says that a frame exceeded the cap. The frame is gone and the
// reader stands at the next one. ID is null when the beginning of the frame did
// not tell it.
type OversizedError struct {
	ID    RequestId
	Limit int64
}

func (e *OversizedError) Error() string {
	return fmt.Sprintf("a frame exceeds %d bytes", e.Limit)
}

// Refusal is what to answer: with an id it says that the input is too large,
// without one that it could not be read (MSP.md 2).
func (e *OversizedError) Refusal() *Error {
	if e.ID.IsNull() {
		return ParseError(e.Error())
	}
	return InputTooLarge(e.Limit)
}

// Next returns the next frame, which the caller may keep, without its line end.
// Blank lines are passed over and a carriage return before the line feed is
// dropped. A last line without line feed is a frame as well. The error is
// io.EOF at the end, *OversizedError for a frame above the cap, after which
// reading goes on, and otherwise that of the stream.
func (r *Reader) Next() ([]byte, error) {
	for {
		frame, err := r.line()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(frame)) > 0 {
			return frame, nil
		}
	}
}

// line reads up to a line feed. Of a line that is too long it keeps what fits
// the cap, to look for the id in it.
func (r *Reader) line() ([]byte, error) {
	var frame []byte
	over := false
	for {
		part, err := r.in.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		// One byte more than the cap may be a carriage return.
		if room := FrameCap + 1 - len(frame); len(part) > room {
			part, over = part[:room], true
		}
		frame = append(frame, part...)
		switch {
		case whole:
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(frame) > 0:
		default:
			return nil, err
		}
		frame = bytes.TrimSuffix(frame, []byte("\r"))
		if over || len(frame) > FrameCap {
			return nil, &OversizedError{ID: idOfPrefix(frame), Limit: FrameCap}
		}
		return frame, nil
	}
}

// idOfPrefix finds the id among the first members of a frame that was cut.
func idOfPrefix(prefix []byte) RequestId {
	dec := jsontext.NewDecoder(bytes.NewReader(prefix))
	if dec.PeekKind() != '{' {
		return RequestId{}
	}
	if _, err := dec.ReadToken(); err != nil {
		return RequestId{}
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return RequestId{}
		}
		if name.String() != "id" {
			if err := dec.SkipValue(); err != nil {
				return RequestId{}
			}
			continue
		}
		v, err := dec.ReadValue()
		if err != nil {
			return RequestId{}
		}
		id, err := ParseRequestID(v)
		if err != nil || dec.InputOffset() == int64(len(prefix)) {
			return RequestId{} // a number at the cut may have had more digits
		}
		return id
	}
	return RequestId{}
}
