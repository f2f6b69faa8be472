package review

import (
	"path"
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// rule is what is known about one program.
type rule struct {
	syntax
	// class and why hold for a plain use.
	class Class
	why   string
	// stop are options that run something, danger options that destroy or
	// reach out; both in any abbreviation.
	stop, danger []string
	// exact are options that look like an abbreviation of one above but are an
	// option of their own.
	exact []string
	// write are options whose value is written, inside options whose value is
	// code or a directory whose code runs.
	write, inside []string
	// only lists the options with which a reader stays read-only; nil stands
	// for any. breaks lists those with which it does not.
	only, breaks []string
	// operands says what the words are that are no options.
	operands role
	// skip counts leading operands that are no files (a pattern, a script).
	skip int
	// text is set when no argument is a file.
	text bool
	// loose is set when the program has an option that runs or writes, so that
	// words which could become options stop.
	loose bool
	// starts is set for programs whose arguments are a command that is not
	// taken apart.
	starts bool
	// version is set when "--version" alone only prints.
	version bool
	// fn adds what a table cannot say. It runs after the rest.
	fn func(j *judge, a *scanned)
	// whole replaces everything else.
	whole func(j *judge)
}

// role is what a program does with its operands.
type role uint8

const (
	reads       role = iota // reads each
	writesAll               // writes each
	writesLast              // reads all but the last, which it writes
	writesOther             // reads the first, writes the second
	ignores                 // no files
)

// program judges the command by its name and its words.
func (j *judge) program() {
	word := j.s.Argv[0].Value
	j.name = shell.BaseName(word)
	if c := j.name[:min(len(j.name), 1)]; c == "+" || c == "-" {
		// A shell skips such a word in front of the script it is given.
		j.flag(External, "a command that looks like an option: "+j.s.Argv[0].Text)
	}
	r := j.locate(word)
	if j.s.Dialect != "" {
		j.unsure("read by " + j.s.Dialect)
		j.dialectWords()
	}
	if r == nil {
		j.atLeast(Unknown, "no rule for "+j.name)
		j.readAll(j.args)
		return
	}
	if (r.version || r.class.Stops()) && j.asksVersion() {
		return
	}
	if r.whole != nil {
		r.whole(j)
		return
	}
	j.apply(r)
}

// locate finds the rule of a program and judges the place it is started from.
func (j *judge) locate(word string) *rule {
	if shell.SystemProgram(word) {
		if j.p.Shadowed != nil && !strings.ContainsRune(word, '/') && j.p.Shadowed(word) {
			j.unsure("the workspace has a program of this name in PATH")
			j.atLeast(Project, "a program of the project, found in PATH")
		}
		return j.lookup(false)
	}
	j.unsure("the program is not one of the machine's")
	abs := word
	inside := true
	if !path.IsAbs(word) {
		// A relative path was written with a slash: it is looked up from the
		// directory of the stage.
		inside = j.resolved(shell.Word{Value: word}, func(p string) {
			if !j.p.Space.In(p) {
				inside = false
			}
			abs = p
		}) && inside
	} else {
		inside = j.p.Space.In(abs)
	}
	if !inside {
		j.flag(External, "the program lies outside the workspace and the system: "+word)
	}
	j.atLeast(Project, "a program of the project")
	return j.lookup(true)
}

// lookup finds the rule by name. A name in other case, or of a program in the
// project, can only make the outcome stricter.
func (j *judge) lookup(project bool) *rule {
	name := j.name
	if lower := strings.ToLower(name); lower != name {
		name = lower
		j.atLeast(Unknown, "the name is written in capitals")
	}
	if project {
		name = strings.TrimSuffix(name, ".sh")
	}
	t := table()
	if r, ok := t[name]; ok {
		j.name = name
		return r
	}
	if other, ok := otherNames(name); ok {
		if r, found := t[other]; found {
			j.name = other
			j.atLeast(Unknown, "a variant of "+other)
			return r
		}
	}
	if base := strings.TrimRight(name, "0123456789.-"); base != name && base != "" {
		if r, ok := t[base]; ok && versioned(base) {
			j.name = base
			return r
		}
	}
	if len(name) > 2 && name[0] == 'g' {
		// coreutils and others under the names that Homebrew gives them
		if r, ok := t[name[1:]]; ok {
			j.name = name[1:]
			j.atLeast(Unknown, "a program with a leading g")
			return r
		}
	}
	for _, p := range namePrefixes {
		if strings.HasPrefix(name, p) {
			return t[p]
		}
	}
	for _, s := range nameSuffixes {
		if strings.HasSuffix(name, s) {
			return t[s[1:]]
		}
	}
	return nil
}

// versioned lists programs that are installed with a version in their name.
func versioned(name string) bool {
	switch name {
	case "python", "pypy", "pip", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "gcc", "g++", "clang", "clang++", "go",
		"java", "tclsh", "wish", "guile", "racket", "ipython", "cpp", "ld", "awk", "ex", "rview":
		return true
	}
	return false
}

var (
	namePrefixes = []string{"mkfs", "git-"}
	nameSuffixes = []string{"-gcc", "-g++", "-cc", "-clang"}
)

// asksVersion reports a command that only asks for its version.
func (j *judge) asksVersion() bool {
	if len(j.args) != 1 || j.s.Appended {
		return false
	}
	if v := j.args[0].Value; v != "--version" && v != "--help" {
		return false
	}
	return true
}

// apply judges a command by a row of the table.
func (j *judge) apply(r *rule) {
	if r.class.Stops() {
		j.stop(r.class, r.why)
		j.readAll(j.args)
		return
	}
	j.atLeast(r.class, r.why)
	a := j.scan(j.args, &r.syntax)
	for i := range a.opts {
		j.option(r, &a.opts[i])
	}
	if r.loose && a.loose != nil {
		j.flag(External, "could turn into an option of "+j.name+": "+a.loose.Text)
	}
	if !r.text {
		j.operands(r, &a)
	}
	if r.fn != nil {
		r.fn(j, &a)
	}
}

func (j *judge) option(r *rule, o *opt) {
	own := false
	for _, e := range r.exact {
		own = own || e == o.name
	}
	switch {
	case own:
	case meansAny(o.name, r.stop):
		j.stop(External, j.name+" "+o.name+" runs something else")
	case meansAny(o.name, r.danger):
		j.stop(Dangerous, j.name+" "+o.name)
	}
	if o.has {
		switch {
		case meansAny(o.name, r.write):
			if o.value.Value == "-" {
				return
			}
			j.write(o.value)
		case meansAny(o.name, r.inside):
			j.inside(o.value, "what "+j.name+" "+o.name+" names")
		case !r.text:
			j.read(o.value)
		}
	}
	if j.class == ReadOnly {
		if r.only != nil && !contains(r.only, o.name) {
			j.atLeast(Unknown, "option "+o.name+" is not on the list of harmless ones")
		}
		if r.breaks != nil && meansAny(o.name, r.breaks) {
			j.atLeast(Unknown, j.name+" "+o.name)
		}
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func (j *judge) operands(r *rule, a *scanned) {
	n := len(a.operands)
	if j.s.Appended && (r.operands == writesAll || r.operands == writesLast) {
		j.flag(Tampering, j.name+" writes files that are not known")
	}
	for i, w := range a.operands {
		if i < r.skip {
			continue
		}
		switch r.operands {
		case reads:
			j.read(w)
		case writesAll:
			j.write(w)
		case writesLast:
			if i == n-1 && n > 1 {
				j.write(w)
			} else {
				j.read(w)
			}
		case writesOther:
			if i == r.skip+1 {
				j.write(w)
			} else {
				j.read(w)
			}
		}
	}
}

// readAll looks for places of secrets in all words, whatever they are.
func (j *judge) readAll(words []shell.Word) {
	for _, w := range words {
		if _, value, ok := strings.Cut(w.Value, "="); ok && strings.HasPrefix(w.Value, "-") {
			j.read(part(w, value))
			continue
		}
		j.read(w)
	}
}

// StartsCommands reports programs whose arguments are a command that the shell
// package does not take apart.
func StartsCommands(name string) bool {
	r, ok := table()[name]
	return ok && r.starts
}
