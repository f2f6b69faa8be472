package shell

import (
	"slices"
	"strings"
)

// shellWrapper takes the builtins off that run another command.
func (a *analysis) shellWrapper(name string, argv []Word, sc *scope) ([]Word, step) {
	w := Wrapper{Name: name, Plain: true}
	rest := argv[1:]
	for len(rest) > 0 {
		v := rest[0].Value
		if !rest[0].Known && rest[0].MayBeOption() {
			a.refuse("argument of %s is not known: %s", name, rest[0].Text)
			return nil, leave
		}
		if v == "--" {
			rest = rest[1:]
			break
		}
		if len(v) < 2 || v[0] != '-' {
			break
		}
		switch {
		case name == "command" && strings.Trim(v[1:], "pvV") == "" && strings.ContainsAny(v, "vV"):
			// A question, not a start.
			return nil, leave
		case name == "command" && v == "-p":
		case name == "exec" && strings.Trim(v[1:], "cl") == "":
			sc.cleared = sc.cleared || strings.Contains(v, "c")
		case name == "exec" && v == "-a" && len(rest) > 1 && rest[1].Known:
			rest = rest[1:]
		default:
			a.refuse("%s has no option %s that is known here", name, rest[0].Text)
			return nil, leave
		}
		rest = rest[1:]
	}
	return a.under(w, argv, rest, sc)
}

// eval reads its arguments as a line of the same shell.
func (a *analysis) eval(argv []Word, sc scope, in dirSet, after *flow) step {
	text, ok := join(argv[1:])
	if !ok {
		a.refuse("the text given to eval is not known")
		return leave
	}
	before := len(a.line.Stages)
	sc.wrappers = append(slices.Clip(sc.wrappers), Wrapper{Name: "eval", Plain: true, Program: argv[0], Argv: argv})
	sc.depth++
	out := a.script(text, sc, false, in)
	if len(a.line.Stages) == before {
		a.refuse("eval of nothing")
	}
	*after = flow{out, out}
	return finished
}

func join(words []Word) (string, bool) {
	var b strings.Builder
	for i, w := range words {
		if !w.Known {
			return "", false
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.Value)
	}
	return b.String(), true
}

// shellArgs is what a shell was asked to do.
type shellArgs struct {
	command, stdin, interactive, ask bool
	// operands are the words behind the options.
	operands []Word
}

// shell takes "sh -c SCRIPT" and shells that read a here-document apart. A
// shell that runs a script file, or whatever its input holds, stays a stage.
func (a *analysis) shell(name string, argv []Word, sc scope, in dirSet) step {
	args, ok := a.shellOptions(name, argv)
	if !ok {
		return leave
	}
	if args.ask {
		return leave
	}
	w := Wrapper{Name: name, Plain: true, Program: argv[0], Argv: argv}
	switch {
	case args.command:
		if len(args.operands) == 0 {
			a.refuse("%s -c without a script", name)
			return leave
		}
		if args.interactive {
			a.refuse("an interactive %s reads startup files", name)
		}
		script := args.operands[0]
		if !script.Known {
			a.refuse("the script given to %s -c is not known", name)
			return leave
		}
		sc.appended = false
		a.inner(script.Value, name, w, sc, in)
		return finished
	case len(args.operands) > 0 && !args.stdin:
		if !args.operands[0].Known && !strings.ContainsRune(args.operands[0].Value, Below) {
			a.refuse("the script that %s runs is not known: %s", name, args.operands[0].Text)
		}
		return leave
	}
	text, ok := fedText(sc)
	if !ok || args.interactive || sc.appended {
		return leave
	}
	sc.redirs = slices.DeleteFunc(slices.Clone(sc.redirs), func(r Redirect) bool { return r.FD == 0 })
	sc.stdin = StdinNone
	a.inner(text, name, w, sc, in)
	return finished
}

// inner reads a script that another shell runs.
func (a *analysis) inner(script, name string, w Wrapper, sc scope, in dirSet) {
	sc.foreign = ""
	if name != "bash" {
		sc.foreign = name
	}
	switch name {
	case "zsh", "ksh", "mksh":
		sc.dialect = name
	}
	sc.wrappers = append(slices.Clip(sc.wrappers), w)
	sc.outer = len(sc.wrappers)
	sc.depth++
	before := len(a.line.Stages)
	a.script(script, sc, true, in)
	if len(a.line.Stages) == before {
		a.refuse("%s runs nothing", name)
	}
	if sc.dialect != "" {
		a.checkDialect(name, before)
	}
}

