package timeline

import "github.com/openmuse/muse/internal/view/timeline/jsonline"

// Kind says which row of the coverage table, or which fact that fills columns,
// an event is (seed 000, Parser plan).
type Kind uint8

// The kinds of events.
const (
	_             Kind = iota
	Prompt             // run started
	Intent             // runtime.user_intent.accepted, a copy of a prompt
	Inbox              // inbox_item_queued
	Assistant          // assistant_message_committed
	Thinking           // reasoning_summary_committed, reasoning_committed with text
	ThinkingDelta      // reasoning_summary_delta
	ToolCall           // one of assistant_tool_calls_committed; provider and user shell calls
	ToolResult         // one of tool_result_batch_committed and its other names
	RunEnd             // terminal
	Logged             // shown as compact JSON
	Asked              // approval requested
	Reviewed           // approval automated_review_completed
	Decided            // approval decision_applied
	ProfileFormat      // permission_format_declared
	Profile            // permission_profile_committed
	SecurityMode       // session.opened.observed
	Renamed            // session.name.changed
	Reconfigured       // runtime.model_reconfigure.completed
	Branch             // session.workspace_branch.observed
	Metadata           // runtime.session.metadata
	Route              // runtime.session.route_facts
	RunModel           // run.model.configured
	ModelDone          // model_completed
	BadChild           // a frame child that cannot be decoded
	RunSecurity        // security_mode of the oldest logs; for summaries, no row
	SessionEnd         // session.end; for summaries, no row
	ChildLinked        // a subagent's log; for summaries, no row
)

// Event is what one record, or one item of it, says. Its bytes belong to the
// reader's chunk.
type Event struct {
	Kind   Kind
	Line   int64 // of the outer line, from 1
	Offset int64 // of the outer line, in bytes
	At     int64 // µs since the epoch
	Timed  bool  // whether the record has a time

	Stream []byte // stream.id
	Run    []byte // run_id
	ID     []byte // call, message or intent id; of Asked, the tool call's
	Action []byte // pending_action_id of an approval
	Name   []byte // tool, model, branch, mode, source, terminal …
	Second []byte // provider of a model; previous model; cause of a profile; path of a child
	Text   Text
	Model  []byte // of Metadata, where Name is the workspace

	Raw   []byte // arguments of a call, decoded; full value of a result; raw fields of the others
	Usage Usage  // of ModelDone
}

// Usage is what one model call used (seed 000, model_completed). Cached
// tokens are part of the input, reasoning tokens part of the output.
type Usage struct {
	Input, Output, Reasoning, Cached int64
	CacheRead, CacheWrite            int64
	DurationMS                       int64

	// CostMicros is the price in millionths of a dollar, if Priced; our own
	// logs have it.
	CostMicros int64
	Priced     bool
}

// Shape says what a line was.
type Shape uint8

// The shapes of a line (seed 000, Line kinds).
const (
	Blank    Shape = iota
	Bad            // no JSON value
	Foreign        // JSON, but no record of this format
	Marker         // a retained marker
	Frame          // a retained frame
	Envelope       // a record
)

// Reader turns lines into events. It keeps the memory that the events of a
// chunk share; a Reader is for one goroutine.
type Reader struct {
	// Thinking asks for reasoning, Extra for the kinds that give no row.
	Thinking, Extra bool

	block []byte
	out   []Event

	// of the record being read
	line, offset int64
	depth        int
	env          envelope // not on the stack: a visitor escapes
}

// blockSize is how much resolved text shares one allocation.
const blockSize = 64 << 10

// maxFrames bounds frames in frames.
const maxFrames = 4

// Line appends the events of one line, which has no line feed, to out.
func (r *Reader) Line(line []byte, number, offset int64, out []Event) ([]Event, Shape) {
	r.line, r.offset, r.depth = number, offset, 0
	r.out = out
	shape := r.record(line)
	out, r.out = r.out, nil
	return out, shape
}

// envelope holds the raw fields that any reader needs, taken while the line is
// checked.
type envelope struct {
	stream, at, kind, payload []byte
	frame, marker, children   []byte
	known                     bool

	// of the payload
	scope, run, event, record []byte
	eventKind                 []byte
}

