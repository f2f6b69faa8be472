package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// constantExpansion reports whether what ${x-word} and its kind add is text
// that the line holds, and notes the text for build to look at.
func (b *wordBuilder) constantExpansion(e *syntax.Expansion, quoted bool) bool {
	gives := false
	switch e.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		gives = true
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
	default:
		return false
	}
	if e.Word == nil {
		return true
	}
	text, ok := constantParts(e.Word.Parts)
	if !ok || quoted && !quotesInside(e.Word.Parts, gives || b.document) {
		return false
	}
	if gives {
		b.given = append(b.given, b.value[b.copied:]...)
		// An option that the default begins, not one that stands before it.
		b.option = b.option || strings.HasPrefix(text, "-") && len(b.given) == 0 || strings.Contains(text, " -")
		b.given = append(b.given, text...)
		b.copied, b.gives = len(b.value), true
	}
	return true
}

// quotesInside judges the quotes of a word that stands inside double quotes
// or a here-document. There single quotes quote patterns only: in "${x:-'$(id)'}"
// they are text, and the command runs. Double quotes inside of double quotes
// end where shells do not agree if there is more than plain text between them.
func quotesInside(parts []syntax.WordPart, text bool) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if text && strings.ContainsAny(p.Value, "'\"\\") {
				return false
			}
		case *syntax.SglQuoted:
			if text || strings.ContainsAny(p.Value, "}\"\\$`") {
				return false
			}
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); !ok || strings.ContainsAny(lit.Value, "'{}\\$`") {
					return false
				}
			}
		}
	}
	return true
}

// constantParts gives the text of a word that holds no expansion. A backslash
// stays in it: the text is looked at, never handed on.
func constantParts(parts []syntax.WordPart) (string, bool) {
	var text strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if _, hidden := hiddenOutsideQuotes(p.Value); hidden {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text.WriteString(p.Value)
		case *syntax.DblQuoted:
			inner, ok := constantParts(p.Parts)
			if p.Dollar || !ok {
				return "", false
			}
			text.WriteString(inner)
		default:
			return "", false
		}
	}
	return text.String(), true
}

// noteText remembers a value that a variable is given.
func (a *analysis) noteText(x Assign) {
	if !x.Value.Known {
		return
	}
	if a.texts == nil {
		a.texts = map[string][]string{}
	}
	a.texts[x.Name] = append(a.texts[x.Name], x.Value.Value)
}

// ownText puts what the line itself gave to a variable in its place, as a
// default is. Which of several values it has nobody follows: each is looked at.
func (b *wordBuilder) ownText(name string) {
	prefix := string(append(b.given, b.value[b.copied:]...))
	for _, text := range b.a.texts[name] {
		if hiddenPath(prefix + text) {
			b.a.refuse("$%s may name a path that has to be judged: %s", name, Quote(text))
		}
		b.given, b.copied = []byte(prefix+text), len(b.value)
	}
}

// hiddenPath reports whether a path has a hidden element, leaves its
// directory, names a device or looks like a key.
func hiddenPath(p string) bool {
	p = strings.NewReplacer(string(Hole), "", string(Digits), "0").Replace(p)
	for field := range strings.FieldsFuncSeq(p, func(r rune) bool { return strings.ContainsRune(" \t\n=:,", r) }) {
		field = strings.TrimPrefix(field, "./")
		if strings.HasPrefix(field, ".") && field != "." || strings.HasPrefix(field, "/dev/") || strings.HasPrefix(field, "//") ||
			strings.Contains(field, "/.") || strings.Contains(field, "id_") {
			return true
		}
	}
	return false
}

// givesPath reports whether the defaults of a word may make it a path that
// has to be judged by its name: an absolute one, a hidden one, one that leaves
// its directory. The variable may well be unset, and then the line has chosen
// the word although it looks unknown.
func (b *wordBuilder) givesPath() bool {
	if !b.gives || b.option {
		return b.option
	}
	word := strings.NewReplacer(`\`, "", string(Hole), "", string(Digits), "0").Replace(string(append(b.given, b.value[b.copied:]...)))
	for field := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(" \t\n=:,", r) }) {
		switch field[0] {
		case '/', '.', '~':
			return true
		}
		if strings.ContainsAny(field, "*?[") || strings.Contains(field, "/.") || strings.Contains(field, "..") ||
			strings.Contains(field, "//") || strings.Contains(field, "id_") {
			return true
		}
	}
	return false
}
