package search

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// The automaton and package regexp agree, also when the table overflows and
// the automaton gives up.
func TestAutomaton(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	line := func(n int, of string) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = of[r.IntN(len(of))]
		}
		return b
	}
	for _, source := range []string{
		`a(a|b){12}$`, `^a*b`, `\bab\b`, `\Bab`, `a$|^b`, `(?i)AB c`, `^$`, `[^ab]`, `(a|ab)(c|bcd)`, `x*`, `^(a+)+$`, `.{3,5}c`, `\b`,
	} {
		re := regexp.MustCompile(source)
		d := newDFA(source)
		told := 0
		for range 3000 {
			l := line(r.IntN(60), "ab c")
			if got, ok := d.match(l); ok {
				told++
				if got != re.Match(l) {
					t.Fatalf("%s on %q: %v", source, l, got)
				}
			}
		}
		if told == 0 {
			t.Errorf("%s: the automaton never answered", source)
		}
		if len(d.states) > maxStates+1 {
			t.Errorf("%s: %d states", source, len(d.states))
		}
	}
	if _, ok := newDFA("a").match([]byte("ä")); ok {
		t.Error("a line beyond ASCII was decided")
	}
}
