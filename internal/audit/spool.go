package audit

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/openmuse/muse/internal/view/timeline"
)

// spoolMemory is how many bytes of rows are sorted in memory before they go to
// a temporary file; when many logs are sorted at once they share it.
const (
	spoolMemory = 24 << 20
	leastSpool  = 512 << 10
)

// spool sorts rows that do not come in order, in bounded memory: full buffers
// are sorted and written to a temporary file, and merged when they are read.
// Rows with equal keys keep the order they were added in.
type spool struct {
	limit int // bytes in memory; spoolMemory if 0
	items []item
	size  int
	seq   int64
	file  *os.File
	runs  []run
	end   int64
}

type item struct {
	key, seq int64
	row      timeline.Row
}

type run struct{ start, end int64 }

// add takes a copy of a row.
func (s *spool) add(key int64, row *timeline.Row) error {
	s.items = append(s.items, item{key, s.seq, row.Clone()})
	s.seq++
	s.size += 256 + len(row.Text.Prefix) + len(row.Text.Literal) + len(row.Text.Plain) + len(row.Raw)
	limit := s.limit
	if limit == 0 {
		limit = spoolMemory
	}
	if s.size < limit {
		return nil
	}
	return s.spill()
}

func (s *spool) sort() {
	slices.SortFunc(s.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.seq, b.seq))
	})
}

func (s *spool) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "openmuse-rows-*")
		if err != nil {
			return fmt.Errorf("make room for sorting: %w", err)
		}
		s.file = f
	}
	s.sort()
	w := bufio.NewWriterSize(s.file, 256<<10)
	start := s.end
	for i := range s.items {
		b := encodeItem(nil, &s.items[i])
		s.end += int64(len(b))
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write rows for sorting: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write rows for sorting: %w", err)
	}
	s.runs = append(s.runs, run{start, s.end})
	clear(s.items)
	s.items, s.size = s.items[:0], 0
	return nil
}

// close removes the temporary file.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	return errors.Join(err, os.Remove(s.file.Name()))
}

// sorted iterates over the rows in order. The spool takes no more rows.
func (s *spool) sorted() (*spoolReader, error) {
	s.sort()
	r := &spoolReader{s: s}
	if len(s.items) > 0 {
		r.heap = append(r.heap, &runReader{memory: s.items})
	}
	for _, run := range s.runs {
		section := io.NewSectionReader(s.file, run.start, run.end-run.start)
		r.heap = append(r.heap, &runReader{r: bufio.NewReaderSize(section, 32<<10)})
	}
	live := r.heap[:0]
	for _, rr := range r.heap {
		ok, err := rr.advance()
		if err != nil {
			return nil, err
		}
		if ok {
			live = append(live, rr)
		}
	}
	r.heap = live
	heap.Init(&r.heap)
	return r, nil
}

// spoolReader merges the runs.
type spoolReader struct {
	s    *spool
	heap runHeap
}

// next is the next row, valid until the call after; ok is false at the end.
func (r *spoolReader) next() (row *timeline.Row, ok bool, err error) {
	if len(r.heap) == 0 {
		return nil, false, nil
	}
	top := r.heap[0]
	out := top.current.row
	ok, err = top.advance()
	if err != nil {
		return nil, false, err
	}
	if ok {
		heap.Fix(&r.heap, 0)
	} else {
		heap.Pop(&r.heap)
	}
	return &out, true, nil
}

type runReader struct {
	memory  []item
	r       *bufio.Reader
	current item
}

func (rr *runReader) advance() (bool, error) {
	if rr.r == nil {
		if len(rr.memory) == 0 {
			return false, nil
		}
		rr.current, rr.memory = rr.memory[0], rr.memory[1:]
		return true, nil
	}
	it, err := decodeItem(rr.r)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read rows back: %w", err)
	}
	rr.current = it
	return true, nil
}

type runHeap []*runReader

func (h runHeap) Len() int { return len(h) }
func (h runHeap) Less(i, j int) bool {
	a, b := &h[i].current, &h[j].current
	return a.key < b.key || a.key == b.key && a.seq < b.seq
}
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*runReader)) }
func (h *runHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// encodeItem writes an item with the length of each text before it.
func encodeItem(b []byte, it *item) []byte {
	r := &it.row
	b = binary.AppendVarint(b, it.key)
	b = binary.AppendVarint(b, it.seq)
	b = binary.AppendVarint(b, r.At)
	flags := uint64(r.Kind) << 2
	if r.Timed {
		flags |= 1
	}
	if r.Text.Literal != nil {
		flags |= 2
	}
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendVarint(b, r.Line)
	b = binary.AppendVarint(b, r.Offset)
	for _, s := range []string{r.Session, r.Project, r.Branch, string(r.Type), r.Model, r.Tool, r.CallID, r.File, r.Text.Prefix} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	text := r.Text.Plain
	if r.Text.Literal != nil {
		text = r.Text.Literal
	}
	for _, p := range [][]byte{text, r.Raw} {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return b
}

// decodeItem reads what encodeItem wrote; io.EOF only at its start.
func decodeItem(r *bufio.Reader) (item, error) {
	var it item
	key, err := binary.ReadVarint(r)
	if err != nil {
		return it, err
	}
	d := decoder{r: r}
	it.key = key
	it.seq = d.int()
	row := &it.row
	row.At = d.int()
	flags := d.uint()
	row.Timed, row.Kind = flags&1 != 0, timeline.Kind(flags>>2)
	row.Line, row.Offset = d.int(), d.int()
	row.Session, row.Project, row.Branch = d.text(), d.text(), d.text()
	row.Type = timeline.TurnType(d.text())
	row.Model, row.Tool, row.CallID, row.File = d.text(), d.text(), d.text(), d.text()
	row.Text.Prefix = d.text()
	text := d.bytes()
	if flags&2 != 0 {
		row.Text.Literal = text
	} else {
		row.Text.Plain = text
	}
	row.Raw = d.bytes()
	if errors.Is(d.err, io.EOF) {
		d.err = io.ErrUnexpectedEOF
	}
	return it, d.err
}

type decoder struct {
	r   *bufio.Reader
	err error
}

func (d *decoder) int() int64 {
	if d.err != nil {
		return 0
	}
	var n int64
	n, d.err = binary.ReadVarint(d.r)
	return n
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	var n uint64
	n, d.err = binary.ReadUvarint(d.r)
	return n
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if d.err != nil {
		return nil
	}
	b := make([]byte, n)
	_, d.err = io.ReadFull(d.r, b)
	return b
}

func (d *decoder) text() string { return string(d.bytes()) }
