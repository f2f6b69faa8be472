package jsonline

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Reason says why a line is no JSON value, in the words that the readers of
// this format have in their reports: what was expected, and where, counted in
// characters from 0 and in columns from 1. It is slow and only for bad lines.
// For a line that is well-formed it says so.
func Reason(line []byte) string {
	if bytes.HasPrefix(line, []byte("\ufeff")) {
		return at("Unexpected UTF-8 BOM (decode using utf-8-sig)", line, 0)
	}
	r := reader{b: line}
	i := r.value(space(line, 0), 0)
	if r.what == "" {
		if i = space(line, i); i < len(line) {
			r.fail("Extra data", i)
		}
	}
	if r.what == "" {
		return "no fault was found"
	}
	return at(r.what, line, r.where)
}

func at(what string, line []byte, i int) string {
	before := line[:min(i, len(line))]
	char := utf8.RuneCount(before) + max(0, i-len(line))
	row := bytes.Count(before, []byte{'\n'}) + 1
	column := char + 1
	if nl := bytes.LastIndexByte(before, '\n'); nl >= 0 {
		column = char - utf8.RuneCount(before[:nl])
	}
	return fmt.Sprintf("%s: line %d column %d (char %d)", what, row, column, char)
}

// reader goes through a value like Valid does and keeps the first fault.
type reader struct {
	b     []byte
	what  string
	where int
}

func (r *reader) fail(what string, i int) int {
	if r.what == "" {
		r.what, r.where = what, i
	}
	return -1
}

func (r *reader) is(i int, c byte) bool { return i < len(r.b) && r.b[i] == c }

func (r *reader) value(i, depth int) int {
	if depth > MaxDepth {
		return r.fail("Nested too deep", i)
	}
	switch {
	case r.is(i, '"'):
		return r.text(i)
	case r.is(i, '{'):
		return r.object(i, depth)
	case r.is(i, '['):
		return r.array(i, depth)
	}
	if end := value(r.b, i, 0); end >= 0 {
		return end
	}
	return r.fail("Expecting value", i)
}

func (r *reader) object(i, depth int) int {
	if i = space(r.b, i+1); r.is(i, '}') {
		return i + 1
	}
	for {
		if !r.is(i, '"') {
			return r.fail("Expecting property name enclosed in double quotes", i)
		}
		if i = r.text(i); i < 0 {
			return -1
		}
		if i = space(r.b, i); !r.is(i, ':') {
			return r.fail("Expecting ':' delimiter", i)
		}
		if i = r.value(space(r.b, i+1), depth+1); i < 0 {
			return -1
		}
		if i = space(r.b, i); r.is(i, '}') {
			return i + 1
		}
		if !r.is(i, ',') {
			return r.fail("Expecting ',' delimiter", i)
		}
		i = space(r.b, i+1)
	}
}

func (r *reader) array(i, depth int) int {
	if i = space(r.b, i+1); r.is(i, ']') {
		return i + 1
	}
	for {
		if i = r.value(i, depth+1); i < 0 {
			return -1
		}
		if i = space(r.b, i); r.is(i, ']') {
			return i + 1
		}
		if !r.is(i, ',') {
			return r.fail("Expecting ',' delimiter", i)
		}
		i = space(r.b, i+1)
	}
}

// text reads the string whose opening quote is at open.
func (r *reader) text(open int) int {
	b := r.b
	for i := open + 1; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < 0x20:
			return r.fail("Invalid control character at", i)
		case c != '\\':
			i++
		case i+1 >= len(b):
			return r.fail("Unterminated string starting at", open)
		case b[i+1] == 'u':
			// The digits must be followed by something: a string that ends
			// with them has no closing quote.
			if _, ok := hex4(b[i+2:]); !ok || len(b)-i <= 6 {
				return r.fail(`Invalid \uXXXX escape`, i+1)
			}
			i += 6
		case bytes.IndexByte([]byte(`"\/bfnrt`), b[i+1]) >= 0:
			i += 2
		default:
			return r.fail(`Invalid \escape`, i)
		}
	}
	return r.fail("Unterminated string starting at", open)
}
