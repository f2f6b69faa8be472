package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/openmuse/muse/internal/view/timeline"
	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// survey is what a first, fast look at a log tells: which times it spans, and
// whether they only grow, so that its rows need no sorting.
type survey struct {
	first, last int64
	timed       bool
	sorted      bool
	lines       int64
	bytes       int64
	foreign     bool // the first record is not of this format
	records     bool // there is a record
}

// The keys that the survey looks for. Inside a text every quote is escaped, so
// a key that stands unescaped is one.
var (
	timeKey    = []byte(`"recorded_at":`)
	payloadKey = []byte(`"payload":`)
	frameKey   = []byte(`"retained_frame"`)
	markerKey  = []byte(`"retained_marker"`)
)

// look surveys a log. It reads the whole of it at the speed of memory and
// decodes only its first record.
func look(f *File, pool *sync.Pool) (survey, error) {
	s := survey{sorted: true}
	r, err := f.Open()
	if err != nil {
		return s, err
	}
	defer r.Close()
	c := newChunker(r, maxChunk, pool)
	var rd timeline.Reader
	for {
		ch, err := c.next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, fmt.Errorf("read %s: %w", f.Label, err)
		}
		ch.lines(func(line []byte, number, _ int64) {
			s.lines++
			if number == 1 {
				line = bytes.TrimPrefix(line, bom)
			}
			if !s.records && ch.tooLong == 0 {
				_, shape := rd.Line(line, number, 0, nil)
				s.records = shape >= timeline.Marker || shape == timeline.Foreign && isObject(line)
				s.foreign = s.records && shape == timeline.Foreign
			}
			s.line(line)
		})
		s.bytes = c.offset
		c.recycle(ch)
		if s.foreign {
			return s, nil
		}
	}
}

var bom = []byte("\ufeff")

func isObject(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] == '{'
}

// line takes the time of a line. A line whose time is not where a writer puts
// it makes the log one to be sorted.
func (s *survey) line(line []byte) {
	if i := usualPlace(line); i >= 0 {
		s.time(line[i+len(timeKey):])
		return
	}
	i := bytes.Index(line, timeKey)
	head := line[:max(i, 0)]
	switch {
	case i < 0 && !bytes.Contains(line, frameKey):
		// A marker, a line that cannot be read, or a record without a time.
	case bytes.Contains(head, markerKey):
	case i < 0, bytes.Contains(head, frameKey), bytes.Contains(head, payloadKey):
		s.slow(line)
	default:
		s.time(line[i+len(timeKey):])
	}
}

// usualPlace finds the time key where every known writer puts it, behind ids
// of 36 characters, with one look at an underscore; -1 if it is not there.
func usualPlace(line []byte) int {
	const from, to = 100, 260
	if len(line) < to || string(line[:len(usualStart)]) != usualStart {
		return -1
	}
	i := bytes.IndexByte(line[from:to], '_') + from - len(`"recorded`)
	if i < from || string(line[i:i+len(timeKey)]) != string(timeKey) {
		return -1
	}
	return i
}

const usualStart = `{"schema_version":1,"id":"`

// time takes the number that b starts with.
func (s *survey) time(b []byte) {
	n, digits := int64(0), 0
	for digits < len(b) && digits < 18 && b[digits] >= '0' && b[digits] <= '9' {
		n = n*10 + int64(b[digits]-'0')
		digits++
	}
	if digits < 10 || digits == len(b) || b[digits] != ',' && b[digits] != '}' {
		s.sorted = false // a form that only the reader knows
		return
	}
	s.at(n)
}

func (s *survey) at(n int64) {
	if !s.timed || n < s.first {
		s.first = n
	}
	if s.timed && n < s.last {
		s.sorted = false
	}
	if !s.timed || n > s.last {
		s.last = n
	}
	s.timed = true
}

// slow reads the line in full. The times of a frame's children count in their
// order.
func (s *survey) slow(line []byte) {
	if !jsonline.Valid(line) {
		return
	}
	ok := true
	walkTimes(line, 0, func(val []byte) {
		n, whole := jsonline.Int(val)
		if !whole {
			ok = false
			return
		}
		s.at(n)
	})
	if !ok {
		s.sorted = false
	}
}

// walkTimes finds recorded_at of an envelope and of the envelopes in a frame.
func walkTimes(line []byte, depth int, fn func(val []byte)) {
	if val := jsonline.Get(line, "recorded_at"); val != nil {
		fn(val)
		return
	}
	if depth > 4 {
		return
	}
	for e := jsonline.Elements(jsonline.Get(line, "children")); e.Next(); {
		lit, ok := jsonline.Literal(jsonline.Get(e.Val, "record_json"))
		if inner := jsonline.Text(lit); ok && jsonline.Valid(inner) {
			walkTimes(inner, depth+1, fn)
		}
	}
}
