package shell

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Options say what a line's words are judged against.
type Options struct {
	// Dir is the absolute directory the line starts in.
	Dir string
	// Home and Temp are the values of HOME and TMPDIR in the environment the
	// line runs with; empty when they are not known.
	Home, Temp string
}

// Analyze takes a line apart. It never fails: a line that cannot be decomposed
// comes back with Refusal set.
func Analyze(text string, opt Options) *Line {
	line := &Line{Text: text}
	a := &analysis{opt: opt, line: line}
	if reason := gate(text); reason != "" {
		a.refuse(reason)
		return line
	}
	a.protect(func() {
		a.script(text, scope{depth: 1}, true, dirSet{{Path: opt.Dir, Known: opt.Dir != ""}})
	})
	if line.Refusal == "" && len(line.Stages) == 0 {
		a.refuse("nothing to run")
	}
	return line
}

// analysis is the state of taking one line apart.
type analysis struct {
	opt  Options
	line *Line
	// assigned holds names of variables that the line sets, so that $HOME is
	// not taken for the home directory behind an assignment to it.
	assigned map[string]bool
	// texts holds the fixed values that the line gives to variables.
	texts map[string][]string
}

// scope is what a stage inherits from the commands around it.
type scope struct {
	src      string
	depth    int
	stdin    Stdin
	assigns  []Assign
	unset    []string
	cleared  bool
	redirs   []Redirect
	wrappers []Wrapper
	dialect  string
	// whole is set for the statements of a whole script, not for lists in it.
	whole bool
	// foreign names the shell that reads the script when it is not bash.
	foreign string
	moved   bool
	// outer counts the wrappers around the script that is being read: only
	// those behind them stand between a builtin and its shell.
	outer int
	// appended says that an enclosing xargs or fd adds arguments at run time.
	appended bool
}

// refuse records why the line cannot be decomposed; the first reason stays.
// The walk goes on so that deny rules see what else is there.
func (a *analysis) refuse(format string, args ...any) {
	if a.line.Refusal != "" {
		return
	}
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	a.line.Refusal = format
}

// protect turns a panic of the parser or of the walk into a refusal: fuzzing
// found one in the library, and a line that crashes the reader must never run.
func (a *analysis) protect(f func()) {
	defer func() {
		if r := recover(); r != nil {
			a.refuse("the line could not be read: %v", r)
		}
	}()
	f()
}

// parsers are reused: a new one allocates more than a typical line needs.
var parsers = sync.Pool{New: func() any {
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
}}

func parse(src string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	f, err := p.Parse(strings.NewReader(src), "")
	// A parser that panicked never comes back to the pool.
	parsers.Put(p)
	return f, err
}

// script reads src as a shell script and appends its stages. whole says that a
// shell of its own reads it, not an eval.
func (a *analysis) script(src string, sc scope, whole bool, in dirSet) dirSet {
	if sc.depth > MaxDepth {
		a.refuse("commands nest more than %d deep", MaxDepth)
		if sc.depth > 4*MaxDepth {
			return in
		}
	}
	if strings.HasSuffix(src, `\`) {
		a.refuse("a backslash with nothing behind it") // bash keeps it or not
	}
	f, err := parse(src)
	if err != nil {
		a.refuse("syntax error: %s", syntaxMessage(err))
		return in
	}
	if !commentsStandApart(f, src) {
		a.refuse("a # may begin a comment or not")
	}
	if !joinsAreCertain(f, src) {
		a.refuse("a backslash joins two lines where shells do not agree on it")
	}
	if sc.foreign != "" {
		if what := portable(f, src); what != "" {
			a.refuse("%s may read %s differently", sc.foreign, what)
		}
	}
	sc.src, sc.whole = src, whole
	return a.statements(f.Stmts, sc, in)
}

// commentsStandApart reports whether every comment has a blank, a semicolon or
// nothing at all before it. Inside of substitutions the parser takes the # of
// a word like 'a'#b for a comment; to bash it is a part of the word, and what
// comes after it runs.
func commentsStandApart(f *syntax.File, src string) bool {
	apart := true
	syntax.Walk(f, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			before := src[:min(len(src), int(c.Hash.Offset()))]
			trimmed := strings.TrimRight(before, " \t\n;")
			apart = apart && (before == "" || len(trimmed) < len(before) && !strings.HasSuffix(trimmed, `\`))
		}
		return true
	})
	return apart
}

// syntaxMessage drops the position's file name, which is always empty here.
func syntaxMessage(err error) string {
	return escapeControls(strings.TrimPrefix(err.Error(), ":"))
}

// add appends a stage and keeps the count within its limit.
func (a *analysis) add(s Stage) {
	a.line.Stages = append(a.line.Stages, s)
	if len(a.line.Stages) == MaxStages+1 {
		a.refuse("more than %d commands", MaxStages)
	}
}

func (a *analysis) assign(name string) {
	if a.assigned == nil {
		a.assigned = map[string]bool{}
	}
	a.assigned[name] = true
}

// dirSet is the set of directories a command may run in.
type dirSet []Dir

// flow is where the shell may be after a command succeeded and after it failed.
type flow struct{ ok, fail dirSet }

func (f flow) both() dirSet { return union(f.ok, f.fail) }

// maxDirs bounds the set; beyond it the directory counts as unknown.
const maxDirs = 8

func union(x, y dirSet) dirSet {
	if len(y) == 0 || (len(x) == len(y) && &x[0] == &y[0]) {
		return x
	}
	out := slices.Clone(x)
	for _, d := range y {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) > maxDirs {
		return dirSet{{}}
	}
	return out
}

func (s dirSet) single() (string, bool) {
	if len(s) == 1 && s[0].Known {
		return s[0].Path, true
	}
	return "", false
}
