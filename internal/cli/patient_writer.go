package cli

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// patientWriter writes to a stdout that somebody may have stopped reading. As
// long as ctx lasts it waits for the reader like any writer; once ctx has ended
// it waits no longer than its grace, so that a run can be ended and its log
// closed whatever became of the reader.
type patientWriter struct {
	ctx   context.Context
	grace time.Duration
	lines chan []byte
	done  chan struct{} // closed when everything was written
	err   atomic.Pointer[error]
}

// errUnread says that what was left of the output has no reader.
var errUnread = errors.New("stdout is not being read")

func newPatientWriter(ctx context.Context, w io.Writer, grace time.Duration) *patientWriter {
	p := &patientWriter{ctx: ctx, grace: grace, lines: make(chan []byte, 256), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		for line := range p.lines {
			if p.err.Load() != nil {
				continue
			}
			if _, err := w.Write(line); err != nil {
				p.err.Store(&err)
			}
		}
	}()
	return p
}

// Write hands p over to be written. An error is that of an earlier write.
func (p *patientWriter) Write(line []byte) (int, error) {
	if err := p.err.Load(); err != nil {
		return 0, *err
	}
	kept := append([]byte(nil), line...)
	select {
	case p.lines <- kept:
		return len(line), nil
	case <-p.ctx.Done():
	}
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case p.lines <- kept:
		return len(line), nil
	case <-timer.C:
		return 0, errUnread
	}
}

// Close waits until everything was written and returns the first error.
func (p *patientWriter) Close() error {
	close(p.lines)
	select {
	case <-p.done:
	case <-p.ctx.Done():
		timer := time.NewTimer(p.grace)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
			return errUnread
		}
	}
	if err := p.err.Load(); err != nil {
		return *err
	}
	return nil
}
