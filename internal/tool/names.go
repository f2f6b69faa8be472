package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// nearest returns at most n of the names that look like name, best first.
func nearest(name string, names []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	var found []scored
	low := strings.ToLower(name)
	for _, candidate := range names {
		c := strings.ToLower(candidate)
		d := distance(low, c)
		if strings.Contains(c, low) || strings.Contains(low, c) {
			d = min(d, 1)
		}
		if d <= max(2, len(c)/3) {
			found = append(found, scored{candidate, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.d - b.d })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance is the number of bytes to insert, remove, change or swap with the
// neighbour to get from a to b. Long strings are not worth comparing.
func distance(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return 200
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		older, prev, cur := rows[0], rows[1], rows[2]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], older[j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = prev, cur, older
	}
	return rows[1][len(b)]
}

// orList is "a", "a or b", "a, b or c".
func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// shorten cuts text to at most n bytes at a character's border.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// count is "1 line", "2 lines".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
