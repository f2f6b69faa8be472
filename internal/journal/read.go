package journal

import (
	"fmt"
	"io"
	"os"

	"github.com/openmuse/muse/internal/record"
)

// Finding classes of a [Diagnostic].
const (
	BadLine            = "bad_line"            // not a record; skipped, its bytes stay
	BadChild           = "bad_child"           // a frame holds something that is no envelope
	LongLine           = "long_line"           // longer than MaxLine; skipped without loading it
	TornTail           = "torn_tail"           // the last line has no line feed and is no record
	SequenceGap        = "sequence_gap"        // numbers are missing before this line
	SequenceRepeat     = "sequence_repeat"     // a number came before, or out of order
	CheckpointMismatch = "checkpoint_mismatch" // earlier bytes are not those that were sealed
)

// maxDiagnostics is how many findings a report lists; the rest are counted.
const maxDiagnostics = 1000

// Diagnostic is something a reader found wrong with a log.
type Diagnostic struct {
	Class   string
	Line    int64 // from 1
	Offset  int64 // of the line's first byte
	Size    int64 // of the line in bytes
	Message string
}

func (d Diagnostic) String() string {
	return fmt.Sprintf("line %d (byte %d): %s: %s", d.Line, d.Offset, d.Class, d.Message)
}

// Report is what a pass over a log found.
type Report struct {
	Bytes        int64 // read, including a torn tail
	Lines        int64 // with a line feed
	Records      int64 // envelopes, frame children and markers
	LastSequence int64 // the highest; 0 for an empty log
	LastRecorded int64 // the latest recorded_at, in microseconds
	Checkpoints  int64 // integrity checkpoints found
	Sealed       bool  // the last whole line is a sealing checkpoint
	Digest       string
	Tail         *Tail // the unterminated last line, if there is one

	Diagnostics []Diagnostic // in line order, except that checkpoint mismatches come last
	Omitted     int64        // findings beyond those listed
}

// Tail is an unterminated last line.
type Tail struct {
	Offset, Size int64
	Whole        bool // it is a record that lacks only its line feed
}

func (r *Report) add(d Diagnostic) {
	if len(r.Diagnostics) >= maxDiagnostics {
		r.Omitted++
		return
	}
	r.Diagnostics = append(r.Diagnostics, d)
}

// ReadOptions changes how a log is read. The zero value reads with the limits
// of this package and hashes nothing.
type ReadOptions struct {
	// MaxLine overrides [MaxLine].
	MaxLine int
	// Verify hashes the log beside reading it, compares every integrity
	// checkpoint and fills [Report.Digest].
	Verify bool
	// Prepare is for work on a record that needs nothing but the record, such
	// as decoding its payload: it is called on several goroutines at once and
	// in any order, and what it returns comes as [Entry.Prepared], in order.
	Prepare func(line record.Line) any
}

// Read streams the log at path: fn gets each record line in order with the
// offset of its first byte. Lines that are no records are skipped and listed
// in the report. Memory does not grow with the log. The log may be written to
// meanwhile; a line that is being written counts as a torn tail.
//
// A line handed to fn may be kept. An error from fn ends the reading and is
// returned as it is.
func Read(path string, fn func(line record.Line, offset int64) error) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, fmt.Errorf("read log: %w", err)
	}
	defer f.Close()
	return ReadFrom(f, ReadOptions{}, fn)
}

// ReadFrom is [Read] for any stream.
func ReadFrom(r io.Reader, opts ReadOptions, fn func(line record.Line, offset int64) error) (Report, error) {
	return ReadEntries(r, opts, records(fn))
}

// Entry is a line of a log, good or bad, with its place in the file.
type Entry struct {
	record.Line       // zero when Err is not nil
	Err         error // why the line is no record
	Number      int64 // from 1
	Offset      int64 // of the first byte
	Size        int64 // in bytes, without the line feed
	Ended       bool  // a line feed follows

	Prepared any // what the Prepare of the reading's options returned
}

// records calls fn for the entries that are records.
func records(fn func(record.Line, int64) error) func(Entry) error {
	return func(e Entry) error {
		if e.Err != nil {
			return nil
		}
		return fn(e.Line, e.Offset)
	}
}

// ReadEntries is [ReadFrom] that hands over bad lines, too.
func ReadEntries(r io.Reader, opts ReadOptions, fn func(Entry) error) (Report, error) {
	p := pass{fn: fn, maxLine: opts.MaxLine, prepare: opts.Prepare}
	if opts.Verify {
		p.hasher = newHasher()
	}
	err := p.run(r)
	return p.report, err
}

// pass is one reading of a log.
type pass struct {
	fn        func(Entry) error
	prepare   func(record.Line) any // nil, or see Options.Prepare
	maxLine   int
	lastStart int64   // where the line of the last checkpoint starts
	block     int     // bytes read at a time, blockSize when 0
	hasher    *hasher // nil when the log is not hashed

	report Report
	broken []Diagnostic // found by the hasher; read after it ended
	last   mark         // where the last checkpoint was
}

