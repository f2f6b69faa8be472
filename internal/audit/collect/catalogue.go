package collect

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
)

//go:embed catalogue.txt
var catalogueText string

// Rule is one line of the catalogue.
type Rule struct {
	Kind    string // "home", "entry", "exclude" … as the head of catalogue.txt says
	System  string // "any", "linux", "macos", "windows"; for some kinds a reader or a place
	Pattern string // slash-separated, matched a segment at a time
	Note    string
}

// Catalogue is what to collect and what to leave, as data (seed 000,
// Collection). The rules keep their order.
type Catalogue struct{ rules []Rule }

// builtin parses the embedded file when it is first needed: a start of the
// program must not pay for it.
var builtin = sync.OnceValues(func() (*Catalogue, error) { return ParseCatalogue(catalogueText) })

// Builtin is the embedded catalogue.
func Builtin() (*Catalogue, error) { return builtin() }

// Text is the embedded catalogue as it is written.
func Text() string { return catalogueText }

var kinds = []string{"home", "entry", "project-from", "project", "system", "exclude", "credential", "sensitive", "relocate", "by-hand"}

// ParseCatalogue reads the text form.
func ParseCatalogue(text string) (*Catalogue, error) {
	c := &Catalogue{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "|")
		if len(fields) != 4 {
			return nil, fmt.Errorf("catalogue line %d: want KIND | SYSTEM | PATTERN | NOTE", n)
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		r := Rule{Kind: fields[0], System: fields[1], Pattern: fields[2], Note: fields[3]}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("catalogue line %d: %w", n, err)
		}
		c.rules = append(c.rules, r)
	}
	return c, nil
}

func (r Rule) check() error {
	known := false
	for _, k := range kinds {
		known = known || k == r.Kind
	}
	switch {
	case !known:
		return fmt.Errorf("unknown kind %q", r.Kind)
	case r.Pattern == "":
		return errors.New("no pattern")
	case r.Kind == "by-hand" || r.Kind == "relocate":
		return nil
	}
	if _, err := path.Match(r.Pattern, ""); err != nil {
		return fmt.Errorf("pattern %q: %w", r.Pattern, err)
	}
	if strings.HasPrefix(r.Pattern, "/") || path.Clean(r.Pattern) != r.Pattern || strings.HasPrefix(r.Pattern, "..") {
		return fmt.Errorf("pattern %q is not a clean relative path", r.Pattern)
	}
	return nil
}

// of lists the rules of a kind that apply to a system; "" means every system.
func (c *Catalogue) of(kind, system string) []Rule {
	var out []Rule
	for _, r := range c.rules {
		if r.Kind == kind && (system == "" || r.System == "any" || r.System == system) {
			out = append(out, r)
		}
	}
	return out
}

// matcher answers for one base (a home, a project, the root) which rule, if
// any, a path below it falls under.
type matcher struct {
	fold  bool
	rules map[string][]compiled // by kind
}

type compiled struct {
	Rule
	segments []string
}

func (c *Catalogue) matcher(system string, fold bool) *matcher {
	m := &matcher{fold: fold, rules: map[string][]compiled{}}
	for _, kind := range []string{"exclude", "credential", "sensitive"} {
		for _, r := range c.of(kind, system) {
			m.rules[kind] = append(m.rules[kind], compiled{r, strings.Split(foldCase(r.Pattern, fold), "/")})
		}
	}
	return m
}

// find is the first rule of kind that rel, or a directory above it, matches.
func (m *matcher) find(kind, rel string) (Rule, bool) {
	if len(m.rules[kind]) == 0 {
		return Rule{}, false
	}
	segments := strings.Split(foldCase(rel, m.fold), "/")
	for _, r := range m.rules[kind] {
		if len(segments) >= len(r.segments) && matchAll(r.segments, segments[:len(r.segments)]) {
			return r.Rule, true
		}
	}
	return Rule{}, false
}

func matchAll(patterns, names []string) bool {
	for i, p := range patterns {
		if !matchSegment(p, names[i]) {
			return false
		}
	}
	return true
}

// matchSegment treats a pattern that cannot be parsed as one that matches
// nothing; patterns of the catalogue were checked when it was read.
func matchSegment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func foldCase(s string, fold bool) string {
	if fold {
		return strings.ToLower(s)
	}
	return s
}
