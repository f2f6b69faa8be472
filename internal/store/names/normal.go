package names

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/openmuse/muse/internal/ident"
)

// Lengths of a name in characters (CLI.md 13, Sessions).
const (
	MinLength = 3
	MaxLength = 32
)

// InvalidError says why a text is no name.
type InvalidError struct {
	Text   string
	Reason string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%q is no name for a session: %s", e.Text, e.Reason)
}

// Normalize is the form in which a name is kept: composed characters, white
// space as single spaces, none at the ends. A name has 3 to 32 characters:
// letters, digits, spaces and the marks - _ . and it does not look like a
// session id or an option.
func Normalize(text string) (string, error) {
	bad := func(reason string) (string, error) { return "", &InvalidError{text, reason} }
	if !utf8.ValidString(text) {
		return bad("it is not UTF-8")
	}
	name := strings.Join(strings.Fields(norm.NFC.String(text)), " ")
	for _, r := range name {
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r), strings.ContainsRune(" -_.", r):
		default:
			return bad(fmt.Sprintf("it has the character %q; letters, digits, spaces and - _ . are allowed", r))
		}
	}
	switch n := utf8.RuneCountInString(name); {
	case n < MinLength || n > MaxLength:
		return bad(fmt.Sprintf("its length is %d, not %d to %d characters", n, MinLength, MaxLength))
	case strings.HasPrefix(name, "-"):
		return bad("it begins like an option")
	case !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return bad("it has no letter and no digit")
	case ident.Valid(name):
		return bad("it looks like a session id")
	}
	return name, nil
}

// fold is the form in which names are compared: two names that differ only in
// case are one.
func fold(name string) string {
	return norm.NFKC.String(strings.ToLower(norm.NFKC.String(name)))
}
