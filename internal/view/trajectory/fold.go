package trajectory

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/openmuse/muse/internal/record"
)

// maxBad is how many bad lines are listed; all are counted.
const maxBad = 100

// diagnostics are the document's counters (CLI.md 14).
type diagnostics struct {
	unparseable int64 // lines that are no record
	unknown     int64 // records of a payload type or kind nobody here knows
	gaps        int64 // markers
	liveOnly    int64 // of those, the deliberate ones
	duplicates  int64 // records that came before, left out
}

// derived is what the document says about one event beside the event.
type derived struct {
	session string
	turn    int64 // turns begun so far
	step    int64 // number of the record within its session, 0 for a marker
	model   string
	decoded bool // its payload type and kind are known
}

// session is the summary of one stream in the log.
type session struct {
	id       string
	turns    int64
	steps    int64
	sequence int64 // the highest seen
	gap      bool  // numbers are missing
	spawns   []spawn
	forkOf   string
	end      *sessionEnd
	over     bool // the end was orderly and nothing came after it
}

type sessionEnd struct {
	reason string
	uptime int64
}

type spawn struct{ id, path, role, parent string }

// fold goes through the lines of a log. Two folds over the same lines decide
// alike, which is what the two readings rest on.
type fold struct {
	diagnostics
	red      *redactor
	sessions []*session
	byID     map[string]*session
	build    Version // of the build that wrote last
	models   map[string]string
	missing  int64
	bad      []Line
	seen     map[uint64]struct{}
	seed     maphash.Seed
	key      []byte
}

func newFold(red *redactor) *fold {
	return &fold{
		red: red, byID: map[string]*session{}, models: map[string]string{},
		seen: map[uint64]struct{}{}, seed: maphash.MakeSeed(),
	}
}

// event takes in a line and gives the JSON that stands for it in the document:
// the line itself, of a marker its omitted_record, nil for a line that is not
// shown. What is said about it goes to about, which may be nil.
func (f *fold) event(l Line, about *derived) []byte {
	if l.Err != nil {
		f.unreadable(l)
		return nil
	}
	var d derived
	raw := bytes.TrimSpace(l.Raw)
	switch l.Kind {
	case record.KindMarker:
		f.gaps++
		if l.Marker.Name == record.OmittedLiveOnly {
			f.liveOnly++
		}
		s := f.session(l.Marker.Stream.ID)
		f.number(s, l.Marker.Sequence)
		d = derived{session: s.id, turn: s.turns, decoded: true}
		v, err := record.Scan(l.Raw)
		if err != nil {
			return nil // cannot be: the line was parsed
		}
		raw = v.OmittedRecord
	case record.KindFrame:
		d.decoded = true
		for _, c := range l.Frame.Children {
			e, err := c.Envelope()
			if err != nil {
				d.decoded = false
				continue
			}
			f.take(e, &d)
		}
		// A frame is no record of its own, so it belongs to no step.
		d = derived{decoded: d.decoded}
	default:
		if f.duplicate(l.Envelope) {
			f.duplicates++
			return nil
		}
		d.decoded = true
		f.take(l.Envelope, &d)
	}
	if about != nil {
		*about = d
	}
	return raw
}

func (f *fold) unreadable(l Line) {
	if l.Size == 0 {
		return // an empty line says nothing
	}
	f.unparseable++
	if len(f.bad) < maxBad {
		l.Line = record.Line{}
		f.bad = append(f.bad, l)
	}
}

func (f *fold) session(id string) *session {
	s := f.byID[id]
	if s == nil {
		s = &session{id: id}
		f.byID[id] = s
		f.sessions = append(f.sessions, s)
	}
	return s
}

// number follows the numbering of a session. Its first number may be any: a
// copied log keeps the numbers of where it was cut.
func (f *fold) number(s *session, n int64) {
	if s.sequence > 0 && n > s.sequence+1 {
		f.missing += n - s.sequence - 1
		s.gap = true
	}
	s.sequence = max(s.sequence, n)
}

