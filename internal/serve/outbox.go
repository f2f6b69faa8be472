package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// The bounds of what waits for a client that reads slowly.
const (
	// viewRoom is how many bytes may wait before view events are held back;
	// they flow again when half of it is free.
	viewRoom = 8 << 20
	// replyRooms times that may wait before no more requests are read: replies
	// and questions are never dropped, so nothing else bounds them.
	replyRooms = 4
	// writeBatch is how many bytes go out with one write.
	writeBatch = 256 << 10
)

// viewFrame is one event of a session's view on its way out.
type viewFrame struct {
	session   string
	cursor    string
	data      []byte // with its line end
	protected bool   // never held back
}

// outbox puts everything that goes to the client into one order and writes it
// from one goroutine. View events beyond the room are not kept; the first one
// that is sent again comes after a view/gap that names the hole.
type outbox struct {
	w io.Writer
	// gap encodes a view/gap.
	gap  func(session, after, next string) []byte
	room int // viewRoom, but in tests

	mu      sync.Mutex
	changed *sync.Cond
	queue   [][]byte
	bytes   int
	holes   map[string]*hole
	writes  int // how often the client took something
	closed  bool
	err     error // of the writer; nothing goes out after it
	done    chan struct{}
}

// hole is what one session's view has not sent.
type hole struct {
	sent string // cursor of the newest event that was sent
	open bool
	// tail is the newest event that was held back: it is sent when there is
	// room again, so that a session that has come to rest does not leave its
	// client waiting for an event that tells of the gap.
	tail *viewFrame
}

func newOutbox(w io.Writer, room int, gap func(session, after, next string) []byte) *outbox {
	o := &outbox{w: w, gap: gap, room: room, holes: map[string]*hole{}, done: make(chan struct{})}
	o.changed = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// send queues a frame that is never held back.
func (o *outbox) send(data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.append(data)
	}
}

func (o *outbox) append(data []byte) {
	if o.err != nil {
		return
	}
	o.queue = append(o.queue, data)
	o.bytes += len(data)
	o.changed.Broadcast()
}

// attach starts a session's view at cursor: what was sent before it does not
// count as a hole.
func (o *outbox) attach(session, cursor string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holes[session] = &hole{sent: cursor}
}

// detach ends a session's view.
func (o *outbox) detach(session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.holes, session)
}

// view queues an event, or holds it back when there is no room for it.
func (o *outbox) view(f viewFrame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.holes[f.session]
	if h == nil || o.closed {
		return
	}
	if !f.protected && (o.bytes > o.room || h.open && o.bytes > o.room/2) {
		h.open, h.tail = true, &f
		return
	}
	o.emit(h, f)
}

// emit sends f and, when events before it were held back, what tells of them.
func (o *outbox) emit(h *hole, f viewFrame) {
	if h.open {
		o.append(o.gap(f.session, h.sent, f.cursor))
	}
	o.append(f.data)
	h.sent, h.open, h.tail = f.cursor, false, nil
}

// settle sends the tails of views that were held back, once there is room.
func (o *outbox) settle() {
	if o.bytes > o.room/2 {
		return
	}
	for _, h := range o.holes {
		if h.open && h.tail != nil {
			o.emit(h, *h.tail)
		}
	}
}

// roomy waits until so little waits for the client that more requests may be
// read. It reports false when nothing will ever be written again.
func (o *outbox) roomy(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.bytes > replyRooms*o.room && o.err == nil && ctx.Err() == nil {
		o.changed.Wait()
	}
	return o.err == nil
}

// fail ends the writing. The lock is held.
func (o *outbox) fail(err error) {
	o.err, o.queue, o.bytes = err, nil, 0
	o.changed.Broadcast()
}

// impatient gives a client up that takes nothing for the time of grace while
// something waits for it, so that nothing waits for such a client when the host
// is about to end. It holds until stop is called.
func (o *outbox) impatient(grace time.Duration) (stop func()) {
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(grace)
		defer tick.Stop()
		seen := -1
		for {
			select {
			case <-over:
				return
			case <-o.done:
				return
			case <-tick.C:
			}
			o.mu.Lock()
			switch {
			case len(o.queue) == 0:
				seen = -1
			case seen == o.writes:
				o.fail(errNotRead)
			default:
				seen = o.writes
			}
			ended := o.err != nil
			o.mu.Unlock()
			if ended {
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(over) })
}

// run writes what is queued until the outbox is closed and empty.
func (o *outbox) run() {
	defer close(o.done)
	var batch []byte
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed && o.err == nil {
			o.changed.Wait()
		}
		if len(o.queue) == 0 || o.err != nil {
			o.mu.Unlock()
			return
		}
		batch = batch[:0]
		n := 0
		for n < len(o.queue) && (n == 0 || len(batch)+len(o.queue[n]) < writeBatch) {
			batch = append(batch, o.queue[n]...)
			n++
		}
		o.mu.Unlock()

		_, err := o.w.Write(batch)

		o.mu.Lock()
		if o.err != nil { // given up meanwhile
			o.mu.Unlock()
			return
		}
		o.writes++
		for _, data := range o.queue[:n] {
			o.bytes -= len(data)
		}
		clear(o.queue[:n])
		if o.queue = o.queue[n:]; len(o.queue) == 0 {
			o.queue = nil // the array of a burst is not kept
		}
		if err != nil {
			o.fail(err)
		}
		o.settle()
		o.changed.Broadcast()
		o.mu.Unlock()
		if cap(batch) > 2*writeBatch {
			batch = nil
		}
	}
}

// errNotRead is what close reports of a client that did not take the rest.
var errNotRead = errors.New("the client did not read what was left for it")

// close lets everything queued go out and stops the writer. It waits no longer
// than grace for a client that does not read.
func (o *outbox) close(grace time.Duration) error {
	o.mu.Lock()
	o.settle()
	o.closed = true
	o.changed.Broadcast()
	given := o.err
	o.mu.Unlock()
	if given != nil {
		return given
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-o.done:
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.err
	case <-t.C:
		return errNotRead
	}
}
