package search

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// variant is one search in both languages.
type variant struct {
	args []string // for ripgrep
	q    Query
	o    Options
}

func variants() []variant {
	re := func(p string) Query { return Query{Pattern: p, Regex: true} }
	lit := func(p string) Query { return Query{Pattern: p} }
	// What is known to differ is left out: \b beside a letter beyond ASCII, and
	// $ before a CR, which --crlf makes the same.
	return []variant{
		{[]string{"-F", "context.WithTimeout"}, lit("context.WithTimeout"), Options{}},
		{[]string{"-F", "return err"}, lit("return err"), Options{}},
		{[]string{"-F", "]interface{}"}, lit("]interface{}"), Options{}},
		{[]string{"-F", "-i", "Deadline exceeded"}, Query{Pattern: "Deadline exceeded", IgnoreCase: true}, Options{}},
		{[]string{"-F", "-S", "mutex"}, Query{Pattern: "mutex", SmartCase: true}, Options{}},
		{[]string{"-F", "-S", "Mutex"}, Query{Pattern: "Mutex", SmartCase: true}, Options{}},
		{[]string{"-F", "-w", "-g", "*_test.go", "err"}, Query{Pattern: "err", Word: true}, Options{Globs: []string{"*_test.go"}}},
		{[]string{"-F", "-x", "package main"}, Query{Pattern: "package main", WholeLine: true}, Options{}},
		{[]string{`func \(\w+ \*?Server\) \w+\(`}, re(`func \(\w+ \*?Server\) \w+\(`), Options{}},
		{[]string{`(ErrDeadline|ErrTimeout)Exceeded`}, re(`(ErrDeadline|ErrTimeout)Exceeded`), Options{}},
		{[]string{`(?i)todo\(\w+\): [a-z]`}, re(`(?i)todo\(\w+\): [a-z]`), Options{}},
		{[]string{`[A-Z]\w+_[0-9]{3,}\b`}, re(`[A-Z]\w+_[0-9]{3,}\b`), Options{}},
		{[]string{`^func (Test|Benchmark)[A-Z]\w*\(`}, re(`^func (Test|Benchmark)[A-Z]\w*\(`), Options{}},
		{[]string{`^\s*//go:(build|embed)\b.*$`}, re(`^\s*//go:(build|embed)\b.*$`), Options{}},
		{[]string{"-F", "-C2", "sync.Once"}, lit("sync.Once"), Options{Before: 2, After: 2}},
		{[]string{"-F", "-l", "import \"C\""}, lit("import \"C\""), Options{FilesOnly: true}},
		{[]string{"-F", "-g", "*.{s,h}", "TEXT"}, lit("TEXT"), Options{Globs: []string{"*.{s,h}"}}},
		{[]string{"-F", "-g", "*.go", "-g", "!*_test.go", "runtime.GC("}, lit("runtime.GC("), Options{Globs: []string{"*.go", "!*_test.go"}}},
		{[]string{"-F", "--hidden", "-uu", "password"}, lit("password"), Options{Hidden: true, NoIgnore: true}},
	}
}

// compare runs one search in both and holds the lines found against each
// other.
func compare(t *testing.T, rg, dir string, v variant) {
	t.Helper()
	args := append([]string{"--no-config", "--no-ignore-global", "--no-messages", "--no-heading", "-n", "--null", "--crlf"}, v.args...)
	cmd := exec.Command(rg, append(args, "./")...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Skipf("ripgrep: %v", err)
	}
	var want []string
	if v.o.FilesOnly && len(out) > 0 {
		want = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	} else if !v.o.FilesOnly {
		want = rgLines(out)
	}
	v.o.Dir = dir
	var got []string
	for _, f := range run(t, v.q, v.o).Files {
		if v.o.FilesOnly {
			got = append(got, "./"+f.Path)
		}
		for _, l := range f.Lines {
			mark := ":"
			if !l.Match {
				mark = "-"
			}
			got = append(got, fmt.Sprintf("./%s %d%s", f.Path, l.Number, mark))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		only := func(a, b []string) (out []string) {
			for _, s := range a {
				if _, ok := slices.BinarySearch(b, s); !ok && len(out) < 5 {
					out = append(out, s)
				}
			}
			return out
		}
		t.Errorf("rg %q finds %d lines, we %d; only rg: %q; only we: %q", v.args, len(want), len(got), only(want, got), only(got, want))
	}
}

// rgLines reads "path NUL number mark text" lines. Notes about binary files
// have no NUL and are dropped with the matches before them, as here.
func rgLines(out []byte) []string {
	var lines []string
	for _, line := range bytes.Split(out, []byte("\n")) {
		path, rest, ok := bytes.Cut(line, []byte{0})
		if !ok {
			continue
		}
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n == len(rest) {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s", path, rest[:n+1]))
	}
	return lines
}

func TestAgainstRipgrepOnSource(t *testing.T) {
	if testing.Short() {
		t.Skip("searching the standard library many times takes a while")
	}
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	dir := librarySource(t)
	for _, v := range variants() {
		compare(t, rg, dir, v)
	}
}

func TestAgainstRipgrepOnARepository(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	words := func() string {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pick("err", "Err", "mutex", "Mutex", "context.WithTimeout", "return err", "func (s *Server) Run(", "package main\n", "TODO(x): y", "password", "\n", "\n", "\r\n", " ", "\t", "ü", "Z_123 ", "TEXT"))
		}
		return b.String()
	}
	for range 6 {
		contents := map[string]string{".git/HEAD": "ref: refs/heads/main\n"}
		for range 120 {
			var parts []string
			for range r.IntN(4) {
				parts = append(parts, pick("a", "b", "build", ".dot", "vendor", "x.y"))
			}
			dir := strings.Join(parts, "/")
			if dir != "" {
				dir += "/"
			}
			contents[dir+pick("f", "g", "h_test", ".h")+pick(".go", ".s", ".h", ".log", "")] = words()
			if r.IntN(8) == 0 {
				contents[dir+pick(".gitignore", ".ignore")] = pick("*.log\n", "/build\n", "build/\n", "!f.log\n", "**/g*\n", "a/b\n", "*\n!*.go\n!*/\n", ".dot\n", "x.y/\n!x.y/f.go\n")
			}
		}
		dir := files(t, contents)
		for _, v := range variants() {
			compare(t, rg, dir, v)
		}
	}
}
