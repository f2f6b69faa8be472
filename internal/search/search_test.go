package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files writes files below a new directory.
func files(t testing.TB, contents map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range contents {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func run(t testing.TB, q Query, o Options) Result {
	t.Helper()
	p, err := Compile(q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines is a result as ripgrep prints it.
func lines(r Result) string {
	var b strings.Builder
	for _, f := range r.Files {
		if len(f.Lines) == 0 {
			b.WriteString(f.Path + "\n")
		}
		for _, l := range f.Lines {
			mark := ":"
			if !l.Match {
				mark = "-"
			}
			fmt.Fprintf(&b, "%s%s%d%s%s\n", f.Path, mark, l.Number, mark, l.Text)
		}
	}
	return b.String()
}

func TestQueries(t *testing.T) {
	dir := files(t, map[string]string{"f": "foo bar\nFOO\nfoobar\nfoo.bar\nbar foo\r\nÄ foo\n\u212Aelvin\nkelvin\nétude\nxfoo foo\n"})
	for _, tc := range []struct {
		name string
		q    Query
		want string
	}{
		{"literal", Query{Pattern: "foo.bar"}, "4"},
		{"regex", Query{Pattern: "foo.bar", Regex: true}, "1 4"},
		{"ignore case", Query{Pattern: "FoO", IgnoreCase: true}, "1 2 3 4 5 6 10"},
		{"smart case, lower", Query{Pattern: "foo", SmartCase: true}, "1 2 3 4 5 6 10"},
		{"smart case, upper", Query{Pattern: "FOO", SmartCase: true}, "2"},
		{"smart case, class", Query{Pattern: `^\S+$`, Regex: true, SmartCase: true}, "2 3 4 7 8 9"},
		{"word", Query{Pattern: "foo", Word: true}, "1 4 5 6 10"},
		{"word in unicode", Query{Pattern: "tude", Word: true}, ""},
		{"whole line", Query{Pattern: "foobar", WholeLine: true}, "3"},
		{"whole line in crlf", Query{Pattern: "bar foo", WholeLine: true}, "5"},
		{"end of line in crlf", Query{Pattern: "foo$", Regex: true}, "5 6 10"},
		{"fold beyond ascii", Query{Pattern: "kelvin", IgnoreCase: true}, "7 8"},
		{"fold of others", Query{Pattern: "ä", IgnoreCase: true}, "6"},
		{"alternatives", Query{Pattern: "(bar|étu)", Regex: true}, "1 3 4 5 9"},
		{"flags inside", Query{Pattern: "(?i)FOOBAR", Regex: true}, "3"},
		{"no literal", Query{Pattern: `^[a-z]{6}$`, Regex: true}, "3 8"},
		{"may match nothing", Query{Pattern: `x*`, Regex: true}, "1 2 3 4 5 6 7 8 9 10"},
		{"not across lines", Query{Pattern: `bar\s+FOO`, Regex: true}, ""},
		{"optional part", Query{Pattern: `foo(bar)?$`, Regex: true}, "3 5 6 10"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, f := range run(t, tc.q, Options{Dir: dir}).Files {
				for _, l := range f.Lines {
					got = append(got, fmt.Sprint(l.Number))
				}
			}
			if s := strings.Join(got, " "); s != tc.want {
				t.Errorf("got lines %s, want %s", s, tc.want)
			}
		})
	}
}

func TestBadPatterns(t *testing.T) {
	for pattern, want := range map[string]string{
		"": "empty", "a\nb": "line break", "(": "mode literal", `(?=x)`: "look-around", `\1`: "backreferences", "*": "mode literal",
	} {
		if _, err := Compile(Query{Pattern: pattern, Regex: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	if _, err := Compile(Query{Pattern: "((*["}); err != nil {
		t.Errorf("a literal is never invalid: %v", err)
	}
}

func TestContext(t *testing.T) {
	dir := files(t, map[string]string{"f": "1\n2\nx\n4\n5\n6\n7\nx\nx\n10\n"})
	for _, tc := range []struct {
		before, after int
		want          string
	}{
		{0, 0, "f:3:x\nf:8:x\nf:9:x\n"},
		{1, 0, "f-2-2\nf:3:x\nf-7-7\nf:8:x\nf:9:x\n"},
		{0, 1, "f:3:x\nf-4-4\nf:8:x\nf:9:x\nf-10-10\n"},
		{2, 2, "f-1-1\nf-2-2\nf:3:x\nf-4-4\nf-5-5\nf-6-6\nf-7-7\nf:8:x\nf:9:x\nf-10-10\n"},
		{50, 50, "f-1-1\nf-2-2\nf:3:x\nf-4-4\nf-5-5\nf-6-6\nf-7-7\nf:8:x\nf:9:x\nf-10-10\n"},
	} {
		got := lines(run(t, Query{Pattern: "x"}, Options{Dir: dir, Before: tc.before, After: tc.after}))
		if got != tc.want {
			t.Errorf("%d before, %d after: got\n%s", tc.before, tc.after, got)
		}
	}
}

func TestWhatIsSearched(t *testing.T) {
	dir := files(t, map[string]string{
		"a.go": "x", "b.txt": "x", "sub/c.go": "x", "sub/d.txt": "x", ".hidden": "x", ".dir/e": "x", ".git/config": "x", ".git/HEAD": "",
		".gitignore": "*.log\n/build/\n", "f.log": "x", "build/g": "x", "sub/build/h": "x", "sub/.gitignore": "!keep.log\nd.t?t\n", "sub/keep.log": "x",
		"bin": "x\x00x", "wide": wide("x\n"), "vendor/v.go": "x", ".ignore": "vendor\n",
	})
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"default", Options{}, "a.go b.txt sub/build/h sub/c.go sub/keep.log wide"},
		{"hidden", Options{Hidden: true}, ".dir/e .hidden a.go b.txt sub/build/h sub/c.go sub/keep.log wide"},
		{"no ignore", Options{NoIgnore: true}, "a.go b.txt build/g f.log sub/build/h sub/c.go sub/d.txt sub/keep.log vendor/v.go wide"},
		{"binary", Options{Binary: true}, "a.go b.txt bin sub/build/h sub/c.go sub/keep.log wide"},
		{"glob", Options{Globs: []string{"*.go"}}, "a.go sub/c.go"},
		{"glob beats ignore", Options{Globs: []string{"*.log"}}, "f.log sub/keep.log"},
		{"glob with braces", Options{Globs: []string{"*.{go,txt}"}}, "a.go b.txt sub/c.go sub/d.txt"},
		{"excluding glob", Options{Globs: []string{"!*.go"}}, "b.txt sub/build/h sub/keep.log wide"},
		{"both", Options{Globs: []string{"*.go", "!sub/"}}, "a.go"},
		{"the last decides", Options{Globs: []string{"!*.go", "a.go"}}, "a.go"},
		{"glob with a path", Options{Globs: []string{"sub/*.go"}}, "sub/c.go"},
		{"glob at any depth", Options{Globs: []string{"**/c.go"}}, "sub/c.go"},
		{"a directory", Options{Paths: []string{"sub"}}, "sub/build/h sub/c.go sub/keep.log"},
		{"an ignored directory", Options{Paths: []string{"build"}}, "build/g"},
		{"files", Options{Paths: []string{"f.log", ".hidden", "bin"}}, ".hidden bin f.log"},
		{"several", Options{Paths: []string{"sub", "a.go"}}, "a.go sub/build/h sub/c.go sub/keep.log"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Dir, tc.o.FilesOnly = dir, true
			got := strings.ReplaceAll(strings.TrimSpace(lines(run(t, Query{Pattern: "x"}, tc.o))), "\n", " ")
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	p, err := Compile(Query{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), p, Options{Dir: dir, Paths: []string{"missing"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a path that is not there: %v", err)
	}
	for _, glob := range []string{"", "!", "{a,b"} {
		if _, err := Run(t.Context(), p, Options{Dir: dir, Globs: []string{glob}}); err == nil {
			t.Errorf("glob %q", glob)
		}
	}
}

// Ignore files above the directory count up to the working tree's top.
func TestIgnoreFilesAbove(t *testing.T) {
	dir := files(t, map[string]string{
		".gitignore": "a\n", "top/.git/HEAD": "", "top/.git/info/exclude": "excluded\n", "top/.gitignore": "/sub/d/gen\n*.tmp\n",
		"top/sub/.gitignore": "!keep.tmp\n", "top/sub/d/a": "x", "top/sub/d/gen": "x", "top/sub/d/f.tmp": "x", "top/sub/d/keep.tmp": "x", "top/sub/d/excluded": "x",
	})
	got := lines(run(t, Query{Pattern: "x"}, Options{Dir: filepath.Join(dir, "top", "sub", "d"), FilesOnly: true}))
	if got != "a\nkeep.tmp\n" {
		t.Errorf("got %q", got)
	}
	got = lines(run(t, Query{Pattern: "x"}, Options{Dir: filepath.Join(dir, "top"), Paths: []string{"sub/d"}, FilesOnly: true}))
	if got != "sub/d/a\nsub/d/keep.tmp\n" {
		t.Errorf("got %q", got)
	}
}

func wide(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

// A limited answer is the first part of the whole one, whatever the order in
// which the files were read.
func TestLimitIsStable(t *testing.T) {
	many := map[string]string{}
	for i := range 300 {
		many[fmt.Sprintf("d%d/e%d/f%d.txt", i%7, i%5, i)] = strings.Repeat("x\ny\n", i%4)
	}
	dir := files(t, many)
	all := strings.SplitAfter(lines(run(t, Query{Pattern: "x"}, Options{Dir: dir})), "\n")
	all = all[:len(all)-1]
	for _, limit := range []int{1, 2, 3, 10, 57, len(all) - 1, len(all), len(all) + 1} {
		for range 5 {
			r := run(t, Query{Pattern: "x"}, Options{Dir: dir, MaxMatches: limit, Workers: 4})
			want := strings.Join(all[:min(limit, len(all))], "")
			if got := lines(r); got != want || r.Truncated != (limit < len(all)) || r.Matches != min(limit, len(all)) {
				t.Fatalf("limit %d: truncated %v, %d matches, got\n%s", limit, r.Truncated, r.Matches, got)
			}
		}
	}
}

func TestLargeFiles(t *testing.T) {
	// Matches at the borders of blocks, and context across them.
	var b strings.Builder
	var want []string
	for i := 1; b.Len() < 3*blockSize; i++ {
		text := fmt.Sprintf("line %d %s", i, strings.Repeat(".", i%200))
		if i%5000 == 0 {
			text += " needle"
			want = append(want, fmt.Sprint(i-1, "-"), fmt.Sprint(i, ":"), fmt.Sprint(i+1, "-"))
		}
		b.WriteString(text + "\n")
	}
	dir := files(t, map[string]string{"big": b.String(), "nul": b.String() + "\x00", "oneline": strings.Repeat("y", 3*blockSize) + " needle " + strings.Repeat("z", 5000)})
	r := run(t, Query{Pattern: "needle"}, Options{Dir: dir, Before: 1, After: 1})
	if len(r.Files) != 2 || r.Binary != 1 {
		t.Fatalf("%d files, %d binary", len(r.Files), r.Binary)
	}
	var got []string
	for _, l := range r.Files[0].Lines {
		mark := "-"
		if l.Match {
			mark = ":"
		}
		got = append(got, fmt.Sprint(l.Number, mark))
		if !strings.HasPrefix(l.Text, fmt.Sprintf("line %d ", l.Number)) {
			t.Errorf("line %d is %q", l.Number, l.Text)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v", got)
	}
	long := r.Files[1].Lines[0].Text
	if len(long) > maxShown+10 || !strings.HasPrefix(long, "…yyy") || !strings.Contains(long, " needle zzz") || !strings.HasSuffix(long, "…") {
		t.Errorf("the long line is shown as %q", long)
	}
}

func TestByteOrderMark(t *testing.T) {
	dir := files(t, map[string]string{"a": "\xef\xbb\xbfstart\nx\n", "b": wide("start\nx\n")})
	if got := lines(run(t, Query{Pattern: "^start$", Regex: true}, Options{Dir: dir})); got != "a:1:start\nb:1:start\n" {
		t.Errorf("got %q", got)
	}
}

func TestLinks(t *testing.T) {
	dir := files(t, map[string]string{"ws/real/f": "x", "out/g": "x"})
	ws := filepath.Join(dir, "ws")
	for link, target := range map[string]string{"dir": "real", "file": "real/f", "out": "../out", "outfile": "../out/g", "abs": filepath.Join(dir, "out"), "real/loop": "..", "root": "/"} {
		if err := os.Symlink(target, filepath.Join(ws, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	if got := lines(run(t, Query{Pattern: "x"}, Options{Dir: ws, FilesOnly: true})); got != "real/f\n" {
		t.Errorf("without following: %q", got)
	}
	got := lines(run(t, Query{Pattern: "x"}, Options{Dir: ws, FilesOnly: true, Follow: true}))
	if !strings.HasPrefix(got, "dir/f\nfile\n") || !strings.Contains(got, "real/f\n") || strings.Contains(got, "g\n") {
		t.Errorf("following: %q", got)
	}
	p, err := Compile(Query{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"out", "outfile", "abs/g", "../out"} {
		r, err := Run(t.Context(), p, Options{Dir: ws, Paths: []string{path}, Follow: true, FilesOnly: true})
		if err == nil && strings.Contains(lines(r), "g") {
			t.Errorf("%s led out: %q", path, lines(r))
		}
	}
}

func TestCancel(t *testing.T) {
	p, err := Compile(Query{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, p, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
