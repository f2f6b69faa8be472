package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
	fold "github.com/openmuse/muse/internal/view/session"
)

// Options are what a server is set to.
type Options struct {
	Host   Host
	List   SessionList // nil: only loaded sessions are listed
	Models Models
	// Views keeps the views of long sessions; the zero Cache keeps none.
	Views fold.Cache
	// MuseHome is the data root as clients are told it.
	MuseHome string
	// Ephemeral says that sessions do not outlive the host: what needs a stored
	// session is answered as an unknown method (MSP.md 4, Ephemeral profile).
	Ephemeral bool
	Name      string // serverInfo.name
	Version   string
	UserAgent string
	// Fingerprint is the schema fingerprint that a client is told (MSP.md 1).
	Fingerprint func(msp.ClientInfo) (string, error)
	Now         func() time.Time
	// Grace bounds the wait, at the end, for a client that does not read.
	Grace time.Duration
	room  int // bytes of view events that may wait; viewRoom when 0
	// Note is told what a person should know; it writes to stderr.
	Note func(format string, args ...any)
}

// Server is the protocol over one host. One client at a time is connected to
// it: the program that started the process (MSP.md 2).
type Server struct {
	opts    Options
	methods map[string]method
	client  atomic.Pointer[conn] // the one that is served now
}

// New makes a server.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Note == nil {
		opts.Note = func(string, ...any) {}
	}
	if opts.room == 0 {
		opts.room = viewRoom
	}
	if opts.Grace == 0 {
		opts.Grace = 5 * time.Second
	}
	return &Server{opts: opts, methods: methods()}
}

// phase is how far the handshake is.
type phase int

const (
	fresh    phase = iota // nothing yet
	answered              // initialize was answered
	open                  // initialized was received
)

// conn is one connection.
type conn struct {
	*Server
	ctx     context.Context // ends with the connection
	cancel  context.CancelFunc
	greeted chan struct{} // closed when the client said initialized
	out     *outbox
	lanes   *lanes
	feeds   *feeds
	closing atomic.Bool // the host is being closed
	uploads *uploads

	mu        sync.Mutex
	phase     phase
	client    msp.ClientInfo
	caps      msp.ClientCapabilities
	granted   []msp.CapabilityName
	muted     map[string]bool        // notifications that the client does not want
	held      []func()               // pushes before initialized
	inFlight  map[msp.RequestId]bool // requests without a reply
	requestID int64                  // newest id of a server request
}

// Serve speaks with one client until in ends, then lets the host end in order
// and writes what that says. It returns an error when the client could not be
// read or written any more; the end of in is none.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conn{Server: s, ctx: ctx, cancel: cancel, greeted: make(chan struct{}), uploads: &uploads{open: map[uploadKey]*upload{}}, muted: map[string]bool{}, inFlight: map[msp.RequestId]bool{}}
	c.out = newOutbox(out, s.opts.room, c.gapFrame)
	c.lanes = newLanes(c.mayAnswer)
	c.feeds = newFeeds(c)
	s.client.Store(c)
	stopList := c.watchList()
	readErr := c.read(whileHeard(ctx, in, c.out))
	short := min(s.opts.Grace, hurry)
	grace := func() time.Duration {
		if ctx.Err() != nil {
			return short
		}
		return s.opts.Grace
	}
	stop := c.out.impatient(grace())
	defer stop()
	// A signal may still come, and then there is less time.
	stopHurry := context.AfterFunc(ctx, func() { c.out.impatient(short) })
	c.lanes.wait()
	c.closing.Store(true)
	closeErr := s.opts.Host.Close(context.WithoutCancel(ctx))
	c.feeds.wait(grace())
	stopList()
	stopHurry()
	writeErr := c.out.close(grace())
	return errors.Join(readErr, closeErr, writeErr)
}

// hurry is how long a client may read nothing at the end of a host that was
// told to end: who told it does not wait long (MSP.md 3: 2 s after SIGTERM).
const hurry = 500 * time.Millisecond

// mayAnswer waits until there is room for one more answer. What waits on a
// client that reads nothing is then bounded by what was read of it, and not by
// what the answers to that would be.
func (c *conn) mayAnswer() bool {
	return c.out.roomy(c.ctx) && c.ctx.Err() == nil
}

// whileHeard is in, with its end brought about by the end of ctx and by the
// failure of out: a client that has closed its side hears nothing of what its
// sessions do, so they must not go on until it says something.
func whileHeard(ctx context.Context, in io.Reader, out *outbox) io.Reader {
	r, w := io.Pipe()
	go func() {
		select {
		case <-ctx.Done():
		case <-out.done:
		}
		w.CloseWithError(io.EOF)
	}()
	go func() {
		_, err := io.Copy(w, in)
		if errors.Is(err, io.ErrClosedPipe) {
			err = nil
		}
		w.CloseWithError(err)
	}()
	return r
}

