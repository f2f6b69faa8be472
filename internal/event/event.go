// Package event is the vocabulary of openmuse: what can happen in a session,
// as Go types. The agent loop and the host produce events and nothing else;
// the log, the stdout stream, the export and every screen are functions of
// them.
//
// Events carry no envelope: ids, clocks and sequence numbers are given when an
// event is recorded (Recorded), and how a fact is wrapped is the business of a
// dialect (package record). The struct tags are the field names of the log,
// because the log is the form in which events are kept (seed 000, Record
// schema; STREAM.md (b)).
package event

// Event is one fact and the scope it belongs to.
type Event struct {
	Run  string // run id; "" for facts of the session
	Task string // task id; only for task events
	Body Body
}

// Body is one of the fact types of this package.
type Body interface{ family() Family }

// Family groups bodies by the scope they have in the log.
type Family int

// The families.
const (
	SessionFact   Family = iota // a fact of the session, with its own payload type
	RunEvent                    // something a run did or learned
	TaskEvent                   // a step in the life of one model or tool task
	ApprovalEvent               // a question, a review or a decision about an action
	LiveOnly                    // shown while it happens, not kept
)

// FamilyOf says which family e's body belongs to.
func FamilyOf(e Event) Family { return e.Body.family() }

// Recorded is an event with the identity it was given. For a kept event they
// are those of its log record, so that a view and the log can be joined on ID;
// a live-only event has an id and a time of its own and Sequence 0, unless a
// marker holds its place in the log.
type Recorded struct {
	Event
	ID       string // UUID
	Sequence int64  // 1-based place in the log
	At       int64  // µs since the Unix epoch, strictly increasing in a session
}

// StreamRef names an event stream: {"id","kind"} where kind is "session",
// "run" or "task".
type StreamRef struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
}

// RunRef is the stream of a run.
func RunRef(id string) StreamRef { return StreamRef{ID: id, Kind: "run"} }

// TaskRef is the stream of a task.
func TaskRef(id string) StreamRef { return StreamRef{ID: id, Kind: "task"} }

type (
	sessionFact   struct{}
	runEvent      struct{}
	taskEvent     struct{}
	approvalEvent struct{}
	liveOnly      struct{}
)

func (sessionFact) family() Family   { return SessionFact }
func (runEvent) family() Family      { return RunEvent }
func (taskEvent) family() Family     { return TaskEvent }
func (approvalEvent) family() Family { return ApprovalEvent }
func (liveOnly) family() Family      { return LiveOnly }
