package jsonline

import (
	"bytes"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// AppendCompact appends a well-formed value without space, with the members of
// objects in the order of their keys and strings in their shortest form. Two
// values that mean the same are written the same.
func AppendCompact(dst, raw []byte) []byte {
	return appendCompact(dst, raw, 0)
}

// maxSorted is how deep objects are sorted; what is nested deeper is kept as
// it is. Sorting looks at each level anew, so without a bound a value nested
// thousands deep would take its time squared.
const maxSorted = 64

func appendCompact(dst, raw []byte, depth int) []byte {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth > maxSorted {
		return append(dst, raw...)
	}
	switch raw[0] {
	case '"':
		lit, _ := Literal(raw)
		return append(AppendQuoted(append(dst, '"'), Text(lit)), '"')
	case '[':
		dst = append(dst, '[')
		first := true
		for e := Elements(raw); e.Next(); first = false {
			if !first {
				dst = append(dst, ',')
			}
			dst = appendCompact(dst, e.Val, depth+1)
		}
		return append(dst, ']')
	case '{':
		type member struct{ key, val []byte }
		var members []member
		for f := Members(raw); f.Next(); {
			members = append(members, member{Text(f.Key), f.Val})
		}
		slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
		dst = append(dst, '{')
		first := true
		for i, m := range members {
			if i+1 < len(members) && bytes.Equal(m.key, members[i+1].key) {
				continue // the last of several wins
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(AppendQuoted(append(dst, '"'), m.key), '"', ':')
			dst = appendCompact(dst, m.val, depth+1)
		}
		return append(dst, '}')
	}
	return append(dst, raw...)
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as the inside of a JSON string. Beside what JSON
// demands it escapes what a terminal or a line reader would act on: control
// characters of both ranges, line and paragraph separators, and the marks that
// turn the direction of text around. Text that is not UTF-8 gets U+FFFD.
func AppendQuoted(dst, text []byte) []byte {
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, text[start:i]...)
			dst = appendEscape(dst, rune(c))
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || Unsafe(r) {
			dst = append(dst, text[start:i]...)
			dst = appendEscape(dst, r)
			start = i + n
		}
		i += n
	}
	return append(dst, text[start:]...)
}

// Unsafe reports characters that act instead of showing: controls, separators
// of lines, and overrides and isolates of direction.
func Unsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r < 0x200e:
		return false
	case r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
		return true
	}
	return false
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case utf8.RuneError:
		return append(dst, "\ufffd"...)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// AppendLiteral appends a well-formed string literal as AppendQuoted would
// write its text, but copies it as it stands where that is safe, which is at
// the speed of memory.
func AppendLiteral(dst, lit []byte) []byte {
	if plain(lit) {
		return append(dst, lit...)
	}
	return AppendQuoted(dst, Text(lit))
}

// plain reports whether a well-formed literal can be passed on as it stands:
// valid UTF-8 in which nothing acts instead of showing, and no escape that
// could be half of a surrogate pair.
func plain(lit []byte) bool {
	for i := 0; i < len(lit); {
		if len(lit)-i >= 8 {
			w := le64(lit[i:])
			del := w ^ ones*0x7f
			m := (w | (del-ones)&^del) & highs
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		if lit[i] < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(lit[i:])
		if r == utf8.RuneError && n == 1 || Unsafe(r) {
			return false
		}
		i += n
	}
	for rest := lit; ; {
		i := bytes.Index(rest, []byte(`\u`))
		if i < 0 || i+2 >= len(rest) {
			return true
		}
		if rest[i+2]|0x20 == 'd' {
			return false // rare enough to look closer
		}
		rest = rest[i+2:]
	}
}
