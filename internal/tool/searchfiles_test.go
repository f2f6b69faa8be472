package tool

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestSearch(t *testing.T) {
	s, dir := newSet(t, nil)
	write(t, dir, "a.go", "package a\n\nfunc Foo() {}\nfunc bar() {}\n")
	write(t, dir, "sub/b.go", "package b\n// Foo is.\n")
	write(t, dir, ".hidden/c.go", "Foo\n")
	write(t, dir, "bin", "Foo\x00")
	for _, tc := range []struct {
		name string
		args m
		want string
	}{
		{"literal", m{"pattern": "Foo"}, "a.go:3:func Foo() {}\nsub/b.go:2:// Foo is."},
		{"not a regex", m{"pattern": "F.o"}, "No matches in 2 files. 1 binary file skipped; binary: text searches them."},
		{"regex", m{"pattern": "^func [a-z]", "mode": "regex"}, "a.go:4:func bar() {}"},
		{"context", m{"pattern": "bar", "context_before": 1, "context_after": 1}, "a.go-3-func Foo() {}\na.go:4:func bar() {}"},
		{"two groups", m{"pattern": "Foo", "context_before": 1}, "a.go-2-\na.go:3:func Foo() {}\n--\nsub/b.go-1-package b\nsub/b.go:2:// Foo is."},
		{"limit", m{"pattern": "Foo", "max_matches": 1}, "a.go:3:func Foo() {}\n[there are more than 1 matches; narrow the search or raise max_matches]"},
		{"exactly the limit", m{"pattern": "Foo", "max_matches": 2}, "a.go:3:func Foo() {}\nsub/b.go:2:// Foo is."},
		{"files", m{"pattern": "package", "output_mode": "files_with_matches"}, "a.go\nsub/b.go"},
		{"json", m{"pattern": "Foo", "output_mode": "json", "context_before": 1, "paths": []string{"sub"}},
			`{"matches":[{"path":"sub/b.go","line":1,"text":"package b","context":true},{"path":"sub/b.go","line":2,"text":"// Foo is."}],"truncated":false}`},
		{"no matches as json", m{"pattern": "zzz", "output_mode": "json"}, `{"matches":[],"truncated":false}`},
		{"a path as a string", m{"pattern": "Foo", "paths": "sub"}, "sub/b.go:2:// Foo is."},
		{"absolute path", m{"pattern": "Foo", "paths": []string{dir + "/sub/b.go"}}, "sub/b.go:2:// Foo is."},
		{"glob", m{"pattern": "Foo", "glob": "!sub"}, "a.go:3:func Foo() {}"},
		{"hidden", m{"pattern": "Foo", "hidden": true, "glob": []string{"c.go"}}, ".hidden/c.go:1:Foo"},
		{"case", m{"pattern": "foo", "case_sensitive": false, "paths": "sub"}, "sub/b.go:2:// Foo is."},
		{"word", m{"pattern": "Fo", "word": true}, "No matches in 2 files. 1 binary file skipped; binary: text searches them."},
		{"binary", m{"pattern": "Foo", "binary": "text", "paths": "bin"}, "bin:1:Foo\uFFFD"},
		{"missing path", m{"pattern": "x", "paths": "nothing"}, "tool failed: No such file or directory (os error 2)"},
		{"outside", m{"pattern": "x", "paths": "/etc"}, "tool failed: absolute path is outside the workspace"},
		{"bad expression", m{"pattern": "(", "mode": "regex"}, "tool failed: the expression is not valid: missing closing ): `(` (to look for the text as it is, use mode literal)"},
		{"bad glob", m{"pattern": "x", "glob": "{a"}, "tool failed: glob \"{a\": a { is not closed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if r := call(t, s, "search", tc.args); r.Text != tc.want {
				t.Errorf("got %q", r.Text)
			}
		})
	}
}

func TestSearchOutputIsBounded(t *testing.T) {
	s, dir := newSet(t, func(o *Options) { o.MaxOutputBytes = 100 })
	write(t, dir, "f", strings.Repeat("match "+strings.Repeat("x", 20)+"\n", 50))
	r := call(t, s, "search", m{"pattern": "match"})
	if !strings.HasSuffix(r.Text, "\n[cut after 3 matches: the text is too long; narrow the search]") || len(r.Text) > 200 {
		t.Errorf("got %q", r.Text)
	}
}

// What a spill file holds can be searched by the path that a result names.
func TestSearchInSpillFile(t *testing.T) {
	s, dir := newSet(t, nil)
	spilled := write(t, s.opt.OutputDir, "task-1/call-bash.txt", "needle\n")
	if err := s.opt.Workspace.AddReadable(s.opt.OutputDir); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "f", "needle\n")
	real, err := filepath.EvalSymlinks(spilled)
	if err != nil {
		t.Fatal(err)
	}
	r := call(t, s, "search", m{"pattern": "needle", "paths": []string{"f", spilled}})
	if r.Text != "f:1:needle\n"+real+":1:needle" {
		t.Errorf("got %q", r.Text)
	}
}
