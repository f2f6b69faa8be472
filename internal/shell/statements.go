package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// statements walks a list. Each command runs where the one before it may have
// left the shell.
func (a *analysis) statements(list []*syntax.Stmt, sc scope, in dirSet) dirSet {
	strict, whole := false, sc.whole
	sc.whole = false
	start := in
	for _, s := range list {
		before := len(a.line.Stages)
		f := a.statement(s, sc, in)
		in = f.both()
		if _, simple := s.Cmd.(*syntax.CallExpr); simple && strict && !s.Negated && !s.Background {
			in = f.ok
		}
		switch {
		case whole && setsErrexit(s):
			strict = true
		case a.mayEndErrexit(before):
			// Nor does a later "set -e" count: a trap may answer it.
			strict, whole = false, false
		}
		sc.moved = sc.moved || !slices.Equal(in, start)
	}
	return in
}

// setsErrexit reports whether a statement is "set -e" and nothing else: the
// simple commands behind it only run if those before them succeeded. It counts
// only as a statement of a whole script: in a list whose failure somebody
// looks at, as in "eval '...' || true", the shell goes on.
func setsErrexit(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || len(s.Redirs) > 0 || len(call.Assigns) > 0 {
		return false
	}
	var words []string
	for _, w := range call.Args {
		words = append(words, w.Lit())
	}
	if len(words) < 2 || words[0] != "set" {
		return false
	}
	sets := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		if len(w) < 2 || w[0] != '-' || strings.Trim(w[1:], "euxvo") != "" {
			return false
		}
		sets = sets || strings.Contains(w, "e")
		for range strings.Count(w, "o") {
			if i++; i >= len(words) || !plainSetOption(words[i]) || words[i] == "noexec" {
				return false
			}
			sets = sets || words[i] == "errexit"
		}
	}
	return sets
}

// mayEndErrexit reports whether the stages found since may have changed what
// the shell does about a failure.
func (a *analysis) mayEndErrexit(since int) bool {
	for i := since; i < len(a.line.Stages); i++ {
		s := &a.line.Stages[i]
		if slices.ContainsFunc(s.Wrappers, func(w Wrapper) bool { return w.Name == "eval" || w.Name == "builtin" || w.Name == "command" }) {
			return true
		}
		switch s.Program() {
		case "set", "shopt", "eval", "source", ".", "trap", "enable", "alias", "unalias", "builtin", "command", "exec":
			return true
		}
	}
	return false
}

// statement walks one command and says where the shell may be afterwards.
func (a *analysis) statement(s *syntax.Stmt, sc scope, in dirSet) flow {
	stay := flow{in, in}
	switch {
	case s.Coprocess, s.Disown:
		a.refuse("coprocess")
	}
	f := stay
	switch c := s.Cmd.(type) {
	case nil:
		a.redirectOnly(s, sc, in)
	case *syntax.CallExpr:
		f = a.simple(s, c.Assigns, c.Args, sc, in)
	case *syntax.DeclClause:
		a.declaration(s, c, sc, in)
	case *syntax.BinaryCmd:
		f = a.binary(s, c, sc, in)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			a.refuse("time without a command")
		} else {
			f = a.statement(c.Stmt, sc, in)
		}
	default:
		a.compound(s, sc, in)
	}
	if s.Negated {
		f = flow{f.fail, f.ok}
	}
	if s.Background {
		f = stay
	}
	return f
}

func (a *analysis) binary(s *syntax.Stmt, c *syntax.BinaryCmd, sc scope, in dirSet) flow {
	if len(s.Redirs) > 0 {
		a.refuse("redirection of a list")
	}
	switch c.Op {
	case syntax.AndStmt:
		x := a.statement(c.X, sc, in)
		sc.moved = sc.moved || !slices.Equal(x.ok, in)
		y := a.statement(c.Y, sc, x.ok)
		return flow{y.ok, union(x.fail, y.fail)}
	case syntax.OrStmt:
		x := a.statement(c.X, sc, in)
		sc.moved = sc.moved || !slices.Equal(x.fail, in)
		y := a.statement(c.Y, sc, x.fail)
		return flow{union(x.ok, y.ok), y.fail}
	case syntax.Pipe, syntax.PipeAll:
		// Both sides are subshells: a cd inside them changes nothing outside.
		if _, timed := c.Y.Cmd.(*syntax.TimeClause); timed {
			// bash knows the keyword at the start of a pipeline only; here it
			// starts a program of that name, with options of its own.
			a.refuse("time behind a pipe")
		}
		a.statement(c.X, sc, in)
		sc.stdin = StdinPipe
		a.statement(c.Y, sc, in)
	default:
		a.refuse("operator %s", c.Op)
		a.statement(c.X, sc, in)
		a.statement(c.Y, sc, in)
	}
	return flow{in, in}
}

// compound refuses grouping and control flow, and still lists the simple
// commands inside for the deny rules.
func (a *analysis) compound(s *syntax.Stmt, sc scope, in dirSet) {
	a.refuse("%s", compoundName(s.Cmd))
	unknown := dirSet{{}}
	syntax.Walk(s.Cmd, func(n syntax.Node) bool {
		if inner, ok := n.(*syntax.Stmt); ok {
			switch inner.Cmd.(type) {
			case *syntax.CallExpr, *syntax.DeclClause, nil:
				a.statement(inner, sc, unknown)
				return false
			}
		}
		return true
	})
	for _, r := range s.Redirs {
		a.redirect(r, sc)
	}
}

