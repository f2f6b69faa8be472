package vt

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The UI gets by with a handful of sequences. The terminal carries out more, so
// that other programs can be watched on it, and notes those that the UI does
// not use.

// Answer makes the terminal answer questions about itself: w is what it types.
// Without it questions stay unanswered.
func (t *Terminal) Answer(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = w
}

func (t *Terminal) reply(format string, args ...any) {
	if t.typed != nil {
		// A program that does not read its input does not get it.
		_, _ = fmt.Fprintf(t.typed, format, args...)
	}
}

// saved is what a program can come back to.
type saved struct {
	rows   []row
	top    int
	x, y   int
	region region
}

// region are the rows that scroll, counted from the top of the screen.
type region struct{ from, to int }

func (t *Terminal) wholeRegion() region { return region{0, t.height - 1} }

// control carries out a control sequence; false for one that the UI does not
// use.
func (t *Terminal) control(args string, final byte) bool {
	n := 0
	_, _ = fmt.Sscanf(args, "%d", &n) // what is no number counts as none
	t.wrapped = t.wrapped && (final == 'm' || final == 'h' || final == 'l' || final == 'u')
	switch {
	case final == 'm' && strings.Trim(args, "0123456789;") == "":
	case final == 'A':
		t.y = max(0, t.y-max(1, n))
	case final == 'B':
		t.y = min(t.height-1, t.y+max(1, n))
	case final == 'J' && (args == "" || args == "0"):
		t.clearRow(t.top+t.y, t.x)
		for i := t.top + t.y + 1; i < len(t.rows); i++ {
			t.rows[i] = row{}
		}
	case final == 'J' && args == "2":
		t.clearScreen()
	case final == 'K' && args == "":
		t.clearRow(t.top+t.y, t.x)
	case final == 'H' && args == "":
		t.x, t.y = 0, 0
	case (final == 'h' || final == 'l') && (args == "?2004" || args == "?1004" || args == "?25" || args == "?2026"):
	case final == 'u' && (args == ">1" || args == "<"):
	default:
		t.others(args, final, n)
		return false
	}
	return true
}

// others carries out what the UI does not use.
func (t *Terminal) others(args string, final byte, n int) {
	count := max(1, n)
	at := t.top + t.y
	switch final {
	case 'C':
		t.x = min(t.width-1, t.x+count)
	case 'D':
		t.x = max(0, t.x-count)
	case 'E':
		t.x, t.y = 0, min(t.height-1, t.y+count)
	case 'F':
		t.x, t.y = 0, max(0, t.y-count)
	case 'G':
		t.x = min(t.width, count) - 1
	case 'd':
		t.y = min(t.height, count) - 1
	case 'H', 'f':
		y, x := pair(args)
		t.y, t.x = min(t.height, max(1, y))-1, min(t.width, max(1, x))-1
	case 'J':
		if n == 1 {
			for i := t.top; i < at; i++ {
				t.rows[i] = row{}
			}
			t.blank(at, 0, t.x+1)
		}
	case 'K':
		switch n {
		case 0:
			t.clearRow(at, t.x)
		case 1:
			t.blank(at, 0, t.x+1)
		case 2:
			t.rows[at] = row{}
		}
	case 'X':
		t.blank(at, t.x, t.x+count)
	case 'L', 'M', 'S', 'T':
		t.moveRows(final, count)
	case 'r':
		from, to := pair(args)
		if to == 0 || to > t.height {
			to = t.height
		}
		t.region, t.x, t.y = region{max(1, from) - 1, to - 1}, 0, 0
	case 'h', 'l':
		t.mode(args, final == 'h')
	case 'n':
		if args == "6" {
			t.reply("\x1b[%d;%dR", t.y+1, t.x+1)
		}
	case 'c':
		if args == "" || args == "0" {
			t.reply("\x1b[?62;22c")
		}
	case 'p':
		if mode, ok := strings.CutSuffix(args, "$"); ok {
			t.reply("\x1b[%s;0$y", mode) // not known
		}
	}
}

func (t *Terminal) moveRows(final byte, count int) {
	for range min(count, t.height) {
		switch final {
		case 'L':
			t.scroll(region{t.y, t.region.to}, true)
		case 'M':
			t.scroll(region{t.y, t.region.to}, false)
		case 'S':
			t.scroll(t.region, false)
		case 'T':
			t.scroll(t.region, true)
		}
	}
}

// mode is the other screen, which programs that take everything use.
func (t *Terminal) mode(args string, on bool) {
	if args != "?1049" && args != "?1047" && args != "?47" {
		return
	}
	switch {
	case on && t.other == nil:
		t.other = &saved{t.rows, t.top, t.x, t.y, t.region}
		t.rows, t.top, t.region = nil, 0, t.wholeRegion()
		t.grow()
	case !on && t.other != nil:
		o := t.other
		t.rows, t.top, t.x, t.y, t.region, t.other = o.rows, o.top, min(o.x, t.width-1), min(o.y, t.height-1), t.wholeRegion(), nil
		t.grow()
	}
}

// scroll moves the rows of a region by one, away from its beginning or towards
// it.
func (t *Terminal) scroll(r region, away bool) {
	if r.from > r.to || t.top+r.to >= len(t.rows) {
		return
	}
	rows := t.rows[t.top+r.from : t.top+r.to+1]
	if away {
		copy(rows[1:], rows)
		rows[0] = row{}
		return
	}
	copy(rows, rows[1:])
	rows[len(rows)-1] = row{}
}

func (t *Terminal) clearScreen() {
	for i := t.top; i < len(t.rows); i++ {
		t.rows[i] = row{}
	}
}

// blank empties the cells of a row from one column to another.
func (t *Terminal) blank(i, from, to int) {
	r := &t.rows[i]
	for c := from; c < min(to, len(r.cells)); c++ {
		r.cells[c] = " "
	}
}

// pair are the two numbers of a sequence, 0 for those that are left out.
func pair(args string) (a, b int) {
	first, second, _ := strings.Cut(args, ";")
	a, _ = strconv.Atoi(first)
	b, _ = strconv.Atoi(second)
	return a, b
}

// plain carries out an escape sequence of two bytes.
func (t *Terminal) plain(c byte) {
	switch c {
	case '7':
		t.kept = saved{x: t.x, y: t.y}
	case '8':
		t.x, t.y, t.wrapped = min(t.kept.x, t.width-1), min(t.kept.y, t.height-1), false
	case 'M':
		t.wrapped = false
		if t.y == t.region.from {
			t.scroll(t.region, true)
		} else {
			t.y = max(0, t.y-1)
		}
	case 'D':
		t.down()
	case 'E':
		t.x = 0
		t.down()
	}
}

// osc answers the questions of operating system commands that programs wait
// for: the colours of the text and of what is behind it.
func (t *Terminal) osc(s string) {
	switch s {
	case "10;?":
		t.reply("\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\")
	case "11;?":
		t.reply("\x1b]11;rgb:1010/1010/1010\x1b\\")
	}
}
