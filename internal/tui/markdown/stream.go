// Package markdown shows Markdown as it comes: blocks that are finished are
// given out once and for all, and what is not finished can be looked at as
// often as it is drawn. Code is given out line by line.
//
// It reads the Markdown that models write: headings, paragraphs, lists, tasks,
// quotes, fenced code, tables, rules, and emphasis, code and links within
// lines. What it does not know is shown as it stands: no character of the
// source that means something is lost.
package markdown

import (
	"strings"

	"github.com/openmuse/muse/internal/tui/text"
)

// Stream is a text on its way. The zero Stream is empty.
type Stream struct {
	src   string // not given out yet
	state state
}

// state is what has to be known of the blocks before.
type state struct {
	fence  *fence
	blank  bool // a blank line is due before the next block
	some   bool // something was given out
	list   bool // the block before was a list item
	spaced bool // the block before wants a blank line behind it
}

// fence is an open block of code.
type fence struct {
	mark   string // what closes it
	indent int
	code   *highlighter
}

// Add appends to the text.
func (s *Stream) Add(delta string) { s.src += delta }

// Pending reports whether there is text that was not given out.
func (s *Stream) Pending() bool { return strings.TrimSpace(s.src) != "" }

// Take gives out the blocks that are finished, in rows of at most width.
func (s *Stream) Take(width int) []text.Line {
	out, rest := s.state.run(s.src, width, false)
	s.src = strings.Clone(rest)
	return out
}

// Tail shows what was not given out, as if the text ended here.
func (s *Stream) Tail(width int) []text.Line {
	st := s.state
	if st.fence != nil {
		f := *st.fence
		code := *f.code
		f.code = &code
		st.fence = &f
	}
	out, _ := st.run(s.src, width, true)
	return out
}

// Close gives out the rest.
func (s *Stream) Close(width int) []text.Line {
	out, _ := s.state.run(s.src, width, true)
	*s = Stream{}
	return out
}

// Render shows a whole text.
func Render(src string, width int) []text.Line {
	s := Stream{src: src}
	return s.Close(width)
}

// run gives out finished blocks of src and returns what is left.
func (st *state) run(src string, width int, final bool) (out []text.Line, rest string) {
	width = max(4, width)
	for src != "" {
		if st.fence != nil {
			line, n, ok := firstLine(src, final)
			if !ok {
				return out, src
			}
			src = src[n:]
			out = append(out, st.codeLine(line, width)...)
			continue
		}
		b, n := next(src, final)
		if n == 0 {
			return out, src
		}
		src = src[n:]
		out = append(out, st.show(b, width)...)
	}
	return out, src
}

// firstLine is the first line of src without its end; ok is false when it is
// not whole.
func firstLine(src string, final bool) (line string, n int, ok bool) {
	i := strings.IndexByte(src, '\n')
	if i < 0 {
		return strings.TrimSuffix(src, "\r"), len(src), final
	}
	return strings.TrimSuffix(src[:i], "\r"), i + 1, true
}

// codeLine shows a line of code, or ends the block.
func (st *state) codeLine(line string, width int) []text.Line {
	f := st.fence
	trimmed := strings.TrimSpace(line)
	if strings.HasPrefix(trimmed, f.mark) && strings.Trim(trimmed, f.mark[:1]) == "" {
		st.fence, st.spaced = nil, true
		return nil
	}
	for range f.indent {
		if !strings.HasPrefix(line, " ") {
			break
		}
		line = line[1:]
	}
	pad := strings.Repeat(" ", min(f.indent, 8, max(0, width-10))+2)
	var out []text.Line
	for _, row := range text.Wrap(f.code.line(line), max(8, width-len(pad)), nil) {
		out = append(out, append(text.Line{{Text: pad}}, row...))
	}
	return out
}

// show gives out one block.
func (st *state) show(b block, width int) []text.Line {
	if b.kind == blankBlock {
		st.blank = st.some
		return nil
	}
	var out []text.Line
	gap := st.blank || st.spaced || b.kind == headingBlock || b.kind == fenceBlock && !st.list
	if gap && st.some {
		out = append(out, nil)
	}
	st.blank, st.some, st.spaced = false, true, false
	st.list = b.kind == itemBlock || st.list && b.indent > 0 && b.kind == paragraphBlock
	switch b.kind {
	case headingBlock:
		style := text.Heading
		out = append(out, text.Wrap(text.Styled(inline(b.text, style), 0), width, nil)...)
		st.spaced = true
	case ruleBlock:
		out = append(out, text.Of(text.Muted, strings.Repeat("─", min(width, 40))))
	case fenceBlock:
		st.fence = &fence{mark: b.marker, indent: b.indent, code: newHighlighter(b.text)}
	case itemBlock:
		out = append(out, item(b, width)...)
	case quoteBlock:
		for _, l := range Render(b.text, max(8, width-2)) {
			out = append(out, append(text.Line{{Text: "│ ", Style: text.Muted}}, l...))
		}
	case tableBlock:
		out = append(out, table(b.rows, width)...)
		st.spaced = true
	default:
		pad := text.Of(0, strings.Repeat(" ", min(b.indent, 12, width/2)))
		for _, part := range hardLines(b.text) {
			line := append(pad[:len(pad):len(pad)], inline(part, text.Plain)...)
			out = append(out, text.Wrap(line, width, pad)...)
		}
	}
	return out
}

// item is a list item behind its bullet.
func item(b block, width int) []text.Line {
	indent := strings.Repeat(" ", min(b.indent, 12, width/3))
	bullet := b.marker + " "
	if len(b.marker) == 1 {
		bullet = "• "
	}
	body := b.text
	for _, t := range [][2]string{{"[ ] ", "☐ "}, {"[x] ", "☑ "}, {"[X] ", "☑ "}} {
		if rest, ok := strings.CutPrefix(body, t[0]); ok {
			bullet, body = t[1], rest
		}
	}
	hang := text.Of(0, indent+strings.Repeat(" ", text.Width(bullet)))
	var out []text.Line
	for i, part := range hardLines(body) {
		line := text.Line{{Text: indent}, {Text: bullet, Style: text.Accent}}
		if i > 0 {
			line = hang[:len(hang):len(hang)]
		}
		out = append(out, text.Wrap(append(line, inline(part, text.Plain)...), width, hang)...)
	}
	return out
}

// hardLines cuts a paragraph at the breaks that its source asks for; other line
// ends are spaces.
func hardLines(s string) []string {
	var out []string
	var b strings.Builder
	for l := range strings.SplitSeq(s, "\n") {
		hard := strings.HasSuffix(l, "  ") || strings.HasSuffix(l, `\`)
		l = strings.TrimSpace(strings.TrimSuffix(l, `\`))
		if b.Len() > 0 && l != "" {
			b.WriteByte(' ')
		}
		b.WriteString(l)
		if hard {
			out = append(out, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 || len(out) == 0 {
		out = append(out, b.String())
	}
	return out
}
