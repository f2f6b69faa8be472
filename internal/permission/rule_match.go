package permission

import (
	"strings"

	"github.com/openmuse/muse/internal/permission/review"
	"github.com/openmuse/muse/internal/shell"
)

// match says how surely a rule matches a stage.
type match uint8

const (
	noMatch match = iota
	// mayMatch: a word that is not known stands where the rule's word would.
	mayMatch
	matches
)

// matchStage matches a rule for shell commands. An allow rule wants the words
// as they are and a stage without anything else to it; a deny or ask rule is
// found behind wrappers, other options and other orders.
func (r *Rule) matchStage(s *shell.Stage, f *review.Finding) match {
	if len(r.Prefix) == 0 || s.Kind != shell.Command {
		return noMatch
	}
	if r.Effect == Allow {
		if f.Unruled == "" && r.allows(s) {
			return matches
		}
		return noMatch
	}
	best := r.covers(s.Argv)
	for _, w := range s.Wrappers {
		best = max(best, r.covers(w.Argv))
	}
	if best != matches && review.StartsCommands(s.Program()) {
		best = max(best, r.hidden(s.Argv))
	}
	return best
}

func (r *Rule) allows(s *shell.Stage) bool {
	if s.Appended || len(s.Argv) < len(r.Prefix) || r.Exact && len(s.Argv) != len(r.Prefix) {
		return false
	}
	for i, w := range r.Prefix {
		v := s.Argv[i].Value
		if i == 0 && !strings.ContainsRune(w, '/') {
			if !shell.SystemProgram(v) {
				return false
			}
			v = shell.BaseName(v)
		}
		if !s.Argv[i].Known || v != w {
			return false
		}
	}
	return true
}

// covers matches loosely, for rules that refuse: the program by its base name
// in any case, options wherever they stand and in any grouping, and the other
// words in order, with options and their values between them.
func (r *Rule) covers(argv []shell.Word) match {
	if len(argv) == 0 {
		return noMatch
	}
	program := r.Prefix[0]
	if strings.ContainsRune(program, '/') {
		if argv[0].Value != program {
			return noMatch
		}
	} else if !strings.EqualFold(shell.BaseName(argv[0].Value), program) {
		return noMatch
	}
	best, at := matches, 1
	for _, want := range r.Prefix[1:] {
		var m match
		if strings.HasPrefix(want, "-") && len(want) > 1 {
			m = findOption(argv[1:], want)
		} else {
			m, at = findOperand(argv, at, want)
		}
		if m == noMatch {
			return noMatch
		}
		best = min(best, m)
	}
	return best
}

// findOption looks for an option anywhere: by its name, with a value, as an
// abbreviation, or with its letters spread over groups ("-rf" in "-r -f").
func findOption(argv []shell.Word, want string) match {
	if strings.HasPrefix(want, "--") {
		best := noMatch
		for _, w := range argv {
			name, _, _ := strings.Cut(w.Value, "=")
			switch {
			case name == want, len(name) > 3 && strings.HasPrefix(name, "--") && strings.HasPrefix(want, name), w.Value == want:
				return matches
			case !w.Known && w.MayBeOption():
				best = mayMatch
			}
		}
		return best
	}
	missing := want[1:]
	best := noMatch
	for _, w := range argv {
		if w.Value == want {
			return matches
		}
		if !w.Known && w.MayBeOption() {
			best = mayMatch
		}
		if strings.HasPrefix(w.Value, "-") && !strings.HasPrefix(w.Value, "--") {
			missing = strings.Map(func(c rune) rune {
				if strings.ContainsRune(w.Value[1:], c) {
					return -1
				}
				return c
			}, missing)
		}
	}
	if missing == "" {
		return matches
	}
	return best
}

// findOperand looks for a word from index at on, over options and what may be
// their values, and gives the index behind it.
func findOperand(argv []shell.Word, at int, want string) (match, int) {
	for i := at; i < len(argv); i++ {
		w := argv[i]
		switch {
		case w.Known && w.Value == want:
			return matches, i + 1
		case !w.Known && (w.Split || strings.IndexByte(w.Value, shell.Hole) >= 0 || w.Glob):
			return mayMatch, i + 1
		case w.IsOption():
		case i > at && argv[i-1].IsOption():
		default:
			return noMatch, i
		}
	}
	return noMatch, len(argv)
}

// hidden looks for the rule's command among the arguments of a program that
// starts commands and was not taken apart.
func (r *Rule) hidden(argv []shell.Word) match {
	var words []shell.Word
	for _, w := range argv[1:] {
		if !w.Known {
			words = append(words, w)
			continue
		}
		for _, f := range strings.FieldsFunc(w.Value, func(c rune) bool { return strings.ContainsRune(" \t\n;&|()'\"`", c) }) {
			words = append(words, shell.Literal(f))
		}
	}
	for i := range words {
		if m := r.covers(words[i:]); m != noMatch {
			return m
		}
	}
	return noMatch
}
