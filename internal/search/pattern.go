package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Query is what to look for. A match lies within one line.
type Query struct {
	Pattern string
	// Regex takes Pattern as a regular expression (RE2 syntax: no backreferences
	// and no look-around). Otherwise it is plain text.
	Regex bool
	// IgnoreCase matches letters of either case. SmartCase does so when the
	// pattern has no upper-case letter.
	IgnoreCase, SmartCase bool
	Word                  bool // the match is not part of a longer word
	WholeLine             bool // the match is the whole line
}

// Pattern is a compiled query. It is safe for concurrent use.
type Pattern struct {
	// re decides about a line, nil when finding the literal is enough.
	re *regexp.Regexp
	// wide is re for lines that are not plain ASCII, in which \w means more.
	wide *regexp.Regexp
	// source is re as text, for each worker's automaton.
	source string
	// show finds the part of a matching line to show when it is long.
	show *regexp.Regexp
	// lits are texts one of which is in every match; none = unknown.
	lits literals
	// seesCR says that the expression names the carriage return; otherwise one
	// at the end of a line is part of the line end.
	seesCR bool
}

// unlikeWord is what cannot be part of a word.
const unlikeWord = `[^\p{L}\p{M}\p{Nd}\p{Pc}]`

// Compile prepares a query. Errors are worded for whoever wrote the pattern.
func Compile(q Query) (*Pattern, error) {
	if q.Pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	if strings.Contains(q.Pattern, "\n") {
		return nil, errors.New("the pattern holds a line break; a match lies within one line")
	}
	fold := q.IgnoreCase || q.SmartCase && !hasUpper(q.Pattern, q.Regex)
	source := q.Pattern
	if !q.Regex {
		source = regexp.QuoteMeta(source)
	}
	flags := syntax.Perl
	if fold {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(source, flags)
	if err != nil {
		return nil, patternError(err, q.Regex)
	}
	if names(tree, '\n') {
		return nil, errors.New("the pattern asks for a line break; a match lies within one line")
	}
	p := &Pattern{lits: requiredLiterals(tree), seesCR: names(tree, '\r')}
	prefix := ""
	if fold {
		prefix = "(?i)"
	}
	if p.show, err = regexp.Compile(prefix + source); err != nil {
		return nil, patternError(err, q.Regex)
	}
	switch {
	case q.WholeLine:
		source = `^(?:` + source + `)$`
	case q.Word:
		source = `(?:^|` + unlikeWord + `)(?:` + source + `)(?:$|` + unlikeWord + `)`
	case p.lits.enough(tree):
		p.source = prefix + source
		return p, nil
	}
	if p.re, err = regexp.Compile(prefix + source); err != nil {
		return nil, patternError(err, q.Regex)
	}
	p.source = prefix + source
	p.wide = p.re
	if q.Regex {
		p.wide = compileWide(prefix+source, p.re)
	}
	return p, nil
}

// hasUpper reports whether a pattern asks for an upper-case letter. What
// follows a backslash in an expression does not count: \S is a class.
func hasUpper(pattern string, regex bool) bool {
	escaped := false
	for _, r := range pattern {
		if regex && !escaped && r == '\\' {
			escaped = true
			continue
		}
		if !escaped && unicode.IsUpper(r) {
			return true
		}
		escaped = false
	}
	return false
}

func patternError(err error, regex bool) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) || !regex {
		return fmt.Errorf("the pattern cannot be used: %w", err)
	}
	hint := ""
	switch {
	case strings.HasPrefix(bad.Expr, "(?") || strings.HasPrefix(bad.Expr, `\`):
		hint = " (look-around and backreferences are not supported)"
	case bad.Code == syntax.ErrMissingParen || bad.Code == syntax.ErrUnexpectedParen || bad.Code == syntax.ErrMissingRepeatArgument:
		hint = " (to look for the text as it is, use mode literal)"
	}
	return fmt.Errorf("the expression is not valid: %s: `%s`%s", bad.Code, bad.Expr, hint)
}

// names reports whether an expression asks for a character itself, and not
// just for a class such as \s that holds it.
func names(re *syntax.Regexp, r rune) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return slices.Contains(re.Rune, r)
	case syntax.OpCharClass:
		return slices.Equal(re.Rune, []rune{r, r})
	}
	return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return names(sub, r) })
}
