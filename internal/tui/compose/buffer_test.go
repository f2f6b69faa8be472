package compose

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/openmuse/muse/internal/tui/text"
)

func TestEditing(t *testing.T) {
	var b Buffer
	b.Insert("one two")
	b.WordLeft()
	b.KillWord()
	b.End()
	b.Insert(" ")
	b.Yank()
	if b.Text() != "two one " {
		t.Errorf("got %q", b.Text())
	}
	b.Set("ab\ncd")
	if b.Down() || !b.Up() || b.Up() {
		t.Error("moving by lines")
	}
	b.Transpose()
	if b.Text() != "ba\ncd" {
		t.Errorf("got %q", b.Text())
	}
	b.Set("x👩‍👩‍👧é")
	b.Backspace()
	b.Backspace()
	if b.Text() != "x" {
		t.Errorf("got %q", b.Text())
	}
}

func TestFold(t *testing.T) {
	var b Buffer
	big := strings.Repeat("line\n", 100)
	b.Insert("see ")
	b.Paste(big)
	b.Insert(" end")
	if len(b.Raw()) > 60 || b.Text() != "see "+big+" end" {
		t.Errorf("shown as %q", b.Raw())
	}
	for range 5 {
		b.Backspace()
	}
	if b.Text() != "see " {
		t.Errorf("the paste is not deleted as one: %q", b.Text())
	}
}

// TestProperties: whatever is pressed, the draft stays text, the cursor stays
// in it, and the picture of it fits.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Buffer
		moves := []func(){b.Left, b.Right, b.WordLeft, b.WordRight, b.Home, b.End, b.Backspace, b.Delete, b.KillWord, b.KillWordRight,
			b.KillStart, b.KillEnd, b.Yank, b.Transpose, func() { b.Up() }, func() { b.Down() }}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "type") {
				s := rapid.SampledFrom([]string{"a", "日", "é", "👩‍👩‍👧", "\n", " ", "\x1b", strings.Repeat("p\n", 20)}).Draw(t, "text")
				b.Paste(s)
			} else {
				moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]()
			}
			if b.At() < 0 || b.At() > len(b.Raw()) || !utf8.ValidString(b.Raw()) || !utf8.ValidString(b.Raw()[:b.At()]) {
				t.Fatalf("the cursor is at %d of %q", b.At(), b.Raw())
			}
			width := rapid.IntRange(8, 40).Draw(t, "width")
			rows := b.View(text.Of(0, "› "), width, 5)
			cursors := 0
			for _, r := range rows {
				if r.Width() > width {
					t.Fatalf("%q is wider than %d", r.String(), width)
				}
				for _, s := range r {
					if s.Style&text.Reverse != 0 {
						cursors++
					}
				}
			}
			if len(rows) > 5 || cursors == 0 {
				t.Fatalf("%d rows, %d cursors, draft %q at %d", len(rows), cursors, b.Raw(), b.At())
			}
		}
	})
}
