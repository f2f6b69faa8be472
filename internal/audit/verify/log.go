package verify

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"strings"

	"github.com/openmuse/muse/internal/audit"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// log verifies one log line by line.
type log struct {
	file *audit.File
	emit func(Finding)
	refs *references

	sum     hash.Hash // over all bytes so far
	whole   bool      // sum covers all of them
	index   *lineIndex
	ids     map[[16]byte]struct{}
	stream  string
	seq     int64
	time    int64 // the latest
	clock   [2]moment
	records int64

	badSince int64 // unreadable lines since the last record
	first    place // the first of anything wrong since the last checkpoint that fits
	since    interval
	broken   bool // a checkpoint did not fit: later ones cannot
	ours     bool
	sealed   bool // the line just read is a seal
	ended    bool
	frames   []pendingFrame
	last     place
	size     int64
}

// undecided is how many lines may pass before it shows whose log it is: ours
// names its build in the metadata, which is among the first.
const undecided = 64

// moment is the time of a record and where it is.
type moment struct {
	at   place
	time int64
}

// place is a line in the file; line 0 is none.
type place struct{ line, offset int64 }

// interval is the lines since the last checkpoint that fits, which is the
// first of them.
type interval struct {
	start   place
	digests [][4]byte
	offsets []int64
}

// at is the place of the i-th line; one behind the last is where the next
// line would be.
func (v *interval) at(i int, next place) place {
	if i >= len(v.offsets) {
		return next
	}
	return place{v.start.line + int64(i), v.offsets[i]}
}

type pendingFrame struct {
	at    place
	why   string
	wrong bool // for a log of ours
}

func newLog(f *audit.File, refs *references, index *lineIndex, emit func(Finding)) *log {
	return &log{
		file: f, emit: emit, refs: refs, index: index, sum: sha256.New(), whole: true,
		ids: map[[16]byte]struct{}{}, since: interval{start: place{1, 0}},
	}
}

func (l *log) find(at place, s Severity, code, format string, args ...any) {
	if s != Info && at.line != 0 && (l.first.line == 0 || at.line < l.first.line) {
		l.first = at
	}
	l.emit(Finding{File: l.file.Label, Line: at.line, Offset: at.offset, Severity: s, Code: code, Message: fmt.Sprintf(format, args...)})
}

// line takes the next line.
func (l *log) line(in audit.Line) error {
	at := place{in.Number, in.Offset}
	l.last = at
	l.sealed = false
	l.size = in.Offset + int64(len(in.Data))
	if in.TooLong > 0 {
		l.find(at, Error, UnreadableLine, "line of %d bytes, longer than any record", in.TooLong)
		l.badSince++
		l.whole = false
		l.size = in.Offset + in.TooLong
		return nil
	}
	l.index.line(l, in)
	l.check(in, at)
	// A checkpoint speaks of the bytes before its own line.
	l.sum.Write(in.Data)
	if !in.Torn {
		l.sum.Write([]byte{'\n'})
		l.size++
	}
	if l.ours || in.Number <= undecided {
		l.since.digests = append(l.since.digests, lineDigest(in.Data))
		l.since.offsets = append(l.since.offsets, in.Offset)
	}
	return nil
}

func (l *log) check(in audit.Line, at place) {
	data := in.Data
	if len(strings.TrimSpace(string(data[:min(len(data), 64)]))) == 0 && len(strings.TrimSpace(string(data))) == 0 {
		l.find(at, Warning, BlankLine, "a blank line")
		return
	}
	if !jsonline.Valid(data) {
		l.badSince++
		switch {
		case allNUL(data):
			l.find(at, tailSeverity(in), tailCode(in), "%d NUL bytes, as a crash of the machine leaves them", len(data))
		case in.Torn:
			l.find(at, Warning, TruncatedTail, "the last line is cut: %s", jsonline.Reason(data))
		default:
			l.find(at, Error, UnreadableLine, "%s", jsonline.Reason(data))
		}
		return
	}
	parsed, err := record.ParseLine(data)
	if err != nil {
		l.irregular(in, at, err)
		return
	}
	if in.Torn {
		l.find(at, Warning, TruncatedTail, "the last line has no line feed")
	}
	switch parsed.Kind {
	case record.KindFrame:
		l.frame(parsed.Frame, at)
	case record.KindMarker:
		m := parsed.Marker
		l.record(at, m.ID, m.Stream.ID, m.Sequence, 0)
	case record.KindEnvelope:
		l.envelope(parsed.Envelope, at, data)
	}
}

func tailSeverity(in audit.Line) Severity {
	if in.Torn {
		return Warning
	}
	return Error
}

