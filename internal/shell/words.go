package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fields appends the arguments that one word of the source turns into: braces
// make several, everything else makes one Word that may be marked Split.
func (a *analysis) fields(out []Word, w *syntax.Word, sc *scope, in dirSet) []Word {
	if len(w.Parts) == 1 {
		if lit, ok := w.Parts[0].(*syntax.Lit); ok && plainLiteral(lit.Value) {
			return append(out, Word{Value: lit.Value, Text: lit.Value, Known: true, Static: true})
		}
	}
	if hasBrace(w.Parts) {
		from, to := w.Pos().Offset(), w.End().Offset()
		lists, ok := expandBraces(w)
		if !ok {
			a.refuse("brace expansion that is not certain")
		}
		if len(lists) > 1 || !ok {
			for _, parts := range lists {
				out = append(out, a.build(parts, "", sc, in, true))
			}
			return out
		}
		return append(out, a.build(lists[0], slice(sc.src, from, to), sc, in, true))
	}
	return append(out, a.build(w.Parts, slice(sc.src, w.Pos().Offset(), w.End().Offset()), sc, in, true))
}

// value reads the right side of an assignment: no splitting, no patterns, no
// braces, but a tilde counts at the start and after each colon.
func (a *analysis) value(w *syntax.Word, sc *scope, in dirSet) Word {
	out := a.build(w.Parts, slice(sc.src, w.Pos().Offset(), w.End().Offset()), sc, in, false)
	out.Split, out.Glob = false, false
	return out
}

// plainLiteral reports whether a literal means the same quoted and unquoted.
func plainLiteral(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x80:
			return false
		case c == '\\', c == '*', c == '?', c == '[', c == '{', c == '~':
			return false
		}
	}
	return true
}

func slice(src string, from, to uint) string {
	if from > to || int(to) > len(src) {
		return ""
	}
	return src[from:to]
}

// wordBuilder collects one word from its parts.
type wordBuilder struct {
	a  *analysis
	sc *scope
	in dirSet
	// argument is set for words that the shell splits and matches against
	// files; assignments' values are not.
	argument bool
	value    []byte
	// unknown, static, glob, split describe the word so far.
	unknown, expanded, glob, split bool
	// named is set once the word began with NAME= unquoted: bash expands a
	// tilde behind it even in an argument.
	named bool
	// document is set in the text of a here-document.
	document bool
	// given is the value up to the byte of value that copied counts, with the
	// defaults of parameters in their place; gives is set once there is one,
	// option when it begins an option.
	given         []byte
	copied        int
	gives, option bool
}

// build evaluates parts. source is the text the word was written as; "" makes
// the shown text from the parts (a word out of a brace expansion).
func (a *analysis) build(parts []syntax.WordPart, source string, sc *scope, in dirSet, argument bool) Word {
	b := wordBuilder{a: a, sc: sc, in: in, argument: argument}
	if len(parts) == 1 {
		// The common quoted word needs no buffer of its own.
		if q, ok := parts[0].(*syntax.SglQuoted); ok && !q.Dollar {
			return Word{Value: q.Value, Text: Quote(q.Value), Known: true, Static: true}
		}
	}
	for i, p := range parts {
		b.part(p, i == 0, i == len(parts)-1)
	}
	if b.givesPath() || len(b.given) > 0 && hiddenPath(string(b.given)+string(b.value[b.copied:])) {
		a.refuse("a default or variable that names a path or an option: %s", source)
	}
	value := string(b.value)
	if b.glob && value == "[" {
		b.glob = false
	}
	w := Word{Value: value, Glob: b.glob && argument, Split: b.split && argument}
	w.Known = !b.unknown && !w.Glob
	w.Static = !b.expanded
	switch {
	case w.Static && source != "" && source[0] == '~' && w.Known && strings.HasPrefix(value, "/"):
		w.Text = escapeControls(source)
	case w.Static:
		w.Text = Quote(value)
	case source != "":
		w.Text = escapeControls(source)
	default:
		var t strings.Builder
		for _, p := range parts {
			t.WriteString(slice(sc.src, p.Pos().Offset(), p.End().Offset()))
		}
		w.Text = escapeControls(t.String())
	}
	return w
}

