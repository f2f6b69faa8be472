package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":         "plain",
		"tab\there":     "tab    here",
		"\x1b[31m":      "␛[31m",
		"a\x00b\x7f":    "a␀b␡",
		"\u009b2J":      "‹U+009B›2J",
		"\xff":          "\uFFFD",
		"\u202eabc":     "‹U+202E›abc",
		"\U000E0041":    "‹U+E0041›",
		"עברית العربية": "עברית العربية",
		"👩‍👩‍👧 é می‌خواهم": "👩‍👩‍👧 é می‌خواهم",
		"日本語": "日本語",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestCleanProperties: what is clean is printable, and cleaning it again
// changes nothing.
func TestCleanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(t, "in")) + rapid.String().Draw(t, "more")
		out := Clean(in)
		if !utf8.ValidString(out) || Clean(out) != out {
			t.Fatalf("%q becomes %q", in, out)
		}
		for _, r := range out {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q lets %U through", in, r)
			}
		}
	})
}

// TestWrapProperties: no row is too wide and no character is lost.
func TestWrapProperties(t *testing.T) {
	letters := rapid.SampledFrom([]string{"a", "bc", " ", "  ", "日本", "é", "👩‍👩‍👧", "long-word-without-blanks", "עב"})
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(letters, 0, 40).Draw(t, "in"), "")
		width := rapid.IntRange(2, 30).Draw(t, "width")
		indent := Of(0, strings.Repeat(" ", rapid.IntRange(0, 4).Draw(t, "indent")))
		var got strings.Builder
		for _, row := range Wrap(Of(Plain, in), width, indent) {
			if row.Width() > width {
				t.Fatalf("a row is %d wide, of %d: %q", row.Width(), width, row.String())
			}
			got.WriteString(row.String())
		}
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		if squeeze(got.String()) != squeeze(in) {
			t.Fatalf("%q becomes %q", in, got.String())
		}
	})
}

func TestWrapWords(t *testing.T) {
	var got []string
	for _, r := range Wrap(Of(Plain, "one two three four"), 9, Of(0, "  ")) {
		got = append(got, r.String())
	}
	if want := "one two|  three|  four"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{{"abcdef", 4, "abc…"}, {"日本語", 4, "日…"}, {"日本", 4, "日本"}, {"abc", 0, ""}} {
		if got := Cut(Of(0, c.in), c.width).String(); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
	if got := CutLeft("internal/tui/text.go", 10); got != "…i/text.go" {
		t.Errorf("CutLeft gives %q", got)
	}
}

func TestLines(t *testing.T) {
	var got []string
	for _, l := range Lines(Plain, "one\r\nprogress 1\rprogress 2\n\x1b[31mred\x1b[0m \x1b[2Jx\n") {
		got = append(got, l.String())
	}
	if want := "one|progress 2|red ␛[2Jx"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}
