package muse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

var errNotObject = errors.New("not a JSON object")

// DefaultMaxLine is the longest line a reader takes, in bytes, unless told
// otherwise.
const DefaultMaxLine = 32 << 20

// ReaderOptions set limits and strictness of a [Reader].
type ReaderOptions struct {
	// Strict makes the first violation an error (seed 002): every line must be
	// one record in valid UTF-8 without duplicate keys at any depth, of the
	// known schema version. A carriage return before the line end is allowed.
	// The whole-stream rules are checked by [ReadStrict].
	Strict bool
	// MaxLine is the longest line in bytes; longer ones are skipped with a
	// diagnostic (an error when strict). 0 means [DefaultMaxLine].
	MaxLine int
	// Diagnostics receives findings; nil makes the reader keep its own log.
	Diagnostics *DiagnosticLog
	// Noise is called with each line that is not a record. The bytes are valid
	// during the call.
	Noise func(line []byte)
}

// StrictError is the first violation found in strict mode.
type StrictError struct {
	Line int64 // 1-based; 0 for a rule about the whole stream
	Err  error
}

func (e *StrictError) Error() string {
	if e.Line == 0 {
		return "strict stream: " + e.Err.Error()
	}
	return fmt.Sprintf("strict stream: line %d: %v", e.Line, e.Err)
}

func (e *StrictError) Unwrap() error { return e.Err }

// Reader decodes the stdout of `muse exec --json` line by line. Its memory is
// bounded by the longest line it takes. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	opts    ReaderOptions
	buf     []byte
	start   int // of unread bytes
	scanned int // bytes after start that hold no newline
	end     int
	err     error // of src, once seen
	line    int64
	asm     assembler
	seen    versions
	bad     int64 // lines that were lost
}

// versions remembers which version numbers a stream carried.
type versions struct{ schema, payload []int }

func note(list *[]int, n int) {
	if !slices.Contains(*list, n) && len(*list) < 16 {
		*list = append(*list, n)
	}
}

// NewReader returns a reader of src. It buffers; src must not be read by
// others.
func NewReader(src io.Reader, opts ReaderOptions) *Reader {
	if opts.MaxLine <= 0 {
		opts.MaxLine = DefaultMaxLine
	}
	if opts.Diagnostics == nil {
		opts.Diagnostics = &DiagnosticLog{}
	}
	r := &Reader{src: src, opts: opts, buf: make([]byte, min(64<<10, opts.MaxLine+1))}
	r.asm.diags = opts.Diagnostics
	return r
}

// Diagnostics is the log that findings go to.
func (r *Reader) Diagnostics() *DiagnosticLog { return r.opts.Diagnostics }

// Lost is the number of lines so far that could not be read as records, blank
// lines not counted.
func (r *Reader) Lost() int64 { return r.bad }

// SchemaVersions are the distinct envelope versions seen so far, at most 16.
func (r *Reader) SchemaVersions() []int { return slices.Clone(r.seen.schema) }

// PayloadVersions are the distinct payload schema versions seen so far, at
// most 16.
func (r *Reader) PayloadVersions() []int { return slices.Clone(r.seen.payload) }

// Next returns the next record. Lines that are no records are skipped with a
// diagnostic, or end the stream with a [*StrictError] in strict mode. At the
// end of the stream it returns io.EOF; other errors come from the source.
func (r *Reader) Next() (*Event, error) {
	for {
		line, complete, err := r.readLine()
		if err != nil {
			return nil, err
		}
		e, err := r.decode(line, complete)
		if err != nil {
			r.err, r.start, r.end, r.scanned = err, 0, 0, 0
			return nil, err
		}
		if e != nil {
			return e, nil
		}
	}
}

// All iterates over the remaining records. The last pair carries a non-nil
// error only when the stream did not end in io.EOF.
func (r *Reader) All() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		for {
			e, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// readLine returns the next line without its line end; complete is false for a
// last line that has none. An over-long line is skipped here.
func (r *Reader) readLine() (line []byte, complete bool, err error) {
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.scanned:r.end], '\n'); i >= 0 {
			line = r.buf[r.start : r.start+r.scanned+i]
			r.start += r.scanned + i + 1
			r.scanned = 0
			r.line++
			if len(line) <= r.opts.MaxLine {
				return trimCR(line), true, nil
			}
			if err := r.tooLong(line, int64(len(line))); err != nil {
				return nil, false, err
			}
			continue
		}
		r.scanned = r.end - r.start
		if r.scanned > r.opts.MaxLine {
			if err := r.skipLong(); err != nil {
				return nil, false, err
			}
			continue
		}
		if r.err != nil {
			if r.scanned == 0 || !errors.Is(r.err, io.EOF) {
				return nil, false, r.err
			}
			line = r.buf[r.start:r.end]
			r.start, r.scanned = r.end, 0
			r.line++
			return trimCR(line), false, nil
		}
		r.fill()
	}
}

