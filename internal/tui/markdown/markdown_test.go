package markdown

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/openmuse/muse/internal/tui/text"
)

// marked is what was rendered with its styles as marks.
func marked(lines []text.Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			open := ""
			switch s.Style.Role() {
			case text.Heading:
				open += "#"
			case text.Link:
				open += "@"
			case text.Code:
				open += "`"
			}
			if s.Style&text.Bold != 0 {
				open += "*"
			}
			if s.Style&text.Italic != 0 {
				open += "/"
			}
			if s.Style&text.Strike != 0 {
				open += "~"
			}
			if open == "" {
				b.WriteString(s.Text)
			} else {
				b.WriteString("<" + open + " " + s.Text + ">")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"paragraphs", "one\ntwo\n\nthree", "one two\n\nthree\n"},
		{"headings", "# A\ntext\n## B ##\nSet\n===\n", "<# A>\n\ntext\n\n<# B>\n\n<# Set>\n"},
		{"emphasis", "a *b* **c** ***d*** ~~e~~ `f`", "a </ b> <* c> <*/ d> <~ e> <` f>\n"},
		{"no emphasis", "snake_case_name 2 * 3 * 4 a*", "snake_case_name 2 * 3 * 4 a*\n"},
		{"underscores", "_a_ __b__", "</ a> <* b>\n"},
		{"nested", "**a *b* `c*`**", "<* a ><*/ b><*  ><`* c*>\n"},
		{"code", "``a ` b``", "<` a ` b>\n"},
		{"escapes", `\*a\* &lt;b&gt;`, "*a* <b>\n"},
		{"link", "[a](http://x/y_(z)) <http://q>", "<@ a> (http://x/y_(z)) <@ http://q>\n"},
		{"no link", "a[0] (b)", "a[0] (b)\n"},
		{"list", "- a\n- b\n  more\n\n1. c\n2. d", "• a\n• b more\n\n1. c\n2. d\n"},
		{"nested list", "- a\n  - b", "• a\n  • b\n"},
		{"tasks", "- [ ] a\n- [x] b", "☐ a\n☑ b\n"},
		{"quote", "> a\n> b\n\nc", "│ a b\n\nc\n"},
		{"fence", "```go\nx := *y*\n```\nafter", "  x := *y*\n\nafter\n"},
		{"open fence", "```\ncode", "  code\n"},
		{"fence in fence", "````\n```\nx\n```\n````", "  ```\n  x\n  ```\n"},
		{"rule", "a\n\n***\nb", "a\n\n" + strings.Repeat("─", 40) + "\nb\n"},
		{"table", "| a | b |\n|---|--:|\n| 1 | `x|y` |", "<* a> │   <* b>\n──┼────\n1 │ <` x|y>\n"},
		{"no table", "a | b\nc", "a | b c\n"},
		{"break", "a  \nb\\\nc", "a\nb\nc\n"},
		{"html", "a <b>c</b> <br> d", "a <b>c</b>   d\n"},
	} {
		if got := marked(Render(c.in, 60)); got != c.want {
			t.Errorf("%s: %q shows\n%s\nwant\n%s", c.name, c.in, got, c.want)
		}
	}
}

// TestStreamProperties: however a text is cut, what is given out is the same as
// of the whole, and what a tail shows is what would be given out.
func TestStreamProperties(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"# head\n", "para ", "word\n", "\n", "- item\n", "  - deep\n", "1. one\n", "```go\n", "```\n", "code := 1 // x\n", "/* open\n", "> quote\n",
		"| a | b |\n", "|---|---|\n", "**b**", "`c`", "[l](u)", "---\n", "===\n", "*", "_", "~~~\n", "日本語", "\t", "    ", "\\", "a|b\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces")
		width := rapid.IntRange(10, 60).Draw(t, "width")
		whole := strings.Join(pieces, "")
		want := marked(Render(whole, width))
		var s Stream
		var got []text.Line
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			s.Add(rest[:n])
			rest = rest[n:]
			got = append(got, s.Take(width)...)
			tail := append(got[:len(got):len(got)], s.Tail(width)...)
			if at := marked(Render(whole[:len(whole)-len(rest)], width)); marked(tail) != at {
				t.Fatalf("the tail shows\n%s\nwant\n%s", marked(tail), at)
			}
		}
		got = append(got, s.Close(width)...)
		if marked(got) != want {
			t.Fatalf("in pieces\n%s\nwhole\n%s", marked(got), want)
		}
		for _, l := range got {
			if l.Width() > max(width, 12) {
				t.Fatalf("%q is wider than %d", l.String(), width)
			}
		}
	})
}

func TestHighlight(t *testing.T) {
	h := newHighlighter("go")
	var got []string
	for _, l := range []string{`func f() { return "x\"y" /* a`, `still */ 12 }`} {
		for _, s := range h.line(l) {
			if s.Style != text.Plain {
				got = append(got, s.Text)
			}
		}
	}
	if want := `func|return|"x\"y"|/* a|still */|12`; strings.Join(got, "|") != want {
		t.Errorf("coloured %q, want %q", strings.Join(got, "|"), want)
	}
}