// duplicate reports whether the same record came before. Records are told
// apart by a hash of stream, id and number: eight bytes each, which keeps a
// log of a gigabyte in tens of megabytes.
func (f *fold) duplicate(e *record.Envelope) bool {
	f.key = append(f.key[:0], e.Stream.ID...)
	f.key = append(append(f.key, 0), e.ID...)
	f.key = binary.LittleEndian.AppendUint64(append(f.key, 0), uint64(e.Sequence))
	h := maphash.Bytes(f.seed, f.key)
	if _, ok := f.seen[h]; ok {
		return true
	}
	f.seen[h] = struct{}{}
	return false
}

// payload is what the view reads of a record's payload; everything else
// passes through.
type payload struct {
	kind, run string
	whole     []byte
	event     []byte
	record    []byte
}

func readPayload(raw []byte) payload {
	p := payload{whole: raw}
	// The payload was checked with its line, so the walk cannot fail.
	_ = record.Members(raw, func(key, val []byte) bool {
		switch string(key) {
		case "kind":
			p.kind = text(val)
		case "run_id":
			p.run = text(val)
		case "event":
			p.event = val
		case "record":
			p.record = val
		}
		return true
	})
	return p
}

// fact is a field of payload.record or, in older logs, of the payload itself
// (seed 000, Payload families). Without such a field it is nil.
func (p *payload) fact(path ...string) []byte {
	if v := field(p.record, path...); v != nil {
		return v
	}
	return field(p.whole, path...)
}

// field is the raw value at path in the object raw, nil if there is none.
func field(raw []byte, path ...string) []byte {
	for _, name := range path {
		var next []byte
		// A value that is no object has no fields.
		_ = record.Members(raw, func(key, val []byte) bool {
			if string(key) == name {
				next = val
			}
			return next == nil
		})
		if next == nil {
			return nil
		}
		raw = next
	}
	return raw
}

// text is the string in raw, "" when it is something else.
func text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	return record.Text(raw[1 : len(raw)-1])
}

// take counts one record and notes what the summaries need of it.
func (f *fold) take(e *record.Envelope, d *derived) {
	s := f.session(e.Stream.ID)
	f.number(s, e.Sequence)
	s.steps++
	p := readPayload(e.Payload)
	if !knownPayload(e.PayloadType, p.kind) {
		f.unknown++
		d.decoded = false
	}
	if !strings.HasPrefix(e.PayloadType, "openmuse.integrity.") {
		s.over = false
	}
	switch e.PayloadType {
	case "runtime.session":
		if p.kind == "run" && text(field(p.event, "kind")) == "started" {
			s.turns++
		}
	case "runtime.session.metadata":
		v := Version{Semver: text(p.fact("build", "semver")), SHA: text(p.fact("build", "sha"))}
		if v != (Version{}) {
			v.Display = "Muse Code " + v.Semver + " (" + v.SHA + ")"
			f.build = v
		}
	case "run.model.configured":
		if run := text(p.fact("run_stream", "id")); run != "" {
			f.models[run] = text(p.fact("model_id"))
		}
	case "session.fork.created":
		if from := text(p.fact("source_session_id")); from != s.id {
			s.forkOf = from
		}
	case "subagent.control.spawn_accepted":
		sp := spawn{
			id: text(p.fact("subagent_id")), path: text(p.fact("agent_path")),
			role: text(p.fact("role")), parent: text(p.fact("parent_session_id")),
		}
		if sp.parent == "" {
			sp.parent = s.id
		}
		s.spawns = append(s.spawns, sp)
	case "session.end":
		s.end = &sessionEnd{reason: text(p.fact("exit_reason"))}
		// Without a number the time that the session was up is not known.
		s.end.uptime, _ = strconv.ParseInt(string(p.fact("uptime_ms")), 10, 64)
		// The end that a later process infers for a crash is none.
		s.over = s.end.reason != "crash_inferred"
	}
	d.session, d.turn, d.step, d.model = s.id, s.turns, s.steps, f.models[p.run]
}

// abnormal reports whether the session that the log is of has no orderly end
// behind its last activity.
func (f *fold) abnormal() bool { return len(f.sessions) == 0 || !f.sessions[0].over }
