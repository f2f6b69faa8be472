package serve

import (
	"context"
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

// Options are what a server is set to.
type Options struct {
	Host   Host
	List   SessionList // nil: only loaded sessions are listed
	Models Models
	// MuseHome is the data root as clients are told it.
	MuseHome string
	// Ephemeral says that sessions do not outlive the host: what needs a stored
	// session is answered as an unknown method (MSP.md 4, Ephemeral profile).
	Ephemeral bool
	Name      string // serverInfo.name
	Version   string
	UserAgent string
	Now       func() time.Time
	// Grace bounds the wait, at the end, for a client that does not read.
	Grace time.Duration
	// Note is told what a person should know; it writes to stderr.
	Note func(format string, args ...any)
}

// Server is the protocol over one host. One client at a time is connected to
// it: the program that started the process (MSP.md 2).
type Server struct {
	opts    Options
	methods map[string]method
}

// New makes a server.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Note == nil {
		opts.Note = func(string, ...any) {}
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
	ctx   context.Context // ends with the connection
	out   *outbox
	lanes *lanes
	feeds *feeds

	mu        sync.Mutex
	phase     phase
	client    msp.ClientInfo
	caps      msp.ClientCapabilities
	granted   []msp.CapabilityName
	muted     map[string]bool // notifications that the client does not want
	held      [][]byte        // pushed before initialized
	inFlight  map[string]bool // ids of requests without a reply, as spelled
	requestID int64           // newest id of a server request
}

// Serve speaks with one client until in ends, then lets the host end in order
// and writes what that says. It returns an error when the client could not be
// read or written any more; the end of in is none.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &conn{Server: s, ctx: ctx, lanes: newLanes(), muted: map[string]bool{}, inFlight: map[string]bool{}}
	c.out = newOutbox(out, c.gapFrame)
	c.feeds = newFeeds(c)
	stopList := c.watchList()
	readErr := c.read(in)
	c.lanes.wait()
	closeErr := s.opts.Host.Close(context.WithoutCancel(ctx))
	c.feeds.wait()
	stopList()
	writeErr := c.out.close(s.opts.Grace)
	return errors.Join(readErr, closeErr, writeErr)
}

// read takes frames until there are no more.
func (c *conn) read(in io.Reader) error {
	r := msp.NewReader(in)
	for {
		if !c.out.roomy(c.ctx) {
			return nil // the client is gone: what it still says has no reader
		}
		frame, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			c.take(frame)
			continue
		}
		if !c.malformed(err) {
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// envelope is a frame of the client. A reply has a result or an error and no
// method.
type envelope struct {
	Version jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  *string        `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// take sorts one frame.
func (c *conn) take(frame []byte) {
	var e envelope
	if err := json.Unmarshal(frame, &e, json.RejectUnknownMembers(false)); err != nil {
		c.takeBroken(frame, err)
		return
	}
	id, idErr := requestID(e.ID)
	switch {
	case string(e.Version) != `"2.0"`:
		c.reply(id, nil, invalidRequest(`jsonrpc must be "2.0"`))
	case e.Method == nil && (e.Result != nil || e.Error != nil):
		// The receipt of a question: nothing hangs on it. A question stays open
		// until it is decided, whatever its receipt says (MSP.md 6).
	case e.Method == nil:
		c.reply(id, nil, invalidRequest("a frame needs a method"))
	case e.ID == nil:
		c.notified(*e.Method, e.Params)
	case idErr != nil:
		c.reply(nil, nil, invalidRequest(idErr.Error()))
	case e.Params != nil && e.Params.Kind() != '{' && e.Params.Kind() != '[':
		c.reply(id, nil, invalidRequest("params must be an object"))
	default:
		c.request(id, *e.Method, e.Params)
	}
}

// takeBroken answers a frame that is no envelope: what is no JSON is a parse
// error, JSON of another shape an invalid request.
func (c *conn) takeBroken(frame []byte, err error) {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) || !jsontext.Value(frame).IsValid() {
		c.reply(nil, nil, refuse(msp.ErrorKindParseError, "the frame is not valid JSON"))
		return
	}
	var head struct {
		ID jsontext.Value `json:"id"`
	}
	// Best effort: an id that can be read is echoed.
	_ = json.Unmarshal(frame, &head)
	id, _ := requestID(head.ID)
	c.reply(id, nil, invalidRequest("the frame is not a JSON-RPC object"))
}

// requestID checks an id: a string or an integer (MSP.md 2). It is echoed as
// it was spelled.
func requestID(raw jsontext.Value) (jsontext.Value, error) {
	switch raw.Kind() {
	case '"':
		return raw, nil
	case '0':
		if slices.ContainsFunc(raw, func(b byte) bool { return b == '.' || b == 'e' || b == 'E' }) {
			return nil, errors.New("the id must be a string or an integer")
		}
		return raw, nil
	}
	return nil, errors.New("the id must be a string or an integer")
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
		c.lanes.do(p.SessionID, func() {
			if f := c.feeds.of(p.SessionID); f != nil {
				f.session.Engaged(p.UserInputID)
			}
		})
	}
}

// request admits a request into its lane, or refuses it.
func (c *conn) request(id jsontext.Value, name string, params jsontext.Value) {
	m, known := c.methods[name]
	c.mu.Lock()
	now, taken := c.phase, c.inFlight[string(id)]
	if !taken {
		c.inFlight[string(id)] = true
	}
	c.mu.Unlock()
	switch {
	case taken:
		c.out.send(c.errorFrame(id, invalidRequest("this id is still in use")))
		return
	case name == msp.MethodInitialize:
		result, err := c.initialize(params)
		c.reply(id, result, err)
		return
	case now == fresh:
		c.reply(id, nil, refuse(msp.ErrorKindNotInitialized, "initialize comes first"))
		return
	case !known || c.opts.Ephemeral && m.durable:
		c.reply(id, nil, refuse(msp.ErrorKindMethodNotFound, fmt.Sprintf("there is no method %q", name)))
		return
	case params.Kind() == '[':
		c.reply(id, nil, invalidParams("params must be an object"))
		return
	}
	var head struct {
		SessionID jsontext.Value `json:"sessionId"`
		CommandID jsontext.Value `json:"commandId"`
	}
	// Only the lane hangs on it; the method decodes its params strictly.
	_ = json.Unmarshal(params, &head)
	key := string(head.SessionID)
	if key == "" {
		key = name + string(head.CommandID)
	}
	k := &call{conn: c, id: id, name: name, params: params, method: m}
	if !c.lanes.do(key, k.run) {
		full := refuse(msp.ErrorKindBackpressured, "too many requests wait for this session")
		capacity := int64(laneCapacity)
		full.Data.Capacity = &capacity
		c.reply(id, nil, full)
	}
}

// reply answers a request; the reply stands in the order of everything else.
func (c *conn) reply(id jsontext.Value, result any, err error) {
	var data []byte
	if err == nil {
		if data, err = c.resultFrame(id, result); err == nil && len(data) > msp.FrameLimit {
			err = refuse(msp.ErrorKindInternal, "the result does not fit into one frame")
		}
	}
	if err != nil {
		data = c.errorFrame(id, c.wireError(err))
	}
	c.mu.Lock()
	delete(c.inFlight, string(id))
	c.mu.Unlock()
	c.out.send(data)
}

func (c *conn) isOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase == open
}
