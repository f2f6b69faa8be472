package audit

import (
	"fmt"

	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// source is one log, or other file, as a stream of rows in order of time. Rows
// without a time are not in it: they go to the merger's tail.
type source struct {
	m      *merger
	f      *File
	order  int   // of the file among all, for rows of the same time
	first  int64 // no row is earlier
	last   int64
	sorted bool

	log  *timeline.Log
	pipe *pipeline
	rows []timeline.Row
	at   int
	over bool

	spool  *spool // of a log that does not come in order
	reader *spoolReader
	row    *timeline.Row // the current one
	err    error
}

// start opens the log. One whose times do not only grow is read whole and
// sorted first.
func (s *source) start() error {
	if s.f == nil { // rows that are already there
		return nil
	}
	d, err := s.m.defaults(s.f)
	if err != nil {
		return err
	}
	s.log = &timeline.Log{File: s.f.Label, Subagent: s.f.Kind == SubagentLog, Defaults: d, Emit: s.emit}
	pipe, err := openPipeline(s.f, s.m)
	if err != nil {
		return err
	}
	s.pipe = pipe
	if s.sorted {
		return nil
	}
	s.spool = &spool{limit: s.m.spoolLimit}
	for !s.over {
		if err := s.fill(); err != nil {
			return err
		}
		for i := range s.rows {
			if err := s.spool.add(s.rows[i].At, &s.rows[i]); err != nil {
				return err
			}
		}
	}
	s.rows = nil
	s.reader, err = s.spool.sorted()
	return err
}

// emit takes a row of the log.
func (s *source) emit(r *timeline.Row) {
	if !r.Timed {
		s.later(r, 0)
		return
	}
	if s.m.opts.Filter.Keep(r) {
		s.rows = append(s.rows, *r)
	}
}

// later puts a row without a time behind all that have one: the rows of one
// file together, lines that cannot be read last.
func (s *source) later(r *timeline.Row, rank int64) {
	if !s.m.opts.Filter.Keep(r) {
		s.m.stats.Undated = s.m.stats.Undated || s.m.opts.Filter.Bounded()
		return
	}
	if err := s.m.tail.add(int64(s.order)*2+rank, r); err != nil && s.err == nil {
		s.err = err
	}
}

// advance goes to the next row; s.row is nil at the end.
func (s *source) advance() error {
	if s.reader != nil {
		row, ok, err := s.reader.next()
		if s.row = row; !ok {
			s.row = nil
		}
		return err
	}
	for s.at >= len(s.rows) {
		if s.over || s.f == nil {
			s.row = nil
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
	s.row = &s.rows[s.at]
	s.at++
	return nil
}

// fill reads the next chunk into rows.
func (s *source) fill() error {
	s.rows, s.at = s.rows[:0], 0
	p, err := s.pipe.next()
	if err != nil {
		s.m.problem(s.f.Label, err)
	}
	if p == nil {
		s.over = true
		s.log.End()
		return s.err
	}
	for i := range p.events {
		ev := &p.events[i]
		if s.m.opts.Observe != nil {
			s.m.opts.Observe(s.f, ev)
		}
		s.log.Add(ev)
	}
	for _, b := range p.bad {
		s.badLine(b, p.chunk.tooLong)
	}
	s.m.stats.BadLines += int64(len(p.bad))
	return s.err
}

func (s *source) badLine(b badLine, tooLong int64) {
	line := b.line
	for len(line) > 0 && (line[len(line)-1] == '\r' || line[len(line)-1] == '\n') {
		line = line[:len(line)-1]
	}
	var reason string
	if tooLong > 0 {
		reason = fmt.Sprintf("line of %d bytes is longer than %d; its first %d bytes", tooLong, maxLine, len(line))
	} else {
		reason = jsonline.Reason(line)
	}
	row := s.log.BadLine(b.number, b.offset, reason, line)
	if row.Session == "" {
		row.Session = s.m.heads[s.f].session
	}
	if row.Session == "" {
		row.Session = s.f.ID()
	}
	s.later(&row, 1)
}

func (s *source) close() error {
	var err error
	if s.pipe != nil {
		err = s.pipe.close()
	}
	if s.spool != nil {
		if cerr := s.spool.close(); err == nil {
			err = cerr
		}
	}
	return err
}
