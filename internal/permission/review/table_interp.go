package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// Rules of programs that run a file or a text of their own language.
func interpreters() []group {
	run := func(names string, f func(*judge)) group {
		return group{names, rule{class: Project, version: true, whole: f}}
	}
	return []group{
		run(`python pypy pythonw`, judgePython),
		run(`node nodejs`, func(j *judge) {
			j.interpreter(&interpreter{
				syntax: syntax{values: "rCe", long: []string{"--require", "--import", "--loader", "--experimental-loader", "--conditions", "--title", "--env-file", "--max-old-space-size", "--eval", "--print"}},
				inline: []string{"-e", "--eval", "-p", "--print", "-pe", "-i", "--interactive"},
				loads:  []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "--snapshot-blob", "--build-snapshot-config", "--experimental-config-file", "--openssl-config"},
				exact:  []string{"--preserve-symlinks", "--prof", "--pending-deprecation"},
				alone:  []string{"--test", "--run", "--check"}, version: []string{"-v", "--version", "-h", "--help"},
				plain: plainNodeOption, underscores: true,
			})
		}),
		run(`ts-node tsx esno`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{values: "rPCOeI", long: []string{"--require", "--project", "--eval", "--import", "--tsconfig"}}, inline: []string{"-e", "--eval", "-p", "--print", "-i"}, loads: []string{"-r", "--require", "--import", "--loader", "-C", "--compiler"}, version: []string{"-v", "--version"}})
		}),
		run(`perl`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{optional: "iFxCDl0mMIeEd"}, inline: []string{"-e", "-E"}, loads: []string{"-m", "-M", "-I", "-d", "-D", "-x"}, version: []string{"-v", "--version", "-V"}})
		}),
		run(`ruby jruby`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{optional: "iFx0TKWE", values: "erICX"}, inline: []string{"-e"}, loads: []string{"-r", "-I", "-x", "-C", "-X", "-S"}, version: []string{"-v", "--version"}})
		}),
		run(`php`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{values: "rBREFdczSt", long: []string{"--run", "--define", "--php-ini", "--server", "--docroot"}}, inline: []string{"-r", "--run", "-B", "-R", "-E", "-F", "-a", "--interactive"}, loads: []string{"-d", "--define", "-c", "--php-ini", "-z"}, alone: []string{"-S", "-m", "-i", "-S"}, version: []string{"-v", "--version"}})
		}),
		run(`lua luajit`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{values: "elj"}, inline: []string{"-e", "-i"}, loads: []string{"-l", "-j"}, version: []string{"-v"}})
		}),
		run(`r rscript`, func(j *judge) {
			if len(j.args) > 1 && j.args[0].Value == "CMD" {
				j.atLeast(Project, "runs code of the project")
				j.here("project code")
				return
			}
			j.interpreter(&interpreter{syntax: syntax{values: "efg", long: []string{"--file"}}, inline: []string{"-e", "--interactive"}, alone: []string{"-f", "--file"}, version: []string{"--version"}})
		}),
		run(`julia`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{values: "eELJpt", long: []string{"--eval", "--print", "--load", "--sysimage", "--machine-file", "--threads"}}, inline: []string{"-e", "-E", "--eval", "--print", "-i"}, loads: []string{"-L", "--load", "-J", "--sysimage", "-p", "--procs", "--machine-file"}, exact: []string{"--project"}, version: []string{"-v", "--version"}})
		}),
		run(`java`, judgeJava),
		run(`deno`, judgeDeno),
		run(`bun`, judgeBun),
		run(`tclsh wish guile racket sbcl clisp gst runghc runhaskell elixir escript groovy kotlin scala ocaml octave gnuplot jshell gsi chibi janet crystal hy nu raku`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{values: "elcr"}, inline: []string{"-e", "--eval", "-c", "--command", "-i", "--execute", "-E"}, loads: []string{"-l", "--load", "-r", "--require", "-S"}, version: []string{"--version", "-v", "-V"}})
		}),
		run(`m4`, func(j *judge) {
			j.interpreter(&interpreter{syntax: syntax{values: "DIULBHStdFRo", long: []string{"--define", "--include", "--reload-state", "--freeze-state", "--debug", "--undefine"}}, loads: []string{"-R", "--reload-state", "-F", "--freeze-state", "-I", "--include", "-i", "--interactive", "-e"}, version: []string{"--version", "--help"}})
		}),
		run(`sh bash dash ash zsh ksh mksh rbash`, judgeShell),
		{`fish csh tcsh pwsh powershell cmd osascript xonsh elvish`, rule{class: External, why: "a script language that is not read here"}},
		{`irb pry ipython ghci iex erl psysh bpython ptpython ocamlfind utop`, rule{class: External, why: "an interactive interpreter"}},
	}
}

