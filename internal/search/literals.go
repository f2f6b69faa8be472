package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literals is a set of texts of which each match of an expression contains one.
// Searching them with the processor's own instructions is many times faster
// than running the expression over everything.
type literals struct {
	texts []string
	fold  bool // ASCII letters match in either case; texts are lower case
}

// Limits of the set: more texts cost more than they save.
const (
	maxLiterals    = 8
	maxLiteralSize = 100
	maxClassRunes  = 4
)

// requiredLiterals finds the best set for an expression.
func requiredLiterals(re *syntax.Regexp) literals {
	l := better(literals{}, required(re))
	for _, t := range l.texts {
		if t == "" {
			return literals{}
		}
	}
	return l
}

// enough reports whether a hit of the set is a match of the expression.
func (l literals) enough(re *syntax.Regexp) bool {
	return len(l.texts) == 1 && re.Op == syntax.OpLiteral && len(l.texts[0]) == len(string(re.Rune)) &&
		(!l.fold || !strings.ContainsAny(l.texts[0], "ks"))
}

// required returns a set of which every match contains one, or none.
func required(re *syntax.Regexp) literals {
	if exact, ok := exactly(re); ok {
		return exact
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpAlternate:
		var all literals
		for _, sub := range re.Sub {
			l := required(sub)
			if len(l.texts) == 0 {
				return literals{}
			}
			all = union(all, l)
		}
		if len(all.texts) <= maxLiterals {
			return all
		}
	case syntax.OpConcat:
		return requiredOfConcat(re.Sub)
	}
	return literals{}
}

// requiredOfConcat joins neighbours that are known exactly and takes the best
// of the runs and of what the other parts need.
func requiredOfConcat(subs []*syntax.Regexp) literals {
	var best, run literals
	for _, sub := range subs {
		exact, ok := exactly(sub)
		if ok && len(run.texts) > 0 {
			if joined, ok := product(run, exact); ok {
				run = joined
				continue
			}
		}
		best = better(best, run)
		run = literals{}
		if ok {
			run = exact
			continue
		}
		best = better(best, required(sub))
	}
	return better(best, run)
}

// exactly returns all the texts an expression matches when they are few.
func exactly(re *syntax.Regexp) (literals, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		fold := re.Flags&syntax.FoldCase != 0
		if fold {
			return foldedLiteral(re.Rune)
		}
		return literals{texts: []string{string(re.Rune)}}, !slices.Contains(re.Rune, utf8.RuneError)
	case syntax.OpEmptyMatch:
		return literals{texts: []string{""}}, true
	case syntax.OpCapture:
		return exactly(re.Sub[0])
	case syntax.OpCharClass:
		return exactClass(re.Rune)
	case syntax.OpQuest:
		one, ok := exactly(re.Sub[0])
		return union(literals{texts: []string{""}}, one), ok && len(one.texts) < maxLiterals
	case syntax.OpAlternate:
		var all literals
		for _, sub := range re.Sub {
			l, ok := exactly(sub)
			if !ok {
				return literals{}, false
			}
			all = union(all, l)
		}
		return all, len(all.texts) <= maxLiterals
	case syntax.OpConcat:
		all := literals{texts: []string{""}}
		for _, sub := range re.Sub {
			l, ok := exactly(sub)
			if !ok {
				return literals{}, false
			}
			if all, ok = product(all, l); !ok {
				return literals{}, false
			}
		}
		return all, true
	}
	return literals{}, false
}

// foldedLiteral is a literal whose letters match in either case. Only ASCII is
// folded by the search, so a text with other letters is not known.
func foldedLiteral(runes []rune) (literals, bool) {
	for _, r := range runes {
		if r >= utf8.RuneSelf {
			return literals{}, false
		}
	}
	return literals{texts: []string{strings.ToLower(string(runes))}, fold: true}, true
}

func exactClass(pairs []rune) (literals, bool) {
	var l literals
	for i := 0; i < len(pairs); i += 2 {
		for r := pairs[i]; r <= pairs[i+1]; r++ {
			if len(l.texts) == maxClassRunes || r == utf8.RuneError {
				return literals{}, false
			}
			l.texts = append(l.texts, string(r))
		}
	}
	return l, len(l.texts) > 0
}

func union(a, b literals) literals {
	u := literals{fold: a.fold || b.fold}
	for _, t := range slices.Concat(a.texts, b.texts) {
		if u.fold {
			t = strings.ToLower(t)
		}
		if !slices.Contains(u.texts, t) {
			u.texts = append(u.texts, t)
		}
	}
	return u
}

// product is every text of a followed by every text of b.
func product(a, b literals) (literals, bool) {
	if len(a.texts)*len(b.texts) > maxLiterals {
		return literals{}, false
	}
	p := literals{fold: a.fold || b.fold}
	for _, x := range a.texts {
		for _, y := range b.texts {
			t := x + y
			if len(t) > maxLiteralSize {
				return literals{}, false
			}
			if p.fold {
				t = strings.ToLower(t)
			}
			if !slices.Contains(p.texts, t) {
				p.texts = append(p.texts, t)
			}
		}
	}
	return p, true
}

// better chooses the better of two sets, or what the texts of one have in common
// when looking for that alone is better.
func better(a, b literals) literals {
	for _, l := range []literals{b, b.shared()} {
		if l.score() > a.score() {
			a = l
		}
	}
	return a
}

// shared is the longest beginning or end that all texts have.
func (l literals) shared() literals {
	if len(l.texts) < 2 {
		return literals{}
	}
	head, tail := l.texts[0], l.texts[0]
	for _, t := range l.texts[1:] {
		for !strings.HasPrefix(t, head) {
			head = head[:len(head)-1]
		}
		for !strings.HasSuffix(t, tail) {
			tail = tail[1:]
		}
	}
	if len(tail) > len(head) {
		head = tail
	}
	if head == "" || !utf8.ValidString(head) {
		return literals{}
	}
	return literals{texts: []string{head}, fold: l.fold}
}

// score is higher for a set that is likely to be found less often and faster.
func (l literals) score() int {
	if len(l.texts) == 0 {
		return -1 << 30
	}
	shortest := 1 << 20
	for _, t := range l.texts {
		shortest = min(shortest, len(t))
	}
	if shortest == 0 {
		return -1 << 30
	}
	score := 4*min(shortest, 12) - 6*(len(l.texts)-1)
	if l.fold {
		score -= 4
	}
	return score
}

// foldsBeyondASCII reports whether a buffer holds one of the two characters
// outside of ASCII that match an ASCII letter in either case, K (U+212A) and
// ſ (U+017F). The set then misses matches in it.
func (l literals) foldsBeyondASCII(b []byte) bool {
	if !l.fold {
		return false
	}
	k, s := false, false
	for _, t := range l.texts {
		k = k || strings.Contains(t, "k")
		s = s || strings.Contains(t, "s")
	}
	return k && bytes.Contains(b, []byte("\u212A")) || s && bytes.Contains(b, []byte("\u017F"))
}