// Member implements [jsonline.Visitor].
func (e *envelope) Member(depth int, key []byte) jsonline.Want {
	switch depth {
	case 1:
		switch string(key) {
		case "payload":
			return jsonline.Enter
		case "stream", "recorded_at", "payload_type", "retained_frame", "retained_marker", "children":
			return jsonline.Take
		}
	case 2:
		switch string(key) {
		case "event":
			return jsonline.Enter
		case "kind", "run_id", "record":
			return jsonline.Take
		}
	case 3:
		if string(key) == "kind" {
			return jsonline.Take
		}
	}
	return jsonline.Skip
}

// Value implements [jsonline.Visitor].
func (e *envelope) Value(depth int, key, val []byte) {
	switch depth {
	case 1:
		e.field(key, val)
	case 2:
		switch string(key) {
		case "kind":
			e.scope = val
		case "run_id":
			e.run = val
		case "event":
			e.event = val
		case "record":
			e.record = val
		}
	case 3:
		e.eventKind = val
	}
}

func (r *Reader) record(line []byte) Shape {
	line = trim(line)
	if len(line) == 0 {
		return Blank
	}
	if line[0] != '{' {
		if jsonline.Valid(line) {
			return Foreign
		}
		return Bad
	}
	r.env = envelope{}
	e := &r.env
	if !jsonline.Visit(line, e) {
		return Bad
	}
	switch {
	case e.marker != nil:
		return Marker
	case e.frame != nil:
		r.frame(e.children)
		return Frame
	case e.known:
		r.envelope(e)
		return Envelope
	}
	return Foreign
}

// field files a member of the line.
func (e *envelope) field(key, val []byte) {
	switch string(key) {
	case "stream":
		e.stream, e.known = val, true
	case "recorded_at":
		e.at = val
	case "payload_type":
		e.kind, e.known = val, true
	case "payload":
		e.payload = val
	case "retained_frame":
		e.frame = val
	case "retained_marker":
		e.marker = val
	case "children":
		e.children = val
	}
}

// trim removes the space that readers of this format strip from a line.
func trim(b []byte) []byte {
	blank := func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// frame reads the children in the order of their index (seed 000, Parser plan).
func (r *Reader) frame(children []byte) {
	type child struct {
		index int64
		val   []byte
	}
	var list []child
	for e := jsonline.Elements(children); e.Next(); {
		if len(e.Val) == 0 || e.Val[0] != '{' {
			continue
		}
		c := child{val: jsonline.Get(e.Val, "record_json")}
		c.index, _ = jsonline.Int(jsonline.Get(e.Val, "child_index")) // missing means first
		list = append(list, c)
	}
	// Insertion keeps equal ones in place; frames hold a handful.
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].index < list[j-1].index; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	for _, c := range list {
		r.child(c.val)
	}
}

func (r *Reader) child(val []byte) {
	lit, _ := jsonline.Literal(val)
	record := r.resolve(lit)
	r.depth++
	shape := Bad
	if r.depth <= maxFrames {
		shape = r.record(record)
	}
	r.depth--
	if shape == Bad || shape == Blank {
		r.out = append(r.out, Event{
			Kind: BadChild, Line: r.line, Offset: r.offset,
			Text: Text{Prefix: "parser: unparseable line (retained_frame child: " + jsonline.Reason(record) + "): ", Plain: record},
		})
	}
}

// resolve is the text of a literal, in memory of the chunk.
func (r *Reader) resolve(lit []byte) []byte {
	if cap(r.block)-len(r.block) < len(lit) {
		r.block = make([]byte, 0, max(blockSize, len(lit)))
	}
	start := len(r.block)
	out := jsonline.AppendText(r.block[start:start:cap(r.block)], lit)
	if len(out) <= cap(r.block)-start {
		r.block = r.block[:start+len(out)]
	}
	return out[:len(out):len(out)]
}

// Release forgets the memory of the events read so far, so that it can be
// collected once they are gone.
func (r *Reader) Release() { r.block = nil }

// word is a value as short text: a string's text, nothing for null, compact
// JSON for anything else.
func word(val []byte) []byte {
	if lit, ok := jsonline.Literal(val); ok {
		return jsonline.Text(lit)
	}
	if len(val) == 0 || string(val) == "null" {
		return nil
	}
	return jsonline.AppendCompact(nil, val)
}

// textOf is a value as row text, without resolving a string.
func textOf(val []byte) Text {
	if lit, ok := jsonline.Literal(val); ok {
		return Text{Literal: lit}
	}
	return Text{Plain: word(val)}
}
