package search

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

func TestRequiredLiterals(t *testing.T) {
	for _, tc := range []struct{ pattern, want string }{
		{`context.WithTimeout`, "WithTimeout"},
		{`func \(\w+ \*?Server\) \w+\(`, "Server) "},
		{`(ErrDeadline|ErrTimeout)Exceeded`, "ErrDeadlineExceeded|ErrTimeoutExceeded"},
		{`(?i)deadline exceeded`, "i:deadline exceeded"},
		{`[A-Z]\w+_[0-9]{3,}\b`, "_"},
		{`foo(bar)?`, "foo"},
		{`(abc)+d`, "abc"},
		{`(abc){2,5}`, "abc"},
		{`(abc)*`, ""},
		{`a|b|.`, ""},
		{`foo|bar`, "foo|bar"},
		{`fo[ox]bar`, "foobar|foxbar"},
		{`\bfoo\b`, "foo"},
		{`^$`, ""},
		{`.*`, ""},
		{`(?i)ä`, ""},
	} {
		re, err := syntax.Parse(tc.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		l := requiredLiterals(re)
		got := strings.Join(l.texts, "|")
		if l.fold {
			got = "i:" + got
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.pattern, got, tc.want)
		}
	}
}

// FuzzLiterals holds the search with literals against the expression alone.
func FuzzLiterals(f *testing.F) {
	for _, p := range []string{`foo`, `(?i)foo bar`, `(a|bc)d?e+`, `x{2,3}y`, `(?i)k|s`, `[ab]c`, `^a.*b$`, `\bfoo\B`, `(?i)straße`} {
		f.Add(p, "foo\nFoo Bar\nbcde\nxxy\n\u212a\nac\n")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 60 || len(text) > 2000 || strings.Contains(text, "\x00") {
			return
		}
		p, err := Compile(Query{Pattern: pattern, Regex: true})
		if err != nil {
			return
		}
		re, wide := regexp.MustCompile(pattern), compileWide(pattern, regexp.MustCompile(pattern))
		var want []int
		body := strings.TrimSuffix(text, "\n")
		for i, line := range strings.Split(body, "\n") {
			if !p.seesCR {
				line = strings.TrimSuffix(line, "\r")
			}
			if (isASCII([]byte(line)) && re.MatchString(line) || !isASCII([]byte(line)) && wide.MatchString(line)) && (text != "" || i > 0) {
				want = append(want, i+1)
			}
		}
		s := newScanner(p, Options{})
		st := &scan{scanner: s, number: 1, shown: -1}
		st.block([]byte(text), 0)
		var got []int
		for _, l := range st.out.Lines {
			got = append(got, l.Number)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: lines %v, want %v (%+v)", pattern, text, got, want, p.lits)
		}
	})
}

func TestFinderFindsAll(t *testing.T) {
	text := []byte("Abc aBC xabcabc ab c ABCABC\nkK sS _a_ A_")
	for _, l := range []literals{
		{texts: []string{"abc"}}, {texts: []string{"abc"}, fold: true}, {texts: []string{"bc", "_a"}, fold: true}, {texts: []string{"k"}, fold: true},
		{texts: []string{"a"}, fold: true}, {texts: []string{"zzz"}, fold: true}, {texts: []string{"_"}, fold: true},
	} {
		f := newFinder(l)
		var got, want []int
		for at := 0; ; {
			i := f.find(text, at)
			if i < 0 {
				break
			}
			got = append(got, i)
			at = i + 1
		}
		for i := range text {
			for _, w := range l.texts {
				part := text[i:min(i+len(w), len(text))]
				if string(part) == w || l.fold && strings.EqualFold(string(part), w) {
					want = append(want, i)
					break
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: got %v, want %v", l, got, want)
		}
	}
	if bytes.IndexByte(text, 0) >= 0 {
		t.Error("the text has no NUL")
	}
}

func TestWideClasses(t *testing.T) {
	for _, tc := range []struct{ pattern, line string }{
		{`^\w+$`, "grüße"}, {`^[\w-]+$`, "grü-ße"}, {`^\d$`, "٣"}, {`a\sb`, "a\u00a0b"}, {`^\W$`, "–"}, {`^[^\w]$`, "–"}, {`^[]\w]+$`, "ü]"},
		{`^[[:alpha:]\w]+$`, "ü"}, {`^\\w$`, `\w`}, {`^\S+$`, "ü"},
	} {
		re := compileWide(tc.pattern, regexp.MustCompile(tc.pattern))
		if !re.MatchString(tc.line) {
			t.Errorf("%s does not match %q as %s", tc.pattern, tc.line, re)
		}
	}
	for _, tc := range []struct{ pattern, line string }{{`^\W$`, "ü"}, {`^[^\w]$`, "ü"}, {`^\S$`, "\u00a0"}, {`^\D$`, "٣"}} {
		if compileWide(tc.pattern, regexp.MustCompile(tc.pattern)).MatchString(tc.line) {
			t.Errorf("%s matches %q", tc.pattern, tc.line)
		}
	}
}