func compoundName(c syntax.Command) string {
	switch c := c.(type) {
	case *syntax.Subshell:
		return "subshell ( ... )"
	case *syntax.Block:
		return "group { ... }"
	case *syntax.IfClause:
		return "if"
	case *syntax.WhileClause:
		if c.Until {
			return "until loop"
		}
		return "while loop"
	case *syntax.ForClause:
		if c.Select {
			return "select loop"
		}
		return "for loop"
	case *syntax.CaseClause:
		return "case"
	case *syntax.FuncDecl:
		return "function definition"
	case *syntax.ArithmCmd:
		return "arithmetic command (( ... ))"
	case *syntax.TestClause:
		return "[[ ... ]]"
	case *syntax.LetClause:
		return "let"
	case *syntax.CoprocClause:
		return "coprocess"
	}
	return "control flow"
}

// simple reads one simple command, unwraps it and appends its stages.
func (a *analysis) simple(s *syntax.Stmt, assigns []*syntax.Assign, args []*syntax.Word, sc scope, in dirSet) flow {
	for _, one := range assigns {
		// The parser takes "a+b=c" for an assignment; to bash it is a command.
		if one.Name != nil && !validName(one.Name.Value) {
			a.refuse("assignment to something that is no name")
		}
	}
	sc, own := a.assignments(assigns, sc, in, len(args) == 0)
	if len(args) == 0 {
		st := a.stage(Assignment, nil, sc, in)
		st.Assigns = own
		st.Redirs = a.redirects(s.Redirs, &sc, in, st.Redirs)
		a.add(st)
		return flow{in, in}
	}
	argv := make([]Word, 0, len(args)+2)
	for i, w := range args {
		argv = a.fields(argv, w, &sc, in)
		if i == 0 && len(argv) != 1 {
			a.refuse("program name out of a brace expansion")
		}
	}
	sc.redirs = a.redirects(s.Redirs, &sc, in, sc.redirs)
	if len(argv) == 0 {
		a.refuse("no program")
		return flow{in, in}
	}
	return a.unwrap(argv, sc, in)
}

// assignments reads the assignments before a command. The scope that comes
// back carries them for the command; own are those of this command alone.
func (a *analysis) assignments(list []*syntax.Assign, sc scope, in dirSet, lasting bool) (scope, []Assign) {
	if len(list) == 0 {
		return sc, nil
	}
	own := make([]Assign, 0, len(list))
	for _, as := range list {
		if as.Array != nil || as.Index != nil || as.Name == nil {
			a.refuse("array assignment")
			continue
		}
		x := a.assignment(as, &sc, in)
		if lasting || sc.foreign != "" {
			// To other shells, and to bash when it is called sh, what stands
			// before a special builtin such as ":" stays.
			a.assign(x.Name)
		}
		own = append(own, x)
	}
	sc.assigns = append(slices.Clip(sc.assigns), own...)
	return sc, own
}

func (a *analysis) assignment(as *syntax.Assign, sc *scope, in dirSet) Assign {
	x := Assign{Name: as.Name.Value, Append: as.Append}
	eq := "="
	if as.Append {
		eq = "+="
	}
	if as.Value == nil {
		x.Value = Literal("")
		x.Text = x.Name + eq
		return x
	}
	x.Value = a.value(as.Value, sc, in)
	a.noteText(x)
	if x.Value.Static && !strings.HasPrefix(x.Value.Text, "~") {
		x.Text = Quote(x.Name + eq + x.Value.Value)
	} else {
		x.Text = x.Name + eq + x.Value.Text
	}
	return x
}

// declaration turns "export A=1" and its kind into a stage: the parser has a
// node of its own for them, the shell runs a builtin.
func (a *analysis) declaration(s *syntax.Stmt, c *syntax.DeclClause, sc scope, in dirSet) {
	argv := []Word{Literal(c.Variant.Value)}
	for _, as := range c.Args {
		switch {
		case as.Array != nil || as.Index != nil:
			a.refuse("array assignment")
		case as.Naked && as.Name != nil:
			argv = append(argv, Literal(as.Name.Value))
		case as.Naked:
			argv = a.fields(argv, as.Value, &sc, in)
		default:
			x := a.assignment(as, &sc, in)
			a.assign(x.Name)
			argv = append(argv, Word{
				Value: x.Name + "=" + x.Value.Value, Text: x.Text,
				Known: x.Value.Known, Static: x.Value.Static,
			})
		}
	}
	st := a.stage(Command, argv, sc, in)
	st.Redirs = a.redirects(s.Redirs, &sc, in, st.Redirs)
	a.add(st)
}

func (a *analysis) redirectOnly(s *syntax.Stmt, sc scope, in dirSet) {
	st := a.stage(Redirection, nil, sc, in)
	st.Redirs = a.redirects(s.Redirs, &sc, in, st.Redirs)
	if len(s.Redirs) == 0 {
		a.refuse("nothing to run")
		return
	}
	a.add(st)
}

// stage starts a stage with everything it inherits.
func (a *analysis) stage(kind Kind, argv []Word, sc scope, in dirSet) Stage {
	return Stage{
		Kind: kind, Argv: argv, Assigns: sc.assigns, Unset: sc.unset, Cleared: sc.cleared,
		Redirs: slices.Clip(sc.redirs), Wrappers: sc.wrappers, Stdin: sc.stdin,
		Dirs: in, Moved: sc.moved, Dialect: sc.dialect, Appended: sc.appended,
	}
}
