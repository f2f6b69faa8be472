package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// judgeSed parses the script: sed can run commands (e, s///e) and write files
// (w, W, s///w). A script that is not understood stops.
func judgeSed(j *judge) {
	if j.asksVersion() {
		return
	}
	a := j.scan(j.args, &syntax{values: "efl", optional: "iI", long: []string{"--expression", "--file", "--line-length"}})
	if a.loose != nil {
		j.flag(External, "could turn into an option of sed: "+a.loose.Text)
	}
	inPlace, files := false, false
	var scripts []shell.Word
	for _, o := range a.opts {
		switch {
		case o.name == "-e" || means(o.name, "--expression"):
			scripts = append(scripts, o.value)
		case o.name == "-f" || means(o.name, "--file"):
			files = true
			j.inside(o.value, "the sed script")
			j.atLeast(Project, "runs a sed script of the project")
		case o.name == "-i" || o.name == "-I" || means(o.name, "--in-place"):
			inPlace = true
			if strings.ContainsAny(o.value.Value, "/*") {
				j.write(shell.Word{Value: strings.ReplaceAll(o.value.Value, "*", "x"), Text: o.value.Text, Known: o.value.Known})
			}
		case contains(sedPlain, o.name):
		default:
			j.atLeast(Unknown, "option "+o.name+" of sed is not on the list of harmless ones")
		}
	}
	operands := a.operands
	if len(scripts) == 0 && !files {
		if len(operands) == 0 {
			return
		}
		scripts, operands = append(scripts, operands[0]), operands[1:]
		if operands0 := scripts[0]; inPlace && operands0.Known && operands0.Value == "" && len(operands) > 0 {
			// "sed -i '' SCRIPT" is how it is written for BSD, where the empty
			// word belongs to -i: both readings must pass.
			scripts, operands = append(scripts, operands[0]), operands[1:]
		}
	}
	for _, s := range scripts {
		if !s.Known {
			j.flag(External, "a sed script that is not known: "+s.Text)
		}
	}
	for _, s := range sedPrograms(scripts) {
		reads, ok := readSed(s)
		if !ok {
			j.stop(External, "a sed script that may run commands or write files, or is not understood")
		}
		for _, name := range reads {
			j.read(shell.Literal(name))
		}
	}
	for _, w := range operands {
		if inPlace {
			j.write(w)
		} else {
			j.read(w)
		}
	}
	if inPlace {
		j.atLeast(Edit, "edits files in place")
		if j.s.Appended {
			j.flag(Tampering, "edits files that are not known")
		}
	}
}

var sedPlain = []string{"-n", "-E", "-r", "-s", "-u", "-z", "-l", "--quiet", "--silent", "--regexp-extended", "--separate", "--unbuffered", "--null-data", "--posix", "--debug", "--sandbox", "--line-length", "--follow-symlinks"}

// sedPrograms joins the scripts as sed does: one a line.
func sedPrograms(scripts []shell.Word) []string {
	var parts []string
	for _, s := range scripts {
		parts = append(parts, s.Value)
	}
	all := strings.Join(parts, "\n")
	if len(parts) < 2 {
		return []string{all}
	}
	return append(parts, all)
}

// sedReader walks a script.
type sedReader struct {
	s     string
	i     int
	reads []string
}

// readSed reports whether every command of a script only edits text, and which
// files it reads.
func readSed(script string) ([]string, bool) {
	r := &sedReader{s: script}
	for r.skip(" \t\n;"); r.i < len(r.s); r.skip(" \t\n;") {
		if !r.command() {
			return nil, false
		}
	}
	return r.reads, true
}

func (r *sedReader) skip(chars string) {
	for r.i < len(r.s) && strings.IndexByte(chars, r.s[r.i]) >= 0 {
		r.i++
	}
}

func (r *sedReader) next() byte {
	if r.i >= len(r.s) {
		return 0
	}
	r.i++
	return r.s[r.i-1]
}

func (r *sedReader) peek() byte {
	if r.i >= len(r.s) {
		return 0
	}
	return r.s[r.i]
}

