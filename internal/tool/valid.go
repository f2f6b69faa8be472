package tool

import (
	"context"
	"strconv"
	"strings"
	"unicode"
)

// validated is a tool whose results are valid UTF-8 whatever the names and
// contents of files are: the log, the stream and every provider take only
// that, and one odd file name must not end a session.
type validated struct{ Tool }

func (v validated) Run(ctx context.Context, call Call) Result {
	return validResult(v.Tool.Run(ctx, call))
}

// validResult replaces what is not UTF-8 in the texts of a result. The path of
// a spill file stays as it is: the file is opened by it.
func validResult(r Result) Result {
	r.Text, r.Reason = validText(r.Text), validText(r.Reason)
	if r.Edit != nil {
		facts := *r.Edit
		facts.Path = validText(facts.Path)
		r.Edit = &facts
	}
	return r
}

func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// printable is a file name or path as a result shows it. One that would break
// or repaint a line is quoted, so that a name cannot pass for lines of its own.
func printable(name string) string {
	if strings.IndexFunc(name, breaksLine) < 0 {
		return name
	}
	return strconv.Quote(name)
}

func breaksLine(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func printableAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = printable(name)
	}
	return out
}
