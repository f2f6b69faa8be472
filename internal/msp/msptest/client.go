package msptest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
)

// ErrHostGone says that the host ended the stream.
var ErrHostGone = errors.New("the host is gone")

// Event is a notification or a request of the host, as it came, or an error
// that answers what the host could not read.
type Event struct {
	Method  string         // empty for an error without id
	Request bool           // it is a server request; the receipt was sent
	Params  any            // a pointer to the type of the table, a jsontext.Value, or a *msp.Error
	Raw     jsontext.Value // the params as they came
	Time    time.Time      // emittedAtMs, zero for requests
}

// Client is one connection to a host. Its methods may be called from several
// goroutines.
type Client struct {
	in *sender

	mu      sync.Mutex
	judge   *Judge
	next    int64
	waiting map[msp.RequestId]chan reply
	events  []Event
	changed chan struct{} // closed and replaced when something came
	faults  []error
	gone    error // set when the stream ended
	done    chan struct{}
}

type reply struct {
	result jsontext.Value
	err    error
}

// New speaks with a host that reads in and writes out. A client that is done
// calls Close and then lets out end.
func New(in io.WriteCloser, out io.Reader) (*Client, error) {
	judge, err := NewJudge()
	if err != nil {
		return nil, err
	}
	c := &Client{in: newSender(in), judge: judge, waiting: make(map[msp.RequestId]chan reply), changed: make(chan struct{}), done: make(chan struct{})}
	go c.read(out)
	return c, nil
}

// Initialize makes the handshake.
func (c *Client) Initialize(ctx context.Context, params msp.InitializeParams) (msp.InitializeResult, error) {
	result, err := Call[msp.InitializeResult](ctx, c, msp.MethodInitialize, params)
	if err != nil {
		return result, err
	}
	return result, c.Notify(msp.NoteInitialized, nil)
}

// Call sends a request and waits for its result. A refusal is a *msp.Error.
func Call[R any](ctx context.Context, c *Client, method string, params any) (R, error) {
	var out R
	raw, err := c.Request(ctx, method, params)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("read the result of %s: %w", method, err)
	}
	return out, nil
}

// Request sends a request and waits for the JSON of its result.
func (c *Client) Request(ctx context.Context, method string, params any) (jsontext.Value, error) {
	wait, err := c.Send(method, params)
	if err != nil {
		return nil, err
	}
	return wait(ctx)
}

// Send sends a request and returns how to wait for its reply.
func (c *Client) Send(method string, params any) (func(context.Context) (jsontext.Value, error), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id := msp.IntID(c.next)
	line, err := msp.EncodeRequest(id, method, params)
	if err != nil {
		return nil, err
	}
	answer := make(chan reply, 1)
	if c.gone != nil {
		return nil, c.gone
	}
	c.waiting[id] = answer
	if err := c.write(line); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (jsontext.Value, error) {
		select {
		case r := <-answer:
			return r.result, r.err
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the reply to %s: %w", method, ctx.Err())
		}
	}, nil
}

// Exchange sends a line as it is and waits for the reply to an id.
func (c *Client) Exchange(ctx context.Context, id msp.RequestId, line string) (jsontext.Value, error) {
	answer := make(chan reply, 1)
	c.mu.Lock()
	c.waiting[id] = answer
	err := c.write([]byte(line + "\n"))
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.result, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the reply to %s: %w", id, ctx.Err())
	}
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	line, err := msp.EncodeNotification(method, params, time.Time{})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write(line)
}

// WriteLine sends any line, for tests of what a host makes of a broken one.
func (c *Client) WriteLine(line string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write([]byte(line + "\n"))
}

// write sends a line under the lock, so that the judge sees lines in the order
// that the host gets them. It does not wait for the host to read.
func (c *Client) write(line []byte) error {
	c.judge.Client(line)
	return c.in.send(line)
}

// Mark is the number of events that came so far.
func (c *Client) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.events)
}

// Events returns what came since a mark.
func (c *Client) Events(since int) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events[since:])
}

