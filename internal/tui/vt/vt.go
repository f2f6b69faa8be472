// Package vt is a terminal for tests: it keeps a screen and a scrollback as a
// real one does, reflows both when it is resized, and notes every sequence that
// the UI has no use for, so that a test sees what reached the terminal raw.
package vt

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Terminal is a terminal. It is safe for concurrent use.
type Terminal struct {
	mu      sync.Mutex
	width   int
	height  int
	rows    []row // scrollback and screen; the screen is the last height rows
	top     int   // of the screen in rows
	x, y    int   // of the cursor on the screen
	wrapped bool  // the cursor waits behind the last column
	held    []byte
	changed chan struct{}

	region region // that scrolls
	other  *saved // what the other screen covers
	kept   saved  // the cursor that was kept
	typed  io.Writer

	odd   []string
	bells int
}

// row is one row; more says that it goes on in the next one.
type row struct {
	cells []string // "" is the second half of a wide character
	more  bool
}

// New is an empty terminal.
func New(width, height int) *Terminal {
	t := &Terminal{width: width, height: height, changed: make(chan struct{})}
	t.region = t.wholeRegion()
	t.grow()
	return t
}

func (t *Terminal) grow() {
	for len(t.rows) < t.top+t.height {
		t.rows = append(t.rows, row{})
	}
}

// Changed is closed at the next write or change of size.
func (t *Terminal) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

func (t *Terminal) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// Odd are the sequences that the UI does not use, quoted.
func (t *Terminal) Odd() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.odd...)
}

// Size is the size in columns and rows.
func (t *Terminal) Size() (width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.width, t.height
}

// Text is the scrollback and the screen, without blanks at the ends of rows and
// without empty rows at the end.
func (t *Terminal) Text() string { return t.text(0) }

// Screen is the screen alone.
func (t *Terminal) Screen() string {
	t.mu.Lock()
	top := t.top
	t.mu.Unlock()
	return t.text(top)
}

