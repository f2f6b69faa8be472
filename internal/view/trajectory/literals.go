package trajectory

import (
	"slices"
	"strings"
)

// minLiteral is how long a value has to be to be replaced wherever it stands:
// shorter ones turn up by chance.
const minLiteral = 8

// maxLiterals bounds the set.
const maxLiterals = 10_000

// literals are values that were told as secrets by their key. They are looked
// for by their first bytes.
type literals struct {
	known map[string]bool
	first map[[4]byte][]string // the longest first
	pair  [1 << 16]bool        // of the first two bytes, to pass over most places
}

func (l *literals) add(s string) {
	if l.known[s] || len(l.known) >= maxLiterals {
		return
	}
	if l.known == nil {
		l.known = map[string]bool{}
		l.first = map[[4]byte][]string{}
	}
	l.known[s] = true
	k := [4]byte([]byte(s[:4]))
	same := append(l.first[k], s)
	slices.SortFunc(same, func(a, b string) int { return len(b) - len(a) })
	l.first[k] = same
	l.pair[uint16(s[0])<<8|uint16(s[1])] = true
}

// find adds every place where one of them stands.
func (l *literals) find(f *finder) {
	if len(l.known) == 0 {
		return
	}
	s := f.s
	for i := 0; i+minLiteral <= len(s); i++ {
		if !l.pair[uint16(s[i])<<8|uint16(s[i+1])] {
			continue
		}
		for _, lit := range l.first[[4]byte([]byte(s[i:i+4]))] {
			if strings.HasPrefix(s[i:], lit) {
				f.add(i, i+len(lit), "repeated")
				i += len(lit) - 1
				break
			}
		}
	}
}
