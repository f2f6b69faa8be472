package shell

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Limits of one line (THREATS.md 3.2 and 3.4).
const (
	// MaxText is the longest line that is looked at, in bytes.
	MaxText = 32 << 10
	// MaxStages is the most commands one line may start.
	MaxStages = 64
	// MaxDepth is how deep scripts and substitutions may nest.
	MaxDepth = 6
)

// gate refuses text in which two readers could see different lines: bytes that
// are no UTF-8, control characters, and marks that change the direction or the
// line structure of what a person sees. It runs before any parsing, since the
// parser itself reads a lone carriage return as white space and skips NUL.
func gate(text string) string {
	if len(text) > MaxText {
		return fmt.Sprintf("longer than %d bytes", MaxText)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f {
				return fmt.Sprintf("control character %#02x", c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return "not UTF-8"
		}
		if refusedRune(r) {
			return fmt.Sprintf("invisible character U+%04X", r)
		}
		i += n
	}
	return ""
}

// refusedRune lists the characters that are refused everywhere, in quotes too:
// C1 controls, directional marks and overrides, line and paragraph separators,
// the byte order mark.
func refusedRune(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f,
		r >= 0x202a && r <= 0x202e,
		r >= 0x2066 && r <= 0x2069,
		r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029, r == 0xfeff:
		return true
	}
	return false
}

// hiddenOutsideQuotes finds characters that look like nothing or like a space
// but are part of a word for bash: format characters and non-ASCII spaces.
func hiddenOutsideQuotes(s string) (rune, bool) {
	for _, r := range s {
		if r >= utf8.RuneSelf && (unicode.Is(unicode.Cf, r) || unicode.IsSpace(r) || unicode.Is(unicode.Zs, r)) {
			return r, true
		}
	}
	return 0, false
}

// plainProgram reports whether a program name is printable ASCII without
// anything that the eye or another shell could take for syntax.
func plainProgram(name string) bool {
	if name == "" {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c <= ' ' || c >= 0x7f {
			return false
		}
		switch c {
		case '\'', '"', '`', '$', '&', ';', '|', '<', '>', '(', ')', '*', '?', '{', '}', '=', '\\', '#':
			return false
		}
	}
	return true
}
