package shell

import (
	"slices"
	"strings"
)

// maxWrappers bounds how many wrappers one command may hide behind.
const maxWrappers = 12

// unwrap takes wrappers off a command, appends the stages that are left and
// says where the shell may be afterwards.
func (a *analysis) unwrap(argv []Word, sc scope, in dirSet) flow {
	// here is where the command runs, after where the shell is behind it: a
	// wrapper such as env -C moves only its own child.
	here, after := in, flow{in, in}
	for n := 0; ; n++ {
		if n > maxWrappers {
			a.refuse("more than %d wrappers", maxWrappers)
			break
		}
		if !a.plain(argv) {
			return after
		}
		program := argv[0].Value
		name := BaseName(program)
		if !SystemProgram(program) && !loader(name) {
			break
		}
		rest, next := a.takeOff(name, argv, &sc, &here, &after)
		if next == finished {
			return after
		}
		if next == leave {
			break
		}
		argv = rest
	}
	f := a.finish(argv, sc, here)
	if !slices.Equal(here, in) {
		return after
	}
	return f
}

// plain checks that the program's name is in the line as it is.
func (a *analysis) plain(argv []Word) bool {
	if len(argv) == 0 {
		a.refuse("no program")
		return false
	}
	p := argv[0]
	switch {
	case !p.Known || !p.Static:
		a.refuse("program name is not one plain word: %s", p.Text)
	case !plainProgram(p.Value) || p.Value[0] == '-':
		a.refuse("program name is not plain: %s", p.Text)
	default:
		return true
	}
	return false
}

// finish appends the effective command as a stage.
func (a *analysis) finish(argv []Word, sc scope, in dirSet) flow {
	kind := Command
	if argv[0].Value == "exec" && len(argv) == 1 && len(sc.redirs) > 0 {
		kind = Redirection
	}
	st := a.stage(kind, argv, sc, in)
	a.add(st)
	a.noteVariables(argv)
	return a.moves(&st, sc.outer, in)
}

// step says how to go on after looking for a wrapper.
type step uint8

const (
	leave    step = iota // the command is what it seems
	unwrap               // a wrapper was taken off, look again
	finished             // the stages were appended already
)

// takeOff removes one wrapper. sc and in change with what the wrapper does for
// its command, after with what eval does to the shell.
func (a *analysis) takeOff(name string, argv []Word, sc *scope, in *dirSet, after *flow) ([]Word, step) {
	if len(name) > 2 && name[0] == 'g' && gnuPrefixed(name[1:]) {
		name = name[1:]
	}
	switch name {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh":
		return nil, a.shell(name, argv, *sc, *in)
	case "eval":
		return nil, a.eval(argv, *sc, *in, after)
	case "find":
		return nil, a.find(argv, *sc, *in)
	case "fd", "fdfind":
		return nil, a.fd(argv, *sc, *in)
	case "xargs":
		return a.xargs(argv, sc)
	case "su":
		return nil, a.su(argv, *sc, *in)
	case "exec", "command", "builtin":
		return a.shellWrapper(name, argv, sc)
	case "busybox", "toybox":
		if len(argv) < 2 || !argv[1].Known || argv[1].IsOption() {
			return nil, leave
		}
		return a.under(Wrapper{Name: name, Plain: true}, argv, argv[1:], sc)
	}
	if loader(name) {
		name = "ld.so"
	}
	if sub, ok := projectRunner(name); ok {
		return a.runner(name, sub, argv, sc)
	}
	w, ok := wrappers()[name]
	if !ok {
		return nil, leave
	}
	return a.table(name, w, argv, sc, in)
}

// gnuPrefixed lists the wrappers that some systems install with a leading g.
func gnuPrefixed(name string) bool {
	switch name {
	case "env", "timeout", "nice", "nohup", "stdbuf", "time", "xargs", "find":
		return true
	}
	return false
}

// under records a wrapper and goes on with the command behind it.
func (a *analysis) under(w Wrapper, argv, rest []Word, sc *scope) ([]Word, step) {
	if len(rest) == 0 {
		if sc.appended {
			a.refuse("the program is added to %s at run time", w.Name)
		}
		return nil, leave
	}
	w.Program, w.Argv = argv[0], argv
	sc.wrappers = append(slices.Clip(sc.wrappers), w)
	return rest, unwrap
}

