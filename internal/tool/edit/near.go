package edit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the search for near misses: an error must not cost more than the
// edit.
const (
	maxNearLines = 12     // lines of the file shown
	maxNearWidth = 160    // bytes shown of each
	maxCompared  = 50_000 // lines of the file looked at
)

// notFound is the error for a text that is nowhere, with the place that comes
// nearest.
func (v *view) notFound(find string) error {
	if v.lf == "" {
		return fmt.Errorf("%w: the file is empty", ErrNotFound)
	}
	want := strings.Split(strings.TrimSuffix(find, "\n"), "\n")
	first, ok := v.nearest(want)
	if !ok {
		return fmt.Errorf("%w, and nothing in the file comes near it; read the file again", ErrNotFound)
	}
	var b strings.Builder
	fmt.Fprintf(&b, ". Nearest place, lines %d-%d:", first+1, min(first+len(want), v.lineCount()))
	for i := range min(len(want), maxNearLines, v.lineCount()-first) {
		fmt.Fprintf(&b, "\n%d|%s", first+i+1, clip(v.lineText(first+i)))
	}
	if len(want) > maxNearLines {
		b.WriteString("\n…")
	}
	b.WriteString("\n")
	b.WriteString(v.firstDifference(first, want))
	return fmt.Errorf("%w%s", ErrNotFound, b.String())
}

// nearest finds the line at which a window most like want begins.
func (v *view) nearest(want []string) (int, bool) {
	lines := min(v.lineCount(), maxCompared)
	// Lines that are the same but for white space vote for where the window
	// begins; short ones such as a brace weigh less.
	index := map[string][]int{}
	for k, w := range want {
		if key := squeeze(w); key != "" {
			index[key] = append(index[key], k)
		}
	}
	votes := map[int]int{}
	for i := range lines {
		key := squeeze(v.lineText(i))
		for _, k := range index[key] {
			if i-k >= 0 {
				votes[i-k] += min(len(key), 20)
			}
		}
	}
	best, bestVotes := -1, 0
	for at, n := range votes {
		if n > bestVotes || n == bestVotes && at < best {
			best, bestVotes = at, n
		}
	}
	if best >= 0 {
		return best, true
	}
	return v.nearestLine(want, lines)
}

// nearestLine compares single lines: the longest line of want with each.
func (v *view) nearestLine(want []string, lines int) (int, bool) {
	probe, at := "", 0
	for k, w := range want {
		if key := squeeze(w); len(key) > len(probe) {
			probe, at = key, k
		}
	}
	if len(probe) < 3 {
		return 0, false
	}
	probed := bigrams(probe)
	best, bestScore := 0, 0.0
	for i := range lines {
		line := squeeze(v.lineText(i))
		var score float64
		switch {
		case line == "" || len(line) > 2000:
			continue
		case strings.Contains(line, probe):
			score = 1
		default:
			score = similarity(probed, len(probe), line)
		}
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	return max(best-at, 0), bestScore >= 0.5
}

// firstDifference names the first line of a window that is not as wanted and
// what is different about it.
func (v *view) firstDifference(first int, want []string) string {
	for k, w := range want {
		if first+k >= v.lineCount() {
			return "The file ends before the rest of find."
		}
		have := v.lineText(first + k)
		if have == w || k == 0 && strings.HasSuffix(have, w) ||
			k == len(want)-1 && strings.HasPrefix(have, w) {
			continue
		}
		return fmt.Sprintf("First difference in line %d: %s.", first+k+1, difference(have, w))
	}
	return "The lines are the same as far as compared."
}

// difference says in words how a line of the file and one of find differ.
func difference(have, want string) string {
	switch {
	case trimRight(have) == trimRight(want):
		return "white space at the end: the file has " + spaces(have[len(trimRight(have)):]) +
			", find has " + spaces(want[len(trimRight(want)):])
	case trim(have) == trim(want):
		return "indentation: the file has " + spaces(indent(have)) + ", find has " + spaces(indent(want))
	case strings.EqualFold(have, want):
		return "upper and lower case"
	}
	i := commonPrefix(have, want)
	column := utf8.RuneCountInString(have[:i]) + 1
	h, w := have[i:], want[i:]
	if fold(have).text == fold(want).text {
		return fmt.Sprintf("at column %d the file has %s, find has %s", column, character(h), character(w))
	}
	if squeeze(have) == squeeze(want) {
		return fmt.Sprintf("white space at column %d", column)
	}
	return fmt.Sprintf("at column %d the file has `%s`, find has `%s`", column, short(h), short(w))
}

// character names the first character of s by its code point.
func character(s string) string {
	if s == "" {
		return "the end of the line"
	}
	r, _ := utf8.DecodeRuneInString(s)
	if unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r) && !unicode.Is(unicode.M, r) {
		return fmt.Sprintf("U+%04X (%c)", r, r)
	}
	return fmt.Sprintf("U+%04X", r)
}

// spaces counts white space: "1 tab", "4 spaces", "nothing".
func spaces(s string) string {
	tabs, blanks := strings.Count(s, "\t"), strings.Count(s, " ")
	var parts []string
	for _, p := range []struct {
		n    int
		name string
	}{{tabs, "tab"}, {blanks, "space"}, {utf8.RuneCountInString(s) - tabs - blanks, "other blank"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 "+p.name)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", p.n, p.name))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

func short(s string) string {
	if s == "" {
		return "(end of line)"
	}
	return cutAt(s, 40)
}

func clip(s string) string { return strings.ToValidUTF8(cutAt(s, maxNearWidth), "\uFFFD") }

func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// squeeze takes the white space out of a line, so that lines which differ in
// nothing else are equal.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// grams counts the pairs of neighbouring bytes of a line by a small hash.
type grams [1 << 12]uint8

func gram(s string, i int) int { return (int(s[i])<<4 ^ int(s[i+1])) & (1<<12 - 1) }

func bigrams(s string) *grams {
	var g grams
	for i := 0; i+1 < len(s); i++ {
		if n := &g[gram(s, i)]; *n < 255 {
			*n++
		}
	}
	return &g
}

// similarity is the Dice coefficient of two lines' bigrams, from 0 to 1. n is
// the length of the line that g was made of; g is the same again afterwards.
func similarity(g *grams, n int, line string) float64 {
	if len(line) < 2 || n < 2 {
		return 0
	}
	common := 0
	taken := make([]int, 0, len(line))
	for i := 0; i+1 < len(line); i++ {
		if k := gram(line, i); g[k] > 0 {
			g[k]--
			taken = append(taken, k)
			common++
		}
	}
	for _, k := range taken {
		g[k]++
	}
	return 2 * float64(common) / float64(n-1+len(line)-1)
}
