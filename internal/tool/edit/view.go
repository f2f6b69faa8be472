package edit

import (
	"sort"
	"strings"
)

// view is a text as matching sees it: with LF for CRLF, and the way back.
type view struct {
	raw string
	lf  string
	// crlf holds the offsets in lf of the LFs that are CRLF in raw, ascending.
	crlf []int
	// starts holds the offsets in lf of the first byte of each line.
	starts []int
}

func newView(raw string) *view {
	v := &view{raw: raw, lf: raw, starts: []int{0}}
	if strings.Contains(raw, "\r\n") {
		v.lf = toLF(raw)
		n := 0 // CRs dropped so far
		for i := 0; i < len(raw); i++ {
			if raw[i] == '\n' && i > 0 && raw[i-1] == '\r' {
				n++
				v.crlf = append(v.crlf, i-n)
			}
		}
	}
	for i := 0; i < len(v.lf); i++ {
		if v.lf[i] == '\n' && i+1 < len(v.lf) {
			v.starts = append(v.starts, i+1)
		}
	}
	return v
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// toRaw is the offset in raw of an offset in lf; that of an LF which was CRLF
// is the offset of its CR.
func (v *view) toRaw(at int) int { return at + sort.SearchInts(v.crlf, at) }

// isCRLF reports whether the LF at an offset of lf is CRLF in raw.
func (v *view) isCRLF(at int) bool {
	i := sort.SearchInts(v.crlf, at)
	return i < len(v.crlf) && v.crlf[i] == at
}

// line is the number, from 1, of the line that an offset of lf is in.
func (v *view) line(at int) int { return sort.SearchInts(v.starts, at+1) }

// lineCount is the number of lines; an empty text has one.
func (v *view) lineCount() int { return len(v.starts) }

// lineText is a line without its end. i counts from 0.
func (v *view) lineText(i int) string {
	from := v.starts[i]
	to := v.lineEnd(i)
	return v.lf[from:to]
}

// lineEnd is the offset of the LF of line i, or of the text's end.
func (v *view) lineEnd(i int) int {
	if i+1 < len(v.starts) {
		return v.starts[i+1] - 1
	}
	return len(strings.TrimSuffix(v.lf[v.starts[i]:], "\n")) + v.starts[i]
}

// splice puts a place's text into raw. What the new text shares with the old
// at its beginning and end is left as it is, line ends included; new line ends
// are like those around them.
func (v *view) splice(p place) string {
	old := v.lf[p.from:p.to]
	head := commonPrefix(old, p.text)
	tail := commonSuffix(old[head:], p.text[head:])
	from, to := p.from+head, p.to-tail
	middle := p.text[head : len(p.text)-tail]
	if strings.Contains(middle, "\n") && v.wantsCRLF(p) {
		middle = strings.ReplaceAll(middle, "\n", "\r\n")
	}
	return v.raw[:v.toRaw(from)] + middle + v.raw[v.toRaw(to):]
}

// wantsCRLF decides the line end of new lines: that of the replaced part, else
// of the line it is in, else of the line before, else of the file's first.
func (v *view) wantsCRLF(p place) bool {
	crlf, lf := 0, 0
	tally := func(at int) {
		if v.isCRLF(at) {
			crlf++
		} else {
			lf++
		}
	}
	for i := p.from; i < p.to; i++ {
		if v.lf[i] == '\n' {
			tally(i)
		}
	}
	if crlf+lf > 0 {
		return crlf > lf || crlf == lf && len(v.crlf)*2 > strings.Count(v.lf, "\n")
	}
	if i := strings.IndexByte(v.lf[p.to:], '\n'); i >= 0 {
		return v.isCRLF(p.to + i)
	}
	if i := strings.LastIndexByte(v.lf[:p.from], '\n'); i >= 0 {
		return v.isCRLF(i)
	}
	return false
}

// commonPrefix is the length of what a and b begin with, in whole characters.
func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	for i > 0 && (i < len(a) && !runeStart(a[i]) || i < len(b) && !runeStart(b[i])) {
		i--
	}
	return i
}

// commonSuffix is the length of what a and b end with, in whole characters.
func commonSuffix(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	for i > 0 && !runeStart(a[len(a)-i]) {
		i--
	}
	return i
}

func runeStart(c byte) bool { return c&0xC0 != 0x80 }
