package vt

import (
	"bytes"
	"testing"
)

// TestOtherPrograms: what other programs write is carried out, and noted as
// nothing that the UI uses.
func TestOtherPrograms(t *testing.T) {
	for _, tt := range []struct {
		name, in, screen, answer string
		odd                      int
	}{
		{"a place", "\x1b[2;3Hx\x1b[Hy", "y\n  x\n", "", 1},
		{"to the side and back", "abc\x1b[2Dx\x1b[Cy\x1b[1Gz", "zxcy\n", "", 3},
		{"cells emptied", "abcdef\x1b[1G\x1b[2Xz", "z cdef\n", "", 2},
		{"a row emptied to the cursor", "abcdef\x1b[3G\x1b[1K", "   def\n", "", 2},
		{"a row emptied", "abc\r\ndef\x1b[2K", "abc\n", "", 1},
		{"rows that scroll", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\n5", "1\n3\n5\n4\n", "", 2},
		{"a row put in", "1\r\n2\x1b[2;1H\x1b[L0", "1\n0\n2\n", "", 2},
		{"a row taken out", "1\r\n2\r\n3\x1b[1;1H\x1b[M", "2\n3\n", "", 2},
		{"back a row, at the top", "1\r\n2\x1b[1;1H\x1bM0", "0\n1\n2\n", "", 2},
		{"the other screen", "here\x1b[?1049h\x1b[Hthere\x1b[?1049l", "here\n", "", 2},
		{"on the other screen", "here\x1b[?1049h\x1b[Hthere", "there\n", "", 1},
		{"a place that is kept", "ab\x1b7\x1b[2;1Hc\x1b8d", "abd\nc\n", "", 3},
		{"where is the cursor", "ab\x1b[6n", "ab\n", "\x1b[1;3R", 1},
		{"what are you", "\x1b[c", "\n", "\x1b[?62;22c", 1},
		{"what is behind", "\x1b]11;?\x1b\\", "\n", "\x1b]11;rgb:1010/1010/1010\x1b\\", 1},
		{"a text for the terminal", "a\x1bPq#0\x1b\\b\x1b_G\x1b\\c", "abc\n", "", 2},
		{"what the UI uses", "\x1b[?2026h\r\x1b[J\x1b[1mab\x1b[0m\r\n\x1b[1A\x1b[?2026l", "ab\n", "", 0},
	} {
		term := New(20, 4)
		var typed bytes.Buffer
		term.Answer(&typed)
		for _, b := range []byte(tt.in) { // in the smallest pieces
			if _, err := term.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		if got := term.Screen(); got != tt.screen {
			t.Errorf("%s: the screen is %q, want %q", tt.name, got, tt.screen)
		}
		if got := typed.String(); got != tt.answer {
			t.Errorf("%s: the answer is %q, want %q", tt.name, got, tt.answer)
		}
		if got := term.Odd(); len(got) != tt.odd {
			t.Errorf("%s: noted are %q, want %d", tt.name, got, tt.odd)
		}
	}
}
