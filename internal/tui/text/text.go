// Package text is styled text as the terminal UI draws it: what may reach a
// terminal, how wide it is, and where it breaks.
//
// Everything that is shown goes through [Clean]: text of a model, of a tool, of
// a file name or a branch may hold escape sequences, and none of them may reach
// the terminal. A [Span] made with [Of] is clean; the screen cleans again what
// it writes, so that no other way is open.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Style is how a span looks: a role, which a theme gives colours, and
// attributes.
type Style uint32

// Roles. The zero Style is plain text.
const (
	Plain Style = iota
	Muted
	Accent
	Good
	Warn
	Bad
	Person // what the person said
	Heading
	Link
	Code
	Keyword
	String
	Number
	Comment
	Added
	Removed
	Roles // how many there are

	roleMask Style = 0xff
)

// Attributes, to be combined with a role.
const (
	Bold Style = 1 << (8 + iota)
	Italic
	Underline
	Strike
	Reverse
)

// Role is the role of a style without its attributes.
func (s Style) Role() Style { return s & roleMask }

// Span is a piece of a line in one style.
type Span struct {
	Text  string
	Style Style
}

// Line is one line; its spans hold no line breaks.
type Line []Span

// Of is a clean line in one style.
func Of(style Style, s string) Line { return Line{{Clean(s), style}} }

// Add appends clean text to a line.
func (l Line) Add(style Style, s string) Line { return append(l, Span{Clean(s), style}) }

// String is the line without its styles.
func (l Line) String() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width is how many columns the line takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += Width(s.Text)
	}
	return n
}

// Width is how many columns a clean text takes.
func Width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return displaywidth.String(s)
		}
	}
	return len(s)
}

// TabWidth is how many columns a tab becomes.
const TabWidth = 4

// Clean makes s safe to show: one line of printable text. Control characters
// become their pictures, what is no UTF-8 the replacement character, and
// invisible characters that can make text read differently from what it is
// (direction overrides, tags, zero-width spaces) are named.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, r := range s {
		switch {
		case r == '\t':
			b.WriteString("    ")
		case r == '\n':
			b.WriteRune('␊')
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('␡')
		case r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		case r >= 0x80 && r <= 0x9f:
			b.WriteString(named(r))
		case hides(r):
			b.WriteString(named(r))
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			b.WriteString(s[i : i+n])
		}
	}
	return b.String()
}

// isClean is the common case: printable ASCII.
func isClean(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return isCleanUnicode(s)
		}
	}
	return true
}

func isCleanUnicode(s string) bool {
	for i, r := range s {
		switch {
		case r < 0x20, r >= 0x7f && r <= 0x9f, hides(r):
			return false
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		}
	}
	return true
}

// hides reports whether a character cannot be seen and changes how others
// read. Joiners are needed by scripts and by emoji.
func hides(r rune) bool {
	switch r {
	case 0x200c, 0x200d, 0xfe0e, 0xfe0f:
		return false
	case 0x2028, 0x2029, 0x115f, 0x1160, 0x3164, 0xffa0:
		return true
	}
	if r >= 0x600 && r <= 0x8ff && r != 0x61c {
		return false // marks of Arabic and Syriac, which are seen
	}
	return r >= 0xad && unicode.Is(unicode.Cf, r) || r >= 0xe0000 && r <= 0xe0fff
}

func named(r rune) string {
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, 8)
	for shift := 20; shift >= 0; shift -= 4 {
		if d := r >> shift & 15; d != 0 || len(out) > 0 || shift < 16 {
			out = append(out, digits[d])
		}
	}
	return "‹U+" + string(out) + "›"
}

// Lines cuts a text at its line breaks into clean lines. A carriage return
// before a line break goes; one within a line overwrites, as terminals do, and
// only what is behind the last one is kept.
func Lines(style Style, s string) []Line {
	s = strings.TrimSuffix(s, "\n")
	var out []Line
	for l := range strings.SplitSeq(s, "\n") {
		l = strings.TrimSuffix(l, "\r")
		if i := strings.LastIndexByte(l, '\r'); i >= 0 {
			l = l[i+1:]
		}
		out = append(out, Of(style, WithoutColours(l)))
	}
	return out
}

// WithoutColours drops colour sequences (SGR), which programs write and people
// do not want to read. Every other sequence stays for [Clean] to show.
func WithoutColours(s string) string {
	i := strings.Index(s, "\x1b[")
	if i < 0 {
		return s
	}
	var b strings.Builder
	for i >= 0 {
		end := i + 2
		for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == ';' || s[end] == ':') {
			end++
		}
		if end < len(s) && (s[end] == 'm' || s[end] == 'K') {
			b.WriteString(s[:i])
			s = s[end+1:]
		} else {
			b.WriteString(s[:i+2])
			s = s[i+2:]
		}
		i = strings.Index(s, "\x1b[")
	}
	b.WriteString(s)
	return b.String()
}
