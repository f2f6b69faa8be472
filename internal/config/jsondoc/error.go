package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is one fault in a file: where it is, what is wrong, how to mend it.
type Error struct {
	File         string
	Line, Column int    // 1-based, columns counted in characters; 0 when the whole file is meant
	Path         string // "provider_retry.max_attempts", "" for the whole value
	Problem      string
	Mend         string
}

// Error is one line: "FILE:LINE:COLUMN: PATH: PROBLEM; MEND".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Problem)
	if e.Mend != "" {
		b.WriteString("; " + e.Mend)
	}
	return b.String()
}

// lineCol is the 1-based line and column of a byte offset.
func (d *Document) lineCol(offset int) (line, col int) {
	offset = min(max(offset, 0), len(d.text))
	before := d.text[:offset]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// syntax turns a decoder's error into one with a place and a remedy.
func (p *parser) syntax(err error) error {
	d := p.doc
	e := &Error{File: d.name}
	offset := len(d.text)
	var syn *jsontext.SyntacticError
	switch {
	case errors.As(err, &syn):
		offset = int(syn.ByteOffset)
		e.Problem = "not valid JSON: " + strings.TrimPrefix(syn.Err.Error(), "jsontext: ")
	case errors.Is(err, io.EOF):
	default:
		e.Problem = "not valid JSON: " + err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.Problem, e.Mend = "the file ends in the middle of a value", "close the open quotes, brackets and braces"
		offset = len(bytes.TrimRight(d.text, " \t\r\n"))
	}
	at := skipSpace(d.text, offset)
	rest := d.text[at:]
	switch before := lastByte(d.text[:min(at, len(d.text))]); {
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")), bytes.HasPrefix(rest, []byte("#")):
		offset, e.Problem, e.Mend = at, "comments are not part of JSON", "remove the comment"
	case len(rest) > 0 && rest[0] == ',' && isCloser(d.text, at+1):
		offset, e.Problem, e.Mend = at, "there is a comma after the last entry", "remove the comma"
	case len(rest) > 0 && rest[0] == '\'':
		offset, e.Problem, e.Mend = at, "JSON text is quoted with \", not '", "change the quotes"
	case len(rest) > 0 && (before == '"' || before == '}' || before == ']') && rest[0] == '"':
		offset, e.Problem, e.Mend = at, "a comma is missing before this entry", "add it"
	case strings.Contains(e.Problem, "UTF-8"):
		e.Mend = "save the file as UTF-8"
	}
	e.Line, e.Column = d.lineCol(offset)
	return e
}

func skipSpace(text []byte, at int) int {
	at = min(max(at, 0), len(text))
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

func isCloser(text []byte, at int) bool {
	at = skipSpace(text, at)
	return at < len(text) && (text[at] == '}' || text[at] == ']')
}

func lastByte(text []byte) byte {
	text = bytes.TrimRight(text, " \t\r\n")
	if len(text) == 0 {
		return 0
	}
	return text[len(text)-1]
}
