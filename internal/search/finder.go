package search

import (
	"bytes"
	"strings"
)

// finder looks for a set in one buffer, from left to right.
type finder struct {
	words []word
}

// word is one text of a set and where it comes next.
type word struct {
	text []byte
	fold bool
	// With fold: the byte that is looked for, in both cases, its place in
	// text, and where each case comes next (-1 = nowhere).
	rare         int
	lower, upper byte
	atLower      int
	atUpper      int
	next         int // next hit at or after the position asked, -1 = none
	valid        bool
}

func newFinder(l literals) *finder {
	f := &finder{}
	for _, t := range l.texts {
		w := word{text: []byte(t), fold: l.fold && strings.ContainsAny(t, "abcdefghijklmnopqrstuvwxyz")}
		if w.fold {
			w.chooseRare()
		}
		f.words = append(f.words, w)
	}
	return f
}

// chooseRare picks the byte of the text that is likely to be the rarest.
func (w *word) chooseRare() {
	const common = "etaoinrscldpumfhgbyv" // from the most frequent on, in code
	best := -1
	for i, c := range w.text {
		rank := strings.IndexByte(common, c)
		switch {
		case c == ' ' || c == '.' || c == '(' || c == ')' || c == ',':
			rank = 2
		case c == '_' || c == '-' || c == '/' || c == '"':
			rank = 10
		case rank < 0:
			rank = len(common) + 1
		}
		if rank > best {
			best, w.rare = rank, i
		}
	}
	c := w.text[w.rare]
	w.lower, w.upper = c, c
	if c >= 'a' && c <= 'z' {
		w.upper = c - 'a' + 'A'
	}
}

// reset begins a new buffer.
func (f *finder) reset() {
	for i := range f.words {
		w := &f.words[i]
		w.next, w.valid, w.atLower, w.atUpper = 0, false, 0, 0
	}
}

// find returns the first position at or after from where a text of the set
// begins, or -1. from must not go down between resets.
func (f *finder) find(b []byte, from int) int {
	best := -1
	for i := range f.words {
		w := &f.words[i]
		if !w.valid || w.next >= 0 && w.next < from {
			w.next, w.valid = w.seek(b, from), true
		}
		if w.next >= 0 && (best < 0 || w.next < best) {
			best = w.next
		}
	}
	return best
}

func (w *word) seek(b []byte, from int) int {
	if !w.fold {
		i := bytes.Index(b[from:], w.text)
		if i < 0 {
			return -1
		}
		return from + i
	}
	for at := from + w.rare; ; {
		at = w.nextRare(b, at)
		if at < 0 {
			return -1
		}
		begin := at - w.rare
		if end := begin + len(w.text); end <= len(b) && equalFold(b[begin:end], w.text) {
			return begin
		}
		at++
	}
}

// nextRare is the next place of the rare byte in either case.
func (w *word) nextRare(b []byte, at int) int {
	w.atLower = advance(b, w.atLower, at, w.lower)
	if w.upper == w.lower {
		return w.atLower
	}
	w.atUpper = advance(b, w.atUpper, at, w.upper)
	if w.atLower < 0 || w.atUpper >= 0 && w.atUpper < w.atLower {
		return w.atUpper
	}
	return w.atLower
}

// advance moves known, the place of c found last, to at or behind it.
func advance(b []byte, known, at int, c byte) int {
	if known < 0 || known >= at && known < len(b) && b[known] == c {
		return known
	}
	if at >= len(b) {
		return -1
	}
	i := bytes.IndexByte(b[at:], c)
	if i < 0 {
		return -1
	}
	return at + i
}

// equalFold compares with ASCII letters in either case; lower is lower case.
func equalFold(b, lower []byte) bool {
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
