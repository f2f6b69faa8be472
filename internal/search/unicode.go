package search

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The classes that \w, \d and \s stand for beyond ASCII, as ripgrep has them.
const (
	wideWord  = `\p{L}\p{M}\p{Nd}\p{Pc}`
	wideDigit = `\p{Nd}`
	wideSpace = `\s\x0b\x{85}\p{Z}`
)

// wideClasses rewrites an expression so that \w, \d and \s (and \W, \D, \S
// outside of brackets) speak of all of Unicode. \b keeps its meaning, which is
// of ASCII words; Go's expressions have no other.
func wideClasses(source string) string {
	var b strings.Builder
	inClass := false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source):
			i++
			if source[i] == 'Q' { // quoted to \E: nothing to rewrite
				return source
			}
			b.WriteString(wideEscape(source[i], inClass))
			continue
		case inClass:
			if strings.HasPrefix(source[i:], "[:") {
				if end := strings.Index(source[i:], ":]"); end > 0 {
					b.WriteString(source[i : i+end+2])
					i += end + 1
					continue
				}
			}
			inClass = c != ']'
		case c == '[':
			inClass = true
			b.WriteByte(c)
			// A ] directly after the opening is a member.
			if i+1 < len(source) && source[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(source) && source[i+1] == ']' {
				i++
				b.WriteByte(']')
			}
			continue
		}
		b.WriteByte(source[i])
	}
	return b.String()
}

func wideEscape(c byte, inClass bool) string {
	var class string
	switch c {
	case 'w', 'W':
		class = wideWord
	case 'd', 'D':
		class = wideDigit
	case 's', 'S':
		class = wideSpace
	default:
		return `\` + string(c)
	}
	switch {
	case inClass && c >= 'a':
		return class
	case inClass: // a negated class in brackets cannot be written so
		return `\` + string(c)
	case c >= 'a':
		return "[" + class + "]"
	}
	return "[^" + class + "]"
}

// compileWide compiles an expression for lines that are not plain ASCII. Where
// rewriting does not give a valid expression, the original holds.
func compileWide(source string, plain *regexp.Regexp) *regexp.Regexp {
	if re, err := regexp.Compile(wideClasses(source)); err == nil {
		return re
	}
	return plain
}

func isASCII(line []byte) bool {
	for _, c := range line {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
