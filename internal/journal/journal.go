package journal

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"

	"github.com/openmuse/muse/internal/ident"
	"github.com/openmuse/muse/internal/record"
)

// ErrFailed is found with errors.Is in everything a journal returns after a
// write, a sync or the file under it failed. The cause can be found beside it.
var ErrFailed = errors.New("session log failed")

// ErrClosed is returned for work on a closed journal.
var ErrClosed = errors.New("session log is closed")

// Options sets up a journal. Only Stream is required.
type Options struct {
	// Stream is put into every record that has none.
	Stream record.Stream
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// NewID mints record ids, random version 4 UUIDs when nil.
	NewID func() string
	// OpenFile opens the log and the files beside it, os.OpenFile without
	// following symlinks when nil.
	OpenFile func(path string, flag int, perm os.FileMode) (File, error)
	// SyncDir makes the names in a directory durable; an fsync of it when nil.
	SyncDir func(dir string) error
	// OnLine gets each record that is already in the log while Open reads it,
	// as [Read] gives it: a session is continued with one reading.
	OnLine func(line record.Line, offset int64) error
	// Prepare is for work on a record that needs nothing but the record, such
	// as decoding its payload: it is called on several goroutines at once and
	// in any order. What it returns goes with the record to OnPrepared, which
	// is called in order in the place of OnLine. Both are set or neither.
	Prepare    func(line record.Line) any
	OnPrepared func(line record.Line, prepared any, offset int64) error
	// From, when not nil, is where an earlier reading of the whole log stood:
	// Open reads on from there, and who keeps such a place answers for the log
	// still beginning as it did then.
	From *Place
	// CheckpointRecords and CheckpointBytes say after how much growth a commit
	// writes an integrity checkpoint: 256 records or 1 MiB when 0.
	CheckpointRecords int64
	CheckpointBytes   int64
	// MaxLine overrides [MaxLine].
	MaxLine int
}

// Place is where a reader of a whole log stands behind its first Bytes bytes,
// all of them whole lines.
type Place struct {
	Bytes, Lines, Records      int64
	LastSequence, LastRecorded int64
	// Hash is the state of a SHA-256 over those bytes, as crypto/sha256 marshals
	// it.
	Hash []byte
	// CheckpointStart is where the line of the last integrity checkpoint begins;
	// CheckpointRecords and CheckpointEnd are how many records and bytes there
	// are up to and with it. All are 0 when there is none.
	CheckpointStart, CheckpointRecords, CheckpointEnd int64
	Sealed                                            bool // the last line is a sealing checkpoint
}

func (o *Options) defaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = ident.V4
	}
	if o.OpenFile == nil {
		o.OpenFile = openFile
	}
	if o.SyncDir == nil {
		o.SyncDir = syncDir
	}
	if o.OnLine == nil {
		o.OnLine = func(record.Line, int64) error { return nil }
	}
	if o.CheckpointRecords == 0 {
		o.CheckpointRecords = 256
	}
	if o.CheckpointBytes == 0 {
		o.CheckpointBytes = 1 << 20
	}
	if o.MaxLine == 0 {
		o.MaxLine = MaxLine
	}
}

// Journal is a log open for appending. It is safe for concurrent use; records
// lie in the file in the order in which the appends returned.
type Journal struct {
	path string
	opts Options

	mu       sync.Mutex
	file     File
	size     int64 // bytes of the file that are whole records
	lines    int64
	sequence int64
	recorded int64
	hash     hash.Hash // over the first size bytes
	since    mark      // growth since the last checkpoint
	digests  lineDigests
	sealed   bool // the last line is a sealing checkpoint
	buf      []byte
	dirty    bool // size bytes are not all synced
	newName  bool // the name of the file is not synced
	failed   error
	closed   bool

	syncing sync.Mutex // one fsync at a time; taken before mu
}

type mark struct{ records, bytes int64 }

// Create makes a new, empty log with mode 0600. It fails if the file exists.
func Create(path string, opts Options) (*Journal, error) {
	opts.defaults()
	f, err := opts.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create session log: %w", err)
	}
	return &Journal{path: path, opts: opts, file: f, hash: sha256.New(), newName: true, digests: lineDigests{known: true}}, nil
}

// OpenReport is what Open found and did.
type OpenReport struct {
	Report
	// TornFile is the file that a torn last line was moved to, with Tail
	// saying where it stood; empty when the log ended well.
	TornFile string
	// AddedLineFeed says that the last line was whole but for its line feed.
	AddedLineFeed bool
}

// Open opens an existing log for appending. It reads the whole log once, gives
// each record to Options.OnLine, repairs its end and says in the report what
// it found. On error the log is as it was, except that a repair may be done.
func Open(path string, opts Options) (*Journal, OpenReport, error) {
	opts.defaults()
	f, err := opts.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, OpenReport{}, fmt.Errorf("open session log: %w", err)
	}
	j, report, err := open(path, f, opts)
	if err != nil {
		// The first error is the one to report; nothing was written that a
		// failing close could lose.
		_ = f.Close()
		return nil, report, fmt.Errorf("open session log %s: %w", path, err)
	}
	return j, report, nil
}

func open(path string, f File, opts Options) (*Journal, OpenReport, error) {
	var report OpenReport
	info, err := f.Stat()
	if err != nil {
		return nil, report, err
	}
	if !info.Mode().IsRegular() {
		return nil, report, errors.New("not a regular file")
	}
	p := pass{fn: records(opts.OnLine), maxLine: opts.MaxLine, hasher: newHasher()}
	if opts.Prepare != nil {
		p.prepare = opts.Prepare
		p.fn = func(e Entry) error {
			if e.Err != nil {
				return nil
			}
			return opts.OnPrepared(e.Line, e.Prepared, e.Offset)
		}
	}
	if err := p.goOn(opts.From, info.Size()); err != nil {
		return nil, report, err
	}
	rest := info.Size() - p.report.Bytes
	p.block = int(min(max(rest+1, 4<<10), blockSize)) // a small log needs no large blocks
	if err := p.run(io.NewSectionReader(f, p.report.Bytes, rest)); err != nil {
		return nil, report, err
	}
	report.Report = p.report
	j := &Journal{
		path: path, opts: opts, file: f, size: p.report.Bytes, lines: p.report.Lines,
		sequence: p.report.LastSequence, recorded: p.report.LastRecorded,
		hash: p.hasher.state, sealed: p.report.Sealed,
	}
	if t := p.report.Tail; t != nil && !t.Whole {
		j.hash = p.hasher.pending
	}
	if err := j.repair(&report); err != nil {
		return nil, report, err
	}
	j.since = mark{p.report.Records - p.last.records, j.size - p.last.bytes}
	if err := j.readTail(p.lastStart); err != nil {
		return nil, report, err
	}
	return j, report, nil
}

// Path is the file the journal writes.
func (j *Journal) Path() string { return j.path }

// Size is the length of the log in bytes.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Sequence is the number of the last record, 0 for an empty log.
func (j *Journal) Sequence() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.sequence
}