// table takes off a wrapper described by a row of the table.
func (a *analysis) table(name string, w *wrapper, argv []Word, sc *scope, in *dirSet) ([]Word, step) {
	opts, rest, next := a.options(name, w, argv)
	if next != unwrap {
		return nil, next
	}
	for i := 0; i < w.positional; i++ {
		if len(rest) == 0 {
			return a.under(Wrapper{Name: name}, argv, nil, sc)
		}
		if !rest[0].Known {
			a.refuse("argument of %s is not known: %s", name, rest[0].Text)
		}
		rest = rest[1:]
	}
	out := Wrapper{Name: name, Plain: w.plain, Stops: w.stops}
	var env []Assign
	if w.assigns {
		for len(rest) > 0 {
			key, value, ok := strings.Cut(rest[0].Value, "=")
			if !ok || key == "" || strings.ContainsRune(key, Hole) {
				break
			}
			env = append(env, Assign{
				Name: key, Text: rest[0].Text,
				Value: Word{Value: value, Text: value, Known: rest[0].Known, Static: rest[0].Static},
			})
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return a.under(out, argv, nil, sc)
	}
	if len(env) > 0 {
		sc.assigns = append(slices.Clip(sc.assigns), env...)
	}
	for _, o := range opts {
		switch {
		case slices.Contains(w.writes, o.name):
			out.Writes = append(out.Writes, o.value)
			if strings.ContainsAny(o.value.Value[:min(1, len(o.value.Value))], "|!") || !o.value.Known {
				a.refuse("%s %s starts a command", name, o.name)
			}
		case slices.Contains(w.unsets, o.name):
			sc.unset = append(slices.Clip(sc.unset), o.value.Value)
		case slices.Contains(w.clears, o.name):
			sc.cleared = true
		case slices.Contains(w.chdir, o.name):
			out.Stops = name + " changes the directory"
			*in = resolve(*in, o.value, a.opt.Home)
			sc.moved = true
		case slices.Contains(w.sets, o.name):
			key, value, ok := strings.Cut(o.value.Value, "=")
			if ok {
				sc.assigns = append(slices.Clip(sc.assigns), Assign{Name: key, Text: o.value.Text, Value: Literal(value)})
			} else {
				sc.unset = append(slices.Clip(sc.unset), key)
			}
		}
	}
	return a.under(out, argv, rest, sc)
}

// option is one option that a wrapper was given.
type option struct {
	name  string
	value Word
}

// options reads a wrapper's own options by its exact table: a wrapper and the
// review must never disagree about where the command begins.
func (a *analysis) options(name string, w *wrapper, argv []Word) (opts []option, rest []Word, next step) {
	rest = argv[1:]
	for len(rest) > 0 {
		word := rest[0]
		if !word.Known && word.MayBeOption() {
			a.refuse("argument of %s is not known: %s", name, word.Text)
			return nil, nil, leave
		}
		v := word.Value
		if v == "--" {
			return opts, rest[1:], unwrap
		}
		if v == "-" && w.dashClears {
			opts, rest = append(opts, option{name: "-i"}), rest[1:]
			continue
		}
		if len(v) < 2 || v[0] != '-' {
			break
		}
		if !word.Known {
			a.refuse("option of %s is not known: %s", name, word.Text)
			return nil, nil, leave
		}
		used, got, result := w.read(rest)
		switch result {
		case optionLeaves:
			return nil, nil, leave
		case optionUnknown:
			a.refuse("%s has no option %s that is known here", name, word.Text)
			return nil, nil, leave
		}
		opts = append(opts, got...)
		rest = rest[used:]
	}
	return opts, rest, unwrap
}

// moves says where the shell may be after a builtin that changes directory.
func (a *analysis) moves(st *Stage, outer int, in dirSet) flow {
	stay := flow{in, in}
	if st.Kind != Command {
		return stay
	}
	switch st.Argv[0].Value {
	case "cd", "pushd", "popd":
	default:
		return stay
	}
	for _, w := range st.Wrappers[outer:] {
		if w.Name != "command" && w.Name != "builtin" && w.Name != "eval" {
			return stay
		}
	}
	a.assign("OLDPWD")
	around := scope{assigns: st.Assigns, unset: st.Unset, cleared: st.Cleared}
	changed := a.assigned["HOME"] || a.assigned["CDPATH"] || around.sets("HOME") || around.sets("CDPATH")
	return flow{ok: target(st.Argv, in, a.opt.Home, changed), fail: in}
}

// noteVariables remembers the variables that builtins set.
func (a *analysis) noteVariables(argv []Word) {
	switch argv[0].Value {
	case "read", "mapfile", "readarray", "printf", "getopts", "export", "declare", "typeset", "local", "readonly", "unset":
	default:
		return
	}
	for _, w := range argv[1:] {
		name, _, _ := strings.Cut(w.Value, "=")
		switch {
		case w.Known && validName(name):
			a.assign(name)
		case !w.Known:
			for _, n := range []string{"HOME", "PWD", "TMPDIR", "CDPATH"} {
				a.assign(n)
			}
		}
	}
}
