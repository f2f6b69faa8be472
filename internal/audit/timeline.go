package audit

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/openmuse/muse/internal/view/timeline"
)

// TimelineOptions say what of an input goes into a timeline.
type TimelineOptions struct {
	Thinking bool
	Filter   Filter
	// Observe, if any, is shown every event of every log, in the log's order,
	// also of those that give no row.
	Observe func(f *File, ev *timeline.Event)
}

// Stats is what a timeline was made from.
type Stats struct {
	Logs     int
	Foreign  []string // files that turned out to be no log
	Rows     int64
	BadLines int64
	Bytes    int64
	Undated  bool // rows without a time were left out by a time bound
	Problems []Problem
}

// Timeline merges the rows of all files of an input, by time, into w. Rows of
// the same time stand in the order of the files and of their lines; rows
// without a time (lines that cannot be read, the prompt history) stand last.
// The caller closes w.
func Timeline(ctx context.Context, in *Input, opts TimelineOptions, w timeline.Writer) (Stats, error) {
	m := &merger{
		ctx: ctx, opts: opts, w: w, heads: map[*File]head{}, pool: &sync.Pool{},
	}
	m.stats.Problems = slices.Clone(in.Problems)
	defer m.tail.close()
	err := m.run(in.Files)
	return m.stats, err
}

type merger struct {
	ctx   context.Context
	opts  TimelineOptions
	w     timeline.Writer
	stats Stats

	pool      *sync.Pool
	workers   *workers
	chunkSize int
	ahead     int
	reopen    bool // hold no file open between chunks

	spoolLimit int // of each log that has to be sorted
	heads      map[*File]head
	tail       spool
}

func (m *merger) reader() timeline.Reader {
	return timeline.Reader{Thinking: m.opts.Thinking, Extra: m.opts.Observe != nil}
}

func (m *merger) problem(path string, err error) {
	m.stats.Problems = append(m.stats.Problems, Problem{path, err})
}

func (m *merger) run(files []*File) error {
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b *File) int { return cmp.Compare(a.Label, b.Label) })
	var pending []*source
	for order, f := range files {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		var s *source
		switch f.Kind {
		case History:
			if err := m.history(f, order); err != nil {
				return err
			}
		case Trust:
			var err error
			if s, err = m.trust(f, order); err != nil {
				return err
			}
		default:
			s = m.survey(f, order)
		}
		if s != nil {
			pending = append(pending, s)
		}
	}
	slices.SortStableFunc(pending, func(a, b *source) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.order, b.order))
	})
	m.plan(pending)
	m.workers = startWorkers(runtime.GOMAXPROCS(0), m.opts.Thinking, m.opts.Observe != nil)
	defer m.workers.close()
	if err := m.merge(pending); err != nil {
		return err
	}
	return m.drainTail()
}

// survey looks at a log; nil means that it gives no rows.
func (m *merger) survey(f *File, order int) *source {
	s, err := look(f, m.pool)
	if err != nil {
		m.problem(f.Label, err)
		if s.lines == 0 {
			return nil
		}
		s.sorted = false
	}
	if s.foreign {
		m.stats.Foreign = append(m.stats.Foreign, f.Label)
		return nil
	}
	m.stats.Logs++
	m.stats.Bytes += s.bytes
	if f := m.opts.Filter; m.opts.Observe == nil && s.timed && s.sorted && (f.Since != 0 && s.last < f.Since || f.Until != 0 && s.first > f.Until) {
		return nil
	}
	return &source{m: m, f: f, order: order, first: s.first, sorted: s.sorted, last: s.last}
}

// plan bounds the memory of the logs that are open at once.
func (m *merger) plan(sources []*source) {
	type edge struct {
		at   int64
		step int
	}
	var edges []edge
	for _, s := range sources {
		if s.f != nil {
			edges = append(edges, edge{s.first, 1}, edge{s.last, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step)) })
	open, most := 0, 1
	for _, e := range edges {
		open += e.step
		most = max(most, open)
	}
	const budget = 32 << 20
	m.chunkSize = max(minChunk, min(maxChunk, budget/(6*most)))
	switch {
	case most == 1:
		m.ahead = 4
	case most <= 16:
		m.ahead = 1
	}
	m.reopen = most > maxOpenFiles
	m.spoolLimit = max(leastSpool, 2*spoolMemory/most)
}

// merge writes the rows of all sources by time. A log is opened when its first
// row is due and closed after its last, so that only logs of the same time are
// open together.
func (m *merger) merge(pending []*source) (err error) {
	var h sourceHeap
	defer func() {
		for _, s := range h {
			err = errors.Join(err, s.close())
		}
	}()
	for len(pending) > 0 || len(h) > 0 {
		for len(pending) > 0 && (len(h) == 0 || pending[0].first <= h[0].row.At) {
			s := pending[0]
			pending = pending[1:]
			if err := s.start(); err != nil {
				m.problem(s.f.Label, err)
				if err := s.close(); err != nil {
					return err
				}
				continue
			}
			if err := s.advance(); err != nil {
				return errors.Join(err, s.close())
			}
			if s.row == nil {
				if err := s.close(); err != nil {
					return err
				}
				continue
			}
			heap.Push(&h, s)
		}
		if len(h) == 0 {
			continue
		}
		if err := m.write(&h, pending); err != nil {
			return err
		}
	}
	return nil
}

// write writes rows until another log is due.
func (m *merger) write(h *sourceHeap, pending []*source) error {
	for len(*h) > 0 {
		s := (*h)[0]
		if len(pending) > 0 && pending[0].first <= s.row.At {
			return nil
		}
		if m.stats.Rows++; m.stats.Rows&1023 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		if err := m.w.Write(s.row); err != nil {
			return err
		}
		if err := s.advance(); err != nil {
			return err
		}
		if s.row == nil {
			heap.Pop(h)
			if err := s.close(); err != nil {
				return err
			}
		} else if len(*h) > 1 {
			heap.Fix(h, 0)
		}
	}
	return nil
}

func (m *merger) drainTail() error {
	r, err := m.tail.sorted()
	if err != nil {
		return err
	}
	for {
		row, ok, err := r.next()
		if err != nil {
			return err
		}
		if !ok {
			return m.ctx.Err()
		}
		m.stats.Rows++
		if err := m.w.Write(row); err != nil {
			return err
		}
	}
}

type sourceHeap []*source

func (h sourceHeap) Len() int { return len(h) }
func (h sourceHeap) Less(i, j int) bool {
	return h[i].row.At < h[j].row.At || h[i].row.At == h[j].row.At && h[i].order < h[j].order
}
func (h sourceHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *sourceHeap) Push(x any)   { *h = append(*h, x.(*source)) }
func (h *sourceHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
