package host

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/store/peerhistory"
)

// indexedFrom is the size from which a log is continued with the help of its
// line index: reading a smaller one takes less than opening the index.
const indexedFrom = 8 << 20

// indexGrowth is after how many bytes more a live session brings its index up
// to date beside its work.
const indexGrowth = 4 << 20

// indexTime bounds how long the end of a session waits for its index; as far
// as that came it counts. Somebody waits for that end.
const indexTime = time.Second

// replayIndexed takes in the lines of the log that still count, as the line
// index names them, and returns where to read on; nil when the whole log must
// be read. The index is derived and may be wrong: then nothing of it counts.
func (s *Session) replayIndexed(r *replay) *journal.Place {
	info, err := os.Stat(s.place.LogPath())
	if err != nil || info.Size() < s.indexedFrom() || s.opts.OpenLog != nil {
		return nil
	}
	place, err := s.fromIndex(r)
	if err != nil {
		r.forget()
		return nil
	}
	return place
}

// forget takes a replay back to its beginning.
func (r *replay) forget() {
	s := r.session
	*r = replay{session: s}
	s.conv, s.state, s.epoch, s.messages = agent.NewConversation(), newState(), 0, nil
	s.rec.runs = map[string]int64{}
}

func (s *Session) indexedFrom() int64 {
	if s.opts.IndexFrom > 0 {
		return s.opts.IndexFrom
	}
	return indexedFrom
}

func (s *Session) fromIndex(r *replay) (place *journal.Place, err error) {
	ctx := context.Background()
	h, err := peerhistory.Open(ctx, s.place.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	log, err := os.Open(s.place.LogPath())
	if err != nil {
		return nil, err
	}
	defer log.Close() // only read
	r.indexed = true
	var parser record.Parser
	err = h.Replay(ctx, log, func(raw []byte, _ int64) error {
		line, err := parser.ParseLine(raw)
		if err != nil {
			return err
		}
		r.add(prepareRecord(line).(prepared), line)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.indexed = false
	if s.rec.runs, err = h.Runs(ctx); err != nil {
		return nil, err
	}
	p, err := h.Position(ctx)
	at := journal.Place(p)
	return &at, err
}

// index brings the line index up to date where the log is long enough for one.
func (s *Session) index(ctx context.Context) {
	if s.journal == nil || s.journal.Size() < s.indexedFrom() {
		return
	}
	if err := peerhistory.Update(ctx, s.place.Dir); err != nil && s.trace != nil {
		s.note("line index not updated", err)
	}
}

// indexBeside brings the line index up to date when the log has grown enough.
// The session's lock is held.
func (l *Live) indexBeside() {
	s := l.s
	if s.journal == nil || l.closing || l.indexing != nil || s.journal.Size() < max(s.indexedFrom(), l.indexed+indexGrowth) {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.indexing = cancel
	size := s.journal.Size()
	l.beside.Go(func() {
		defer cancel()
		s.index(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.indexed, l.indexing = size, nil
	})
}