// Await waits for an event after a mark.
func (c *Client) Await(ctx context.Context, since int, what string, match func(Event) bool) (Event, error) {
	for {
		c.mu.Lock()
		fresh, changed, gone := c.events[since:], c.changed, c.gone
		since = len(c.events)
		c.mu.Unlock()
		for _, e := range fresh {
			if match(e) {
				return e, nil
			}
		}
		if gone != nil {
			return Event{}, fmt.Errorf("wait for %s: %w", what, gone)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
}

// AwaitParams waits for a notification or request after a mark whose params have
// the type P and satisfy match; a nil match takes the first one.
func AwaitParams[P any](ctx context.Context, c *Client, since int, method string, match func(*P) bool) (*P, error) {
	e, err := c.Await(ctx, since, method, func(e Event) bool {
		p, ok := e.Params.(*P)
		return ok && e.Method == method && (match == nil || match(p))
	})
	if err != nil {
		return nil, err
	}
	return e.Params.(*P), nil
}

// CloseInput ends the stream to the host after what was sent, and the host then
// ends in order.
func (c *Client) CloseInput() { c.in.close() }

// Wait waits until the host has ended its stream.
func (c *Client) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of the host's stream: %w", ctx.Err())
	}
}

// Faults joins everything that the host did wrong so far.
func (c *Client) Faults() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.faults...)
}

// Unfinished lists requests without a reply and, by session, items and turns
// that began and did not end.
func (c *Client) Unfinished() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(c.judge.Unanswered(), c.judge.Unfinished()...)
}

func (c *Client) read(out io.Reader) {
	defer close(c.done)
	defer c.in.close()
	r := msp.NewReader(out)
	for {
		line, err := r.Next()
		var over *msp.OversizedError
		switch {
		case err == nil:
			c.take(line)
		case errors.As(err, &over):
			c.mu.Lock()
			c.faults = append(c.faults, err)
			c.mu.Unlock()
		default:
			c.end(err)
			return
		}
	}
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = ErrHostGone
	if !errors.Is(err, io.EOF) {
		c.gone = fmt.Errorf("%w: %w", ErrHostGone, err)
	}
	for id, answer := range c.waiting {
		answer <- reply{err: c.gone}
		delete(c.waiting, id)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) take(line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, c.judge.Host(line)...)
	var f frame
	if json.Unmarshal(line, &f) != nil {
		return // the judge has said so
	}
	if f.Method == "" {
		c.answered(f)
		return
	}
	c.publish(newEvent(f))
	if f.ID != nil {
		if err := c.receipt(*f.ID); err != nil && !errors.Is(err, errSenderClosed) {
			c.faults = append(c.faults, err)
		}
	}
}

// receipt answers a server request: the decision itself is a command.
func (c *Client) receipt(id msp.RequestId) error {
	line, err := msp.EncodeResult(id, msp.RequestReceipt{})
	if err != nil {
		return err
	}
	return c.in.send(line)
}

func (c *Client) answered(f frame) {
	if f.ID == nil || f.ID.IsNull() {
		if e, err := refusalOf(f.Error); err == nil {
			c.publish(Event{Params: e, Raw: f.Error})
		}
		return // what cannot be read has no one to go to; the judge has said so
	}
	answer, ok := c.waiting[*f.ID]
	if !ok {
		return // the judge has said so
	}
	delete(c.waiting, *f.ID)
	if f.Error == nil {
		answer <- reply{result: f.Result}
		return
	}
	e, err := refusalOf(f.Error)
	if err != nil {
		answer <- reply{err: err}
		return
	}
	answer <- reply{err: e}
}

func refusalOf(raw jsontext.Value) (*msp.Error, error) {
	var e msp.ErrorObject
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("read an error: %w", err)
	}
	refusal := &msp.Error{Code: e.Code, Message: e.Message}
	if e.Data != nil {
		refusal.Data = *e.Data
	}
	return refusal, nil
}

// publish adds an event and wakes those who wait for one.
func (c *Client) publish(e Event) {
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

func newEvent(f frame) Event {
	e := Event{Method: f.Method, Request: f.ID != nil, Raw: f.Params, Params: f.Params}
	if f.EmittedAtMs != nil {
		e.Time = time.UnixMilli(*f.EmittedAtMs)
	}
	var params any
	if spec, ok := msp.LookupNotification(f.Method); ok {
		params = spec.Params()
	} else if spec, ok := msp.LookupServerRequest(f.Method); ok {
		params = spec.Params()
	}
	if params != nil && json.Unmarshal(f.Params, params) == nil {
		e.Params = params
	}
	return e
}

// CommandID makes a fresh UUIDv7, as every command needs one (MSP.md 5).
func CommandID() string {
	var b [16]byte
	rand.Read(b[:]) // never returns an error
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	text := hex.EncodeToString(b[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
