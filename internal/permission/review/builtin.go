package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// patternFirst reads operands as files except the first, which is a pattern
// unless one of the options gives it.
func patternFirst(options ...string) func(*judge, *scanned) {
	return func(j *judge, a *scanned) {
		skip := 1
		if a.option(options...) != nil {
			skip = 0
		}
		for i, w := range a.operands {
			if i >= skip {
				j.read(w)
			}
		}
		for _, o := range a.opts {
			if o.has && (o.name == "-f" || meansAny(o.name, []string{"--file", "--from-file", "--ignore-file", "--exclude-from"})) {
				j.read(o.value)
			}
		}
	}
}

// mayGrow stops on a word that may turn into two: the second would be written.
func mayGrow(j *judge, a *scanned) {
	for _, w := range a.operands {
		if w.Split || w.Glob {
			j.flag(Tampering, "could turn into a second file, which "+j.name+" writes: "+w.Text)
		}
	}
	if j.s.Appended {
		j.flag(Tampering, "could get a second file, which "+j.name+" writes")
	}
}

func dateOperand(j *judge, a *scanned) {
	for _, w := range a.operands {
		if !strings.HasPrefix(w.Value, "+") {
			j.stop(Dangerous, "date with an operand sets the clock")
		}
	}
	for _, o := range a.opts {
		if o.name == "-f" || o.name == "-r" || meansAny(o.name, []string{"--file", "--reference"}) {
			j.read(o.value)
		}
	}
}

func hostnameOperand(j *judge, a *scanned) {
	if len(a.operands) > 0 {
		j.stop(Dangerous, "hostname with an operand renames the machine")
	}
	if a.option("-F", "--file", "-b", "--boot") != nil {
		j.stop(Dangerous, "hostname -F renames the machine")
	}
}

// lsofNames holds a machine's name that lsof would look up: the question for it
// leaves the machine.
func lsofNames(j *judge, a *scanned) {
	for _, w := range j.args {
		if !w.Known || strings.Contains(w.Value, "@") {
			j.atLeast(Unknown, "lsof looks up a machine's name: "+w.Text)
		}
	}
}

// judgeCd looks at where the shell goes: a place of secrets makes every file
// name behind it one.
func judgeCd(j *judge) {
	for _, w := range j.args {
		j.read(w)
	}
}

// judgeTest covers test and [: -v and -R evaluate subscripts.
func judgeTest(j *judge) {
	for i, w := range j.args {
		switch {
		case w.Value == "-v" || w.Value == "-R":
			j.flag(External, "test "+w.Value+" evaluates a subscript")
		case w.Split && (i == 0 || testConnects(j.args[i-1].Value)):
			j.flag(External, "could turn into test -v: "+w.Text)
		case !w.Known && w.MayBeOption() && i+1 < len(j.args) && strings.Contains(j.args[i+1].Value, "["):
			j.flag(External, "could be test -v: "+w.Text)
		}
	}
	if j.s.Appended {
		j.flag(External, "could turn into test -v")
	}
}

// testConnects reports words of test behind which a new expression begins.
func testConnects(v string) bool { return v == "!" || v == "-a" || v == "-o" || v == "(" }

func judgePrintf(j *judge) {
	if len(j.args) == 0 {
		return
	}
	w := j.args[0]
	switch {
	case w.Known && strings.HasPrefix(w.Value, "-v"):
		j.flag(External, "printf -v sets a variable and evaluates subscripts")
	case w.MayBeOption():
		j.flag(External, "could be printf -v: "+w.Text)
	}
	format := w
	if w.Value == "--" && len(j.args) > 1 {
		format = j.args[1]
	}
	if printfCounts(format.Value) {
		j.flag(External, "printf %n sets the variable that an argument names")
	}
	if j.s.Appended && len(j.args) == 0 {
		j.flag(External, "could be printf -v")
	}
}

// variable judges a name that a builtin assigns.
func (j *judge) variable(w shell.Word, how string) {
	name, _, _ := strings.Cut(w.Value, "=")
	switch {
	case !w.Known:
		j.flag(Environment, how+" a variable whose name is not known: "+w.Text)
	case strings.ContainsAny(name, "[]$`("):
		j.flag(External, how+" a subscript, which is evaluated: "+w.Text)
	default:
		if reason := EnvName(name, shell.Word{}); reason != "" {
			j.flag(Environment, reason)
		}
	}
}

