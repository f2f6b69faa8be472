// Package biglog makes session logs as large as one likes, by the journal and
// the log's own dialect, and reads them back.
package biglog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
)

// Options say what to write.
type Options struct {
	Session  string // id of the session the log belongs to
	Provider string // and its model: reasoning is theirs
	Model    string
	Size     int64 // bytes the log has to have in the end
	// Corpus is text that tool results are cut from.
	Corpus []byte
	Seed   uint64
}

// Stats count what was written.
type Stats struct {
	Bytes       int64 `json:"bytes"`
	Records     int64 `json:"records"`
	Turns       int   `json:"turns"`
	Steps       int   `json:"steps"`
	Compactions int   `json:"compactions"`
}

const (
	turnSteps = 100
	// roomBytes is how long the conversation gets before all but keepBytes of
	// it and the prompts, which are never summarised, become a summary.
	roomBytes, keepBytes = 320 << 10, 60 << 10
	commitBytes          = 1 << 20
)

// writer writes turns into an open log.
type writer struct {
	Options
	journal *journal.Journal
	rand    *rand.Rand
	stats   Stats

	run       string
	position  int64 // in the run's own stream
	committed int64
	last      int64 // newest sequence

	prompts int64  // bytes of all prompts
	said    int64  // bytes of the rest of the conversation
	spans   []span // its steps since the last compaction
}

// span is one step of the conversation.
type span struct{ sequence, bytes int64 }

// Extend appends turns to the log of a session until it has the size: a mix of
// short and long tool results, reasoning, commentary and markers, compacted as
// often as a model's context would need it.
func Extend(path string, o Options) (Stats, error) {
	if len(o.Corpus) < 1<<20 {
		return Stats{}, errors.New("the corpus is too short to cut results from")
	}
	j, report, err := journal.Open(path, journal.Options{Stream: record.Stream{Kind: record.StreamSession, ID: o.Session}})
	if err != nil {
		return Stats{}, err
	}
	w := &writer{Options: o, journal: j, rand: rand.New(rand.NewPCG(o.Seed, 1)), last: report.LastSequence}
	for err == nil && j.Size() < o.Size {
		err = w.turn()
	}
	if err == nil {
		err = j.Seal()
	}
	w.stats.Bytes, w.stats.Records = j.Size(), j.Sequence()
	if closeErr := j.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return w.stats, fmt.Errorf("write a large log: %w", err)
	}
	return w.stats, nil
}

// add records bodies of the run, or of one of its tasks.
func (w *writer) add(task string, bodies ...event.Body) error {
	for _, body := range bodies {
		e := event.Event{Run: w.run, Body: body}
		pos := record.RunPosition{}
		switch event.FamilyOf(e) {
		case event.RunEvent:
			w.position++
			pos = record.RunPosition{ID: ident.V4(), Sequence: w.position}
		case event.TaskEvent:
			e.Task = task
		}
		b, err := record.EncodeLog(e, pos)
		if err != nil {
			return err
		}
		env := &record.Envelope{
			RecordType: b.RecordType, Durability: b.Durability, CausationID: b.CausationID,
			PayloadType: b.PayloadType, PayloadSchemaVersion: b.SchemaVersion, Payload: b.Payload,
		}
		if err := w.journal.Append(env); err != nil {
			return err
		}
		w.last = env.Sequence
	}
	return nil
}

// commit makes the log durable now and then, which also writes its integrity
// checkpoints.
func (w *writer) commit() error {
	if w.journal.Size()-w.committed < commitBytes {
		return nil
	}
	w.committed = w.journal.Size()
	return w.journal.Commit()
}

// text cuts about n bytes out of the corpus.
func (w *writer) text(n int) string {
	n = min(n, len(w.Corpus)/2)
	at := w.rand.IntN(len(w.Corpus) - n)
	return strings.ToValidUTF8(string(w.Corpus[at:at+n]), "")
}

// size is a length between low and high, short ones more often.
func (w *writer) size(low, high int) int {
	f := w.rand.Float64()
	return low + int(f*f*f*float64(high-low))
}

func (w *writer) chance(p float64) bool { return w.rand.Float64() < p }

const sealedAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// sealed looks like reasoning that only its model can read.
func (w *writer) sealed(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = sealedAlphabet[w.rand.IntN(64)]
	}
	return string(b)
}
