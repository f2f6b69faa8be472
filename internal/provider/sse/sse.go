// Package sse reads the event streams of model services: text/event-stream as
// the HTML standard defines it (server-sent events, "Interpreting an event
// stream").
//
// It is stricter than a browser in two ways that matter to a model client. An
// end of file inside an event is an error, because the event was cut; and bytes
// that are not UTF-8 are an error, because the damage would end up in a file.
// Lines may be as long as an event may be. Ids and retry times are not read: a
// model stream is never resumed.
package sse

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// DefaultLimit is the largest event read, in bytes of its lines. It is far above
// any tool call and keeps a broken service from filling the memory.
const DefaultLimit = 32 << 20

var (
	// ErrTruncated means that the stream ended inside an event.
	ErrTruncated = errors.New("event stream ended inside an event")
	// ErrNotUTF8 means that an event has bytes that are not UTF-8.
	ErrNotUTF8 = errors.New("event stream is not valid UTF-8")
	// ErrTooLong means that an event is longer than the limit.
	ErrTooLong = errors.New("event is too long")
)

// Event is one event. Its bytes are valid until the next call of Next.
type Event struct {
	Name string // the event field, "" when there was none
	Data []byte // the data lines joined by "\n"
}

// Reader splits a stream into events.
type Reader struct {
	src   io.Reader
	limit int

	buf      []byte // buf[pos:end] is unread
	pos, end int
	scanned  int  // bytes of buf[pos:end] known to hold no line end
	skipLF   bool // the last line ended in CR: an LF here belongs to it
	started  bool // the place of a byte order mark is behind
	eof      bool
	total    int64

	data  []byte
	name  string
	size  int  // bytes of the current event's lines
	field bool // the current event has a data, event, id or retry line
	hasD  bool // the current event has a data line
}

// NewReader reads events of at most limit bytes from src; 0 means
// DefaultLimit.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: src, limit: limit, buf: make([]byte, 4096)}
}

// BytesRead is how many bytes came from the source so far.
func (r *Reader) BytesRead() int64 { return r.total }

// Next returns the next event that has data. It returns io.EOF when the stream
// ended between events, ErrTruncated when it ended inside one, and the
// source's error otherwise.
func (r *Reader) Next() (Event, error) {
	name := ""
	r.data, r.size, r.field, r.hasD = r.data[:0], 0, false, false
	for {
		line, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && (r.field || r.pos < r.end) {
				return Event{}, ErrTruncated
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if !r.hasD { // the standard drops events without data
				name, r.size, r.field = "", 0, false
				continue
			}
			if !utf8.Valid(r.data) || !utf8.ValidString(name) {
				return Event{}, ErrNotUTF8
			}
			return Event{Name: name, Data: r.data}, nil
		}
		if r.size += len(line); r.size > r.limit {
			return Event{}, ErrTooLong
		}
		if line[0] == ':' {
			continue
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
		switch string(field) {
		case "data":
			if r.hasD {
				r.data = append(r.data, '\n')
			}
			r.data = append(r.data, value...)
			r.hasD, r.field = true, true
		case "event":
			name = r.intern(value)
			r.field = true
		case "id", "retry":
			r.field = true
		}
	}
}

// intern returns value as a string without a copy when it is the name of the
// event before, as it nearly always is.
func (r *Reader) intern(value []byte) string {
	if r.name != string(value) {
		r.name = string(value)
	}
	return r.name
}

// line returns the next line without its end. The bytes are valid until the
// next call.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.pos < r.end {
			if r.buf[r.pos] == '\n' {
				r.pos++
			}
			r.skipLF = false
		}
		unread := r.buf[r.pos:r.end]
		if i := lineEnd(unread[r.scanned:]); i >= 0 {
			i += r.scanned
			r.skipLF = unread[i] == '\r'
			r.pos += i + 1
			r.scanned = 0
			return r.trimMark(unread[:i]), nil
		}
		r.scanned = len(unread)
		if r.scanned > r.limit {
			return nil, ErrTooLong
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// lineEnd is the index of the first CR or LF in b, -1 when there is none.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf < 0 {
		return bytes.IndexByte(b, '\r')
	}
	if cr := bytes.IndexByte(b[:lf], '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// trimMark drops a byte order mark from the first line.
func (r *Reader) trimMark(line []byte) []byte {
	if r.started {
		return line
	}
	r.started = true
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
}

// fill reads more bytes behind buf[:end], making room first.
func (r *Reader) fill() error {
	if r.eof {
		return io.EOF
	}
	if r.pos > 0 {
		r.end = copy(r.buf, r.buf[r.pos:r.end])
		r.pos = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range 100 { // a source may return nothing, but not for ever
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.total += int64(n)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			r.eof = true
			if n == 0 {
				return io.EOF
			}
			return nil
		}
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}
