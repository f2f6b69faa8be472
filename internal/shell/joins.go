package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The shell takes a backslash and the newline behind it out of the text while
// it looks for the next token, the parser while it looks at characters: in the
// middle of "$(", of a here-document's end or of a comment the two come to
// different lines. So a joined line is read only where nothing can depend on
// it, and every other one is refused.

// span is a part of the source, from its first byte to behind its last.
type span struct{ from, to int }

func (s span) holds(at int) bool { return s.from <= at && at < s.to }

func spanOf(n syntax.Node) span {
	return span{int(n.Pos().Offset()), int(n.End().Offset())}
}

// joins collects what decides about the joined lines of one script.
type joins struct {
	src string
	// refused are spans in which no line may be joined.
	refused []span
	// literal are spans in which a backslash before a newline is text.
	literal []span
	// double and words are double quotes and unquoted literals; commands are
	// the substitutions inside of them, which are code again.
	double, words, commands []span
	// misread is set when a here-document holds its own end.
	misread bool
}

// joinsAreCertain reports whether the shell joins the lines of src as the
// parser did.
func joinsAreCertain(f *syntax.File, src string) bool {
	if !strings.Contains(src, "\\\n") {
		return true
	}
	j := joins{src: src}
	syntax.Walk(f, func(n syntax.Node) bool {
		if n != nil {
			j.note(n)
		}
		return true
	})
	if j.misread {
		return false
	}
	for at := 0; ; at++ {
		next := strings.Index(src[at:], "\\\n")
		if next < 0 {
			return true
		}
		at += next
		if !j.certain(at) {
			return false
		}
	}
}

func (j *joins) note(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Comment:
		// A comment ends with its line, whatever the line ends in.
		from := int(n.Hash.Offset())
		j.refused = append(j.refused, span{from, lineEnd(j.src, from) + 1})
	case *syntax.SglQuoted:
		if n.Dollar {
			j.refused = append(j.refused, spanOf(n))
		} else {
			j.literal = append(j.literal, spanOf(n))
		}
	case *syntax.DblQuoted:
		j.double = append(j.double, spanOf(n))
	case *syntax.CmdSubst:
		if n.Backquotes {
			j.refused = append(j.refused, spanOf(n))
		}
		j.commands = append(j.commands, spanOf(n))
	case *syntax.ProcSubst:
		j.commands = append(j.commands, spanOf(n))
	case *syntax.ParamExp, *syntax.ArithmExp, *syntax.ExtGlob, *syntax.BraceExp:
		j.refused = append(j.refused, spanOf(n))
	case *syntax.Lit:
		j.words = append(j.words, spanOf(n))
	case *syntax.Redirect:
		if n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc {
			j.document(n)
		}
	}
}

// document refuses joined lines from a here-document's operator to its end: in
// its text a joined line may be that end. Behind a quoted delimiter lines are
// taken as they are.
func (j *joins) document(r *syntax.Redirect) {
	from, end := int(r.OpPos.Offset()), delimiter(r.Word)
	if !quotedDelimiter(r.Word) {
		j.refused = append(j.refused, span{from, j.lastLine(end, from)})
		return
	}
	if r.Hdoc == nil {
		j.refused = append(j.refused, span{from, lineEnd(j.src, from) + 1})
		return
	}
	body := spanOf(r.Hdoc)
	j.refused = append(j.refused, span{from, body.from})
	j.literal = append(j.literal, body)
	lines := strings.Split(strings.TrimSuffix(slice(j.src, uint(body.from), uint(body.to)), "\n"), "\n")
	for i, line := range lines {
		if r.Op == syntax.DashHdoc {
			line = strings.TrimLeft(line, "\t")
		}
		// The parser counts the end among the text.
		j.misread = j.misread || line == end && i < len(lines)-1
	}
}

// lastLine is the offset behind the last line that could end a here-document
// which begins at from.
func (j *joins) lastLine(end string, from int) int {
	last := len(j.src)
	for at := len(j.src); at > from; {
		start := strings.LastIndexByte(j.src[:at], '\n') + 1
		if strings.TrimLeft(j.src[start:at], "\t") == end {
			return at
		}
		at = start - 1
	}
	return last
}

// certain judges the backslash at an offset with a newline behind it.
func (j *joins) certain(at int) bool {
	within := func(list []span) (found span, ok bool) {
		for _, s := range list {
			if s.holds(at) && (!ok || s.to-s.from < found.to-found.from) {
				found, ok = s, true
			}
		}
		return found, ok
	}
	// The smallest span around the place says what the place is.
	code, inCode := within(j.commands)
	inner := func(list []span) (span, bool) {
		s, ok := within(list)
		return s, ok && (!inCode || s.from > code.from)
	}
	if _, ok := within(j.refused); ok {
		return false
	}
	if _, ok := inner(j.literal); ok {
		return true
	}
	run := 1
	for at-run >= 0 && j.src[at-run] == '\\' {
		run++
	}
	if run%2 == 0 {
		return true // an escaped backslash, and a newline
	}
	if run > 1 || at == 0 {
		return false
	}
	before, after := j.src[at-1], byte(0)
	if at+2 < len(j.src) {
		after = j.src[at+2]
	}
	if _, ok := inner(j.double); ok {
		return blank(before) || letter(before) && (letter(after) || blank(after))
	}
	if word, ok := inner(j.words); ok && !(blank(before) && word.from >= at) {
		text := strings.ReplaceAll(j.src[word.from:word.to], "\\\n", "")
		return letter(before) && letter(after) && !slices.Contains(reservedWords(), text) &&
			strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_./") == ""
	}
	return blank(before)
}

// reservedWords are the words that change how a line is read.
func reservedWords() []string {
	return []string{
		"if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done", "in",
		"function", "time", "coproc", "export", "declare", "typeset", "local", "readonly", "nameref", "let", "eval",
	}
}

func blank(c byte) bool  { return c == ' ' || c == '\t' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// lineEnd is the offset of the newline that ends the line around an offset, or
// the end of the text.
func lineEnd(src string, from int) int {
	if i := strings.IndexByte(src[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(src)
}

// delimiterIsPlain reports whether shells agree on what ends a here-document:
// a word of plain characters, bare or in one kind of quotes. Where quotes,
// backslashes and expansions mix they do not.
func delimiterIsPlain(w *syntax.Word) bool {
	if len(w.Parts) != 1 {
		return false
	}
	plain := func(s, more string) bool {
		for i := 0; i < len(s); i++ {
			if c := s[i]; !letter(c) && (c < '0' || c > '9') && strings.IndexByte(more, c) < 0 {
				return false
			}
		}
		return s != ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return plain(strings.TrimPrefix(p.Value, `\`), "_-.!%+,:@")
	case *syntax.SglQuoted:
		return !p.Dollar && plain(p.Value, "_-.!%+,:@ #")
	case *syntax.DblQuoted:
		if p.Dollar || len(p.Parts) != 1 {
			return false
		}
		lit, ok := p.Parts[0].(*syntax.Lit)
		return ok && plain(lit.Value, "_-.,:@ #")
	}
	return false
}