// command reads one command with its addresses; false means that it could do
// more than edit text.
func (r *sedReader) command() bool {
	if r.peek() == '#' {
		r.line()
		return true
	}
	if !r.addresses() {
		return false
	}
	switch c := r.next(); c {
	case '{', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'F', 'z':
		return c == '{' || r.end()
	case '}':
		return r.end()
	case 'q', 'Q', 'l', 'L':
		r.skip(" \t0123456789")
		return r.end()
	case ':', 'b', 't', 'T':
		r.skip(" \t")
		for r.i < len(r.s) && strings.IndexByte("\n;}", r.s[r.i]) < 0 {
			c := r.s[r.i]
			if c <= ' ' || c >= 0x7f {
				return false
			}
			r.i++
		}
		return true
	case 'a', 'i', 'c':
		r.text()
		return true
	case 'r', 'R':
		r.skip(" \t")
		r.reads = append(r.reads, r.line())
		return true
	case 's':
		return r.substitute()
	case 'y':
		d := r.next()
		return plainDelimiter(d) && r.until(d, false) && r.until(d, false) && r.end()
	}
	// e, w, W, v and whatever else there is.
	return false
}

// end accepts what may follow a command without arguments.
func (r *sedReader) end() bool {
	r.skip(" \t")
	switch r.peek() {
	case 0, '\n', ';', '}', '#':
		return true
	}
	return false
}

// line takes the rest of the line.
func (r *sedReader) line() string {
	from := r.i
	for r.i < len(r.s) && r.s[r.i] != '\n' {
		r.i++
	}
	return r.s[from:r.i]
}

// text skips the argument of a, i and c: to the end of the line, over lines
// that end in a backslash.
func (r *sedReader) text() {
	for r.i < len(r.s) {
		c := r.next()
		if c == '\\' && r.i < len(r.s) {
			r.i++
			continue
		}
		if c == '\n' {
			return
		}
	}
}

func (r *sedReader) addresses() bool {
	for n := 0; n < 2; n++ {
		r.skip(" \t")
		switch c := r.peek(); {
		case c >= '0' && c <= '9':
			r.skip("0123456789~")
		case c == '$':
			r.i++
		case c == '/' || c == '\\':
			r.i++
			if c == '\\' {
				c = r.next()
			}
			if !plainDelimiter(c) || !r.until(c, true) {
				return false
			}
			r.skip("IM")
		case n == 1 && (c == '+' || c == '~'):
			r.i++
			r.skip("0123456789")
		case n == 1:
			return false
		}
		r.skip(" \t")
		if n == 0 {
			if r.peek() != ',' {
				break
			}
			r.i++
		}
	}
	r.skip(" \t!")
	return true
}

// substitute reads s/re/new/flags. The flags e and w run and write.
func (r *sedReader) substitute() bool {
	d := r.next()
	if !plainDelimiter(d) || !r.until(d, true) || !r.until(d, false) {
		return false
	}
	r.skip("gpiIMm0123456789")
	return r.end()
}

// plainDelimiter leaves out delimiters that mean something by themselves.
func plainDelimiter(c byte) bool {
	return c > ' ' && c < 0x7f && c != '\\' && c != '[' && c != ']'
}

// until skips to the next delimiter. In a pattern a delimiter between brackets
// is read differently by different seds: both readings must agree, so it is
// refused.
func (r *sedReader) until(d byte, pattern bool) bool {
	for r.i < len(r.s) {
		c := r.next()
		switch {
		case c == '\\':
			if r.i >= len(r.s) {
				return false
			}
			r.i++
		case c == d:
			return true
		case c == '[' && pattern:
			if !r.brackets(d) {
				return false
			}
		case c == '\n' && pattern:
			return false
		}
	}
	return false
}

// brackets checks that a bracket expression holds neither the delimiter nor a
// backslash before it closes, and moves past it.
func (r *sedReader) brackets(d byte) bool {
	k := r.i
	if k < len(r.s) && r.s[k] == '^' {
		k++
	}
	if k < len(r.s) && r.s[k] == ']' {
		k++
	}
	for k < len(r.s) {
		switch c := r.s[k]; c {
		case d, '\n':
			return false
		case ']':
			r.i = k + 1
			return true
		case '[':
			// [:alpha:] and its kind close with their own bracket.
			if k+1 < len(r.s) && strings.IndexByte(":.=", r.s[k+1]) >= 0 {
				end := strings.Index(r.s[k+2:], string(r.s[k+1])+"]")
				if end < 0 || strings.IndexByte(r.s[k+2:k+2+end], d) >= 0 {
					return false
				}
				k += 2 + end + 1
			}
		case '\\':
			// "[\/]" is common: the backslash hides the delimiter in one
			// reading and stands for itself in the other, but the delimiter
			// right behind it ends the pattern in neither. Behind "\\" it does
			// in one, so both backslashes are taken and it is seen above.
			if k+1 < len(r.s) && (r.s[k+1] == d || r.s[k+1] == '\\') {
				k++
			}
		}
		k++
	}
	return false
}
