package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraceWords bounds what one word may expand to.
const maxBraceWords = 256

// hasBrace reports whether a word holds an unquoted opening brace.
func hasBrace(parts []syntax.WordPart) bool {
	for _, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok && unquotedIndex(lit.Value, "{") >= 0 {
			return true
		}
	}
	return false
}

// unquotedIndex finds the first of chars that no backslash quotes.
func unquotedIndex(s, chars string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte(chars, s[i]) >= 0 {
			return i
		}
	}
	return -1
}

// expandBraces gives the parts of each word that brace expansion makes. It
// reports false for shapes that shells read differently: unbalanced braces
// beside commas, mixed ranges, and more words than anybody would review.
func expandBraces(w *syntax.Word) ([][]syntax.WordPart, bool) {
	parts := w.Parts
	if !syntax.SplitBraces(w) {
		return [][]syntax.WordPart{parts}, !strayBrace(parts)
	}
	out, ok := expandParts(w.Parts)
	if !ok || len(out) > maxBraceWords {
		return [][]syntax.WordPart{parts}, false
	}
	left := strayBrace
	if len(out) > 1 {
		left = anyBrace // beside braces that stay it is not certain which belong together
	}
	return out, !slices.ContainsFunc(out, left)
}

// anyBrace reports unquoted braces of either kind.
func anyBrace(parts []syntax.WordPart) bool {
	return slices.ContainsFunc(parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && unquotedIndex(lit.Value, "{}") >= 0
	})
}

// strayBrace reports braces that were left as text although a comma or range
// behind one that opens suggests that somebody meant an expansion. That one which
// closes stands between them says nothing: bash makes three words of "x{},,}".
func strayBrace(parts []syntax.WordPart) bool {
	opens, open, inner := false, false, false
	for _, p := range parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		s := lit.Value
		for i := 0; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '{':
				opens, open = true, true
			case '}':
				if inner {
					return true
				}
				open = false
			case ',':
				inner = inner || opens
			case '.':
				inner = inner || (opens && i+1 < len(s) && s[i+1] == '.')
			}
		}
	}
	return inner && open
}

// expandParts multiplies out the alternatives of a list of parts.
func expandParts(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, p := range parts {
		br, ok := p.(*syntax.BraceExp)
		if !ok {
			for i := range out {
				out[i] = append(out[i], p)
			}
			continue
		}
		choices, ok := alternatives(br)
		if !ok || len(out)*len(choices) > maxBraceWords {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(choices))
		for _, head := range out {
			for _, tail := range choices {
				word := make([]syntax.WordPart, 0, len(head)+len(tail))
				next = append(next, append(append(word, head...), tail...))
			}
		}
		out = next
	}
	return out, true
}

func alternatives(br *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	if br.Sequence {
		return sequence(br)
	}
	var out [][]syntax.WordPart
	for _, e := range br.Elems {
		lists, ok := expandParts(e.Parts)
		if !ok {
			return nil, false
		}
		out = append(out, lists...)
	}
	return out, true
}

// sequence expands {1..5}, {01..10..2} and {a..e}.
func sequence(br *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	from, to, step := br.Elems[0].Lit(), br.Elems[1].Lit(), 1
	if len(br.Elems) > 2 {
		n, err := strconv.Atoi(br.Elems[2].Lit())
		if err != nil || n == 0 {
			return nil, false
		}
		step = max(n, -n)
	}
	render := func(n int) string { return strconv.Itoa(n) }
	lo, errLo := strconv.Atoi(from)
	hi, errHi := strconv.Atoi(to)
	if errLo != nil || errHi != nil {
		// Letters of one case only: between the cases lie characters that are
		// syntax.
		if len(from) != 1 || len(to) != 1 || from[0] < 'A' || (from[0] < 'a') != (to[0] < 'a') {
			return nil, false
		}
		lo, hi = int(from[0]), int(to[0])
		render = func(n int) string { return string(rune(n)) }
	} else if width := max(len(from), len(to)); padded(from) || padded(to) {
		render = func(n int) string {
			s := strconv.Itoa(max(n, -n))
			sign := ""
			if n < 0 {
				sign = "-"
			}
			return sign + strings.Repeat("0", max(0, width-len(s)-len(sign))) + s
		}
	}
	if (max(lo, hi)-min(lo, hi))/step >= maxBraceWords {
		return nil, false
	}
	var out [][]syntax.WordPart
	add := func(n int) {
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: render(n)}})
	}
	if lo <= hi {
		for n := lo; n <= hi; n += step {
			add(n)
		}
	} else {
		for n := lo; n >= hi; n -= step {
			add(n)
		}
	}
	return out, true
}

func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}
