package markdown

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/tui/text"
)

// inline shows what is within a line.
func inline(s string, style text.Style) text.Line {
	var out text.Line
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			out = out.Add(style, html.UnescapeString(plain.String()))
			plain.Reset()
		}
	}
	for i := 0; i < len(s); {
		line, n := span(s, i, style)
		if n == 0 {
			plain.WriteByte(s[i])
			i++
			continue
		}
		flush()
		out = append(out, line...)
		i += n
	}
	flush()
	return out
}

// span is what begins at s[i] and how many bytes it takes, 0 for plain text.
func span(s string, i int, style text.Style) (text.Line, int) {
	rest := s[i:]
	switch c := s[i]; c {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!|<>~\"'&", rest[1]) >= 0 {
			return text.Of(style, rest[1:2]), 2
		}
	case '`':
		ticks := len(rest) - len(strings.TrimLeft(rest, "`"))
		mark := rest[:ticks]
		for from := ticks; ; {
			j := strings.Index(rest[from:], mark)
			if j < 0 {
				return text.Of(style, mark), ticks
			}
			j += from
			end := j + ticks
			if end < len(rest) && rest[end] == '`' {
				from = end + len(rest[end:]) - len(strings.TrimLeft(rest[end:], "`"))
				continue
			}
			code := rest[ticks:j]
			if len(code) > 2 && code[0] == ' ' && code[len(code)-1] == ' ' && strings.TrimSpace(code) != "" {
				code = code[1 : len(code)-1]
			}
			return text.Of(text.Code|style&^0xff, code), end
		}
	case '*', '_', '~':
		return emphasis(s, i, style)
	case '!':
		if strings.HasPrefix(rest, "![") {
			if line, n := link(rest[1:], style); n > 0 {
				return append(text.Of(text.Muted, "image "), line...), n + 1
			}
		}
	case '[':
		return link(rest, style)
	case '<':
		if end := strings.IndexByte(rest, '>'); end > 0 {
			if u := rest[1:end]; strings.Contains(u, "://") && !strings.ContainsAny(u, " <") {
				return text.Of(text.Link, u), end + 1
			}
			if tag := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(rest[1:end]), "/")); strings.TrimSpace(tag) == "br" {
				return text.Of(style, " "), end + 1
			}
		}
	}
	return nil, 0
}

// emphasis is text between marks.
func emphasis(s string, i int, style text.Style) (text.Line, int) {
	c := s[i]
	run := 0
	for i+run < len(s) && s[i+run] == c {
		run++
	}
	var add text.Style
	n := min(run, 3)
	switch {
	case c == '~' && run != 2:
		return text.Of(style, s[i:i+run]), run
	case c == '~':
		add = text.Strike
	case n == 1:
		add = text.Italic
	case n == 2:
		add = text.Bold
	default:
		add = text.Bold | text.Italic
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	open := i+n < len(s) && !unicode.IsSpace(after) && (c != '_' || i == 0 || !isWord(before))
	if open && run <= 3 {
		if end := closer(s, i+n, c, n); end > 0 {
			return inline(s[i+n:end], style|add), end + n - i
		}
	}
	return text.Of(style, s[i:i+run]), run
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// closer finds the mark that ends an emphasis, 0 for none.
func closer(s string, from int, c byte, n int) int {
	for j := from; j < len(s); {
		switch s[j] {
		case '\\':
			j += 2
			continue
		case '`': // code hides marks
			ticks := len(s[j:]) - len(strings.TrimLeft(s[j:], "`"))
			if k := strings.Index(s[j+ticks:], s[j:j+ticks]); k >= 0 {
				j += 2*ticks + k
			} else {
				j += ticks
			}
			continue
		case c:
			run := 0
			for j+run < len(s) && s[j+run] == c {
				run++
			}
			before, _ := utf8.DecodeLastRuneInString(s[:j])
			after, _ := utf8.DecodeRuneInString(s[j+run:])
			if run == n && j > from && !unicode.IsSpace(before) && (c != '_' || j+run >= len(s) || !isWord(after)) {
				return j
			}
			j += run
			continue
		}
		j++
	}
	return 0
}

// link is "[text](target)".
func link(s string, style text.Style) (text.Line, int) {
	depth, end := 0, -1
	for j := 0; j < len(s) && end < 0; j++ {
		switch s[j] {
		case '\\':
			j++
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				end = j
			}
		}
	}
	if end < 0 || end+1 >= len(s) || s[end+1] != '(' {
		return nil, 0
	}
	depth, stop := 0, -1
	for j := end + 1; j < len(s) && stop < 0; j++ {
		switch s[j] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				stop = j
			}
		}
	}
	if stop < 0 {
		return nil, 0
	}
	label := s[1:end]
	target, _, _ := strings.Cut(strings.TrimSpace(s[end+2:stop]), " ")
	target = strings.Trim(target, "<>")
	out := inline(label, text.Link|style&^0xff)
	// Where a link leads is never hidden behind its words.
	if target != "" && target != label && !strings.HasPrefix(target, "#") {
		out = out.Add(text.Muted, " ("+target+")")
	}
	return out, stop + 1
}
