// Package trajectory is the view of a session log as one JSON document, the
// export that people keep, share and feed to other programs (CLI.md 14). It is
// a function of the log's bytes: the same log gives the same document, byte
// for byte, with the same build.
//
// The log is read twice, once to count and once to write, so that memory does
// not grow with it. Envelopes stand in the document as they stand in the log,
// numbers and unknown fields included. A redacted document has every secret
// that can be told by its key or by its shape replaced; the log is never
// changed.
package trajectory

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/openmuse/muse/internal/record"
)

// SchemaVersion is the document's export_schema_version.
const SchemaVersion = 1

// Line is one line of a log, good or bad.
type Line struct {
	record.Line
	Err    error // why it is no record
	Number int64 // from 1
	Offset int64
	Size   int64 // without the line feed
	Ended  bool  // a line feed follows
}

// Log is a log that gives the same lines each time it is read.
type Log interface {
	// Read calls fn for each line in order. It returns fn's error as it is.
	Read(fn func(Line) error) (Facts, error)
}

// Facts is what a whole reading of a log tells about its bytes.
type Facts struct {
	Bytes, Lines int64
	Digest       string // "sha256:" and 64 hex digits
}

// Version names a build.
type Version struct {
	Display string // "Muse Code 1.4.2 (b538db0a2c)"
	Semver  string
	SHA     string
}

// Options says what document to write.
type Options struct {
	Exporter Version
	// Redact replaces secrets by masks.
	Redact bool
}

