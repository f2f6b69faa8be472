package config

import "strings"

// Nearest is the one of names that a person who wrote word most likely meant,
// "" when none is near enough to be a misspelling of it.
func Nearest(word string, names []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, name := range names {
		if strings.EqualFold(name, word) {
			return name
		}
		if d := distance(word, name, bestDistance); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, change or swap with a
// neighbour; anything above limit is reported as limit+1.
func distance(a, b string, limit int) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return min(row[len(b)], limit+1)
}