// interpreter describes how a language's program reads its arguments.
type interpreter struct {
	syntax
	inline  []string // options that give or ask for program text
	loads   []string // options that load further code
	exact   []string // options that are no abbreviation of those
	alone   []string // options with which no script is needed
	version []string // options that only print
	// plain lists, when it is set, the long options that load nothing; all
	// others ask.
	plain func(o *opt) bool
	// underscores is set where "_" in the name of an option means "-".
	underscores bool
}

// interpreter judges a program that runs a script: a file of the workspace is
// project code, everything else is code that nobody has seen.
func (j *judge) interpreter(it *interpreter) {
	if len(j.args) == 1 && contains(it.version, j.args[0].Value) && !j.s.Appended {
		return
	}
	j.atLeast(Project, "runs code of the project")
	it.stops = true
	a := j.scan(j.args, &it.syntax)
	if it.underscores {
		for i := range a.opts {
			// node reads "_" in the name of an option as "-".
			a.opts[i].name = strings.ReplaceAll(a.opts[i].name, "_", "-")
		}
	}
	j.looseScript(&a)
	alone := false
	for _, o := range a.opts {
		switch {
		case contains(it.exact, o.name):
		case contains(it.alone, o.name):
			alone = true
			if o.has {
				j.read(o.value)
			}
		case meansAny(o.name, it.inline):
			j.stop(External, "inline code of "+j.name)
			return
		case meansAny(o.name, it.loads):
			j.stop(External, j.name+" "+o.name+" loads further code")
		case it.plain != nil && strings.HasPrefix(o.name, "--") && !it.plain(&o):
			j.stop(External, j.name+" "+o.name+" may load further code")
		case o.has:
			j.read(o.value)
		}
	}
	j.script(a.operands, alone)
}

// looseScript stops when the script could turn out to be an option.
func (j *judge) looseScript(a *scanned) {
	if a.loose == nil {
		return
	}
	for i := range a.rest {
		if a.rest[i].Text == a.loose.Text {
			return // an argument of the script
		}
	}
	if j.s.Appended && len(a.operands) > 0 {
		return
	}
	j.flag(External, "could turn into an option of "+j.name+": "+a.loose.Text)
}

// script judges the operand that names the program text.
func (j *judge) script(operands []shell.Word, alone bool) {
	if len(operands) == 0 {
		if j.s.Appended {
			j.flag(External, "the script is added at run time")
		} else if !alone {
			j.stop(External, j.name+" reads its program from its input")
		}
		j.here("project code")
		return
	}
	if operands[0].Value == "-" || strings.HasPrefix(operands[0].Value, "/dev/") {
		j.stop(External, j.name+" reads its program from its input")
		return
	}
	j.inside(operands[0], "the script")
	for _, w := range operands[1:] {
		j.read(w)
	}
}

var pythonOptions = interpreter{
	syntax: syntax{values: "cmWX", long: []string{"--check-hash-based-pycs"}},
	inline: []string{"-c", "-i"}, version: []string{"--version", "-V", "-VV", "-h", "--help"},
}

// judgePython reads -m: the module decides.
func judgePython(j *judge) {
	args := j.args
	for i, w := range args {
		v := w.Value
		if len(v) < 2 || v[0] != '-' || v == "--" {
			break
		}
		// -m ends python's own options; it may close a cluster: "-Im pip".
		if v[1] == '-' || !strings.HasSuffix(v, "m") || strings.ContainsAny(v, "cWX") || i+1 >= len(args) {
			continue
		}
		j.pythonModule(args[:i], args[i+1:])
		return
	}
	it := pythonOptions
	for _, w := range args {
		if strings.HasPrefix(w.Value, "-m") && len(w.Value) > 2 {
			j.flag(External, "python -m in a form that is not read here")
		}
		if w.Value == "-X" || strings.HasPrefix(w.Value, "-Xpresite") {
			j.unsure("python -X")
		}
	}
	j.interpreter(&it)
}

