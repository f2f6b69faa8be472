package timeline

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/view/timeline/jsonline"
)

// maxCell is the most characters (UTF-16 units) a spreadsheet cell holds.
const maxCell = 32767

// CSV writes the table for spreadsheets: RFC 4180, every field quoted, UTF-8
// without a byte order mark. A cell that a spreadsheet would take for a
// formula gets an apostrophe before it, characters that act instead of showing
// are written as \x1b or \u202e, and a text longer than a cell can hold is cut
// with a note. The other formats carry the text as it is.
type CSV struct {
	w      io.Writer
	source bool
	buf    []byte
	text   []byte
	head   bool
}

// NewCSV writes to w, with the source columns if asked for.
func NewCSV(w io.Writer, source bool) *CSV { return &CSV{w: w, source: source} }

// Write adds a row.
func (c *CSV) Write(row *Row) error {
	c.header()
	c.field([]byte(row.Timestamp()))
	for _, s := range []string{row.Session, row.Project, row.Branch, string(row.Type), row.Model, row.Tool, row.CallID} {
		c.next([]byte(s))
	}
	c.text = row.Text.Append(c.text[:0])
	c.next(c.text)
	c.buf = append(c.buf, ',')
	c.buf = strconv.AppendInt(c.buf, row.Line, 10)
	if c.source {
		c.next([]byte(row.File))
		c.buf = append(c.buf, ',')
		c.buf = strconv.AppendInt(c.buf, row.Offset, 10)
	}
	c.buf = append(c.buf, '\r', '\n')
	if len(c.buf) >= flushAt {
		return c.flush()
	}
	return nil
}

func (c *CSV) header() {
	if c.head {
		return
	}
	c.head = true
	columns := Columns
	if c.source {
		columns = append(append([]string(nil), Columns...), SourceColumns...)
	}
	for i, name := range columns {
		if i > 0 {
			c.buf = append(c.buf, ',')
		}
		c.buf = append(c.buf, name...)
	}
	c.buf = append(c.buf, '\r', '\n')
}

func (c *CSV) next(b []byte) {
	c.buf = append(c.buf, ',')
	c.field(b)
}

func (c *CSV) field(b []byte) {
	c.buf = append(c.buf, '"')
	cell := make([]byte, 0, len(b)+8)
	if formula(b) {
		cell = append(cell, '\'')
	}
	cell = appendVisible(cell, b)
	if kept, more := cutCell(cell); more > 0 {
		cell = fmt.Appendf(kept, " [cut here: %d more bytes]", more)
	}
	for {
		i := bytes.IndexByte(cell, '"')
		if i < 0 {
			break
		}
		c.buf = append(append(c.buf, cell[:i]...), '"', '"')
		cell = cell[i+1:]
	}
	c.buf = append(append(c.buf, cell...), '"')
}

// formula reports whether a spreadsheet could take a cell for a formula or a
// command: by its first character, also in full width. Behind spaces, which
// some programs drop, only what is a formula without doubt counts.
func formula(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case '\t', '\r', '\n':
		return true
	}
	rest := bytes.TrimLeft(b, " \u00a0")
	r, _ := utf8.DecodeRune(rest)
	switch r {
	case '=', '@', '＝', '＠':
		return true
	case '+', '-', '＋', '－':
		return len(rest) == len(b)
	}
	return false
}

// appendVisible writes characters that act instead of showing as escapes; tabs
// and line ends stay.
func appendVisible(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r == '\n' || r == '\t' || r == '\r' && i+1 < len(b) && b[i+1] == '\n':
			dst = append(dst, byte(r))
		case r < 0x100 && jsonline.Unsafe(r):
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case jsonline.Unsafe(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
		i += n
	}
	return dst
}

// cutCell cuts text to what a cell holds, with room for the note, and says how
// many bytes are over.
func cutCell(b []byte) (kept []byte, more int) {
	if len(b) <= maxCell {
		return b, 0
	}
	const room = maxCell - 64
	units, at := 0, -1
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if units++; r > 0xffff {
			units++
		}
		if units > room && at < 0 {
			at = i
		}
		if units > maxCell {
			return b[:at:at], len(b) - at
		}
		i += n
	}
	return b, 0
}

func (c *CSV) flush() error {
	if _, err := c.w.Write(c.buf); err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	c.buf = c.buf[:0]
	return nil
}

// Close writes the rest; a table without rows has its header.
func (c *CSV) Close() error {
	c.header()
	return c.flush()
}
