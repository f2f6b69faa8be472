package ident

import (
	"testing"
	"time"
)

func TestV7SortsAndCarriesItsTime(t *testing.T) {
	now := time.UnixMilli(1790845200123)
	prev := ""
	for range 5000 {
		id := V7(now)
		if !Valid(id) {
			t.Fatalf("V7 gave %q", id)
		}
		if id <= prev {
			t.Fatalf("%q does not sort after %q", id, prev)
		}
		prev = id
	}
	if got, ok := Time(V7(now.Add(time.Hour))); !ok || !got.Equal(now.Add(time.Hour)) {
		t.Fatalf("Time = %v, %v", got, ok)
	}
}

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		V4():                                   true,
		"01a0f000-0000-7000-8000-000000000001": true,
		"":                                     false,
		"01a0f000x0000-7000-8000-000000000001": false,
		"01a0f000-0000-7000-8000-00000000000g": false,
		"../../../../etc/passwd/aaaaaaaaaaaaa": false,
	} {
		if Valid(s) != want {
			t.Errorf("Valid(%q) = %v", s, !want)
		}
	}
}