func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}

// fill reads once, making room first: by moving what is unread to the front,
// and by doubling up to the longest line.
func (r *Reader) fill() {
	if r.start > 0 {
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, min(2*len(r.buf), r.opts.MaxLine+64<<10))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

// skipLong discards the rest of a line that is longer than the limit.
func (r *Reader) skipLong() error {
	r.line++
	prefix := bytes.Clone(r.buf[r.start:min(r.end, r.start+4096)])
	length := int64(r.end - r.start)
	for {
		r.start, r.end, r.scanned = 0, 0, 0
		if r.err != nil {
			break
		}
		r.fill()
		if i := bytes.IndexByte(r.buf[:r.end], '\n'); i >= 0 {
			length += int64(i)
			r.start = i + 1
			break
		}
		length += int64(r.end)
	}
	return r.tooLong(prefix, length)
}

func (r *Reader) tooLong(prefix []byte, length int64) error {
	what := "a line"
	if name := payloadTypeOf(prefix); name != "" {
		what = fmt.Sprintf("a record of type %q", clip(name, 80))
	}
	err := fmt.Errorf("%s of %d bytes is longer than the limit of %d", what, length, r.opts.MaxLine)
	if r.opts.Strict {
		return &StrictError{r.line, err}
	}
	r.bad++
	r.Diagnostics().Add(DiagLineTooLong, r.line, "%s", err)
	return nil
}

// decode turns a line into an event; nil when there is nothing to report.
func (r *Reader) decode(line []byte, complete bool) (*Event, error) {
	if r.opts.Strict {
		return r.decodeStrict(line)
	}
	if r.line == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, nil
	}
	if !utf8.Valid(line) {
		r.Diagnostics().Add(DiagInvalidUTF8, r.line, "line is not UTF-8")
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	if err := r.asm.parse(line); err != nil {
		r.lost(line, complete, err)
		return nil, nil
	}
	e := r.asm.event(r.line, line)
	if e == nil {
		r.bad++
		if r.opts.Noise != nil {
			r.opts.Noise(line)
		}
		return nil, nil
	}
	note(&r.seen.schema, e.SchemaVersion)
	note(&r.seen.payload, e.PayloadSchemaVersion)
	return e, nil
}

func (r *Reader) lost(line []byte, complete bool, err error) {
	r.bad++
	if r.opts.Noise != nil {
		r.opts.Noise(line)
	}
	kind := DiagNotJSON
	if errors.Is(err, errNotObject) {
		kind = DiagNotEnvelope
	} else if !complete && errors.Is(err, errUnexpectedEnd) && line[0] == '{' {
		kind = DiagTruncatedLine
	}
	if r.Diagnostics().full(kind) {
		r.Diagnostics().count(kind)
		return
	}
	r.Diagnostics().Add(kind, r.line, "%v: %s", err, excerpt(line))
}

func (r *Reader) decodeStrict(line []byte) (*Event, error) {
	fail := func(err error) (*Event, error) { return nil, &StrictError{r.line, err} }
	// The strict decoder refuses duplicate names and invalid UTF-8 at any
	// depth; the scanner below then only takes the members apart.
	if err := checkJSON(line); err != nil {
		return fail(err)
	}
	if err := r.asm.parse(line); err != nil {
		return fail(err)
	}
	strict := DiagnosticLog{}
	r.asm.diags = &strict
	e := r.asm.event(r.line, line)
	r.asm.diags = r.opts.Diagnostics
	for _, d := range strict.found {
		switch d.Kind {
		case DiagUnknownType, DiagNewerPayload:
			r.Diagnostics().Add(d.Kind, d.Line, "%s", d.Message)
		default:
			return fail(errors.New(d.Message))
		}
	}
	note(&r.seen.schema, e.SchemaVersion)
	note(&r.seen.payload, e.PayloadSchemaVersion)
	return e, nil
}

// checkJSON validates one JSON value by RFC 8259 and I-JSON: no duplicate
// names at any depth, no invalid UTF-8, nothing after the value.
func checkJSON(data []byte) error {
	if jsontext.Value(data).IsValid() {
		return nil
	}
	// Only to say why: the check above is the faster one.
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	err := dec.SkipValue()
	if err == nil {
		if _, err = dec.ReadToken(); err == nil {
			return errors.New("more than one JSON value")
		}
	}
	if errors.Is(err, io.EOF) { // of this line, not of the stream
		return errors.New("no JSON value")
	}
	return err
}

// CheckJSON reports why text is not one strict JSON value: duplicate names at
// any depth, invalid UTF-8 and trailing data are refused. A final answer that
// claims to be structured is validated with it before it is believed.
func CheckJSON(text string) error {
	if err := checkJSON([]byte(text)); err != nil {
		return fmt.Errorf("check JSON text: %w", err)
	}
	return nil
}
