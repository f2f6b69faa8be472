// Package stat sums up repeated measurements.
package stat

import (
	"cmp"
	"math"
	"slices"
)

// Number is anything that is measured.
type Number interface {
	~int | ~int64 | ~float64
}

// Summary is a set of measurements in brief.
type Summary[T Number] struct {
	Median T   `json:"median"`
	Min    T   `json:"min"`
	Max    T   `json:"max"`
	N      int `json:"n"`
}

// Of sums up values; the zero Summary stands for none.
func Of[T Number](values []T) Summary[T] {
	if len(values) == 0 {
		return Summary[T]{}
	}
	v := slices.Clone(values)
	slices.SortFunc(v, cmp.Compare[T])
	return Summary[T]{Median: middle(v), Min: v[0], Max: v[len(v)-1], N: len(v)}
}

// Median is the middle value, of an even number the mean of the middle two, 0
// of none.
func Median[T Number](values []T) T { return Of(values).Median }

// Quantile is the value that a share q of all values does not exceed, 0 of none.
func Quantile[T Number](values []T, q float64) T {
	if len(values) == 0 {
		return 0
	}
	v := slices.Clone(values)
	slices.SortFunc(v, cmp.Compare[T])
	return v[min(len(v)-1, max(0, int(math.Ceil(q*float64(len(v))))-1))]
}

func middle[T Number](sorted []T) T {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	a, b := sorted[n/2-1], sorted[n/2]
	return a + (b-a)/2
}

// Each maps measurements to the numbers to sum up.
func Each[S any, T Number](from []S, value func(S) T) []T {
	out := make([]T, len(from))
	for i, s := range from {
		out[i] = value(s)
	}
	return out
}
