package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A script for any shell but bash is read with bash's grammar, so only what
// all of them read alike may stand in it. What sh is depends on the machine:
// dash has no $'...', where bash takes the backslash before a quote away the
// quote ends, and code follows that looks like text.

// portable gives the first construct of a script that shells do not read
// alike, or "".
func portable(f *syntax.File, src string) (found string) {
	syntax.Walk(f, func(n syntax.Node) bool {
		if found == "" && n != nil {
			found = notPortable(n, src)
		}
		return found == ""
	})
	return found
}

func notPortable(n syntax.Node, src string) string {
	switch n := n.(type) {
	case *syntax.SglQuoted:
		if n.Dollar {
			return "$'...'"
		}
	case *syntax.DblQuoted:
		if n.Dollar {
			return `$"..."`
		}
	case *syntax.Word:
		return bracesNotPortable(n, src)
	case *syntax.ProcSubst:
		return n.Op.String() + "...)"
	case *syntax.ExtGlob:
		return "an extended pattern"
	case *syntax.CmdSubst:
		if n.Backquotes && strings.Contains(slice(src, n.Pos().Offset(), n.End().Offset()), `\`) {
			return "a backslash in `...`"
		}
	case *syntax.ArithmExp:
		if n.Bracket {
			return "$[...]"
		}
	case *syntax.ParamExp:
		if n.Exp != nil && n.Exp.Word != nil && slices.ContainsFunc(n.Exp.Word.Parts, quotedPart) {
			return "quotes in ${...}"
		}
	case *syntax.Assign:
		if n.Append || n.Array != nil || n.Index != nil {
			return "+= or an array"
		}
	case *syntax.BinaryCmd:
		if n.Op == syntax.PipeAll {
			return "|&"
		}
	case *syntax.TimeClause:
		return "time" // a keyword here, a program there
	case *syntax.DeclClause:
		return declarationNotPortable(n)
	case *syntax.TestClause, *syntax.FuncDecl, *syntax.LetClause, *syntax.CoprocClause, *syntax.ArithmCmd:
		return compoundName(n.(syntax.Command))
	case *syntax.Redirect:
		return redirectNotPortable(n)
	}
	return ""
}

// quotedPart reports anything but plain text inside of ${...}.
func quotedPart(p syntax.WordPart) bool {
	lit, ok := p.(*syntax.Lit)
	return !ok || strings.ContainsAny(lit.Value, "'\"\\{}~")
}

// bracesNotPortable finds a word that bash would make several of.
func bracesNotPortable(w *syntax.Word, src string) string {
	if !hasBrace(w.Parts) {
		return ""
	}
	if s := slice(src, w.Pos().Offset(), w.End().Offset()); strings.Contains(s, ",") || strings.Contains(s, "..") {
		return "braces"
	}
	return ""
}

// declarationNotPortable allows what even a shell that splits the value of
// "export A=$x" into words takes for one word.
func declarationNotPortable(c *syntax.DeclClause) string {
	if c.Variant.Value != "export" && c.Variant.Value != "readonly" {
		return c.Variant.Value
	}
	for _, as := range c.Args {
		if as.Value == nil {
			continue
		}
		for _, p := range as.Value.Parts {
			switch p := p.(type) {
			case *syntax.SglQuoted, *syntax.DblQuoted:
			case *syntax.Lit:
				if strings.ContainsAny(p.Value, "~*?[{") {
					return c.Variant.Value + " of a pattern"
				}
			default:
				return c.Variant.Value + " of an expansion without quotes"
			}
		}
	}
	return ""
}

func redirectNotPortable(r *syntax.Redirect) string {
	if r.N != nil && len(r.N.Value) > 1 {
		return "a descriptor of more than one digit"
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrInOut, syntax.RdrClob:
		// zsh reads ">! file" and expands "=name".
		if lit, ok := r.Word.Parts[0].(*syntax.Lit); ok && strings.ContainsAny(lit.Value[:1], "!=&|") {
			return r.Op.String() + lit.Value[:1]
		}
	case syntax.DplIn, syntax.DplOut:
		if v := r.Word.Lit(); v != "-" && (len(v) != 1 || !number(v)) {
			return r.Op.String() + " with a file"
		}
	case syntax.Hdoc, syntax.DashHdoc:
	default:
		return r.Op.String()
	}
	return ""
}

// checkDialect refuses words that a shell with its own expansion rules might
// read differently: only fixed words mean the same in all of them, and no word
// may be one that such a shell takes for a keyword.
func (a *analysis) checkDialect(name string, from int) {
	for i := from; i < len(a.line.Stages); i++ {
		s := &a.line.Stages[i]
		words := slices.Clone(s.Argv)
		for _, r := range s.Redirs {
			words = append(words, r.Target)
		}
		for _, as := range s.Assigns {
			words = append(words, as.Value)
		}
		for _, w := range words {
			if !w.Known || strings.HasPrefix(w.Value, "=") {
				a.refuse("%s may read %s differently", name, w.Text)
			}
		}
		switch s.Program() {
		case "repeat", "foreach", "noglob", "nocorrect", "always", "end", "integer", "float", "private", "whence", "print", "vared", "zmodload", "autoload":
			a.refuse("%s may read %s differently", name, s.Program())
		}
	}
}
