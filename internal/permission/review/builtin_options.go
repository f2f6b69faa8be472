package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// builtinForm is what a builtin of the shell may be given. An option that is
// not listed asks: "jobs -x" runs a command, "wait -p" evaluates a subscript.
type builtinForm struct {
	flags string // short options without a value
	// signed allows "+N" and "-N" (dirs, popd).
	signed bool
	// number is set where some shells evaluate the operands as arithmetic, in
	// which a subscript runs what it holds.
	number bool
}

// builtinForms lists the builtins that change no more than the shell itself.
func builtinForms(name string) builtinForm {
	switch name {
	case "jobs":
		return builtinForm{flags: "lnprs"}
	case "wait":
		return builtinForm{flags: "fn"}
	case "umask":
		return builtinForm{flags: "pS"}
	case "ulimit":
		return builtinForm{flags: "SHabcdefiklmnpqrstuvxPRT", number: true}
	case "disown":
		return builtinForm{flags: "ahr"}
	case "help":
		return builtinForm{flags: "dms"}
	case "suspend":
		return builtinForm{flags: "f"}
	case "type":
		return builtinForm{flags: "aftpP"}
	case "dirs":
		return builtinForm{flags: "clpv", signed: true}
	case "popd":
		return builtinForm{flags: "n", signed: true}
	case "shift", "break", "continue", "return", "exit", "logout", "caller":
		return builtinForm{signed: true, number: true}
	}
	return builtinForm{}
}

// judgeBuiltin holds a builtin to the options of its form.
func judgeBuiltin(j *judge) {
	form := builtinForms(j.name)
	ended := false
	for i, w := range j.args {
		v := w.Value
		switch {
		case v == "--" && w.Known && !ended:
			ended = true
		case form.number && !(j.name == "ulimit" && len(v) > 0 && v[0] == '-'):
			if w.Known && !plainNumber(v) && v != "soft" && v != "hard" && v != "unlimited" {
				j.flag(External, j.name+" with something that is no number: "+w.Text)
			}
		case w.MayBeOption() && !ended && j.name == "wait":
			// "wait $PID" is everyday; what a variable is given is judged where
			// it is given.
			j.atLeast(Unknown, "could be an option of wait: "+w.Text)
		case w.MayBeOption() && !ended:
			if form.flags != "" || i == 0 {
				j.flag(External, "could be an option of "+j.name+": "+w.Text)
			}
		case ended || len(v) < 2 || v[0] != '-' && v[0] != '+':
		case form.signed && plainNumber(v):
		case v[0] == '-' && strings.Trim(v[1:], form.flags) == "" && form.flags != "":
		default:
			j.flag(External, j.name+" "+w.Text+" may run or evaluate something")
		}
	}
	if j.s.Appended && form.flags != "" {
		j.flag(External, "could get an option of "+j.name+" at run time")
	}
}

// evaluates reports text that runs a command wherever the shell takes it for
// the name of a variable or a number: a subscript with a substitution.
func evaluates(v string) bool {
	_, subscript, ok := strings.Cut(v, "[")
	return ok && (strings.Contains(subscript, "$(") || strings.Contains(subscript, "`"))
}

// plainNumber accepts an integer with or without a sign; digits that are not
// known yet count.
func plainNumber(v string) bool {
	if v != "" && (v[0] == '-' || v[0] == '+') {
		v = v[1:]
	}
	return v != "" && strings.Trim(v, "0123456789"+string(shell.Digits)) == ""
}

// dialectWords stops on words that zsh and the Korn shells evaluate where bash
// does not: their test, printf and exit take arithmetic, and a subscript in it
// runs the substitutions it holds.
func (j *judge) dialectWords() {
	for _, w := range j.args {
		if strings.ContainsAny(w.Value, "`[") || strings.Contains(w.Value, "$(") {
			j.flag(External, j.s.Dialect+" may evaluate "+w.Text)
			return
		}
	}
}

// integerVariables are evaluated as arithmetic when they are assigned, and a
// subscript in it runs the substitutions it holds.
func integerVariable(name string) bool {
	switch name {
	case "RANDOM", "SRANDOM", "HISTCMD", "OPTIND", "SECONDS", "BASHPID", "LINENO", "EPOCHSECONDS", "EPOCHREALTIME",
		"BASH_SUBSHELL", "BASH_MONOSECONDS", "UID", "EUID", "PPID":
		return true
	}
	return false
}

// printfCounts reports a format with %n, which assigns the variable that the
// argument names.
func printfCounts(format string) bool {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("#0-+ '*.123456789$hjlLtzq", format[i]) >= 0; i++ {
		}
		if i < len(format) && format[i] == 'n' {
			return true
		}
	}
	return false
}