func (t *Terminal) text(from int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, r := range t.rows[from:] {
		line := strings.Join(r.cells, "")
		if r.more {
			b.WriteString(line)
			continue
		}
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Write takes in what a program writes.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	in := append(t.held, p...)
	t.held = nil
	for len(in) > 0 {
		n := t.take(in)
		if n == 0 {
			t.held = append([]byte(nil), in...)
			break
		}
		in = in[n:]
	}
	return len(p), nil
}

// take takes in one character or sequence; 0 when it is not whole.
func (t *Terminal) take(in []byte) int {
	switch c := in[0]; {
	case c == 0x1b:
		return t.escape(in)
	case c == '\r':
		t.x, t.wrapped = 0, false
		return 1
	case c == '\n':
		t.wrapped = false
		t.down()
		return 1
	case c == 7:
		t.bells++
		return 1
	case c < 0x20 || c == 0x7f:
		t.note(in[:1])
		switch c {
		case 8:
			t.x, t.wrapped = max(0, t.x-1), false
		case 9:
			t.x = min(t.width-1, (t.x/8+1)*8)
		}
		return 1
	case c < utf8.RuneSelf:
		n := 1
		for n < len(in) && in[n] >= 0x20 && in[n] < 0x7f {
			n++
		}
		// What follows may belong to the last character.
		if n < len(in) && in[n] >= utf8.RuneSelf && n > 1 {
			n--
		}
		if n > 1 {
			for _, b := range in[:n] {
				t.put(string(rune(b)), 1)
			}
			return n
		}
		if n == len(in) || in[n] < utf8.RuneSelf {
			t.put(string(rune(c)), 1)
			return 1
		}
	case !utf8.FullRune(in):
		return 0
	}
	end := 0
	for end < len(in) && in[end] >= 0x20 && in[end] != 0x7f && (utf8.FullRune(in[end:]) || end == 0) {
		_, n := utf8.DecodeRune(in[end:])
		end += n
		if end > 256 {
			break
		}
	}
	g := displaywidth.BytesGraphemes(in[:end])
	if !g.Next() {
		return 1
	}
	c := g.Value()
	if r, _ := utf8.DecodeRune(c); r >= 0x80 && r < 0xa0 {
		t.note(c)
		return len(c)
	}
	t.put(string(c), g.Width())
	return len(c)
}

func (t *Terminal) note(seq []byte) { t.odd = append(t.odd, fmt.Sprintf("%q", seq)) }

// put writes a character at the cursor.
func (t *Terminal) put(s string, w int) {
	if w == 0 {
		return
	}
	if t.wrapped || t.x+w > t.width {
		t.rows[t.top+t.y].more = true
		t.x, t.wrapped = 0, false
		t.down()
	}
	r := &t.rows[t.top+t.y]
	for len(r.cells) < t.x+w {
		r.cells = append(r.cells, " ")
	}
	r.cells[t.x] = s
	if w == 2 {
		r.cells[t.x+1] = ""
	}
	t.x += w
	if t.x >= t.width {
		t.x, t.wrapped = t.width-1, true
	}
}

// down goes a row down and scrolls at the end of the screen, or of the part of
// it that scrolls.
func (t *Terminal) down() {
	switch {
	case t.y == t.region.to && t.region == t.wholeRegion() && t.other == nil:
		t.top++
		t.grow()
	case t.y == t.region.to:
		t.scroll(t.region, false)
	case t.y < t.height-1:
		t.y++
	}
}

// escape takes in an escape sequence.
func (t *Terminal) escape(in []byte) int {
	if len(in) < 2 {
		return 0
	}
	switch in[1] {
	case '[':
	case ']', 'P', '_', '^', 'X':
		return t.command(in)
	case '(', ')', '#', '%':
		if len(in) < 3 {
			return 0
		}
		t.note(in[:3])
		return 3
	default:
		t.note(in[:2])
		t.plain(in[1])
		return 2
	}
	i := 2
	for i < len(in) && in[i] >= 0x20 && in[i] < 0x40 {
		i++
	}
	if i >= len(in) {
		return 0
	}
	if !t.control(string(in[2:i]), in[i]) {
		t.note(in[:i+1])
	}
	return i + 1
}

// command takes in a sequence that holds a text up to its end: BEL or ESC \.
func (t *Terminal) command(in []byte) int {
	for i := 2; i < len(in); i++ {
		n := 1
		switch {
		case in[i] == 7 && in[1] == ']':
		case in[i] == 0x1b && i+1 == len(in):
			return 0
		case in[i] == 0x1b && in[i+1] == '\\':
			n = 2
		default:
			continue
		}
		s := string(in[2:i])
		if in[1] != ']' || n == 2 || !strings.HasPrefix(s, "52;c;") && s != "9;muse waits for you" {
			t.note(in[:i+n])
		}
		if in[1] == ']' {
			t.osc(s)
		}
		return i + n
	}
	return 0
}

func (t *Terminal) clearRow(i, from int) {
	r := &t.rows[i]
	if from < len(r.cells) {
		r.cells = r.cells[:from]
	}
	r.more = false
}

// Resize changes the size as terminals do that reflow: long rows wrap and
// wrapped ones join, and the cursor stays at its character.
func (t *Terminal) Resize(width, height int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.tell()
	at := t.top + t.y
	// What is below the cursor and empty is no part of the text.
	last := len(t.rows)
	for last > at+1 && len(t.rows[last-1].cells) == 0 {
		last--
	}
	var out []row
	cursor, x := 0, 0
	var line []string
	offset := -1 // of the cursor in line
	for i, r := range t.rows[:last] {
		if i == at {
			offset = len(line) + t.x
		}
		line = append(line, r.cells...)
		if r.more {
			continue
		}
		pieces := split(line, width)
		if offset >= 0 {
			cursor, x = len(out)+min(offset/width, len(pieces)-1), offset%width
			offset = -1
		}
		out = append(out, pieces...)
		line = nil
	}
	t.width, t.height = width, height
	t.region = t.wholeRegion()
	// Rows below the cursor go first when there is no room for them.
	t.top = max(0, len(out)-height)
	if t.top > cursor {
		t.top = cursor
		out = out[:min(len(out), cursor+height)]
	}
	t.rows, t.y, t.x, t.wrapped = out, cursor-t.top, min(x, width-1), false
	t.grow()
}

func split(line []string, width int) []row {
	out := []row{{}}
	for i, c := range line {
		last := &out[len(out)-1]
		wide := i+1 < len(line) && line[i+1] == "" && c != ""
		if len(last.cells) >= width || wide && len(last.cells)+2 > width {
			last.more = true
			out = append(out, row{})
			last = &out[len(out)-1]
		}
		last.cells = append(last.cells, c)
	}
	return out
}
