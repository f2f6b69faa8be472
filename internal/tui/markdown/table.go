package markdown

import (
	"strings"

	"github.com/openmuse/muse/internal/tui/text"
)

// cells are the cells of a row.
func cells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	if strings.HasSuffix(row, "|") && !strings.HasSuffix(row, `\|`) {
		row = row[:len(row)-1]
	}
	var out []string
	var b strings.Builder
	code := false
	for i := 0; i < len(row); i++ {
		switch {
		case row[i] == '\\' && i+1 < len(row) && row[i+1] == '|':
			b.WriteByte('|')
			i++
		case row[i] == '`':
			code = !code
			b.WriteByte('`')
		case row[i] == '|' && !code:
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			b.WriteByte(row[i])
		}
	}
	return append(out, strings.TrimSpace(b.String()))
}

// table lays out rows in columns; cells that do not fit are wrapped.
func table(rows []string, width int) []text.Line {
	head, marks := cells(rows[0]), cells(rows[1])
	n := len(head)
	var body [][]text.Line
	for i, r := range rows {
		if i == 1 {
			continue
		}
		style := text.Plain
		if i == 0 {
			style = text.Bold
		}
		line := make([]text.Line, n)
		for j, c := range cells(r) {
			if j < n {
				line[j] = inline(c, style)
			} else {
				// More cells than the head has: nothing of them is lost.
				line[n-1] = append(line[n-1].Add(text.Muted, " | "), inline(c, style)...)
			}
		}
		body = append(body, line)
	}
	widths := columns(body, n, width)
	if widths == nil {
		return listed(body, width)
	}
	var out []text.Line
	for i, line := range body {
		out = append(out, tableRow(line, widths, marks)...)
		if i == 0 {
			var rule strings.Builder
			for j, w := range widths {
				if j > 0 {
					rule.WriteString("─┼─")
				}
				rule.WriteString(strings.Repeat("─", w))
			}
			out = append(out, text.Of(text.Muted, rule.String()))
		}
	}
	return out
}

// columns are the widths of the columns, nil when there is no room for a table.
func columns(body [][]text.Line, n, width int) []int {
	room := width - 3*(n-1)
	if room < 4*n {
		return nil
	}
	widths := make([]int, n)
	total := 0
	for j := range widths {
		for _, l := range body {
			widths[j] = max(widths[j], l[j].Width(), 1)
		}
		total += widths[j]
	}
	for total > room {
		widest := 0
		for j := range widths {
			if widths[j] > widths[widest] {
				widest = j
			}
		}
		widths[widest]--
		total--
	}
	return widths
}

func tableRow(line []text.Line, widths []int, marks []string) []text.Line {
	parts := make([][]text.Line, len(line))
	height := 1
	for j, c := range line {
		parts[j] = text.Wrap(c, widths[j], nil)
		height = max(height, len(parts[j]))
	}
	out := make([]text.Line, height)
	for y := range out {
		var row text.Line
		for j, w := range widths {
			if j > 0 {
				row = row.Add(text.Muted, " │ ")
			}
			var c text.Line
			if y < len(parts[j]) {
				c = parts[j][y]
			}
			if j < len(marks) && strings.HasSuffix(marks[j], ":") {
				gap := w - c.Width()
				if strings.HasPrefix(marks[j], ":") {
					gap /= 2
				}
				if gap > 0 {
					row = row.Add(0, strings.Repeat(" ", gap))
				}
				row = text.Pad(append(row, c...), row.Width()+w-max(0, gap))
				continue
			}
			row = append(row, text.Pad(c, w)...)
		}
		out[y] = row
	}
	return out
}

// listed is a table in a space too narrow for one: each cell behind the name of
// its column.
func listed(body [][]text.Line, width int) []text.Line {
	var out []text.Line
	if len(body) == 1 {
		for _, c := range body[0] {
			out = append(out, text.Wrap(c, width, nil)...)
		}
	}
	for i, line := range body[1:] {
		if i > 0 {
			out = append(out, nil)
		}
		for j, c := range line {
			l := append(body[0][j][:len(body[0][j]):len(body[0][j])], text.Of(0, ": ")...)
			out = append(out, text.Wrap(append(l, c...), width, text.Of(0, "  "))...)
		}
	}
	return out
}
