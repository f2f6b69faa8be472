package msptest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/msp"
)

// Judge watches both directions of one connection and says what the host did
// that it must not do. It is for one goroutine at a time.
type Judge struct {
	schema *Schema

	initializing msp.RequestId   // of the initialize that waits
	phase        phase           // how far the handshake is
	muted        map[string]bool // notifications that the client opted out of
	waiting      map[msp.RequestId]request
	asked        int64            // newest id of a server request
	cursors      map[string]int64 // newest cursor pushed, by session
	folds        map[string]*Fold // by session
}

type phase int

const (
	fresh   phase = iota // initialize has no result yet
	greeted              // it has one
	open                 // the client has said initialized
)

// request is a call of the client that waits for its answer.
type request struct {
	method    string // empty for a frame that is none
	commandID string
	sessionID string
}

// NewJudge judges a connection from its first frame on.
func NewJudge() (*Judge, error) {
	schema, err := PrintedSchema()
	if err != nil {
		return nil, err
	}
	return &Judge{
		schema: schema, muted: make(map[string]bool), waiting: make(map[msp.RequestId]request),
		cursors: make(map[string]int64), folds: make(map[string]*Fold),
	}, nil
}

// frame is any of the four shapes.
type frame struct {
	ID     *msp.RequestId `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`

	EmittedAtMs *int64 `json:"emittedAtMs"`
}

// Client notes a frame of the client, which may be wrong on purpose: what cannot
// be read is passed over.
func (j *Judge) Client(line []byte) {
	_, err := msp.NewReader(bytes.NewReader(line)).Next()
	if over, ok := errors.AsType[*msp.OversizedError](err); ok {
		if !over.ID.IsNull() {
			j.waiting[over.ID] = request{}
		}
		return
	}
	var f frame
	if json.Unmarshal(line, &f) != nil {
		j.odd(line)
		return
	}
	if f.Method == msp.NoteInitialized && f.ID == nil && j.phase == greeted {
		j.phase = open
	}
	if f.ID == nil || f.Result != nil || f.Error != nil {
		return
	}
	var common struct {
		SessionID    string                  `json:"sessionId"`
		CommandID    string                  `json:"commandId"`
		Capabilities *msp.ClientCapabilities `json:"capabilities"`
	}
	if json.Unmarshal(f.Params, &common) != nil {
		common.CommandID = ""
	}
	j.waiting[*f.ID] = request{method: f.Method, commandID: common.CommandID, sessionID: common.SessionID}
	if f.Method == msp.MethodInitialize {
		j.initializing = *f.ID
		if common.Capabilities != nil && j.phase == fresh {
			for _, m := range common.Capabilities.OptOutNotificationMethods {
				j.muted[m] = !msp.Protected(m)
			}
		}
	}
}

// odd notes a frame that is no request and whose id the host may answer to.
func (j *Judge) odd(line []byte) {
	var f struct {
		ID msp.RequestId `json:"id"`
	}
	if json.Unmarshal(line, &f, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) == nil && !f.ID.IsNull() {
		j.waiting[f.ID] = request{}
	}
}

// Host judges a line of the host, without its line feed.
func (j *Judge) Host(line []byte) []error {
	if err := j.framing(line); err != nil {
		return []error{err}
	}
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		return []error{fmt.Errorf("unreadable frame: %w", err)}
	}
	var faults []error
	switch {
	case f.Method != "" && f.ID != nil:
		faults = j.serverRequest(line, f)
	case f.Method != "":
		faults = j.notification(line, f)
	default:
		faults = j.response(line, f)
	}
	for i, err := range faults {
		faults[i] = fmt.Errorf("%w in %.400s", err, line)
	}
	return faults
}

func (j *Judge) framing(line []byte) error {
	switch {
	case len(line) > msp.FrameCap:
		return fmt.Errorf("a frame of %d bytes", len(line))
	case bytes.HasSuffix(line, []byte("\r")):
		return fmt.Errorf("a carriage return ends %.200s", line)
	case len(bytes.TrimSpace(line)) == 0:
		return fmt.Errorf("a blank line")
	}
	return nil
}

func (j *Judge) serverRequest(line []byte, f frame) []error {
	c := check{schema: j.schema}
	c.typed("Request", line, reflect.TypeFor[msp.Request]())
	if j.phase != open {
		c.fault("%s before initialized", f.Method)
	}
	n, ok := f.ID.Int()
	if !ok || n <= j.asked {
		c.fault("id %s of a server request is not a higher integer than %d", f.ID, j.asked)
	}
	j.asked = max(j.asked, n)
	spec, ok := msp.LookupServerRequest(f.Method)
	if !ok {
		c.fault("unknown server request %s", f.Method)
		return c.faults
	}
	c.typed("", f.Params, reflect.TypeOf(spec.Params()).Elem())
	return c.faults
}

func (j *Judge) notification(line []byte, f frame) []error {
	c := check{schema: j.schema}
	c.typed("Notification", line, reflect.TypeFor[msp.Notification]())
	if j.phase != open {
		c.fault("%s before initialized", f.Method)
	}
	if f.EmittedAtMs == nil {
		c.fault("no emittedAtMs")
	}
	if j.muted[f.Method] {
		c.fault("%s although the client opted out", f.Method)
	}
	spec, ok := msp.LookupNotification(f.Method)
	if !ok || spec.FromClient {
		c.fault("unknown notification %s", f.Method)
		return c.faults
	}
	params := spec.Params()
	c.typed("", f.Params, reflect.TypeOf(params).Elem())
	if len(c.faults) > 0 {
		return c.faults
	}
	if err := json.Unmarshal(f.Params, params); err != nil {
		c.fault("read the params: %v", err)
		return c.faults
	}
	switch p := params.(type) {
	case *msp.ViewGapParams:
		j.fold(p.SessionID).Gap()
	case msp.View:
		at := p.At()
		if err := j.rises(at.SessionID, at.ViewCursor); err != nil {
			c.fault("%v", err)
		}
		if len(j.muted) == 0 {
			c.faults = append(c.faults, j.fold(at.SessionID).Apply(params)...)
		}
	}
	return c.faults
}

