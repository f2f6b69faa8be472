package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansion evaluates a part whose value is made when the line runs.
func (b *wordBuilder) expansion(p syntax.WordPart, quoted bool) {
	if p, ok := p.(*syntax.CmdSubst); ok && quoted {
		// "$(cat <<'EOF' ... EOF)" is how commit messages are written, and its
		// text is in the line. The cat is a stage: it is a program that runs.
		if text, ok := constantCat(p); ok {
			b.a.substitution(p.Stmts, *b.sc, b.in)
			b.value = append(b.value, text...)
			return
		}
	}
	b.expanded = true
	switch p := p.(type) {
	case *syntax.ParamExp:
		b.parameter(p, quoted)
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			b.a.refuse("command substitution of another shell")
		}
		b.a.substitution(p.Stmts, *b.sc, b.in)
		if plainOutput(p) {
			b.digits()
			return
		}
		b.hole(quoted)
	case *syntax.ProcSubst:
		b.a.substitution(p.Stmts, *b.sc, b.in)
		// bash puts a path below /dev/fd here.
		b.value = append(b.value, "/dev/fd/"...)
		b.hole(true)
	case *syntax.ArithmExp:
		if p.Unsigned || !constantArithmetic(p.X) {
			b.a.refuse("arithmetic on anything but integers")
		}
		if mayBeNegative(p.X) {
			b.hole(true)
		} else {
			b.digits()
		}
	case *syntax.ExtGlob:
		b.a.refuse("extended pattern")
		b.hole(quoted)
	default:
		b.a.refuse("expansion that is not understood")
		b.hole(quoted)
	}
}

func (b *wordBuilder) hole(quoted bool) {
	b.unknown = true
	b.split = b.split || !quoted
	b.value = append(b.value, Hole)
}

// digits adds a number that is not known, or another word of its kind.
func (b *wordBuilder) digits() {
	b.unknown = true
	b.value = append(b.value, Digits)
}

// plainOutput reports a substitution by a program that prints one plain word:
// a number, a hash, a name of the machine's.
func plainOutput(p *syntax.CmdSubst) bool {
	if len(p.Stmts) != 1 {
		return false
	}
	s := p.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || s.Negated || s.Background {
		return false
	}
	for _, r := range s.Redirs {
		// Errors thrown away change nothing about the output.
		if r.N == nil || r.N.Value != "2" || r.Word.Lit() != "/dev/null" {
			return false
		}
	}
	var words []string
	for _, w := range call.Args {
		lit := w.Lit()
		if lit == "" {
			return false
		}
		words = append(words, lit)
	}
	switch strings.Join(words, " ") {
	case "nproc", "getconf _NPROCESSORS_ONLN", "sysctl -n hw.ncpu", "sysctl -n hw.logicalcpu", "id -u", "id -g", "uname -s", "uname -m", "uname -r",
		"git rev-parse HEAD", "git rev-parse --short HEAD", "date +%s", "date +%Y%m%d", "date +%Y-%m-%d", "date +%Y%m%d%H%M%S", "date +%F":
		return true
	}
	return false
}

// substitution lists the commands of $(...), `...`, <(...) and >(...). They
// run in a subshell, so what they do to the directory stays there.
func (a *analysis) substitution(list []*syntax.Stmt, sc scope, in dirSet) {
	sc.depth++
	if sc.depth > MaxDepth {
		a.refuse("commands nest more than %d deep", MaxDepth)
	}
	// What is set around the script holds inside, too; the redirections of the
	// command itself do not.
	sc.redirs = nil
	a.statements(list, sc, in)
}

// constantCat recognises a command substitution that only prints a
// here-document without expansions, and gives what it prints.
func constantCat(p *syntax.CmdSubst) (string, bool) {
	if len(p.Stmts) != 1 || p.Backquotes {
		return "", false
	}
	s := p.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" ||
		s.Negated || s.Background || len(s.Redirs) != 1 || s.Redirs[0].N != nil {
		return "", false
	}
	text, ok := documentText(s.Redirs[0])
	return strings.TrimRight(text, "\n"), ok
}

// parameter evaluates $x and the few forms that cannot run anything
// (THREATS.md 2): ${x}, ${#x}, and defaults and trims by constant words.
func (b *wordBuilder) parameter(p *syntax.ParamExp, quoted bool) {
	switch {
	case p.Excl || p.Names != 0:
		b.a.refuse("indirect parameter ${!...}")
	case p.Flags != nil, p.NestedParam != nil, p.Width, p.IsSet, len(p.Modifiers) > 0,
		p.Split != syntax.OptUnset, p.GlobSubst != syntax.OptUnset, p.RcExpand != syntax.OptUnset:
		b.a.refuse("parameter form of another shell")
	case p.Index != nil:
		b.a.refuse("array subscript")
	case p.Slice != nil:
		b.a.refuse("substring parameter ${x:...}")
	case p.Repl != nil:
		b.a.refuse("replacement parameter ${x/...}")
	}
	if p.Param == nil {
		b.a.refuse("parameter without a name")
		b.hole(quoted)
		return
	}
	name := p.Param.Value
	if name == "IFS" {
		b.a.refuse("$IFS")
	}
	if p.Exp != nil && !b.constantExpansion(p.Exp, quoted) {
		b.a.refuse("parameter form ${%s%s...}", name, p.Exp.Op)
	}
	if p.Length {
		b.digits()
		return
	}
	if p.Exp == nil && p.Index == nil && !p.Excl {
		switch name {
		case "?", "#", "$", "!":
			b.digits()
			return
		case "HOME":
			if b.known(name, b.a.opt.Home, quoted) {
				return
			}
		case "PWD":
			if dir, ok := b.in.single(); ok && b.known(name, dir, quoted) {
				return
			}
		case "TMPDIR":
			if b.known(name, b.a.opt.Temp, quoted) {
				return
			}
		}
	}
	b.ownText(name)
	// "$@" is several words even in quotes.
	b.hole(quoted && name != "@")
}

// known adds the value of a variable whose value is certain. Unquoted it must
// also survive splitting and matching.
func (b *wordBuilder) known(name, value string, quoted bool) bool {
	if value == "" || b.changed(name) || (!quoted && strings.ContainsAny(value, " \t\n*?[\\")) {
		return false
	}
	return b.directory(name, value)
}

// constantArithmetic allows integers and operators without a side effect:
// names would be evaluated, and their values may hold subscripts that run
// commands.
func constantArithmetic(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		s := x.Lit()
		if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok && hex != "" {
			return strings.Trim(hex, "0123456789abcdef") == ""
		}
		if s == "" {
			return false
		}
		for i := 0; i < len(s); i++ {
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		}
		return true
	case *syntax.ParenArithm:
		return constantArithmetic(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && constantArithmetic(x.X)
	case *syntax.BinaryArithm:
		return constantArithmetic(x.X) && constantArithmetic(x.Y)
	}
	return false
}

func mayBeNegative(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.ParenArithm:
		return mayBeNegative(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Not
	case *syntax.BinaryArithm:
		return x.Op == syntax.Sub || mayBeNegative(x.X) || mayBeNegative(x.Y)
	}
	return false
}
