package edit

import (
	"errors"
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	for _, tc := range []struct {
		name                      string
		text, find, replace, want string
		how                       string
	}{
		{name: "middle", text: "a\nb\nc\n", find: "b", replace: "x", want: "a\nx\nc\n"},
		{name: "whole text", text: "a", find: "a", replace: "", want: ""},
		{name: "across lines", text: "a\nb\nc\n", find: "a\nb", replace: "x", want: "x\nc\n"},
		{name: "delete a line", text: "a\nb\nc\n", find: "b\n", replace: "", want: "a\nc\n"},
		{name: "insert lines", text: "a\nc\n", find: "a\n", replace: "a\nb\n", want: "a\nb\nc\n"},
		{name: "no final newline kept", text: "a\nb", find: "b", replace: "x", want: "a\nx"},
		{name: "no final newline added", text: "a\nb", find: "b", replace: "b\n", want: "a\nb\n"},
		{name: "final newline removed", text: "a\nb\n", find: "b\n", replace: "b", want: "a\nb"},

		{name: "crlf file, lf find", text: "a\r\nb\r\nc\r\n", find: "a\nb\n", replace: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "crlf file, crlf find", text: "a\r\nb\r\n", find: "a\r\nb", replace: "x\r\ny", want: "x\r\ny\r\n"},
		{name: "lf file, crlf find", text: "a\nb\n", find: "a\r\nb", replace: "x\r\ny", want: "x\ny\n"},
		{name: "crlf with tabs", text: "if x {\r\n\ty()\r\n}\r\n", find: "if x {\n\ty()\n}", replace: "if x {\n\tz()\n\tw()\n}", want: "if x {\r\n\tz()\r\n\tw()\r\n}\r\n"},
		{name: "new line in one-line find, crlf", text: "a\r\nb\r\n", find: "a", replace: "a\nx", want: "a\r\nx\r\nb\r\n"},
		{name: "new line at the end, crlf", text: "a\r\nb", find: "b", replace: "b\nc", want: "a\r\nb\r\nc"},
		{name: "mixed ends outside are kept", text: "a\r\nb\nc\r\nd\n", find: "c", replace: "x", want: "a\r\nb\nx\r\nd\n"},
		{name: "mixed ends inside are kept", text: "a\r\nb\nc\r\n", find: "a\nb\nc\n", replace: "a\nX\nc\n", want: "a\r\nX\nc\r\n"},
		{name: "lone cr is a character", text: "a\rb\nc\n", find: "a\rb", replace: "x", want: "x\nc\n"},

		{name: "invalid utf-8 elsewhere", text: "\xff\xfe\nb\n\x80", find: "b", replace: "x", want: "\xff\xfe\nx\n\x80"},
		{name: "invalid utf-8 in find", text: "a\xffb", find: "a\xffb", replace: "c", want: "c"},
		{name: "unicode exact", text: "grüße\n", find: "grüße", replace: "Grüße", want: "Grüße\n"},

		{name: "nfc find in nfd file", text: "cafe\u0301 = 1\n", find: "caf\u00e9 = 1", replace: "caf\u00e9 = 2", want: "cafe\u0301 = 2\n", how: "unicode forms"},
		{name: "nfd find in nfc file", text: "caf\u00e9 = 1\n", find: "cafe\u0301 = 1", replace: "cafe\u0301 = 2", want: "caf\u00e9 = 2\n", how: "unicode forms"},
		{name: "new text in the file's form", text: "cafe\u0301\n", find: "caf\u00e9", replace: "th\u00e9", want: "the\u0301\n", how: "unicode forms"},
		{name: "plain quotes in find", text: "say “hello” now\n", find: `say "hello" now`, replace: `say "hello" later`, want: "say “hello” later\n", how: "unicode forms"},
		{name: "dash and space", text: "a – b\u00a0c\n", find: "a - b c", replace: "a - b d", want: "a – b\u00a0d\n", how: "unicode forms"},
		{name: "invisible character", text: "na\u200bme = 1\n", find: "name = 1", replace: "name = 2", want: "na\u200bme = 2\n", how: "unicode forms"},

		{name: "trailing blanks in the file", text: "a  \nb\t\nc\n", find: "a\nb\nc", replace: "a\nx\nc", want: "a  \nx\nc\n", how: "trailing white space"},
		{name: "trailing blanks in find", text: "a\nb\nc\n", find: "a \nb", replace: "a \nx", want: "a\nx\nc\n", how: "trailing white space"},
		{name: "blank line with blanks", text: "a\n    \nb\n", find: "a\n\nb\n", replace: "a\n\nc\n", want: "a\n    \nc\n", how: "trailing white space"},

		{name: "spaces for tabs", text: "func f() {\n\tif x {\n\t\ty()\n\t}\n}\n", find: "    if x {\n        y()\n    }", replace: "    if x {\n        z()\n    }",
			want: "func f() {\n\tif x {\n\t\tz()\n\t}\n}\n", how: "indentation"},
		{name: "new deeper line", text: "\tif x {\n\t\ty()\n\t}\n", find: "    if x {\n        y()\n    }\n", replace: "    if x {\n        if w {\n            y()\n        }\n    }\n",
			want: "\tif x {\n\t\tif w {\n\t\t\ty()\n\t\t}\n\t}\n", how: "indentation"},
		{name: "missing base indentation", text: "class A:\n    def f(self):\n        return 1\n", find: "def f(self):\n    return 1", replace: "def f(self):\n    return 2",
			want: "class A:\n    def f(self):\n        return 2\n", how: "indentation"},
		{name: "one line, other depth", text: "a\n        b = 1\nc\n", find: "\tb = 1\n", replace: "\tb = 2\n", want: "a\n        b = 2\nc\n", how: "indentation"},
		{name: "crlf and indentation", text: "{\r\n\ta,\r\n\tb\r\n}\r\n", find: "  a,\n  b\n", replace: "  a,\n  c\n", want: "{\r\n\ta,\r\n\tc\r\n}\r\n", how: "indentation"},
		{name: "deletion with other indentation", text: "x\n\t\ta\n\t\tb\ny\n", find: "  a\n  b\n", replace: "", want: "x\ny\n", how: "indentation"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Apply(tc.text, tc.find, tc.replace)
			if err != nil {
				t.Fatal(err)
			}
			if c.Text != tc.want || c.How != tc.how {
				t.Errorf("got %q (%s), want %q (%s)", c.Text, c.How, tc.want, tc.how)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name                string
		text, find, replace string
		kind                error
		says                string
	}{
		{"empty find", "a", "", "x", ErrEmptyFind, "write_file"},
		{"same text", "a", "a", "a", ErrNoChange, "same text"},
		{"only line ends differ", "a\r\nb\r\n", "a\r\nb", "a\nb", ErrNoChange, "line ends"},
		{"twice", "x = 1\ny\nx = 1\n", "x = 1", "x = 2", ErrAmbiguous, "occurs 2 times, at lines 1, 3"},
		{"overlapping", "aaa", "aa", "b", ErrAmbiguous, "2 times"},
		{"many", strings.Repeat("x\n", 50), "x", "y", ErrAmbiguous, "more than 10 times"},
		{"twice in another form", "“a”\n“a”\n", `"a"`, "b", ErrAmbiguous, "unicode forms"},
		{"twice with blanks", "f(a) \ng\nf(a)  \n", "f(a)\t\n", "x\n", ErrAmbiguous, "trailing white space"},
		{"twice at other depths", "\tf(a)\n\t\tf(a)\n", " f(a)\n", " g(a)\n", ErrAmbiguous, "indentation"},
		{"uneven indentation", "\ta\n  b\n", "  a\n  b\n", "  a\n  c\n", ErrNotFound, "indentation: the file has 1 tab, find has 2 spaces"},
		{"indentation without a rule", "\tif x {\n\t}\n", "  if x {\n  }\n", "  if x {\n      y()\n  }\n", ErrNotFound, "indentation"},
		{"only blanks", "a\n\n\nb\n", " \n ", "x", ErrNotFound, ""},
		{"nothing near", "alpha\nbeta\n", "zzzzzzzzzz()", "y", ErrNotFound, "nothing in the file comes near"},
		{"empty file", "", "a", "b", ErrNotFound, "empty"},
		{"nearest line", "func alpha() {}\nfunc beta(x int) {}\n", "func beta(x string) {}", "", ErrNotFound, "2|func beta(x int) {}"},
		{"first difference", "a\nfoo(1)\nc\n", "a\nfoo(2)\nc", "x", ErrNotFound, "line 2: at column 5 the file has `1)`, find has `2)`"},
		{"case", "a\nFoo\nc\n", "a\nfoo\nc", "x", ErrNotFound, "upper and lower case"},
		{"character", "x ≠ y and z\n", "x ‡ y and z", "x", ErrNotFound, "column 3"},
		{"line numbers copied", "alpha\nbeta\n", "1|alpha\n2|beta", "x", ErrNotFound, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := Apply(tc.text, tc.find, tc.replace)
			if !errors.Is(err, tc.kind) {
				t.Fatalf("got %v (%q)", err, c.Text)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q is not in: %v", tc.says, err)
			}
		})
	}
}

func TestReport(t *testing.T) {
	text := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	c, err := Apply(text, "5\n", "five\nfive and a half\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.First != 5 || c.Last != 6 || c.Added != 2 || c.Removed != 1 {
		t.Errorf("got lines %d-%d, +%d -%d", c.First, c.Last, c.Added, c.Removed)
	}
	want := "@@\n 2\n 3\n 4\n-5\n+five\n+five and a half\n 6\n 7\n 8\n"
	if c.Diff != want {
		t.Errorf("got %q", c.Diff)
	}
	c, err = Apply(text, "9\n", "")
	if err != nil || c.First != 8 || c.Last != 8 || c.Removed != 1 || c.Added != 0 {
		t.Errorf("deleting the end: %+v, %v", c, err)
	}
	c, err = Apply("a\r\nb\r\n", "a", "x")
	if err != nil || c.Added != 1 || c.Removed != 1 || strings.Contains(c.Diff, "\r") {
		t.Errorf("crlf: %+v, %v", c, err)
	}
}

func TestCount(t *testing.T) {
	for _, tc := range []struct {
		before, after  string
		added, removed int
	}{
		{"", "a\nb\n", 2, 0}, {"", "a", 1, 0}, {"a\n", "", 0, 1}, {"a\nb\n", "a\nc\nd\n", 2, 1}, {"a\n", "a\n", 0, 0},
	} {
		if added, removed := Count(tc.before, tc.after); added != tc.added || removed != tc.removed {
			t.Errorf("%q to %q: +%d -%d", tc.before, tc.after, added, removed)
		}
	}
}

// FuzzApply checks what must hold whatever is matched: nothing outside of the
// place changes, line ends keep their kind, and a success is one place.
func FuzzApply(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x")
	f.Add("a\r\nb\r\n", "a\nb", "x\ny\nz")
	f.Add("\tif x {\n\t\ty\n\t}\n", "    if x {\n        y\n    }\n", "    z\n")
	f.Add("cafe\u0301 “x”\n", "caf\u00e9 \"x\"", "caf\u00e9 \"y\"")
	f.Add("a  \nb\n", "a\nb", "")
	f.Add("\xff\xc3\n\u2026\u00a0\n", "... ", "\u00c5")
	f.Add("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n")
	f.Add("e\u0301\u0323", "\u1eb9\u0301", "x")
	f.Fuzz(func(t *testing.T, text, find, replace string) {
		if len(text)+len(find)+len(replace) > 4000 {
			return
		}
		c, err := Apply(text, find, replace)
		if err != nil {
			if c.Text != "" {
				t.Fatal("an error with a text")
			}
			if find != "" && len(occurrences(toLF(text), toLF(find), 2)) == 1 && !errors.Is(err, ErrNoChange) {
				t.Fatalf("one exact occurrence was refused: %v", err)
			}
			return
		}
		if c.Text == text {
			t.Fatal("a success without a change")
		}
		lf, want := toLF(text), toLF(find)
		switch n := len(occurrences(lf, want, 2)); {
		case n > 1:
			t.Fatal("an ambiguous text was replaced")
		case n == 1:
			at := strings.Index(lf, want)
			// Joining a CR with an LF makes a CRLF that was not there.
			if got := lf[:at] + toLF(replace) + lf[at+len(want):]; toLF(c.Text) != toLF(got) && !strings.Contains(lf+replace, "\r") {
				t.Fatalf("got %q, want %q", toLF(c.Text), got)
			}
		case c.How == "":
			t.Fatal("an exact match where there is none")
		}
		if n := strings.Count(text, "\n"); n > 0 && strings.Count(text, "\r\n") == n && !strings.Contains(strings.ReplaceAll(text+find+replace, "\r\n", ""), "\r") {
			if strings.Count(c.Text, "\n") != strings.Count(c.Text, "\r\n") {
				t.Fatalf("a CRLF text has a bare LF: %q", c.Text)
			}
		}
		if !strings.Contains(text, "\r\n") && !strings.Contains(text+find+replace, "\r") && strings.Contains(c.Text, "\r") {
			t.Fatalf("an LF text has a CR: %q", c.Text)
		}
	})
}