func judgeRead(j *judge) {
	a := j.scan(j.args, &syntax{values: "adinNptu"})
	if a.loose != nil {
		j.flag(Environment, "read into a variable whose name is not known: "+a.loose.Text)
	}
	for _, o := range a.opts {
		if o.name == "-a" {
			j.variable(o.value, "reads into")
		}
	}
	for _, w := range a.operands {
		j.variable(w, "reads into")
	}
}

func judgeMapfile(j *judge) {
	a := j.scan(j.args, &syntax{values: "dnOsuCc"})
	if a.exact("-C") != nil {
		j.flag(External, "mapfile -C runs a command")
	}
	if a.loose != nil {
		j.flag(External, "could be mapfile -C: "+a.loose.Text)
	}
	for _, w := range a.operands {
		j.variable(w, "reads into")
	}
}

func judgeUnset(j *judge) {
	for _, w := range j.args {
		if w.Known && (w.Value == "-v" || w.Value == "-f" || w.Value == "-n" || w.Value == "--") {
			continue
		}
		j.variable(w, "takes away")
	}
}

func judgeGetopts(j *judge) {
	j.atLeast(ShellState, "sets variables of the shell")
	args := j.args
	if len(args) > 0 && args[0].Value == "--" {
		args = args[1:]
	}
	if len(args) > 0 && args[0].Split {
		j.flag(Environment, "the variable that getopts sets is not known: "+args[0].Text)
	}
	if len(args) > 1 {
		j.variable(args[1], "sets")
	}
}

// judgeExport allows plain NAME and NAME=VALUE of harmless names only.
func judgeExport(j *judge) {
	j.atLeast(ShellState, "sets variables for the commands behind it")
	for _, w := range j.args {
		name, value, assigned := strings.Cut(w.Value, "=")
		if evaluates(value) {
			j.flag(External, "a subscript that runs a command where it is evaluated: "+w.Text)
		}
		if assigned && !j.socket(part(w, value)) {
			j.read(part(w, value))
		}
		switch {
		case strings.HasPrefix(w.Value, "-"):
			j.flag(Environment, "export "+w.Value)
		case strings.IndexByte(name, shell.Hole) >= 0 || (!assigned && !w.Known):
			j.flag(Environment, "exports a variable whose name is not known: "+w.Text)
		case strings.ContainsAny(name, "[]"):
			j.flag(External, "exports a subscript, which is evaluated: "+w.Text)
		default:
			v := shell.Word{Value: value, Known: w.Known && assigned}
			if reason := EnvName(name, v); reason != "" {
				j.flag(Environment, reason)
			}
		}
	}
}

// judgeSet allows the options that change neither how the shell reads words nor
// which files it runs.
func judgeSet(j *judge) {
	for i := 0; i < len(j.args); i++ {
		w := j.args[i]
		if !w.Known && w.MayBeOption() {
			j.flag(Environment, "could be an option of set: "+w.Text)
			return
		}
		v := w.Value
		if v == "--" || v == "-" || v == "" || (v[0] != '-' && v[0] != '+') {
			return
		}
		if strings.HasSuffix(v, "o") && strings.Trim(v[1:len(v)-1], "euxfvCETbmnh") == "" {
			if i+1 >= len(j.args) {
				return
			}
			i++
			switch name := j.args[i]; name.Value {
			case "pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob", "noclobber", "errtrace", "functrace", "noexec", "hashall", "monitor", "notify":
			default:
				j.flag(Environment, "set -o "+name.Text)
			}
			continue
		}
		if strings.Trim(v[1:], "euxfvCETbmnh") != "" {
			j.flag(Environment, "set "+w.Text)
		}
	}
}

func judgeShopt(j *judge) {
	for _, w := range j.args {
		switch w.Value {
		case "-s", "-u", "-q", "-p", "nullglob", "globstar", "failglob", "nocaseglob", "nocasematch", "extglob", "globasciiranges", "inherit_errexit":
			if w.Known {
				continue
			}
		}
		j.flag(Environment, "shopt "+w.Text)
	}
}