func (j *judge) pythonModule(before, after []shell.Word) {
	for _, w := range before {
		if w.MayBeOption() || strings.Contains(w.Value, "i") && !strings.HasPrefix(w.Value, "--") {
			j.stop(External, "inline code of python")
		}
	}
	module := after[0]
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	if !module.Known {
		j.flag(External, "the module is not known: "+module.Text)
		return
	}
	switch name, _, _ := strings.Cut(module.Value, "."); name {
	case "pip", "pip3":
		j.name, j.args = "pip", after[1:]
		j.apply(table()["pip"])
	case "uv", "pipx", "poetry", "conda":
		j.name, j.args = name, after[1:]
		if r := table()[name]; r.whole != nil {
			r.whole(j)
		} else {
			j.apply(r)
		}
	case "timeit", "pdb", "code", "asyncio", "idlelib", "IPython", "ensurepip", "antigravity", "this":
		j.stop(External, "python -m "+name+" runs text or an interpreter")
	case "venv", "virtualenv", "compileall", "zipapp":
		for _, w := range after[1:] {
			if !strings.HasPrefix(w.Value, "-") {
				j.write(w)
			}
		}
	default:
		for _, w := range after[1:] {
			j.read(w)
		}
	}
}

func judgeJava(j *judge) {
	a := j.scan(j.args, &syntax{single: true, stops: true, long: []string{"-cp", "-classpath", "--class-path", "-jar", "-p", "--module-path", "-m", "--module"}})
	if len(a.opts) == 1 && len(a.operands) == 0 && (a.opts[0].name == "-version" || a.opts[0].name == "--version") {
		return
	}
	j.atLeast(Project, "runs code of the project")
	j.here("project code")
	j.looseScript(&a)
	for _, o := range a.opts {
		switch {
		case strings.HasPrefix(o.name, "-agent"), strings.HasPrefix(o.name, "-javaagent"), strings.HasPrefix(o.name, "-Xbootclasspath"), strings.HasPrefix(o.name, "-XX:OnError"), strings.HasPrefix(o.name, "-XX:OnOutOfMemory"):
			j.stop(External, "java "+o.name+" loads further code")
		case o.name == "-jar":
			j.inside(o.value, "the archive")
		case o.has && contains(javaPaths, o.name):
			j.classPath(o.value)
		}
	}
	if len(a.operands) > 0 {
		switch w := a.operands[0]; {
		case strings.HasPrefix(w.Value, "@"):
			j.flag(External, "options from a file that is not shown: "+w.Text)
		case strings.ContainsRune(w.Value, '/'):
			j.inside(w, "the code")
		}
	}
}

// judgeShell is a shell that could not be taken apart: it runs a file, or
// whatever its input holds.
func judgeShell(j *judge) {
	if len(j.args) == 1 && (j.args[0].Value == "--version" || j.args[0].Value == "--help") && !j.s.Appended {
		return
	}
	j.atLeast(Project, "runs code of the project")
	for i := 0; i < len(j.args); i++ {
		w := j.args[i]
		v := w.Value
		if !w.Known && w.MayBeOption() {
			j.flag(External, "could turn into an option of the shell: "+w.Text)
			return
		}
		if len(v) > 1 && (v[0] == '-' || v[0] == '+') && v != "--" {
			if v[0] == '-' && v[1] != '-' && strings.ContainsAny(v, "sic") {
				j.stop(External, "the shell reads its script from its input")
			}
			if strings.HasSuffix(v, "o") && v[1] != '-' {
				i++
			}
			continue
		}
		if v == "--" || v == "-" || v == "+" {
			continue
		}
		j.script(j.args[i:], false)
		return
	}
	j.script(nil, false)
}