// goOn takes a pass to the place of an earlier one; nil is the beginning.
func (p *pass) goOn(at *Place, size int64) error {
	if at == nil {
		return nil
	}
	if at.Bytes > size || at.Bytes < 0 || at.CheckpointEnd > at.Bytes {
		return fmt.Errorf("the log has %d bytes, fewer than were read before", size)
	}
	p.report = Report{
		Bytes: at.Bytes, Lines: at.Lines, Records: at.Records, LastSequence: at.LastSequence, LastRecorded: at.LastRecorded, Sealed: at.Sealed,
	}
	p.lastStart, p.last = at.CheckpointStart, mark{at.CheckpointRecords, at.CheckpointEnd}
	if at.Bytes == 0 {
		return nil
	}
	return p.hasher.goOn(at.Hash, at.Bytes)
}

func (p *pass) run(r io.Reader) error {
	if p.maxLine <= 0 {
		p.maxLine = MaxLine
	}
	if p.block == 0 {
		p.block = blockSize
	}
	pipe := newPipeline(p.block, p.maxLine, p.prepare)
	pipe.from = splitter{maxLine: p.maxLine, start: p.report.Bytes, total: p.report.Bytes, number: p.report.Lines}
	pipe.start(r)
	if p.hasher != nil {
		go p.hasher.run()
	}
	err := p.consume(pipe)
	if p.hasher != nil {
		p.hasher.end()
	}
	pipe.close()
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if p.hasher != nil {
		p.report.Digest = digest(p.hasher.state)
		for _, d := range p.broken {
			p.report.add(d)
		}
	}
	return nil
}

func (p *pass) consume(pipe *pipeline) error {
	for b := range pipe.order {
		<-b.ready
		p.report.Bytes += int64(len(b.data))
		for i := range b.lines {
			if err := p.line(&b.lines[i]); err != nil {
				return err
			}
			b.lines[i] = parsed{} // not kept alive by the block
		}
		err := b.err
		if p.hasher != nil {
			p.hasher.send(b.data, b.tail, func() { pipe.release(b) })
		} else {
			pipe.release(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) line(l *parsed) error {
	r := &p.report
	if l.ended {
		r.Lines++
		r.Sealed = false
	} else {
		r.Tail = &Tail{Offset: l.offset, Size: l.size, Whole: l.object}
	}
	where := Diagnostic{Line: l.number, Offset: l.offset, Size: l.size}
	e := Entry{Line: l.line, Err: l.err, Number: l.number, Offset: l.offset, Size: l.size, Ended: l.ended, Prepared: l.prepared}
	if l.long {
		e.Err = fmt.Errorf("%d bytes are more than the limit of %d", l.size, p.maxLine)
	}
	if e.Err == nil {
		p.account(l.line, where)
		return p.fn(e)
	}
	switch {
	case !l.ended && !l.object:
		where.Class = TornTail
	case l.long:
		where.Class = LongLine
	default:
		where.Class = BadLine
	}
	where.Message = e.Err.Error()
	r.add(where)
	return p.fn(e)
}

// account follows the numbering and the checkpoints.
func (p *pass) account(line record.Line, where Diagnostic) {
	switch line.Kind {
	case record.KindFrame:
		for _, c := range line.Frame.Children {
			e, err := c.Envelope()
			if err != nil {
				bad := where
				bad.Class, bad.Message = BadChild, err.Error()
				p.report.add(bad)
				continue
			}
			p.sequence(e.Sequence, where)
			p.report.LastRecorded = max(p.report.LastRecorded, e.RecordedAt)
		}
	case record.KindMarker:
		p.sequence(line.Marker.Sequence, where)
	case record.KindEnvelope:
		e := line.Envelope
		p.sequence(e.Sequence, where)
		p.report.LastRecorded = max(p.report.LastRecorded, e.RecordedAt)
		if e.PayloadType == CheckpointType {
			p.checkpoint(e, where)
		}
	}
}

func (p *pass) sequence(n int64, where Diagnostic) {
	r := &p.report
	r.Records++
	switch want := r.LastSequence + 1; {
	case n > want:
		where.Class, where.Message = SequenceGap, fmt.Sprintf("sequence %d follows %d", n, want-1)
		r.add(where)
	case n < want:
		where.Class, where.Message = SequenceRepeat, fmt.Sprintf("sequence %d follows %d", n, want-1)
		r.add(where)
	}
	r.LastSequence = max(r.LastSequence, n)
}

func (p *pass) checkpoint(e *record.Envelope, where Diagnostic) {
	r := &p.report
	r.Checkpoints++
	where.Class = CheckpointMismatch
	c, err := ParseCheckpoint(e)
	switch {
	case err != nil:
		where.Message = err.Error()
		r.add(where)
		return
	case c.Bytes != where.Offset:
		where.Message = fmt.Sprintf("checkpoint speaks of %d bytes but stands at byte %d", c.Bytes, where.Offset)
		r.add(where)
		return
	}
	r.Sealed = c.Sealed
	p.lastStart = where.Offset
	p.last = mark{records: r.Records, bytes: where.Offset + where.Size + 1}
	if p.hasher != nil {
		where.Message = fmt.Sprintf("the %d bytes before this line are not those that were sealed", c.Bytes)
		p.hasher.expect(check{offset: where.Offset, digest: c.Digest, failed: func() {
			p.broken = append(p.broken, where)
		}})
	}
}