// part evaluates one part that stands outside double quotes.
func (b *wordBuilder) part(p syntax.WordPart, first, last bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.literal(p.Value, first, last)
	case *syntax.SglQuoted:
		if !p.Dollar {
			b.value = append(b.value, p.Value...)
			return
		}
		text, ok := decodeANSI(p.Value)
		if !ok {
			b.a.refuse("$'...' with a NUL character")
		}
		b.value = append(b.value, text...)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.a.refuse(`translated string $"..."`)
		}
		for _, q := range p.Parts {
			if lit, ok := q.(*syntax.Lit); ok {
				b.value = appendUnescaped(b.value, lit.Value, "\\\"$`")
				continue
			}
			b.expansion(q, true)
		}
	default:
		b.expansion(p, false)
	}
}

// literal evaluates unquoted text: backslashes, patterns, a tilde in front.
func (b *wordBuilder) literal(s string, first, last bool) {
	if r, ok := hiddenOutsideQuotes(s); ok {
		b.a.refuse("invisible or space-like character U+%04X outside quotes", r)
	}
	if first {
		s = b.tilde(s, last)
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) {
				i++
				b.value = append(b.value, s[i])
			} else {
				b.value = append(b.value, c)
			}
		case '*', '?', '[':
			b.glob = true
			b.value = append(b.value, c)
		case '=':
			b.value = append(b.value, c)
			if first && !b.named && validName(s[:i]) {
				b.named = true
				if i+1 < len(s) && s[i+1] == '~' {
					if b.argument && b.sc.foreign != "" {
						b.a.refuse("%s may leave a tilde behind = alone", b.sc.foreign)
					}
					rest := b.tilde(s[i+1:], last)
					s, i = rest, -1
				}
			}
		case ':':
			b.value = append(b.value, c)
			if (!b.argument || b.named) && i+1 < len(s) && s[i+1] == '~' {
				s, i = b.tilde(s[i+1:], last), -1
			}
		default:
			b.value = append(b.value, c)
		}
	}
}

// tilde expands a leading tilde and returns what is left of the literal. last
// says whether the word ends with this literal: "~"$x is no home directory.
func (b *wordBuilder) tilde(s string, last bool) string {
	if s == "" || s[0] != '~' {
		return s
	}
	name, rest := s[1:], ""
	if i := strings.IndexAny(name, "/:"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	if rest == "" && !last {
		b.a.refuse("tilde before an expansion")
	}
	if b.sc.foreign != "" && (name == "+" || name == "-") {
		b.a.refuse("%s may read ~%s differently", b.sc.foreign, name)
	}
	switch {
	case name == "":
		b.directory("HOME", b.a.opt.Home)
	case name == "+":
		dir, _ := b.in.single()
		b.directory("PWD", dir)
	case name == "-":
		b.unknown = true
		b.value = append(b.value, Hole)
	default:
		b.a.refuse("home directory of another user: ~%s", name)
		b.unknown = true
		b.value = append(b.value, Hole)
	}
	return rest
}

// directory adds the value of a variable that names a directory, if the line
// has not changed it and its value is certain.
func (b *wordBuilder) directory(name, value string) bool {
	if value == "" || b.changed(name) {
		b.unknown, b.expanded = true, true
		b.value = append(b.value, Hole)
		return false
	}
	b.value = append(b.value, path.Clean(value)...)
	return true
}

// changed reports whether the line may have given a variable another value: by
// an earlier command, or before the command whose script is being read.
func (b *wordBuilder) changed(name string) bool {
	return b.a.assigned[name] || b.sc.sets(name)
}

// sets reports whether a scope gives a variable a value of its own or takes
// its value away.
func (sc *scope) sets(name string) bool {
	return sc.cleared || slices.Contains(sc.unset, name) ||
		slices.ContainsFunc(sc.assigns, func(x Assign) bool { return x.Name == name })
}

func validName(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// appendUnescaped removes the backslashes that quote one of the given
// characters; all others stay, as inside double quotes and here-documents.
func appendUnescaped(dst []byte, s, special string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
		}
		dst = append(dst, s[i])
	}
	return dst
}
