package timeline

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// Writer takes rows in their final order. Close writes what is buffered; it
// does not close what is below.
type Writer interface {
	Write(row *Row) error
	Close() error
}

// flushAt is how much is gathered before it is handed on.
const flushAt = 512 << 10

// JSONL writes one object a line, with every column in order, no space, and
// empty strings for what is not known. Text is UTF-8 as it is, but for what a
// terminal or a line reader would act on, which is escaped.
type JSONL struct {
	w      io.Writer
	source bool
	buf    []byte

	clock  clock
	prefix []byte // the columns that rarely change, quoted
	last   [3]string
}

// NewJSONL writes to w, with the source columns if asked for.
func NewJSONL(w io.Writer, source bool) *JSONL {
	return &JSONL{w: w, source: source, buf: make([]byte, 0, flushAt+64<<10)}
}

// Write adds a row.
func (j *JSONL) Write(row *Row) error {
	b := append(j.buf, `{"timestamp_utc":"`...)
	if row.Timed {
		b = j.clock.append(b, row.At)
	}
	if key := [3]string{row.Session, row.Project, row.Branch}; key != j.last || j.prefix == nil {
		j.last = key
		p := append(j.prefix[:0], `","session_id":"`...)
		p = jsonline.AppendQuoted(p, []byte(row.Session))
		p = append(p, `","project_path":"`...)
		p = jsonline.AppendQuoted(p, []byte(row.Project))
		p = append(p, `","git_branch":"`...)
		p = jsonline.AppendQuoted(p, []byte(row.Branch))
		j.prefix = append(p, `","turn_type":"`...)
	}
	b = append(b, j.prefix...)
	b = append(b, row.Type...)
	b = append(b, `","model":"`...)
	b = jsonline.AppendQuoted(b, []byte(row.Model))
	b = append(b, `","tool_name":"`...)
	b = jsonline.AppendQuoted(b, []byte(row.Tool))
	b = append(b, `","tool_use_id":"`...)
	b = jsonline.AppendQuoted(b, []byte(row.CallID))
	b = append(b, `","text":"`...)
	b = row.Text.AppendJSON(b)
	b = append(b, `","source_line":`...)
	b = strconv.AppendInt(b, row.Line, 10)
	if j.source {
		b = append(b, `,"source_file":"`...)
		b = jsonline.AppendQuoted(b, []byte(row.File))
		b = append(b, `","source_offset":`...)
		b = strconv.AppendInt(b, row.Offset, 10)
	}
	j.buf = append(b, '}', '\n')
	if len(j.buf) >= flushAt {
		return j.flush()
	}
	return nil
}

func (j *JSONL) flush() error {
	if _, err := j.w.Write(j.buf); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	if cap(j.buf) > 8*flushAt { // a giant row must not keep its memory
		j.buf = make([]byte, 0, flushAt+64<<10)
	}
	j.buf = j.buf[:0]
	return nil
}

// Close writes the rest.
func (j *JSONL) Close() error { return j.flush() }

// clock formats times that are mostly within the same second.
type clock struct {
	second int64
	text   []byte
}

func (c *clock) append(dst []byte, micros int64) []byte {
	second, rest := micros/1e6, micros%1e6
	if rest < 0 {
		second, rest = second-1, rest+1e6
	}
	if c.text == nil || second != c.second {
		c.second = second
		c.text = time.Unix(second, 0).UTC().AppendFormat(c.text[:0], "2006-01-02T15:04:05.")
	}
	ms := rest / 1000
	dst = append(dst, c.text...)
	return append(dst, byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}
