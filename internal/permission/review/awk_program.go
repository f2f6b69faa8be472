package review

import "strings"

// harmlessAwk reports whether an awk program neither runs a command nor writes
// a file nor reads input that the command line does not name.
//
// The reader knows at each point whether awk expects an operand or an operator;
// that decides whether a slash divides or opens a regular expression, which is
// what hides code from readers that guess. Whatever it does not know fails.
func harmlessAwk(program string) bool {
	r := awkReader{s: program, operand: true}
	for r.i < len(r.s) {
		if !r.token() {
			return false
		}
	}
	return r.depth == 0 && r.braces == 0
}

type awkReader struct {
	s string
	i int
	// operand is set where a value may begin: a slash there opens a pattern.
	operand bool
	// printing is set inside a print statement, depth counts its parentheses:
	// ">" at depth 0 redirects.
	printing bool
	depth    int
	braces   int
	// control holds the depths at which the parenthesis of if, while or for
	// was opened: what follows its end is a statement.
	control []int
	opens   bool // the next "(" belongs to if, while or for
	// continues is set behind tokens after which a newline does not end the
	// statement.
	continues bool
}

// token reads one token; false means that the program is not harmless or not
// understood.
func (r *awkReader) token() bool {
	c := r.s[r.i]
	continues := false
	switch {
	case c == ' ' || c == '\t':
		r.i++
		return true
	case c == '#':
		for r.i < len(r.s) && r.s[r.i] != '\n' {
			r.i++
		}
		return true
	case c == '\\':
		if r.i+1 >= len(r.s) || r.s[r.i+1] != '\n' {
			return false
		}
		r.i += 2
		return true
	case c == '\n':
		r.i++
		if !r.continues {
			r.statement()
		}
		return true
	case c == ';':
		r.i++
		if r.depth == 0 {
			r.statement()
		}
		r.operand = true
	case c == '{' || c == '}':
		r.i++
		if r.depth != 0 {
			return false
		}
		if c == '{' {
			r.braces++
		} else if r.braces--; r.braces < 0 {
			return false
		}
		r.statement()
		continues = c == '{'
	case c == '"':
		if !r.text() {
			return false
		}
	case c >= '0' && c <= '9' || c == '.' && r.i+1 < len(r.s) && digit(r.s[r.i+1]):
		for r.i < len(r.s) && (nameByte(r.s[r.i]) || r.s[r.i] == '.') {
			r.i++
		}
		r.operand = false
	case nameByte(c):
		return r.word()
	case c == '/' && r.operand:
		if !r.pattern() {
			return false
		}
	default:
		return r.operator(c)
	}
	r.continues = continues
	return true
}

// statement begins a new one.
func (r *awkReader) statement() {
	r.operand, r.printing = true, false
}

func (r *awkReader) word() bool {
	from := r.i
	for r.i < len(r.s) && nameByte(r.s[r.i]) {
		r.i++
	}
	r.continues = false
	switch r.s[from:r.i] {
	case "system", "getline", "switch", "case", "default", "include", "load", "namespace", "func_ptr":
		return false
	case "print", "printf":
		if r.depth != 0 {
			return false
		}
		r.statement()
		r.printing = true
	case "if", "while", "for":
		r.opens, r.operand = true, true
	case "else", "do":
		r.statement()
		r.continues = true
	case "in", "return", "exit", "delete", "BEGIN", "END", "BEGINFILE", "ENDFILE", "function", "func":
		r.operand = true
	case "next", "nextfile", "break", "continue":
		r.operand = true
	default:
		r.operand = false
	}
	return true
}

func (r *awkReader) operator(c byte) bool {
	two := ""
	if r.i+1 < len(r.s) {
		two = r.s[r.i : r.i+2]
	}
	r.continues = false
	switch {
	case two == "&&" || two == "||":
		r.i += 2
		r.operand, r.continues = true, true
	case c == '|' || two == ">>":
		return false
	case two == ">=" || two == "<=" || two == "==" || two == "!=" || two == "!~" || two == "**" || two == "+=" || two == "-=" || two == "*=" || two == "/=" || two == "%=" || two == "^=":
		r.i += 2
		r.operand = true
	case two == "++" || two == "--":
		// Prefix before a value, postfix behind one: the state stays.
		r.i += 2
	case c == '>':
		if r.printing && r.depth == 0 {
			return false
		}
		r.i++
		r.operand = true
	case c == '(':
		r.i++
		r.depth++
		if r.opens {
			r.control = append(r.control, r.depth)
			r.opens = false
		}
		r.operand = true
	case c == ')':
		r.i++
		if r.depth == 0 {
			return false
		}
		r.operand = false
		if n := len(r.control); n > 0 && r.control[n-1] == r.depth {
			r.control = r.control[:n-1]
			r.statement()
			r.continues = true
		}
		r.depth--
	case c == ']':
		r.i++
		r.operand = false
	case c == ',':
		r.i++
		r.operand, r.continues = true, true
	case strings.IndexByte("<=!~+-*/%^?:[$", c) >= 0:
		r.i++
		r.operand = true
	default:
		return false
	}
	return true
}

// text skips a string.
func (r *awkReader) text() bool {
	for r.i++; r.i < len(r.s); r.i++ {
		switch r.s[r.i] {
		case '\\':
			r.i++
		case '\n':
			return false
		case '"':
			r.i++
			r.operand = false
			return true
		}
	}
	return false
}

// pattern skips a regular expression. A slash between brackets ends it for some
// awks and not for others, so it fails.
func (r *awkReader) pattern() bool {
	class := false
	for r.i++; r.i < len(r.s); r.i++ {
		switch c := r.s[r.i]; c {
		case '\\':
			r.i++
		case '\n':
			return false
		case '[':
			if class && r.i+1 < len(r.s) && strings.IndexByte(":.=", r.s[r.i+1]) >= 0 {
				end := strings.Index(r.s[r.i+2:], string(r.s[r.i+1])+"]")
				if end < 0 || strings.IndexByte(r.s[r.i+2:r.i+2+end], '/') >= 0 {
					return false
				}
				r.i += end + 3
				continue
			}
			if !class && r.i+1 < len(r.s) {
				// A bracket right behind the opening one stands for itself.
				next := r.i + 1
				if r.s[next] == '^' {
					next++
				}
				if next < len(r.s) && r.s[next] == ']' {
					r.i = next
				}
			}
			class = true
		case ']':
			class = false
		case '/':
			if class {
				return false
			}
			r.i++
			r.operand = false
			return true
		}
	}
	return false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func nameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c)
}
