package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/openmuse/muse/internal/view/timeline"
)

// parsed is a chunk with what its lines say.
type parsed struct {
	chunk  *chunk
	events []timeline.Event
	bad    []badLine
	done   chan struct{} // closed when the lines are read; nil if they are already
	err    error         // the stream ended with it; no chunk
}

// spare keeps the lists of chunks that are done with.
var spare = sync.Pool{New: func() any { return &parsed{} }}

func newParsed(ch *chunk, err error) *parsed {
	p := spare.Get().(*parsed)
	*p = parsed{chunk: ch, err: err, events: p.events[:0], bad: p.bad[:0]}
	return p
}

// badLine is a line that cannot be read.
type badLine struct {
	line           []byte
	number, offset int64
}

// pipeline reads the chunks of one log: side by side with the reader of rows
// when there are few logs, in step with it when there are many.
type pipeline struct {
	c     *chunker
	r     io.ReadCloser
	ahead chan *parsed // nil when reading in step
	stop  chan struct{}
	wg    sync.WaitGroup
	rd    timeline.Reader
	free  *parsed
}

// workers parse chunks for all logs.
type workers struct {
	jobs chan *parsed
	wg   sync.WaitGroup
}

func startWorkers(n int, thinking, extra bool) *workers {
	w := &workers{jobs: make(chan *parsed, n)}
	for range n {
		w.wg.Go(func() {
			rd := timeline.Reader{Thinking: thinking, Extra: extra}
			for p := range w.jobs {
				p.read(&rd)
				close(p.done)
			}
		})
	}
	return w
}

func (w *workers) close() {
	close(w.jobs)
	w.wg.Wait()
}

// read takes the lines apart.
func (p *parsed) read(rd *timeline.Reader) {
	ch := p.chunk
	if ch.tooLong > 0 {
		p.bad = append(p.bad, badLine{ch.data, ch.line, ch.offset})
		return
	}
	ch.lines(func(line []byte, number, offset int64) {
		if number == 1 {
			line = bytes.TrimPrefix(line, bom)
		}
		var shape timeline.Shape
		p.events, shape = rd.Line(line, number, offset, p.events)
		if shape == timeline.Bad {
			p.bad = append(p.bad, badLine{line, number, offset})
		}
	})
}

// maxOpenFiles is how many logs may be open at once; a system may allow few
// hundred files.
const maxOpenFiles = 200

// reopening reads a file without holding it open.
type reopening struct {
	f      *File
	offset int64
}

func (r *reopening) Read(b []byte) (n int, err error) {
	file, err := r.f.Open()
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if s, ok := file.(io.Seeker); ok {
		_, err = s.Seek(r.offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, file, r.offset)
	}
	if err != nil {
		return 0, err
	}
	n, err = io.ReadFull(file, b)
	r.offset += int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

func (r *reopening) Close() error { return nil }

// openPipeline starts reading f for m. With m.ahead, up to that many chunks
// are read before they are asked for.
func openPipeline(f *File, m *merger) (*pipeline, error) {
	var r io.ReadCloser
	var err error
	if _, tree := f.store.(*treeStore); tree && m.reopen {
		r = &reopening{f: f}
	} else if r, err = f.Open(); err != nil {
		return nil, err
	}
	w, ahead := m.workers, m.ahead
	p := &pipeline{c: newChunker(r, m.chunkSize, m.pool), r: r, rd: m.reader()}
	if ahead == 0 {
		return p, nil
	}
	p.ahead = make(chan *parsed, ahead)
	p.stop = make(chan struct{})
	p.wg.Go(func() {
		defer close(p.ahead)
		for {
			ch, err := p.c.next()
			item := newParsed(ch, err)
			if err == nil {
				item.done = make(chan struct{})
				select {
				case w.jobs <- item:
				case <-p.stop:
					return
				}
			}
			select {
			case p.ahead <- item:
			case <-p.stop:
				return
			}
			if err != nil {
				return
			}
		}
	})
	return p, nil
}

// next is the next chunk, read. It is valid until the next call. At the end it
// is nil; an error is one of reading the file.
func (p *pipeline) next() (*parsed, error) {
	if last := p.free; last != nil && last.chunk != nil {
		p.c.recycle(last.chunk)
		last.chunk = nil
		spare.Put(last)
	}
	p.free = nil
	var item *parsed
	if p.ahead == nil {
		ch, err := p.c.next()
		item = newParsed(ch, err)
		if err == nil {
			item.read(&p.rd)
		}
	} else {
		var ok bool
		if item, ok = <-p.ahead; !ok {
			return nil, nil
		}
		if item.done != nil {
			<-item.done
		}
	}
	p.free = item
	switch {
	case item.err == nil:
		return item, nil
	case errors.Is(item.err, io.EOF):
		return nil, nil
	}
	return nil, fmt.Errorf("read: %w", item.err)
}

func (p *pipeline) close() error {
	if p.ahead != nil {
		close(p.stop)
		for item := range p.ahead {
			if item.done != nil {
				<-item.done
			}
		}
		p.wg.Wait()
	}
	return p.r.Close()
}
