// Package stream is the stdout of `muse exec --json`: recorded events as JSON
// lines in the flat dialect (STREAM.md (a)). It numbers its own lines; ids and
// times are those of the log wherever a line tells what a log record tells.
package stream

import (
	"fmt"
	"io"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/record"
)

// Writer shows the events of one turn.
type Writer struct {
	out      io.Writer
	session  string
	extended bool
	sequence int64
	last     int64 // newest recorded_at shown
	ended    bool  // a terminal was shown
	line     []byte
	err      error
}

// New is a writer for the turn-th turn of a session, counted from 1: its first
// line has that sequence number, because a continued session's stream stands
// for the turns before it by one number each (STREAM.md (a), Resumed turn).
// extended adds the openmuse.* lines.
func New(out io.Writer, session string, turn int, extended bool) *Writer {
	return &Writer{out: out, session: session, extended: extended, sequence: int64(turn)}
}

// Show writes the lines that r stands for. After a failed write it writes
// nothing more and keeps returning the error: half a stream is better than one
// with a hole.
func (w *Writer) Show(r event.Recorded) error {
	if w.err != nil {
		return w.err
	}
	e := r.Event
	switch b := e.Body.(type) {
	case event.WorkspaceBranch:
		if !w.ended {
			// Before the run only the name is shown; commit and state come after.
			b.Commit, b.Dirty = "", nil
			e.Body = b
		}
	case event.RunTerminal:
		w.ended = true
	}
	bodies, err := record.EncodeStream(e, w.extended)
	if err != nil {
		w.err = fmt.Errorf("show event: %w", err)
		return w.err
	}
	named := false
	for _, b := range bodies {
		id := ident.V4()
		if !named && b.Durability == record.Durable {
			id, named = r.ID, true
		}
		w.write(b, id, r.At)
	}
	return w.err
}

func (w *Writer) write(b record.Body, id string, at int64) {
	if w.err != nil {
		return
	}
	if at <= w.last {
		at = w.last + 1
	}
	w.last = at
	env := record.Envelope{
		SchemaVersion: record.SchemaVersion, ID: id, Stream: record.Stream{Kind: record.StreamSession, ID: w.session},
		Sequence: w.sequence, RecordedAt: at, RecordType: b.RecordType, Durability: b.Durability, CausationID: b.CausationID,
		PayloadType: b.PayloadType, PayloadSchemaVersion: b.SchemaVersion, Payload: b.Payload,
	}
	w.line = append(env.Append(w.line[:0]), '\n')
	if _, err := w.out.Write(w.line); err != nil {
		w.err = fmt.Errorf("write event to stdout: %w", err)
		return
	}
	w.sequence++
}
