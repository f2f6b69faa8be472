package host

import (
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/record"
)

// replay takes the records of a log into the state of a session. Decoding is
// put off: of a long session nearly everything is summarised away by a later
// record, and what is summarised away need not be decoded at all.
type replay struct {
	session *Session
	held    []heldRecord // in log order, not yet applied
	bytes   int          // of their payloads
	// indexed says that the records come from the line index, which counts the
	// records of runs by itself.
	indexed bool
}

type heldRecord struct {
	envelope *record.Envelope
	head     record.LogHead
}

// maxReplayHeld bounds the payloads that wait; beyond it the oldest half is
// decoded and applied.
const maxReplayHeld = 16 << 20

// prepared is what can be said of a record by itself.
type prepared struct {
	head record.LogHead
	ok   bool
}

// prepareRecord is called on several goroutines.
func prepareRecord(line record.Line) any {
	if line.Envelope == nil {
		return prepared{}
	}
	h, err := record.ReadLogHead(line.Envelope)
	return prepared{h, err == nil}
}

// add takes the next record.
func (r *replay) add(p prepared, line record.Line) {
	if line.Frame != nil {
		r.session.epoch++
	}
	if !p.ok {
		// A record whose payload is no object is somebody else's fact: it stays
		// in the log and has no part in the conversation.
		return
	}
	if p.head.Kind == "run" && !r.indexed {
		r.session.rec.runs[p.head.Run]++
	}
	switch p.head.EventKind {
	case "model_request_configured", "model_response_created", "reasoning_summary_delta", "reasoning_summary_committed",
		"model_completed", "context_compaction_candidate", "accepted", "status", "task_stream_linked":
		return
	case "context_compaction_installed":
		r.compact(heldRecord{line.Envelope, p.head})
		return
	}
	r.held = append(r.held, heldRecord{line.Envelope, p.head})
	if r.bytes += len(line.Envelope.Payload); r.bytes > maxReplayHeld {
		r.apply(len(r.held) / 2)
	}
}

// compact applies a summary. What it stands for is dropped undecoded, except
// what outlives a summary: the person's words, the ends of runs and the facts
// of the session.
func (r *replay) compact(h heldRecord) {
	e, known, err := h.head.Decode(h.envelope)
	if err != nil || !known {
		return
	}
	through := e.Body.(event.CompactionInstalled).Through.Sequence
	summarised := 0
	for summarised < len(r.held) && r.held[summarised].envelope.Sequence <= through {
		summarised++
	}
	for _, old := range r.held[:summarised] {
		switch {
		case old.head.Kind == "task", old.head.Kind == "tool_batch_effect":
		case strings.HasPrefix(old.head.EventKind, "user_input_"), old.head.EventKind == "run_retracted":
			r.decode(old)
		case old.head.Kind == "run" && old.head.EventKind != "started" && old.head.EventKind != "terminal" && old.head.EventKind != "todo_snapshot_updated":
		default:
			r.decode(old)
		}
	}
	r.drop(summarised)
	r.decode(h)
}

// apply decodes and applies the first n held records.
func (r *replay) apply(n int) {
	for _, h := range r.held[:n] {
		r.decode(h)
	}
	r.drop(n)
}

func (r *replay) drop(n int) {
	for _, h := range r.held[:n] {
		r.bytes -= len(h.envelope.Payload)
	}
	rest := copy(r.held, r.held[n:])
	clear(r.held[rest:])
	r.held = r.held[:rest]
}

// decode applies one record. One of a shape we do not know is left out.
func (r *replay) decode(h heldRecord) {
	e, known, err := h.head.Decode(h.envelope)
	if err != nil || !known {
		return
	}
	s := r.session
	switch b := e.Body.(type) {
	case event.RunStarted:
		s.said(e.Run, b.Prompt)
	case event.Metadata:
		if b.WorkspaceRoot != "" {
			s.lastWorkspace = b.WorkspaceRoot
		}
	}
	recorded := event.Recorded{Event: e, ID: h.envelope.ID, Sequence: h.envelope.Sequence, At: h.envelope.RecordedAt}
	s.state.apply(recorded)
	s.conv.Apply(recorded)
}