// Write writes the document for log to w.
func Write(w io.Writer, log Log, opts Options) error {
	var red *redactor
	if opts.Redact {
		red = newRedactor()
	}
	first := newFold(red)
	before, err := log.Read(func(l Line) error {
		if raw := first.event(l, nil); raw != nil && red != nil {
			red.learn(l, raw)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read session log: %w", err)
	}
	d := document{w: bufio.NewWriterSize(w, 256<<10), red: red}
	d.raw("{\n\"diagnostics\":")
	d.diagnostics(&first.diagnostics)
	d.raw(",\n\"events\":[")
	second := newFold(red)
	n := 0
	facts, err := log.Read(func(l Line) error {
		raw := second.event(l, &d.scratch)
		if raw == nil {
			return nil
		}
		if n++; n > 1 {
			d.raw(",")
		}
		d.raw("\n")
		d.event(l, raw, d.scratch)
		return d.err
	})
	if err == nil && facts != before {
		err = errors.New("the session log changed while it was read")
	}
	if err != nil {
		return fmt.Errorf("write export: %w", err)
	}
	d.raw("\n],\n\"export_schema_version\":" + strconv.Itoa(SchemaVersion))
	d.raw(",\n\"exporter_version\":")
	d.version(opts.Exporter)
	d.raw(",\n\"openmuse\":")
	d.own(second, facts)
	d.raw(",\n\"redaction\":")
	if opts.Redact {
		d.text("redacted")
	} else {
		d.text("raw")
	}
	if second.build != (Version{}) {
		d.raw(",\n\"session_build\":")
		d.version(second.build)
	}
	d.raw(",\n\"session_terminated_abnormally\":")
	d.bool(second.abnormal())
	d.raw(",\n\"sessions\":[")
	for i, s := range second.sessions {
		if i > 0 {
			d.raw(",")
		}
		d.raw("\n")
		d.session(s)
	}
	d.raw("\n]\n}\n")
	if d.err == nil {
		d.err = d.w.Flush()
	}
	if d.err != nil {
		return fmt.Errorf("write export: %w", d.err)
	}
	return nil
}

// document writes the parts of the document. Keys are sorted in every object.
// The first error stays; what follows it is dropped.
type document struct {
	w       *bufio.Writer
	err     error
	red     *redactor
	scratch derived
	buf     []byte
}

func (d *document) raw(s string) {
	if d.err == nil {
		_, d.err = d.w.WriteString(s)
	}
}

func (d *document) bytes(b []byte) {
	if d.err == nil {
		_, d.err = d.w.Write(b)
	}
}

func (d *document) text(s string) {
	// Invalid UTF-8 is replaced, and everything here comes from checked lines.
	d.buf, _ = jsontext.AppendQuote(d.buf[:0], s)
	d.bytes(d.buf)
}

// said writes a string that comes out of a payload.
func (d *document) said(s string) {
	if d.red != nil {
		s = d.red.text(s)
	}
	d.text(s)
}

func (d *document) int(n int64) { d.bytes(strconv.AppendInt(d.buf[:0], n, 10)) }

func (d *document) bool(b bool) { d.raw(strconv.FormatBool(b)) }

func (d *document) version(v Version) {
	d.raw(`{"display":`)
	d.text(v.Display)
	d.raw(`,"semver":`)
	d.text(v.Semver)
	d.raw(`,"sha":`)
	d.text(v.SHA)
	d.raw("}")
}

func (d *document) diagnostics(g *diagnostics) {
	d.raw(`{"duplicate_records":`)
	d.int(g.duplicates)
	d.raw(`,"gaps":`)
	d.int(g.gaps)
	d.raw(`,"omitted_live_only":`)
	d.int(g.liveOnly)
	d.raw(`,"unknown_payload_kinds":`)
	d.int(g.unknown)
	d.raw(`,"unparseable_lines":`)
	d.int(g.unparseable)
	d.raw("}")
}

// event writes one element of events. Kinds and fields: CLI.md 14; a gap
// stands for a marker and has a null envelope.
func (d *document) event(l Line, raw []byte, v derived) {
	if d.red != nil && l.Kind != record.KindMarker {
		raw = d.red.line(l, raw)
	}
	d.raw(`{"derived":{"decoded":`)
	d.bool(v.decoded)
	if v.model != "" {
		d.raw(`,"model":`)
		d.said(v.model)
	}
	if v.session != "" {
		d.raw(`,"session_id":`)
		d.text(v.session)
		if v.step > 0 {
			d.raw(`,"step_id":`)
			d.int(v.step)
		}
		d.raw(`,"trajectory_id":`)
		d.text(trajectoryID(v.session))
		d.raw(`,"turn_count":`)
		d.int(v.turn)
	}
	d.raw(`},"envelope":`)
	switch l.Kind {
	case record.KindMarker:
		d.gap(l, raw)
	case record.KindFrame:
		d.bytes(raw)
		d.raw(`,"kind":"retained_frame","outer_log_ordinal":`)
		d.int(l.Number)
	default:
		d.bytes(raw)
		d.raw(`,"kind":"record","outer_log_ordinal":`)
		d.int(l.Number)
		d.raw(`,"recorded_at":`)
		d.int(l.Envelope.RecordedAt)
	}
	d.raw("}")
}

func (d *document) gap(l Line, omitted []byte) {
	d.raw(`null,"kind":"gap","marker":`)
	d.text(l.Marker.Name)
	d.raw(`,"omitted_record":`)
	d.bytes(omitted)
	d.raw(`,"outer_log_ordinal":`)
	d.int(l.Number)
	d.raw(`,"position":{"id":`)
	d.text(l.Marker.ID)
	d.raw(`,"sequence":`)
	d.int(l.Marker.Sequence)
	d.raw(`},"stream":{"id":`)
	d.text(l.Marker.Stream.ID)
	d.raw(`,"kind":`)
	d.text(l.Marker.Stream.Kind)
	d.raw("}")
}

// own writes what this project adds: from which bytes the document was made,
// what was missing in them and what was taken out.
func (d *document) own(f *fold, facts Facts) {
	d.raw(`{"log":{"bytes":`)
	d.int(facts.Bytes)
	d.raw(`,"digest":`)
	d.text(facts.Digest)
	d.raw(`,"lines":`)
	d.int(facts.Lines)
	d.raw(`},"missing_sequences":`)
	d.int(f.missing)
	if d.red != nil {
		d.raw(`,"redactions":{`)
		for i, c := range d.red.counts() {
			if i > 0 {
				d.raw(",")
			}
			d.text(c.class)
			d.raw(":")
			d.int(c.n)
		}
		d.raw("}")
	}
	d.raw(`,"unparseable":[`)
	for i, b := range f.bad {
		if i > 0 {
			d.raw(",")
		}
		d.raw(`{"bytes":`)
		d.int(b.Size)
		d.raw(`,"line":`)
		d.int(b.Number)
		d.raw(`,"offset":`)
		d.int(b.Offset)
		d.raw(`,"torn":`)
		d.bool(!b.Ended)
		d.raw("}")
	}
	d.raw("]}")
}

func (d *document) session(s *session) {
	d.raw(`{"accepted_spawns":[`)
	for i, sp := range s.spawns {
		if i > 0 {
			d.raw(",")
		}
		d.raw("{")
		if sp.path != "" {
			d.raw(`"agent_path":`)
			d.said(sp.path)
			d.raw(",")
		}
		d.raw(`"parent_session_id":`)
		d.said(sp.parent)
		if sp.role != "" {
			d.raw(`,"role":`)
			d.said(sp.role)
		}
		if sp.id != "" {
			d.raw(`,"subagent_id":`)
			d.said(sp.id)
		}
		d.raw("}")
	}
	d.raw(`],"is_copied_context":false`)
	root := s.id
	if s.forkOf != "" {
		root = s.forkOf
		d.raw(`,"parent":{"link":"fork","session_id":`)
		d.said(s.forkOf)
		d.raw(`,"trajectory_id":`)
		d.said(trajectoryID(s.forkOf))
		d.raw("}")
	}
	d.raw(`,"root_session_id":`)
	d.said(root)
	d.raw(`,"saw_history_gap":`)
	d.bool(s.gap)
	if s.end != nil {
		d.raw(`,"session_end":{"exit_reason":`)
		d.said(s.end.reason)
		d.raw(`,"uptime_ms":`)
		d.int(s.end.uptime)
		d.raw("}")
	}
	d.raw(`,"session_id":`)
	d.text(s.id)
	d.raw(`,"step_count":`)
	d.int(s.steps)
	d.raw(`,"trajectory_id":`)
	d.text(trajectoryID(s.id))
	d.raw(`,"turn_count":`)
	d.int(s.turns)
	d.raw("}")
}

func trajectoryID(session string) string { return "trajectory_" + session }
