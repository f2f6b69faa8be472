package shell

import "strings"

// Hole stands in a Word's Value for text that is not known before the line
// runs. It cannot occur otherwise: arguments never hold a NUL.
const Hole = '\x00'

// Below stands in a Value that is not Known for a path that find put there: it
// lies below what is written before it and holds no "..".
const Below = '\x01'

// Digits stands in a Value that is not Known for a number or another plain word
// that is no option and holds no separator: $?, $#, $(nproc).
const Digits = '\x02'

// Word is one argument, as far as it can be told before the line runs.
type Word struct {
	// Value is what the program receives when Known. Otherwise it is a sketch:
	// literal text, pattern characters when Glob, and Hole for what is unknown.
	Value string
	// Text is how the word is shown.
	Text string
	// Known is set when Value is exactly what the program receives.
	Known bool
	// Static is set when the word was written without any expansion but a
	// leading tilde.
	Static bool
	// Glob is set when unquoted pattern characters make the shell look for
	// matching files.
	Glob bool
	// Split is set when the word may turn into several arguments, or none.
	Split bool
}

// Literal makes a known word, as if it had been written in quotes.
func Literal(value string) Word {
	return Word{Value: value, Text: Quote(value), Known: true, Static: true}
}

// MayBeOption reports whether the program could take the word for an option
// although the text does not show one: it can turn into several words, or its
// first character is not known (THREATS.md 3.5).
func (w Word) MayBeOption() bool {
	if w.Known {
		return false
	}
	if w.Split || w.Value == "" {
		return true
	}
	switch w.Value[0] {
	case Hole:
		return true
	case '*', '?', '[', '+', '@', '!':
		return w.Glob
	}
	return false
}

// IsOption reports whether the word certainly begins like an option.
func (w Word) IsOption() bool { return len(w.Value) > 1 && w.Value[0] == '-' }

// Quote renders a value as one shell word, quoted only where it is needed.
// Control characters come out escaped, so that a shown command never moves the
// reader's cursor.
func Quote(value string) string {
	if value == "" {
		return "''"
	}
	if strings.ContainsAny(value, " \t\n\r\"'\\$`;&|<>()") || hasControl(value) {
		value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
	}
	return escapeControls(value)
}

func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// escapeControls writes control characters, invisible directional marks and
// invalid UTF-8 as backslash escapes.
func escapeControls(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= 0x20 && s[i] < 0x7f
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\uFFFD' && s[i] != 0xEF:
			b.WriteString(hexEscape('x', 2, rune(s[i])))
		case r < 0x20 || r == 0x7f:
			b.WriteString(hexEscape('x', 2, r))
		case refusedRune(r):
			b.WriteString(hexEscape('u', 4, r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hexEscape(kind byte, digits int, r rune) string {
	const hex = "0123456789abcdef"
	out := make([]byte, 2+digits)
	out[0], out[1] = '\\', kind
	for i := digits - 1; i >= 0; i-- {
		out[2+i] = hex[r&15]
		r >>= 4
	}
	return string(out)
}
