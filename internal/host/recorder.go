package host

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/record"
)

// log is what a recorder writes to: a journal.
type log interface {
	Append(env *record.Envelope) error
	AppendFrame(children []record.Envelope) (*record.Frame, error)
	AppendMarker(m *record.Marker) error
	Commit() error
	Seal() error
	Close() error
	Size() int64
	Sequence() int64
}

// Watcher is shown every event after it was written. An error ends its
// watching; what it means for the session is up to whoever subscribed.
type Watcher func(event.Recorded) error

// recorder gives events their identity, writes them and shows them, in one
// order for everybody. It implements agent.Recorder.
type recorder struct {
	mu       sync.Mutex
	log      log // nil when the session keeps no log
	session  string
	now      func() time.Time
	last     int64 // newest time given out, µs
	sequence int64 // only without a log
	runs     map[string]int64
	watchers []*watching
	subs     map[*subscription]struct{}
	keep     bool // keep every event in memory, only without a log
	kept     []event.Recorded
	ended    bool  // nothing more will be shown
	newest   int64 // sequence of the newest kept event: what the log adds of its own is none
}

type watching struct {
	show Watcher
	lost func(error)
	err  error
}

func newRecorder(l log, session string, now func() time.Time) *recorder {
	return &recorder{log: l, session: session, now: now, runs: map[string]int64{}}
}

// watch adds a watcher; lost is called once when it fails.
func (r *recorder) watch(show Watcher, lost func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers = append(r.watchers, &watching{show: show, lost: lost})
}

// Record writes e and shows it.
func (r *recorder) Record(e event.Event) (event.Recorded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := event.Recorded{Event: e}
	var err error
	switch p, frame := e.Body.(event.PermissionProfile); {
	case r.log == nil:
		r.sequence++
		rec.ID, rec.Sequence, rec.At = ident.V4(), r.sequence, r.tick()
		if r.keep {
			r.kept = append(r.kept, rec)
		}
	case frame:
		err = r.frame(p, &rec)
	default:
		err = r.envelope(&rec)
	}
	if err != nil {
		return rec, err
	}
	r.newest = rec.Sequence
	r.show(rec)
	return rec, nil
}

func (r *recorder) envelope(rec *event.Recorded) error {
	pos := record.RunPosition{}
	if event.FamilyOf(rec.Event) == event.RunEvent {
		r.runs[rec.Run]++
		pos = record.RunPosition{ID: ident.V4(), Sequence: r.runs[rec.Run]}
	}
	body, err := record.EncodeLog(rec.Event, pos)
	if err != nil {
		return err
	}
	env := &record.Envelope{
		RecordType: body.RecordType, Durability: body.Durability, CausationID: body.CausationID,
		PayloadType: body.PayloadType, PayloadSchemaVersion: body.SchemaVersion, Payload: body.Payload,
	}
	if err := r.log.Append(env); err != nil {
		return fmt.Errorf("record %s: %w", body.PayloadType, err)
	}
	rec.ID, rec.Sequence, rec.At = env.ID, env.Sequence, env.RecordedAt
	r.last = max(r.last, env.RecordedAt)
	return nil
}

// frame writes a permission profile, which is kept as one retained frame with
// the declaration of its format before it (STREAM.md (b), Versions).
func (r *recorder) frame(p event.PermissionProfile, rec *event.Recorded) error {
	children, err := permissionChildren(p)
	if err != nil {
		return err
	}
	f, err := r.log.AppendFrame(children)
	if err != nil {
		return fmt.Errorf("record permission profile: %w", err)
	}
	env, err := f.Children[len(f.Children)-1].Envelope()
	if err != nil {
		return fmt.Errorf("record permission profile: %w", err)
	}
	rec.ID, rec.Sequence, rec.At = env.ID, env.Sequence, env.RecordedAt
	r.last = max(r.last, env.RecordedAt)
	return nil
}

const permissionCommitted = "runtime.session.permission_profile_committed"

func permissionChildren(p event.PermissionProfile) ([]record.Envelope, error) {
	committed, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode permission profile: %w", err)
	}
	return []record.Envelope{
		{PayloadType: "runtime.session.permission_format_declared", PayloadSchemaVersion: 1,
			Payload: jsontext.Value(`{"format":"profile_v1","schema_version":1}`)},
		{PayloadType: permissionCommitted, PayloadSchemaVersion: 1, Payload: committed},
	}, nil
}

// Live shows e. Tool output on its way leaves a marker in the log, so that the
// numbering tells that something was shown; text deltas leave nothing, because
// the committed message holds them.
func (r *recorder) Live(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := event.Recorded{Event: e, ID: ident.V4()}
	if _, progress := e.Body.(event.TaskProgress); progress && r.log != nil {
		m := &record.Marker{ID: rec.ID}
		if r.log.AppendMarker(m) != nil {
			// The log has failed: the next Record says so and ends the run.
			// What is not in the log is not shown.
			return
		}
		rec.Sequence = m.Sequence
	}
	rec.At = r.tick()
	r.show(rec)
}

// tick is a time later than every one given out before.
func (r *recorder) tick() int64 {
	r.last = max(r.last+1, r.now().UnixMicro())
	return r.last
}

func (r *recorder) show(rec event.Recorded) {
	for s := range r.subs {
		s.put(rec)
	}
	for _, w := range r.watchers {
		if w.err != nil {
			continue
		}
		if w.err = w.show(rec); w.err != nil && w.lost != nil {
			w.lost(w.err)
		}
	}
}

// Commit makes everything recorded so far durable.
func (r *recorder) Commit() error {
	if r.log == nil {
		return nil
	}
	return r.log.Commit()
}
