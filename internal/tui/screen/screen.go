package screen

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/openmuse/muse/internal/tui/text"
)

// Screen is what was drawn. It is for one goroutine.
type Screen struct {
	out    io.Writer
	theme  Theme
	width  int
	height int

	live  []string // the rows of the live area as they were written
	stale bool     // the terminal may have changed them
	buf   bytes.Buffer
	sgr   map[text.Style]string
}

// New is a screen whose cursor is at the beginning of a line.
func New(out io.Writer, theme Theme, width, height int) *Screen {
	return &Screen{out: out, theme: theme, width: width, height: height, sgr: map[text.Style]string{}}
}

// Theme is the theme in use.
func (s *Screen) Theme() Theme { return s.theme }

// SetTheme changes the looks of what is drawn from now on.
func (s *Screen) SetTheme(t Theme) {
	s.theme, s.stale = t, true
	clear(s.sgr)
}

// Size is the size in columns and rows.
func (s *Screen) Size() (width, height int) { return s.width, s.height }

// Resize notes a new size: the live area is redrawn with the next frame.
func (s *Screen) Resize(width, height int) {
	if width != s.width || height != s.height {
		s.width, s.height, s.stale = width, height, true
	}
}

// Stale makes the next frame draw everything of the live area.
func (s *Screen) Stale() { s.stale = true }

// Room is how many rows the live area may have.
func (s *Screen) Room() int { return max(1, s.height-1) }

// Frame prints lines for good and draws the live area below them. Lines are
// wrapped or cut by the caller: what is wider than the screen is cut here.
func (s *Screen) Frame(print, live []text.Line) error {
	if len(live) > s.Room() {
		live = live[len(live)-s.Room():]
	}
	rows := make([]string, len(live))
	for i, l := range live {
		rows[i] = s.row(l)
	}
	if len(print) == 0 && !s.stale && slices.Equal(rows, s.live) {
		return nil
	}
	s.buf.Reset()
	s.buf.WriteString("\x1b[?2026h")
	if len(print) > 0 || s.stale {
		s.buf.WriteString("\r\x1b[J")
		for _, l := range print {
			s.buf.WriteString(s.row(l))
			s.buf.WriteString("\r\n")
		}
		for i, r := range rows {
			if i > 0 {
				s.buf.WriteString("\r\n")
			}
			s.buf.WriteString(r)
		}
		s.up(len(rows) - 1)
	} else {
		s.differences(rows)
	}
	s.buf.WriteString("\x1b[?2026l")
	s.live, s.stale = rows, false
	if _, err := s.out.Write(s.buf.Bytes()); err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return nil
}

// differences rewrites the rows that changed.
func (s *Screen) differences(rows []string) {
	at := 0
	for i, r := range rows {
		if i < len(s.live) && s.live[i] == r {
			continue
		}
		for at < i {
			if at+1 < len(s.live) {
				n := min(i, len(s.live)-1) - at
				s.down(n)
				at += n
				continue
			}
			s.buf.WriteString("\r\n")
			at++
		}
		s.buf.WriteString("\r\x1b[K")
		s.buf.WriteString(r)
	}
	if len(rows) < len(s.live) {
		to := len(rows)
		if to > at {
			s.down(to - at)
			at = to
		}
		s.buf.WriteString("\r\x1b[J")
	}
	s.up(at)
}

// down moves n rows down. Line feeds scroll where the terminal has become
// shorter than it is known to be; the sequence that moves the cursor would stop
// at the edge, and the way back up lead into what is printed.
func (s *Screen) down(n int) {
	for range n {
		s.buf.WriteByte('\n')
	}
}

// up parks the cursor n rows above.
func (s *Screen) up(n int) {
	s.buf.WriteByte('\r')
	if n > 0 {
		s.buf.WriteString("\x1b[" + strconv.Itoa(n) + "A")
	}
}

// Leave takes the live area away and leaves the cursor where it began.
func (s *Screen) Leave() error {
	s.live = nil
	if _, err := io.WriteString(s.out, "\r\x1b[J"); err != nil {
		return fmt.Errorf("clear the terminal: %w", err)
	}
	return nil
}

// Clear takes everything from the screen; the scrollback stays.
func (s *Screen) Clear() error {
	s.live = nil
	if _, err := io.WriteString(s.out, "\x1b[H\x1b[2J"); err != nil {
		return fmt.Errorf("clear the terminal: %w", err)
	}
	return nil
}

// row is a line as it is written: clean, no wider than the screen, with its
// colours, ending without any.
func (s *Screen) row(l text.Line) string {
	var b bytes.Buffer
	for i, sp := range l {
		l[i].Text = text.Clean(sp.Text) // nothing else may come this way
	}
	for _, sp := range text.Cut(l, s.width) {
		on, ok := s.sgr[sp.Style]
		if !ok {
			on = s.theme.sgr(sp.Style)
			s.sgr[sp.Style] = on
		}
		b.WriteString(on)
		b.WriteString(sp.Text)
		if on != "" {
			b.WriteString("\x1b[0m")
		}
	}
	return b.String()
}
