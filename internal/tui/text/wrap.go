package text

import (
	"iter"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// cluster is what a terminal puts into one cell, or two.
type cluster struct {
	text  string
	width int
	style Style
}

// clusters are the user-perceived characters of a line.
func (l Line) clusters() iter.Seq[cluster] {
	return func(yield func(cluster) bool) {
		for _, s := range l {
			if isASCII(s.Text) {
				for i := range len(s.Text) {
					if !yield(cluster{s.Text[i : i+1], 1, s.Style}) {
						return
					}
				}
				continue
			}
			g := displaywidth.StringGraphemes(s.Text)
			for g.Next() {
				if !yield(cluster{g.Value(), g.Width(), s.Style}) {
					return
				}
			}
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// builder collects clusters into spans.
type builder struct {
	line  Line
	text  strings.Builder
	style Style
	width int
}

func (b *builder) add(c cluster) {
	if c.style != b.style && b.text.Len() > 0 {
		b.flush()
	}
	b.style = c.style
	b.text.WriteString(c.text)
	b.width += c.width
}

func (b *builder) flush() {
	if b.text.Len() > 0 {
		b.line = append(b.line, Span{b.text.String(), b.style})
		b.text.Reset()
	}
}

func (b *builder) done() Line {
	b.flush()
	l := b.line
	b.line, b.width = nil, 0
	return l
}

// Wrap breaks a line into rows of at most width columns, between words where
// there are any. Rows after the first begin with indent. A wide character that
// does not fit takes the next row; one wider than the row is replaced.
func Wrap(l Line, width int, indent Line) []Line {
	if width < 1 {
		width = 1
	}
	if l.Width() <= width {
		return []Line{l}
	}
	hang := indent.Width()
	if hang+2 > width { // a wide character has to fit behind it
		indent, hang = nil, 0
	}
	var rows []Line
	var row, word builder
	var pending []cluster // of the word
	start := func() {
		row = builder{}
		if len(rows) > 0 {
			for _, s := range indent {
				row.add(cluster{s.Text, Width(s.Text), s.Style})
			}
		}
	}
	breakRow := func() {
		rows = append(rows, trimRight(row.done()))
		start()
	}
	empty := func() bool { return row.width == 0 || len(rows) > 0 && row.width == hang }
	put := func() {
		if row.width+word.width > width && !empty() && word.width <= width-hang {
			breakRow()
		}
		for _, c := range pending {
			if row.width+c.width > width && !empty() {
				breakRow()
			}
			if c.width > width {
				c.text, c.width = "?", 1
			}
			row.add(c)
		}
		pending, word = pending[:0], builder{}
	}
	start()
	for c := range l.clusters() {
		if c.text == " " {
			put()
			if row.width+1 > width {
				breakRow()
				continue
			}
			row.add(c)
			continue
		}
		pending = append(pending, c)
		word.width += c.width
		if c.width == 2 { // wide scripts break between characters
			put()
		}
	}
	put()
	return append(rows, row.done())
}

func trimRight(l Line) Line {
	for len(l) > 0 {
		last := &l[len(l)-1]
		last.Text = strings.TrimRight(last.Text, " ")
		if last.Text != "" {
			break
		}
		l = l[:len(l)-1]
	}
	return l
}

// WrapAll wraps several lines.
func WrapAll(in []Line, width int, indent Line) []Line {
	out := make([]Line, 0, len(in))
	for _, l := range in {
		out = append(out, Wrap(l, width, indent)...)
	}
	return out
}

// Cut shortens a line to width columns and marks that it was cut.
func Cut(l Line, width int) Line {
	if l.Width() <= width {
		return l
	}
	if width < 1 {
		return nil
	}
	var b builder
	for c := range l.clusters() {
		if b.width+c.width > width-1 {
			b.add(cluster{"…", 1, c.style})
			break
		}
		b.add(c)
	}
	return b.done()
}

// CutLeft shortens a clean text to width columns from its beginning: of a path
// the end says most.
func CutLeft(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	var all []cluster
	for c := range (Line{{s, 0}}).clusters() {
		all = append(all, c)
	}
	n, i := 1, len(all)
	for i > 0 && n+all[i-1].width <= width {
		i--
		n += all[i].width
	}
	var b strings.Builder
	b.WriteString("…")
	for _, c := range all[i:] {
		b.WriteString(c.text)
	}
	return b.String()
}

// Pad is a line filled with blanks to width columns.
func Pad(l Line, width int) Line {
	if n := width - l.Width(); n > 0 {
		return append(l[:len(l):len(l)], Span{strings.Repeat(" ", n), 0})
	}
	return l
}

// Styled is a line with attributes added to all of its spans.
func Styled(l Line, add Style) Line {
	out := make(Line, len(l))
	for i, s := range l {
		out[i] = Span{s.Text, s.Style | add}
	}
	return out
}
