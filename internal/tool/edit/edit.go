// Package edit finds the one place in a text that a model means and replaces
// it there and nowhere else. It knows no files and no tools.
//
// The text to find must occur exactly once. When it does not occur, the same
// text in another Unicode form, with other trailing white space or with
// another indentation is accepted, if there is exactly one such place and the
// replacement can be fitted to it without a guess; otherwise the error shows
// the places that come near. Bytes outside of what changes are never touched,
// so mixed line ends and invalid UTF-8 elsewhere survive.
package edit

import (
	"errors"
	"fmt"
	"strings"
)

// Change is a text after one replacement.
type Change struct {
	Text string
	// How is "" for an exact match, otherwise what was looked past:
	// "unicode forms", "trailing white space", "indentation".
	How string
	// First and Last are the changed lines, counted in the new text from 1.
	// After a pure deletion both are the line that follows it.
	First, Last int
	// Diff is the change as a unified diff without file names.
	Diff           string
	Added, Removed int // lines
}

// The refusals. Each is wrapped in an error that tells the model what to do.
var (
	ErrEmptyFind = errors.New("find is empty")
	ErrNoChange  = errors.New("nothing would change")
	ErrNotFound  = errors.New("find was not found")
	ErrAmbiguous = errors.New("find is not unique")
)

// place is a part of a view and what comes there instead, with LF line ends.
type place struct {
	from, to int
	text     string
	how      string
}

// Apply replaces the one occurrence of find in text. Line ends in find and
// replace may be LF or CRLF; the text keeps those it has.
func Apply(text, find, replace string) (Change, error) {
	find, replace = toLF(find), toLF(replace)
	if find == "" {
		return Change{}, fmt.Errorf("%w; to make a new file use write_file", ErrEmptyFind)
	}
	if find == replace {
		return Change{}, fmt.Errorf("%w: find and replace are the same text (line ends are kept as they are)", ErrNoChange)
	}
	v := newView(text)
	p, err := v.locate(find, replace)
	if err != nil {
		return Change{}, err
	}
	changed := v.splice(p)
	if changed == text {
		return Change{}, fmt.Errorf("%w: the file already has the text of replace there", ErrNoChange)
	}
	c := Change{Text: changed, How: p.how}
	c.describe(v.lf, toLF(changed))
	return c, nil
}

// locate tries the ways of matching from the strictest on. A way that finds
// several places ends the search: a laxer one could only find more.
func (v *view) locate(find, replace string) (place, error) {
	switch at := occurrences(v.lf, find, maxListed+1); len(at) {
	case 0:
	case 1:
		return place{from: at[0], to: at[0] + len(find), text: replace}, nil
	default:
		return place{}, v.ambiguous("", at)
	}
	for _, way := range []func(find, replace string) (place, error){v.byUnicode, v.byTrailing, v.byIndent} {
		p, err := way(find, replace)
		if !errors.Is(err, ErrNotFound) {
			return p, err
		}
	}
	return place{}, v.notFound(find)
}

const maxListed = 10

// occurrences lists where s occurs in text, overlapping ones too, at most n.
func occurrences(text, s string, n int) []int {
	var at []int
	for from := 0; len(at) < n; {
		i := strings.Index(text[from:], s)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

// ambiguous says where the places are that find could mean.
func (v *view) ambiguous(how string, at []int) error {
	var lines []string
	more := ""
	for i, offset := range at {
		if i == maxListed {
			more = " and more"
			break
		}
		lines = append(lines, fmt.Sprint(v.line(offset)))
	}
	suffix := ""
	if how != "" {
		suffix = " (looking past " + how + ")"
	}
	return fmt.Errorf("%w%s: it occurs %s times, at lines %s%s; add lines around it so that it occurs once",
		ErrAmbiguous, suffix, atLeast(len(at)), strings.Join(lines, ", "), more)
}

func atLeast(n int) string {
	if n > maxListed {
		return fmt.Sprintf("more than %d", maxListed)
	}
	return fmt.Sprint(n)
}