// fedText is the text on a shell's standard input, when the line holds it.
func fedText(sc scope) (string, bool) {
	if sc.stdin != StdinText {
		return "", false
	}
	for i := len(sc.redirs) - 1; i >= 0; i-- {
		if r := sc.redirs[i]; r.FD == 0 {
			return r.Target.Value, r.Op == RedirectText && r.Target.Known
		}
	}
	return "", false
}

// shellOptions reads a shell's own options; false means that the line was
// refused.
func (a *analysis) shellOptions(name string, argv []Word) (shellArgs, bool) {
	var out shellArgs
	i := 1
	for ; i < len(argv); i++ {
		w := argv[i]
		if !w.Known {
			if w.MayBeOption() {
				a.refuse("argument of %s is not known: %s", name, w.Text)
				return out, false
			}
			break
		}
		v := w.Value
		if v == "-" || v == "--" {
			i++
			break
		}
		if v == "+" {
			// Shells skip it and look for more options, or run a file of the name.
			a.refuse("a lone + among the options of %s", name)
			return out, false
		}
		if len(v) < 2 || (v[0] != '-' && v[0] != '+') {
			break
		}
		if strings.HasPrefix(v, "--") {
			switch v[2:] {
			case "norc", "noprofile", "posix", "login", "verbose", "noediting":
				continue
			case "version", "help":
				out.ask = true
				return out, true
			}
			a.refuse("%s has no option %s that is known here", name, w.Text)
			return out, false
		}
		for _, c := range v[1:] {
			if !knownLetter(name, c) {
				a.refuse("%s has no option %s that is known here", name, w.Text)
				return out, false
			}
			switch c {
			case 'c':
				out.command = true
			case 's':
				out.stdin = true
			case 'i':
				out.interactive = true
			case 'o':
				i++
				if i >= len(argv) || !argv[i].Known || !plainSetOption(argv[i].Value) {
					a.refuse("%s %s with an option that is not known here", name, w.Text)
					return out, false
				}
			}
		}
	}
	out.operands = argv[i:]
	return out, true
}

// knownLetter reports whether a letter is an option that shells read alike: in
// zsh -b ends the options.
func knownLetter(name string, c rune) bool {
	if name == "bash" {
		return strings.ContainsRune("csiabefhlmnptuvxoBCEHPT", c)
	}
	return strings.ContainsRune("csiaefilmnuvxo", c)
}

// plainSetOption lists the options of set -o that change neither how a line is
// read nor which files the shell reads.
func plainSetOption(name string) bool {
	switch name {
	case "pipefail", "errexit", "nounset", "xtrace", "verbose", "noclobber", "noglob", "errtrace", "functrace", "noexec":
		return true
	}
	return false
}

// su takes "su -c SCRIPT USER" apart; any other form stays a stage.
func (a *analysis) su(argv []Word, sc scope, in dirSet) step {
	var script *Word
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		if !w.Known {
			a.refuse("argument of su is not known: %s", w.Text)
			return leave
		}
		value, isCommand := w.Value, false
		switch {
		case value == "-c" || value == "--command":
			i++
			if i >= len(argv) {
				a.refuse("su -c without a script")
				return leave
			}
			value, isCommand = argv[i].Value, true
			if !argv[i].Known {
				a.refuse("the script given to su -c is not known")
				return leave
			}
		case strings.HasPrefix(value, "--command="):
			value, isCommand = strings.TrimPrefix(value, "--command="), true
		case value == "-s" || value == "-g" || value == "-G" || value == "-w":
			i++
		case value == "-" || value == "-l" || value == "-m" || value == "-p" || value == "--login" || value == "--preserve-environment":
		case strings.HasPrefix(value, "-"):
			a.refuse("su has no option %s that is known here", w.Text)
			return leave
		}
		if isCommand {
			lit := Literal(value)
			script = &lit
		}
	}
	if script == nil {
		return leave
	}
	a.inner(script.Value, "sh", Wrapper{Name: "su", Stops: "su runs the command as another user", Program: argv[0], Argv: argv}, sc, in)
	return finished
}
