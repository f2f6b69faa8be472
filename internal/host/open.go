package host

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/openmuse/muse/internal/agent"
	"github.com/openmuse/muse/internal/event"
	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/journal"
	"github.com/openmuse/muse/internal/record"
	"github.com/openmuse/muse/internal/store"
)

// Open opens a new session or continues a known one. A session that another
// process has open is refused at once with its holder named.
func Open(opts Options) (*Session, Report, error) {
	s := &Session{opts: opts, id: opts.SessionID, conv: agent.NewConversation(), state: newState(), opened: opts.Now()}
	var report Report
	if s.id == "" {
		s.id = ident.V7(opts.Now())
	}
	if opts.KeepNothing {
		s.newRecorder()
		s.rec.keep = opts.KeepEvents
		s.assets = &assets{}
		return s, report, nil
	}
	report, err := s.open()
	if err != nil {
		return nil, report, err
	}
	s.assets = &assets{dir: s.place.Dir}
	return s, report, nil
}

func (s *Session) open() (Report, error) {
	var report Report
	var err error
	err = store.ErrNotFound
	if s.opts.SessionID != "" { // an id minted just now is nobody's yet
		s.place, err = store.Find(s.opts.DataRoot, s.id)
	}
	if errors.Is(err, store.ErrNotFound) {
		s.place, err = store.Create(s.opts.DataRoot, s.id, s.opts.Now())
	}
	if err != nil {
		return report, err
	}
	if err := lock(s.place, s.opts.Program); err != nil {
		return report, err
	}
	if err := s.openLog(&report); err != nil {
		return report, errors.Join(err, s.place.Unlock())
	}
	s.trace = store.NewTrace(s.place.Dir)
	slog.New(s.trace).Info("session opened", "id", s.id, "resumed", s.resumed, "provider", s.opts.Provider, "model", s.opts.Model)
	return report, nil
}

// A process that is killed while it starts a program lives on in that program
// for a moment, and so do its locks.
const (
	lockTries = 100
	lockPause = 10 * time.Millisecond
)

// lock takes the lease of a session. A holder that is gone is waited for, a
// moment; one that lives is not.
func lock(place *store.Session, program string) error {
	for try := 1; ; try++ {
		err := place.Lock(program)
		var used *journal.InUseError
		if err == nil || try == lockTries || !errors.As(err, &used) || used.Holder.PID != 0 {
			return err
		}
		time.Sleep(lockPause)
	}
}

// openLog opens the log of a session that has one. A directory without a log
// is a session that never started: Begin makes its log.
func (s *Session) openLog(report *Report) error {
	s.newRecorder()
	started, err := s.place.Started()
	if err != nil || !started {
		return err
	}
	found, err := s.openJournal()
	if err != nil {
		return err
	}
	s.resumed = found.Records > 0
	report.Resumed = s.resumed
	report.Notes = notes(found)
	if err := s.sameWorkspace(); err != nil {
		return errors.Join(err, s.journal.Close())
	}
	return nil
}

func (s *Session) newRecorder() {
	s.rec = newRecorder(nil, s.id, s.opts.Now)
	s.rec.watch(func(r event.Recorded) error { s.state.apply(r); return nil }, nil)
}

func (s *Session) openJournal() (journal.OpenReport, error) {
	opts := s.journalOptions()
	r := replay{session: s}
	opts.From = s.replayIndexed(&r)
	opts.Prepare = prepareRecord
	opts.OnPrepared = func(line record.Line, p any, _ int64) error {
		r.add(p.(prepared), line)
		return nil
	}
	var found journal.OpenReport
	var err error
	s.journal, found, err = journal.Open(s.place.LogPath(), opts)
	if err != nil && opts.From != nil {
		// What was derived may be of another build: the log alone counts.
		r.forget()
		opts.From = nil
		s.journal, found, err = journal.Open(s.place.LogPath(), opts)
	}
	if err != nil {
		return found, err
	}
	s.indexed = opts.From != nil
	r.apply(len(r.held))
	s.rec.log, s.rec.last = s.journal, found.LastRecorded
	return found, nil
}

func (s *Session) journalOptions() journal.Options {
	return journal.Options{
		Stream: record.Stream{Kind: record.StreamSession, ID: s.id}, Now: s.opts.Now,
		OpenFile: s.opts.OpenLog, SyncDir: s.place.SyncDir,
	}
}

// start makes the log of a new session. Its first line, the permission profile,
// is durable before the log exists, so that there is never a log that does not
// say under which rules it was written.
func (s *Session) start(p event.PermissionProfile) error {
	children, err := permissionChildren(p)
	if err != nil {
		return err
	}
	frame, err := journal.FirstFrame(children, s.journalOptions())
	if err != nil {
		return err
	}
	if err := s.place.Stage(frame.Append(nil)); err != nil {
		return err
	}
	if err := s.place.Start(); err != nil {
		return err
	}
	_, err = s.openJournal()
	return err
}

func notes(r journal.OpenReport) []string {
	var out []string
	if r.TornFile != "" {
		out = append(out, fmt.Sprintf("the session log ended in a half-written record; its bytes were kept in %s", filepath.Base(r.TornFile)))
	}
	for i, d := range r.Diagnostics {
		if i == 3 {
			out = append(out, fmt.Sprintf("%d more findings in the session log; `muse audit verify` lists them", int64(len(r.Diagnostics)-i)+r.Omitted))
			break
		}
		out = append(out, "session log: "+d.String())
	}
	return out
}