func judgeHistory(j *judge) {
	for _, w := range j.args {
		if !w.Known || strings.HasPrefix(w.Value, "-") {
			j.stop(Dangerous, "history with an option reads or writes files")
		}
	}
}

func judgeKill(j *judge) {
	if len(j.args) > 0 && (j.args[0].Value == "-l" || j.args[0].Value == "-L") {
		return
	}
	j.atLeast(Unknown, "signals processes of the sandbox")
	for i, w := range j.args {
		if w.Value == "-1" && (i > 0 || len(j.args) == 1) || w.Value == "1" && i > 0 {
			j.stop(Dangerous, "signals every process")
		}
	}
}

// judgeMan stops on options: -P and -H run programs, and -M reads pages that
// may hold macros.
func judgeMan(j *judge) {
	j.atLeast(Unknown, "formats a page with other programs")
	for _, w := range j.args {
		if strings.HasPrefix(w.Value, "-") || w.MayBeOption() {
			j.stop(External, "man with options may run a pager of its own")
		}
		if strings.Contains(w.Value, "/") {
			j.stop(External, "man formats a file of the project")
		}
	}
}

// judgeFind is what is left of a find when its commands were taken out.
func judgeFind(j *judge) {
	expression := false
	for i := 0; i < len(j.args); i++ {
		w := j.args[i]
		v := w.Value
		if w.MayBeOption() || (j.s.Appended && i == len(j.args)-1) {
			j.flag(External, "could turn into -exec or -delete: "+w.Text)
		}
		if !strings.HasPrefix(v, "-") && v != "(" && v != "!" && !expression {
			j.read(w)
			continue
		}
		switch v {
		case "-H", "-L", "-P":
			continue
		case "-delete":
			j.stop(Dangerous, "find -delete removes files")
		case "-exec", "-execdir", "-ok", "-okdir":
			j.flag(External, "find "+v+" that was not taken apart")
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			j.stop(External, "find "+v+" writes a file")
			if i+1 < len(j.args) {
				j.write(j.args[i+1])
			}
		case "-files0-from":
			j.atLeast(Unknown, "find -files0-from")
		}
		expression = true
		if shell.FindArguments(v) == 0 && !findPlain(v) {
			j.atLeast(Unknown, "find "+v)
		}
		for n := shell.FindArguments(v); n > 0 && i+1 < len(j.args); n-- {
			i++
			if j.args[i].Split {
				j.flag(External, "could turn into -exec or -delete: "+j.args[i].Text)
			}
			if strings.HasPrefix(v, "-newer") || v == "-samefile" || v == "-files0-from" {
				j.read(j.args[i])
			}
		}
	}
	if j.s.Appended && len(j.args) == 0 {
		j.flag(External, "could get -exec or -delete at run time")
	}
}

// findPlain lists the tests, actions and operators of find without arguments.
func findPlain(v string) bool {
	switch v {
	case "-print", "-print0", "-ls", "-prune", "-quit", "-depth", "-xdev", "-mount", "-empty", "-readable", "-writable",
		"-executable", "-true", "-false", "-not", "-o", "-a", "-or", "-and", "-follow", "-daystart", "-noleaf", "-nouser",
		"-nogroup", "-warn", "-nowarn", "-ignore_readdir_race", "-noignore_readdir_race", "-d", "-X", "-x", "-s", "-E",
		"(", ")", "!", ",", "-delete", "-exec", "-execdir", "-ok", "-okdir":
		return true
	}
	return strings.HasPrefix(v, "-O")
}

func sysctlAssign(j *judge, a *scanned) {
	for _, w := range a.operands {
		if !w.Known || strings.Contains(w.Value, "=") {
			j.stop(Dangerous, "sysctl sets a value of the kernel")
		}
	}
}

// judgeMount lets the question through what is mounted.
func judgeMount(j *judge) {
	if len(j.args) > 0 || j.s.Appended {
		j.stop(Dangerous, "changes disks or mounts")
	}
}