func (j *Judge) fold(session string) *Fold {
	f := j.folds[session]
	if f == nil {
		f = NewFold()
		j.folds[session] = f
	}
	return f
}

// rises holds that pushed cursors strictly rise. Clients must not look into a
// cursor; a test of a host may.
func (j *Judge) rises(session, cursor string) error {
	n, err := CursorNumber(session, cursor)
	if err != nil {
		return err
	}
	if newest, ok := j.cursors[session]; ok && n <= newest {
		return fmt.Errorf("cursor %s after number %d", cursor, newest)
	}
	j.cursors[session] = n
	return nil
}

// CursorNumber takes a cursor of the form v:<session>:<n> apart (MSP.md 6).
func CursorNumber(session, cursor string) (int64, error) {
	rest, ok := strings.CutPrefix(cursor, "v:"+session+":")
	n, err := strconv.ParseInt(rest, 10, 64)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("cursor %q is not v:%s:<n>", cursor, session)
	}
	return n, nil
}

func (j *Judge) response(line []byte, f frame) []error {
	c := check{schema: j.schema}
	if f.Error != nil {
		c.typed("ErrorResponse", line, reflect.TypeFor[msp.ErrorResponse]())
		c.refusal(f)
	} else {
		c.typed("SuccessResponse", line, reflect.TypeFor[msp.SuccessResponse]())
	}
	if f.ID == nil || f.ID.IsNull() {
		return c.faults // an answer to what could not be read; refusal judged it
	}
	asked, ok := j.waiting[*f.ID]
	if !ok {
		c.fault("a reply to %s, which nobody waits for", f.ID)
		return c.faults
	}
	delete(j.waiting, *f.ID)
	if f.Error != nil {
		return c.faults
	}
	if asked.method == msp.MethodInitialize && *f.ID == j.initializing && j.phase == fresh {
		j.phase = greeted
	} else if j.phase == fresh {
		c.fault("%s succeeded before initialize", asked.method)
	}
	spec, known := msp.LookupMethod(asked.method)
	if !known {
		c.fault("unknown method %s succeeded", asked.method)
		return c.faults
	}
	c.typed("", f.Result, reflect.TypeOf(spec.Result()).Elem())
	switch asked.method {
	case msp.MethodSessionResume, msp.MethodViewSubscribe, msp.MethodViewUnsubscribe:
		// What follows the reply may begin anywhere; what came before it goes on
		// with an earlier subscription.
		delete(j.cursors, asked.sessionID)
		j.folds[asked.sessionID] = NewFold()
		j.folds[asked.sessionID].Gap()
	}
	var echo struct {
		CommandID *string `json:"commandId"`
	}
	if err := json.Unmarshal(f.Result, &echo); err != nil {
		c.fault("read the result: %v", err)
	} else if echo.CommandID != nil && *echo.CommandID != asked.commandID {
		c.fault("the command %s was answered as %s", asked.commandID, *echo.CommandID)
	}
	return c.faults
}

// Unanswered lists the methods of requests that never got a reply.
func (j *Judge) Unanswered() []string {
	var out []string
	for id, r := range j.waiting {
		out = append(out, fmt.Sprintf("%s (id %s)", r.method, id))
	}
	return out
}

// Unfinished lists, by session, what began and did not end.
func (j *Judge) Unfinished() []string {
	var out []string
	for session, f := range j.folds {
		for _, what := range f.Open() {
			out = append(out, session+": "+what)
		}
	}
	return out
}

// check gathers faults of one frame.
type check struct {
	schema *Schema
	faults []error
}

func (c *check) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// typed holds raw against a definition of the printed schema and against the Go
// type; an empty definition is the name of the type.
func (c *check) typed(definition string, raw jsontext.Value, t reflect.Type) {
	if definition == "" {
		definition = t.Name()
	}
	if err := c.schema.Check(definition, raw); err != nil {
		c.faults = append(c.faults, err)
	}
	if err := msp.CheckType(raw, t); err != nil {
		c.fault("not a %s: %w", t.Name(), err)
	}
}

func (c *check) refusal(f frame) {
	var e msp.ErrorObject
	if err := json.Unmarshal(f.Error, &e); err != nil {
		c.fault("read the error: %v", err)
		return
	}
	if e.Data == nil || e.Data.Kind == "" {
		c.fault("an error without data.kind")
		return
	}
	if want := msp.NewError(e.Data.Kind, "").Code; want != e.Code && e.Data.Kind != msp.ErrorKindExperimentalRequired {
		c.fault("kind %s with code %d, want %d", e.Data.Kind, e.Code, want)
	}
	if (f.ID == nil || f.ID.IsNull()) && e.Data.Kind != msp.ErrorKindParseError && e.Data.Kind != msp.ErrorKindInvalidRequest {
		c.fault("an error of kind %s without id", e.Data.Kind)
	}
}
