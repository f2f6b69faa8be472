package edit

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// folded is a text with the Unicode forms taken out that look the same: it is
// composed (NFC), typographic quotes, dashes and spaces are the plain ones,
// and invisible characters are gone.
type folded struct {
	text string
	// from[i] is the offset in the original of the character that byte i of
	// text belongs to; start[i] says that byte i begins what a character of
	// the original became. Both have one entry more for the end.
	from  []int32
	start []bool
}

func fold(s string) folded {
	f := folded{from: make([]int32, 0, len(s)+1), start: make([]bool, 0, len(s)+1)}
	var b strings.Builder
	b.Grow(len(s))
	put := func(part string, at int) {
		for i := range len(part) {
			f.from = append(f.from, int32(at))
			f.start = append(f.start, i == 0)
		}
		b.WriteString(part)
	}
	for at := 0; at < len(s); {
		if c := s[at]; c < 0x80 && (at+1 == len(s) || s[at+1] < 0x80) { // plain text is most text
			put(s[at:at+1], at)
			at++
			continue
		}
		n := norm.NFC.NextBoundaryInString(s[at:], true)
		if n <= 0 {
			n = len(s) - at
		}
		put(foldSegment(norm.NFC.String(s[at:at+n])), at)
		at += n
	}
	f.text = b.String()
	f.from = append(f.from, int32(len(s)))
	f.start = append(f.start, true)
	return f
}

// foldSegment folds one composed character with its marks.
func foldSegment(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\uFFFD' && s[i] != "\uFFFD"[0]: // an invalid byte stays itself
			b.WriteByte(s[i])
		case r == '\u2018' || r == '\u2019' || r == '\u201A' || r == '\u201B' || r == '\u2032':
			b.WriteByte('\'')
		case r == '\u201C' || r == '\u201D' || r == '\u201E' || r == '\u201F' || r == '\u2033':
			b.WriteByte('"')
		case r >= '\u2010' && r <= '\u2015' || r == '\u2212' || r == '\uFE58' || r == '\uFE63' || r == '\uFF0D':
			b.WriteByte('-')
		case r == '\u2026':
			b.WriteString("...")
		case r != ' ' && unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case r == '\u00AD' || r >= '\u200B' && r <= '\u200D' || r == '\u2060' || r == '\uFEFF':
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// byUnicode matches looking past Unicode forms. What find and replace have in
// common keeps the form it has in the file.
func (v *view) byUnicode(find, replace string) (place, error) {
	if len(v.lf) > maxFolded || isASCII(find) && isASCII(v.lf) {
		return place{}, ErrNotFound
	}
	file, want := fold(v.lf), fold(find)
	if want.text == "" {
		return place{}, ErrNotFound
	}
	var at []int
	for _, i := range occurrences(file.text, want.text, 4*maxListed) {
		if file.start[i] && file.start[i+len(want.text)] {
			at = append(at, i)
		}
	}
	switch {
	case len(at) == 0:
		return place{}, ErrNotFound
	case len(at) > 1:
		for i := range at {
			at[i] = int(file.from[at[i]])
		}
		return place{}, v.ambiguous(formsOfUnicode, at)
	}
	i := at[0]
	from, to := int(file.from[i]), int(file.from[i+len(want.text)])
	have := v.lf[from:to]

	// The common beginning and end of find and replace, in the file's form.
	head := commonPrefix(find, replace)
	tail := commonSuffix(find[head:], replace[head:])
	headEnd, ok1 := want.foldedOffset(head)
	tailStart, ok2 := want.foldedOffset(len(find) - tail)
	if !ok1 || !ok2 || !file.start[i+headEnd] || !file.start[i+tailStart] {
		return place{from: from, to: to, text: inFormOf(have, replace), how: formsOfUnicode}, nil
	}
	keepHead := v.lf[from:int(file.from[i+headEnd])]
	keepTail := v.lf[int(file.from[i+tailStart]):to]
	middle := inFormOf(have, replace[head:len(replace)-tail])
	return place{from: from, to: to, text: keepHead + middle + keepTail, how: formsOfUnicode}, nil
}

const formsOfUnicode = "unicode forms"

// maxFolded bounds the memory of folding, which is several times the text.
const maxFolded = 4 << 20

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// foldedOffset is where the character at an offset of the original begins in
// the folded text. ok is false inside of a character.
func (f folded) foldedOffset(at int) (int, bool) {
	lo, hi := 0, len(f.from)
	for lo < hi {
		mid := (lo + hi) / 2
		if int(f.from[mid]) < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(f.from) && f.start[lo] && int(f.from[lo]) == at
}

// inFormOf gives text the normalisation form that the file's part is in.
func inFormOf(have, text string) string {
	if !norm.NFC.IsNormalString(have) && norm.NFD.IsNormalString(have) {
		return norm.NFD.String(text)
	}
	return text
}
