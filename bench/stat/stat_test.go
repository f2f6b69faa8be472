package stat

import (
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		in   []int
		want Summary[int]
	}{
		{nil, Summary[int]{}},
		{[]int{4}, Summary[int]{4, 4, 4, 1}},
		{[]int{9, 1, 5}, Summary[int]{5, 1, 9, 3}},
		{[]int{8, 2, 4, 100}, Summary[int]{6, 2, 100, 4}},
	} {
		if got := Of(tt.in); got != tt.want {
			t.Errorf("Of(%v) = %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

func TestOfLeavesItsInputAlone(t *testing.T) {
	in := []int{3, 1, 2}
	Of(in)
	if in[0] != 3 || in[1] != 1 || in[2] != 2 {
		t.Errorf("input is now %v", in)
	}
}

func TestMedianOfDurations(t *testing.T) {
	got := Median([]time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond})
	if want := 2500 * time.Microsecond; got != want {
		t.Errorf("median is %s, want %s", got, want)
	}
}

func TestEach(t *testing.T) {
	got := Each([]string{"a", "bbb"}, func(s string) int { return len(s) })
	if len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("got %v", got)
	}
}

func TestQuantile(t *testing.T) {
	values := []int{5, 1, 4, 2, 3}
	for q, want := range map[float64]int{0: 1, 0.2: 1, 0.5: 3, 0.95: 5, 1: 5} {
		if got := Quantile(values, q); got != want {
			t.Errorf("%g: %d, want %d", q, got, want)
		}
	}
	if got := Quantile([]int(nil), 0.5); got != 0 {
		t.Errorf("of none: %d", got)
	}
}