func tailCode(in audit.Line) string {
	if in.Torn {
		return TruncatedTail
	}
	return UnreadableLine
}

func allNUL(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return len(b) > 0
}

// irregular reports a line that reads as JSON but that no writer wrote so, and
// takes from it what can be taken.
func (l *log) irregular(in audit.Line, at place, err error) {
	v, scanErr := record.Scan(in.Data)
	if scanErr != nil || v.Kind == record.KindEnvelope && v.PayloadType == nil && v.StreamID == nil {
		l.badSince++
		l.find(at, Error, ForeignLine, "not a record: %v", err)
		return
	}
	l.find(at, Error, IrregularRecord, "%v", err)
	if v.Kind == record.KindEnvelope || v.Kind == record.KindMarker {
		l.record(at, record.Text(v.ID), record.Text(v.StreamID), v.Sequence, v.RecordedAt)
	}
}

func (l *log) envelope(e *record.Envelope, at place, raw []byte) {
	if e.SchemaVersion != record.SchemaVersion {
		l.find(at, Warning, IrregularRecord, "schema_version is %d", e.SchemaVersion)
	}
	if e.RecordType != record.TypeEvent || e.Durability != record.Durable {
		l.find(at, Warning, IrregularRecord, "a log holds durable events; this is %s, %s", e.Durability, e.RecordType)
	}
	l.record(at, e.ID, e.Stream.ID, e.Sequence, e.RecordedAt)
	switch {
	case e.PayloadType == "runtime.session.metadata":
		build := jsonline.Get(jsonline.Get(jsonline.Get(e.Payload, "record"), "build"), "semver")
		l.ours = l.ours || strings.Contains(string(build), "openmuse")
	case e.PayloadType == "session.end":
		l.ended = true
	case strings.HasPrefix(e.PayloadType, "openmuse."):
		l.ours = true
		if e.PayloadType == checkpointType {
			l.checkpoint(e, at, raw)
		}
	}
	if l.refs != nil {
		l.refs.read(l, e, at)
	}
}

// record checks what every record has: number, id, clock and stream.
func (l *log) record(at place, id, stream string, seq, recordedAt int64) {
	l.records++
	switch {
	case seq == l.seq+1:
	case seq > l.seq+1:
		if missing := seq - l.seq - 1; missing != l.badSince {
			l.find(at, Error, SequenceGap, "sequence %d follows %d: %d missing, %d unreadable lines between", seq, l.seq, missing, l.badSince)
		}
	default:
		l.find(at, Error, SequenceRepeat, "sequence %d follows %d", seq, l.seq)
	}
	l.badSince = 0
	l.seq = max(l.seq, seq)
	key := idKey(id)
	if _, twice := l.ids[key]; twice {
		l.find(at, Error, DuplicateID, "record id %q was there before", id)
	}
	l.ids[key] = struct{}{}
	if recordedAt != 0 {
		l.tick(at, recordedAt)
	}
	switch {
	case l.stream == "":
		l.stream = stream
		if dir := l.file.ID(); ident.Valid(dir) && dir != stream {
			l.find(at, Error, StreamMismatch, "the directory is named %s and the records %q", dir, stream)
		}
	case stream != l.stream:
		l.find(at, Error, StreamMismatch, "a record of stream %q in the log of %q", stream, l.stream)
	}
}

// tick checks the clock. When a record is earlier than the one before it but
// not earlier than the one before that, it is the middle one that is wrong.
func (l *log) tick(at place, t int64) {
	before, last := l.clock[0], l.clock[1]
	switch {
	case t >= l.time:
		l.time = t
	case last.time == l.time && t >= before.time && before.at.line != 0:
		l.find(last.at, Error, TimeReversal, "recorded_at is %d µs after that of the next record", l.time-t)
		l.time, l.clock[1] = t, before
	default:
		l.find(at, Error, TimeReversal, "recorded_at goes back by %d µs", l.time-t)
	}
	l.clock[0], l.clock[1] = l.clock[1], moment{at, t}
}

// idKey is 16 bytes for an id: the id itself when it is a UUID.
func idKey(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// end reports what is known only when the log is over.
func (l *log) end() {
	for _, f := range l.frames {
		switch {
		case l.ours && f.wrong:
			l.find(f.at, Error, FrameHash, "%s", f.why)
		case !l.ours:
			l.find(f.at, Info, FrameHash, "%s", f.why)
		}
	}
	switch {
	case l.ours && !l.sealed:
		l.find(l.last, Warning, NotSealed, "the log does not end with a seal: the session was not ended in order, or the end is missing")
	case !l.ours && !l.ended && l.records > 0:
		l.find(l.last, Info, NotSealed, "no session.end: the session was not ended in order")
	}
	l.index.end(l)
}
