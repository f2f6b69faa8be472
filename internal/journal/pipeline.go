package journal

import (
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/openmuse/muse/internal/record"
)

// blocksInFlight bounds the memory of a reading, with blockSize.
const blocksInFlight = 6

// parsed is one line, decoded.
type parsed struct {
	rawLine // without its bytes
	line    record.Line
	err     error // why it is no record
	object  bool  // it is a JSON object all the same; only known for a last line

	prepared any // see Options.Prepare
}

// block is a part of a log on its way through the pipeline.
type block struct {
	data  []byte // as read
	raw   []rawLine
	lines []parsed
	tail  int64 // offset of the line that data ends in
	err   error // that ended the reading after this block
	ready chan struct{}
}

// pipeline reads a log with one goroutine that reads and cuts, some that check
// and decode, and the caller's, which gets the blocks in order.
type pipeline struct {
	size    int // of a block in bytes
	maxLine int
	from    splitter              // where the reading begins
	prepare func(record.Line) any // may be nil
	free    chan *block
	work    chan *block
	order   chan *block
	stop    chan struct{}
	wait    sync.WaitGroup
}

func newPipeline(size, maxLine int, prepare func(record.Line) any) *pipeline {
	p := &pipeline{
		size: size, maxLine: maxLine, prepare: prepare,
		free:  make(chan *block, blocksInFlight),
		work:  make(chan *block, blocksInFlight),
		order: make(chan *block, blocksInFlight),
		stop:  make(chan struct{}),
	}
	for range blocksInFlight {
		p.free <- &block{ready: make(chan struct{}, 1)}
	}
	return p
}

// start reads r until its end, an error or [pipeline.close].
func (p *pipeline) start(r io.Reader) {
	p.wait.Go(func() { p.read(r) })
	for range min(runtime.GOMAXPROCS(0), 4) {
		p.wait.Go(p.decode)
	}
}

// close ends the reading early if need be and waits for the goroutines.
func (p *pipeline) close() {
	close(p.stop)
	p.wait.Wait()
}

// release gives a block back when neither its bytes nor its lines are needed.
func (p *pipeline) release(b *block) { p.free <- b }

func (p *pipeline) read(r io.Reader) {
	defer close(p.order)
	defer close(p.work)
	s := p.from
	s.maxLine = p.maxLine
	for {
		var b *block
		select {
		case b = <-p.free:
		case <-p.stop:
			return
		}
		if cap(b.data) == 0 {
			b.data = make([]byte, p.size)
		}
		b.raw, b.lines = b.raw[:0], b.lines[:0]
		n, err := io.ReadFull(r, b.data[:cap(b.data)])
		b.data = b.data[:n]
		keep := func(l rawLine) { b.raw = append(b.raw, l) }
		s.cut(b.data, keep)
		last := err != nil
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			s.rest(keep)
			err = nil
		}
		b.tail, b.err = s.start, err
		p.work <- b
		p.order <- b
		if last {
			return
		}
	}
}

// decode takes blocks in any order; each block knows when it is ready.
func (p *pipeline) decode() {
	var parser record.Parser
	for b := range p.work {
		select {
		case <-p.stop:
			continue // nobody waits for it
		default:
		}
		for _, raw := range b.raw {
			l := parsed{rawLine: raw}
			l.bytes = nil
			if raw.bytes != nil {
				body := raw.bytes
				if !raw.own {
					// A copy, so that the receiver may keep the line: this
					// costs little beside checking it, and a line that changes
					// later is a fault that is hard to find.
					body = append([]byte(nil), body...)
				}
				l.line, l.err = parser.ParseLine(body)
				if l.err == nil && p.prepare != nil {
					l.prepared = p.prepare(l.line)
				}
				l.object = l.err == nil || !raw.ended && isObject(body)
			}
			b.lines = append(b.lines, l)
		}
		clear(b.raw)
		b.ready <- struct{}{}
	}
}
