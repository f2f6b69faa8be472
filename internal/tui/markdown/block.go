package markdown

import "strings"

type blockKind int

const (
	blankBlock blockKind = iota
	paragraphBlock
	headingBlock
	ruleBlock
	fenceBlock
	itemBlock
	quoteBlock
	tableBlock
)

// block is one block of a text.
type block struct {
	kind   blockKind
	text   string // of a fence its info string
	indent int    // blanks before it
	marker string // of a list item, or what closes a fence
	rows   []string
}

// next is the first block of src and how many bytes it takes; 0 when what comes
// may still belong to it.
func next(src string, final bool) (block, int) {
	line, n, ok := firstLine(src, final)
	if !ok {
		return block{}, 0
	}
	b := starts(line)
	switch b.kind {
	case blankBlock, ruleBlock, fenceBlock, headingBlock:
		return b, n
	case quoteBlock:
		return gather(src, n, final, b, func(l string) (string, bool) {
			t := strings.TrimLeft(l, " ")
			rest, ok := strings.CutPrefix(t, ">")
			return strings.TrimPrefix(rest, " "), ok
		})
	case paragraphBlock:
		if strings.Contains(line, "|") {
			second, _, whole := firstLine(src[n:], final)
			if !whole && src[n:] == "" && !final {
				return block{}, 0
			}
			if whole && isDelimiter(second) {
				return tableOf(src, final)
			}
			if !whole {
				return block{}, 0
			}
		}
		b, n := gather(src, n, final, b, continues)
		return b, n
	}
	return gather(src, n, final, b, continues)
}

// continues reports whether a line goes on with a paragraph.
func continues(l string) (string, bool) {
	return l, starts(l).kind == paragraphBlock
}

// gather takes lines into a block as long as more says so.
func gather(src string, n int, final bool, b block, more func(string) (string, bool)) (block, int) {
	lines := []string{b.text}
	for n < len(src) {
		line, m, ok := firstLine(src[n:], final)
		if !ok {
			return block{}, 0
		}
		if b.kind == paragraphBlock {
			if t := strings.TrimSpace(line); t != "" && (strings.Trim(t, "=") == "" || len(t) > 1 && strings.Trim(t, "-") == "") && b.indent == 0 {
				return block{kind: headingBlock, text: strings.Join(lines, " ")}, n + m
			}
		}
		part, ok := more(line)
		if !ok {
			b.text = strings.Join(lines, "\n")
			return b, n
		}
		lines = append(lines, part)
		n += m
	}
	if !final {
		return block{}, 0
	}
	b.text = strings.Join(lines, "\n")
	return b, n
}

// starts says what a line begins.
func starts(line string) block {
	t := strings.TrimLeft(line, " ")
	indent := len(line) - len(t)
	if rest, ok := strings.CutPrefix(line, "\t"); ok {
		t = strings.TrimLeft(rest, " \t")
		indent = 4
	}
	trimmed := strings.TrimSpace(t)
	if trimmed == "" {
		return block{}
	}
	for _, c := range []string{"`", "~"} {
		if strings.HasPrefix(t, c+c+c) {
			mark := t[:len(t)-len(strings.TrimLeft(t, c))]
			info := strings.TrimSpace(t[len(mark):])
			if !strings.Contains(info, "`") {
				return block{kind: fenceBlock, text: info, indent: indent, marker: mark}
			}
		}
	}
	if indent < 4 && isRule(trimmed) {
		return block{kind: ruleBlock}
	}
	if level := len(t) - len(strings.TrimLeft(t, "#")); indent < 4 && level >= 1 && level <= 6 && (len(t) == level || t[level] == ' ') {
		return block{kind: headingBlock, text: strings.TrimSpace(strings.TrimRight(strings.TrimSpace(t[level:]), "#"))}
	}
	if t[0] == '>' {
		rest := strings.TrimPrefix(t[1:], " ")
		return block{kind: quoteBlock, text: rest, indent: indent}
	}
	if marker, rest, ok := listMarker(t); ok {
		return block{kind: itemBlock, text: rest, indent: indent, marker: marker}
	}
	return block{kind: paragraphBlock, text: t, indent: indent}
}

func isRule(t string) bool {
	t = strings.ReplaceAll(t, " ", "")
	return len(t) >= 3 && (strings.Trim(t, "-") == "" || strings.Trim(t, "*") == "" || strings.Trim(t, "_") == "")
}

func listMarker(t string) (marker, rest string, ok bool) {
	if len(t) >= 2 && strings.IndexByte("-*+", t[0]) >= 0 && t[1] == ' ' {
		return t[:1], strings.TrimLeft(t[2:], " "), true
	}
	i := 0
	for i < len(t) && i < 9 && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	if i > 0 && i+1 < len(t) && (t[i] == '.' || t[i] == ')') && t[i+1] == ' ' {
		return t[:i+1], strings.TrimLeft(t[i+2:], " "), true
	}
	return "", "", false
}

// isDelimiter reports whether a line is the one below a table's head.
func isDelimiter(line string) bool {
	t := strings.TrimSpace(line)
	return strings.Contains(t, "-") && strings.Contains(t, "|") && strings.Trim(t, "|-: ") == ""
}

// tableOf takes the rows of a table.
func tableOf(src string, final bool) (block, int) {
	b := block{kind: tableBlock}
	n := 0
	for n < len(src) {
		line, m, ok := firstLine(src[n:], final)
		if !ok {
			return block{}, 0
		}
		if !strings.Contains(line, "|") {
			return b, n
		}
		b.rows = append(b.rows, line)
		n += m
	}
	if !final {
		return block{}, 0
	}
	return b, n
}
