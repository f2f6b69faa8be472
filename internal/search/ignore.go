package search

import (
	"fmt"
	"strings"
)

// rule is one line of a .gitignore.
type rule struct {
	glob     string // without the marks below
	negated  bool   // leading !
	dirOnly  bool   // trailing /
	anchored bool   // holds a slash: matches the path below base, not a name
	kind     ruleKind
	base     string // directory the rule is from, with a slash at the end, or ""
}

// ruleKind tells rules that need no glob matching.
type ruleKind int

const (
	anyGlob ruleKind = iota
	literal          // glob is the whole name or path
	suffix           // glob is what follows a leading *
)

// verdict is what rules say of a path.
type verdict int

const (
	unsaid verdict = iota
	ignored
	included
)

// parseRule reads one line as git does (gitignore(5)). ok is false for blank
// lines and comments.
func parseRule(line, base string) (rule, bool) {
	line = strings.TrimSuffix(line, "\r")
	line = trimTrailingSpaces(line)
	if line == "" || line[0] == '#' {
		return rule{}, false
	}
	r := rule{base: base}
	if line[0] == '!' {
		r.negated = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly = true
		line = line[:len(line)-1]
	}
	if line == "" {
		return rule{}, false
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	switch rest := strings.TrimPrefix(line, "*"); {
	case !strings.ContainsAny(line, `*?[\`):
		r.kind = literal
	case rest != line && !r.anchored && !strings.ContainsAny(rest, `*?[\`):
		r.kind, line = suffix, rest
	}
	r.glob = line
	return r, true
}

// trimTrailingSpaces drops spaces at the end that are not escaped.
func trimTrailingSpaces(s string) string {
	end := len(s)
	for end > 0 && s[end-1] == ' ' {
		backslashes := 0
		for i := end - 2; i >= 0 && s[i] == '\\'; i-- {
			backslashes++
		}
		if backslashes%2 == 1 {
			break
		}
		end--
	}
	return s[:end]
}

// matches reports whether the rule speaks of a path. path is relative to the
// same directory as base, name its last component.
func (r *rule) matches(path, name string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.anchored {
		rest, ok := strings.CutPrefix(path, r.base)
		if !ok {
			return false
		}
		name = rest
	}
	switch r.kind {
	case literal:
		return name == r.glob
	case suffix:
		return strings.HasSuffix(name, r.glob)
	}
	return wildmatch(r.glob, name)
}

// ruleFile is the rules of one file.
type ruleFile struct {
	rules []rule
	// names finds the rules without globs by the name they match; others lists
	// the rest. Both hold indices into rules. Most rules are names.
	names  map[string][]int
	others []int
}

func parseRules(text, base string) *ruleFile {
	f := &ruleFile{names: map[string][]int{}}
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		r, ok := parseRule(line, base)
		if !ok {
			continue
		}
		i := len(f.rules)
		f.rules = append(f.rules, r)
		if r.kind == literal {
			name := r.glob[strings.LastIndexByte(r.glob, '/')+1:]
			f.names[name] = append(f.names[name], i)
		} else {
			f.others = append(f.others, i)
		}
	}
	if len(f.rules) == 0 {
		return nil
	}
	return f
}

// judge returns the verdict of the last rule that matches.
func (f *ruleFile) judge(path, name string, dir bool) verdict {
	best := -1
	for _, i := range f.names[name] {
		if i > best && f.rules[i].matches(path, name, dir) {
			best = i
		}
	}
	for k := len(f.others) - 1; k >= 0 && f.others[k] > best; k-- {
		if f.rules[f.others[k]].matches(path, name, dir) {
			best = f.others[k]
			break
		}
	}
	switch {
	case best < 0:
		return unsaid
	case f.rules[best].negated:
		return included
	}
	return ignored
}

// globSet is the globs a caller selects files by.
type globSet struct {
	rules    *ruleFile
	includes bool // some glob selects: what none matches is left out
}

// parseGlobs reads globs as rg -g takes them: like the lines of a .gitignore
// with the meaning of ! turned around, and with {a,b}.
func parseGlobs(globs []string) (globSet, error) {
	var lines []string
	includes := false
	for _, g := range globs {
		bare, excluded := strings.CutPrefix(g, "!")
		if bare == "" || strings.ContainsAny(bare, "\n\x00") {
			return globSet{}, fmt.Errorf("glob %q names nothing", g)
		}
		includes = includes || !excluded
		expanded, err := expandBraces(bare)
		if err != nil {
			return globSet{}, fmt.Errorf("glob %q: %w", g, err)
		}
		for _, e := range expanded {
			if excluded {
				e = "!" + e
			} else if strings.HasPrefix(e, "!") || strings.HasPrefix(e, "#") {
				e = `\` + e
			}
			lines = append(lines, e)
		}
	}
	return globSet{rules: parseRules(strings.Join(lines, "\n"), ""), includes: includes}, nil
}

// judge says whether the globs select a path.
func (g globSet) judge(path, name string, dir bool) verdict {
	v := unsaid
	if g.rules != nil {
		v = g.rules.judge(path, name, dir)
	}
	switch {
	case v == ignored: // a line that matches selects
		return included
	case v == included: // a line with !
		return ignored
	case g.includes && !dir:
		return ignored
	}
	return unsaid
}