// read takes frames until there are no more.
func (c *conn) read(in io.Reader) error {
	r := msp.NewReader(in)
	for {
		if !c.out.roomy(c.ctx) {
			return nil // the client is gone: what it still says has no reader
		}
		frame, err := r.Next()
		var over *msp.OversizedError
		switch {
		case err == nil:
			c.take(frame)
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &over):
			c.refuseFrame(over.ID, over.Refusal())
		default:
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// envelope is a frame of the client. A reply has a result or an error and no
// method. Members that are unknown are ignored (MSP.md 2).
type envelope struct {
	Version jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// take sorts one frame.
func (c *conn) take(frame []byte) {
	if !jsontext.Value(frame).IsValid() {
		c.takeInvalid(frame)
		return
	}
	var e envelope
	if json.Unmarshal(frame, &e) != nil {
		c.refuseFrame(msp.RequestId{}, msp.InvalidRequest("the frame is not a JSON-RPC object"))
		return
	}
	id, idErr := msp.ParseRequestID(e.ID)
	var name string
	switch {
	case string(e.Version) != `"2.0"`:
		c.refuseFrame(id, msp.InvalidRequest(`jsonrpc must be "2.0"`))
	case e.Method == nil && (e.Result != nil || e.Error != nil):
		// The receipt of a question: nothing hangs on it. A question stays open
		// until it is decided, whatever its receipt says (MSP.md 6).
	case e.Method.Kind() != '"' || json.Unmarshal(e.Method, &name) != nil:
		c.refuseFrame(id, msp.InvalidRequest("a frame needs a method"))
	case e.ID == nil:
		c.notified(name, e.Params)
	case idErr != nil:
		c.refuseFrame(msp.RequestId{}, msp.InvalidRequest(idErr.Error()))
	default:
		c.request(id, name, e.Params)
	}
}

// takeInvalid answers a frame that cannot be taken. JSON that is only loose,
// with a member twice or half of a surrogate pair, has an id that waits for an
// answer.
func (c *conn) takeInvalid(frame []byte) {
	loose := []json.Options{jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)}
	var e envelope
	if json.Unmarshal(frame, &e, json.JoinOptions(loose...)) != nil {
		c.refuseFrame(msp.RequestId{}, msp.ParseError("the frame is not valid JSON"))
		return
	}
	id, err := msp.ParseRequestID(e.ID)
	if err != nil {
		id = msp.RequestId{}
	}
	c.refuseFrame(id, msp.InvalidRequest("a member stands twice in the frame, or a text in it is not Unicode"))
}

// refuseFrame answers a frame that is no request.
func (c *conn) refuseFrame(id msp.RequestId, err *msp.Error) {
	c.out.send(c.errorFrame(id, err))
}

// notified takes a notification of the client. Unknown ones are ignored.
func (c *conn) notified(name string, params jsontext.Value) {
	switch name {
	case msp.NoteInitialized:
		c.opened()
	case msp.NoteUserInputEngaged:
		p, err := msp.DecodeParams[msp.UserInputEngagedParams](params)
		if err != nil || !c.isOpen() {
			return
		}
		c.lanes.do(laneOf(p.SessionID), func() {
			if f := c.feeds.of(p.SessionID); f != nil {
				f.session.Engaged(p.UserInputID)
			}
		})
	}
}

// request admits a request into its lane, or refuses it.
func (c *conn) request(id msp.RequestId, name string, params jsontext.Value) {
	m, known := c.methods[name]
	c.mu.Lock()
	now, taken := c.phase, c.inFlight[id]
	c.inFlight[id] = true
	c.mu.Unlock()
	switch {
	case taken:
		c.refuseFrame(id, msp.InvalidRequest("a request with this id is still open"))
		return
	case name == msp.MethodInitialize:
		result, err := c.initialize(params)
		c.reply(id, result, err)
		return
	case now == fresh:
		c.reply(id, nil, msp.NotInitialized())
		return
	case !known || c.opts.Ephemeral && m.stored:
		c.reply(id, nil, c.unknown(name))
		return
	}
	k := &call{conn: c, id: id, name: name, params: params, method: m}
	if !c.lanes.do(k.lane(), k.run) {
		c.reply(id, nil, msp.Backpressured(laneCapacity))
	}
}

// reply answers a request; the reply stands in the order of everything else.
func (c *conn) reply(id msp.RequestId, result any, err error) {
	var data []byte
	if err == nil {
		data, err = msp.EncodeResult(id, result)
	}
	if errors.Is(err, msp.ErrFrameTooLarge) {
		err = msp.NewError(msp.ErrorKindInternal, "the result does not fit into a frame")
	}
	if err != nil {
		data = c.errorFrame(id, c.wireError(err))
	}
	c.mu.Lock()
	delete(c.inFlight, id)
	c.mu.Unlock()
	c.out.send(data)
}

func (c *conn) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == open
}
