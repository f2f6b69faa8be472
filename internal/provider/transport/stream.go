package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/provider"
	"github.com/openmuse/muse/internal/provider/fault"
	"github.com/openmuse/muse/internal/provider/sse"
)

// The causes a stream is ended for by its own limits.
var (
	errFirstEvent = errors.New("no first event in time")
	errIdle       = errors.New("idle for too long")
)

// Stream is the reply to one request, read event by event. Close must be
// called.
type Stream struct {
	client *Client
	caller context.Context // the caller's, without the limits
	ctx    context.Context
	cancel context.CancelCauseFunc
	first  *time.Timer // ends the wait for the first event
	idling *time.Timer // ends a silence

	resp   *http.Response
	events *sse.Reader
	read   int64 // bytes of a reply that is no event stream

	sent     time.Time
	firstIn  time.Duration
	count    int64
	last     string
	complete bool
}

// Post sends a model request and returns its reply's stream. Every failure is
// a *provider.Error.
func (c *Client) Post(ctx context.Context, path string, body []byte, extra http.Header) (*Stream, error) {
	s := &Stream{client: c, caller: ctx, sent: c.now()}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	if c.first > 0 {
		s.first = time.AfterFunc(c.first, func() { s.cancel(errFirstEvent) })
	}
	resp, err := c.post(s.ctx, path, body, extra)
	if err != nil {
		defer s.Close()
		return nil, s.Failed(err)
	}
	s.resp = resp
	if resp.StatusCode != http.StatusOK {
		defer s.Close()
		e := c.refused(resp)
		s.complete = true // the body was read: the connection can be kept
		return nil, e
	}
	s.events = sse.NewReader(activity{s}, 0)
	return s, nil
}

// activity reads the reply and starts the idle limit anew with every byte.
// Comments count as life, but not as the first event.
type activity struct{ *Stream }

func (a activity) Read(p []byte) (int, error) {
	n, err := a.resp.Body.Read(p)
	if n > 0 && a.count > 0 {
		a.watch()
	}
	return n, err
}

// watch starts the idle limit. It only runs while the service is waited for:
// a slow consumer of the events is not the service's fault.
func (s *Stream) watch() {
	switch {
	case s.client.idle <= 0:
	case s.idling == nil:
		s.idling = time.AfterFunc(s.client.idle, func() { s.cancel(errIdle) })
	default:
		s.idling.Reset(s.client.idle)
	}
}

// Next is the next event. At the end it returns io.EOF; whether the reply was
// complete then is the wire's to say.
func (s *Stream) Next() (sse.Event, error) {
	if s.count > 0 {
		s.watch()
	}
	ev, err := s.events.Next()
	stop(s.idling)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return ev, io.EOF
		}
		return ev, s.Failed(err)
	}
	s.count++
	if s.count == 1 {
		stop(s.first)
		s.firstIn = s.client.now().Sub(s.sent)
	}
	return ev, nil
}

func stop(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// Document is the whole reply when the service answered a streaming request
// with one JSON document; ok is false for an event stream. A web page is an
// error.
func (s *Stream) Document() (body []byte, ok bool, err error) {
	kind, _, err := mime.ParseMediaType(s.resp.Header.Get("Content-Type"))
	if err != nil {
		return nil, false, nil // a missing or odd type says nothing
	}
	switch kind {
	case "text/html":
		return nil, false, &provider.Error{
			Class: provider.InvalidRequest, RequestID: s.RequestID(),
			Message: s.client.base.Host + " answered with a web page: check the base URL",
		}
	case "application/json":
	default:
		return nil, false, nil
	}
	body, err = io.ReadAll(io.LimitReader(s.resp.Body, maxBody))
	s.read = int64(len(body))
	s.count, s.firstIn = 1, s.client.now().Sub(s.sent)
	if err != nil {
		return nil, true, s.Failed(err)
	}
	return body, true, nil
}

// Failed turns an error met while reading into the failure it stands for.
func (s *Stream) Failed(err error) *provider.Error {
	var e *provider.Error
	switch cause := context.Cause(s.ctx); {
	case s.caller.Err() != nil:
		e = s.client.failed(s.caller, err)
	case errors.Is(cause, errFirstEvent):
		e = &provider.Error{Class: provider.Network, Err: err,
			Message: fmt.Sprintf("%s: no answer within %v", s.client.base.Host, s.client.first)}
	case errors.Is(cause, errIdle):
		e = &provider.Error{Class: provider.Network, Err: err,
			Message: fmt.Sprintf("%s: the stream was silent for %v", s.client.base.Host, s.client.idle)}
	default:
		e = s.client.failed(s.caller, err)
	}
	if e.RequestID == "" && e.Class != provider.Cancelled {
		e.RequestID = s.RequestID()
	}
	return e
}

// Cut is the failure of a stream that ended before its reply was complete.
func (s *Stream) Cut() *provider.Error { return s.Failed(sse.ErrTruncated) }

// Malformed is the failure of an event that is not what its wire defines.
func (s *Stream) Malformed(err error) *provider.Error {
	return s.client.redact(&provider.Error{
		Class: provider.Server, RequestID: s.RequestID(), Err: err,
		Message: s.client.base.Host + ": unreadable event: " + fault.OneLine(err.Error()),
	})
}

// Reported is the failure that an error event stands for.
func (s *Stream) Reported(event jsontext.Value) *provider.Error {
	return s.client.redact(fault.Event(event, s.resp.Header, s.client.now()))
}

// RequestID is the service's id of the request, "" when it gave none.
func (s *Stream) RequestID() string {
	if s.resp == nil {
		return ""
	}
	return fault.RequestID(s.resp.Header)
}

// Saw notes the type of the event being handled.
func (s *Stream) Saw(kind string) { s.last = kind }

// Facts is what the stream looked like up to now.
func (s *Stream) Facts() provider.WireFacts {
	return provider.WireFacts{
		RequestID: s.RequestID(), BytesRead: s.events.BytesRead() + s.read, Events: s.count,
		LastEvent: s.last, FirstEventIn: s.firstIn,
	}
}

// Done says that the reply is complete: Close then reads the little that is
// left, so that the connection can carry the next request.
func (s *Stream) Done() { s.complete = true }

// drainTime and drainBytes bound what is read of a complete reply for the
// connection's sake. The end of a reply is in the same packet as its last
// event or right behind it.
const (
	drainTime  = 100 * time.Millisecond
	drainBytes = 64 << 10
)

// Close releases the stream.
func (s *Stream) Close() {
	stop(s.first)
	stop(s.idling)
	if s.resp != nil {
		if s.complete {
			hurry := time.AfterFunc(drainTime, func() { s.cancel(nil) })
			// Whatever goes wrong only costs the connection.
			_, _ = io.CopyN(io.Discard, s.resp.Body, drainBytes)
			hurry.Stop()
		}
		_ = s.resp.Body.Close() // nothing is left to lose
	}
	s.cancel(nil)
}
