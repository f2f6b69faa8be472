package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirects appends what the redirections of one command do, and notes in sc
// where its standard input comes from.
func (a *analysis) redirects(list []*syntax.Redirect, sc *scope, in dirSet, out []Redirect) []Redirect {
	for _, r := range list {
		x, ok := a.readRedirect(r, sc, in)
		if !ok {
			continue
		}
		out = append(out, x)
		if x.FD == 0 {
			switch x.Op {
			case RedirectRead, RedirectReadWrite:
				sc.stdin = StdinFile
			case RedirectText:
				sc.stdin = StdinText
			case RedirectDup:
				if strings.HasPrefix(x.Text, "<") {
					// A descriptor opened earlier: it can be anything.
					sc.stdin = StdinPipe
				}
			}
		}
	}
	return out
}

// redirect evaluates a redirection of something that was refused already, for
// the commands inside its words.
func (a *analysis) redirect(r *syntax.Redirect, sc scope) {
	a.readRedirect(r, &sc, dirSet{{}})
}

func (a *analysis) readRedirect(r *syntax.Redirect, sc *scope, in dirSet) (Redirect, bool) {
	if r.N != nil && !number(r.N.Value) {
		a.refuse("descriptor stored in a variable: %s", r.N.Value)
	}
	x := Redirect{FD: descriptorOf(r)}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if !delimiterIsPlain(r.Word) {
			a.refuse("here-document with an end that is not one plain word")
		}
		x.Op, x.Target = RedirectText, a.document(r, sc, in)
		x.Text = "<<" + Quote(delimiter(r.Word))
		return x, true
	case syntax.WordHdoc:
		x.Op, x.Target = RedirectText, a.target(r.Word, sc, in)
		x.Text = "<<<" + x.Target.Text
		return x, true
	}
	x.Target = a.target(r.Word, sc, in)
	x.Text = r.Op.String() + x.Target.Text
	if v := x.Target.Value; (r.Op == syntax.DplIn || r.Op == syntax.DplOut) && len(v) > 1 && v[0] == '-' {
		// bash takes the dash alone, closes the descriptor, and reads on.
		a.refuse("descriptor that begins with a dash")
	}
	descriptor := x.Target.Known && (x.Target.Value == "-" || number(strings.TrimSuffix(x.Target.Value, "-")))
	switch r.Op {
	case syntax.RdrIn:
		x.Op = RedirectRead
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		x.Op = RedirectWrite
	case syntax.RdrInOut:
		x.Op = RedirectReadWrite
	case syntax.DplIn:
		x.Op = RedirectDup
		if !descriptor {
			a.refuse("descriptor that is not a number")
		}
	case syntax.DplOut:
		x.Op = RedirectDup
		if !descriptor {
			// ">& file" is bash's other spelling of "&> file".
			x.Op = RedirectWrite
			if !x.Target.Known {
				a.refuse("descriptor that is not known")
			}
		}
	default:
		a.refuse("redirection %s", r.Op)
		return x, false
	}
	if len(x.Target.Value) == 0 && x.Target.Known {
		a.refuse("redirection to an empty name")
	}
	return x, true
}

// descriptorOf is the descriptor that a redirection changes.
func descriptorOf(r *syntax.Redirect) int {
	if r.N != nil {
		n, err := strconv.Atoi(r.N.Value)
		if err != nil {
			return -1
		}
		return n
	}
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return 0
	case syntax.RdrAll, syntax.AppAll:
		return -1
	}
	return 1
}

// target reads the word of a redirection: one word, never several.
func (a *analysis) target(w *syntax.Word, sc *scope, in dirSet) Word {
	if hasBrace(w.Parts) {
		if lists, ok := expandBraces(w); !ok || len(lists) > 1 {
			a.refuse("braces in a redirection")
			return Word{Value: string(Hole), Text: "{"}
		}
	}
	return a.build(w.Parts, slice(sc.src, w.Pos().Offset(), w.End().Offset()), sc, in, true)
}

// document evaluates a here-document's text.
func (a *analysis) document(r *syntax.Redirect, sc *scope, in dirSet) Word {
	if text, ok := documentText(r); ok {
		return Word{Value: text, Text: Quote(text), Known: true, Static: true}
	}
	b := wordBuilder{a: a, sc: sc, in: in, document: true}
	if r.Hdoc != nil {
		for _, p := range r.Hdoc.Parts {
			if lit, ok := p.(*syntax.Lit); ok {
				b.value = appendUnescaped(b.value, lit.Value, "\\$`")
				continue
			}
			b.expansion(p, true)
		}
	}
	return Word{Value: string(b.value), Text: "<<" + delimiter(r.Word), Known: !b.unknown}
}

// documentText gives the text of a here-document that holds no expansion.
func documentText(r *syntax.Redirect) (string, bool) {
	if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		return "", false
	}
	quoted := quotedDelimiter(r.Word)
	var out []byte
	if r.Hdoc != nil {
		for _, p := range r.Hdoc.Parts {
			lit, ok := p.(*syntax.Lit)
			if !ok {
				return "", false
			}
			if quoted {
				out = append(out, lit.Value...)
			} else {
				out = appendUnescaped(out, lit.Value, "\\$`")
			}
		}
	}
	text := string(out)
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		text = strings.Join(lines, "")
	}
	return text, true
}

func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok || strings.IndexByte(lit.Value, '\\') >= 0 {
			return true
		}
	}
	return false
}

func delimiter(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					b.WriteString(lit.Value)
				}
			}
		}
	}
	return b.String()
}

func number(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
