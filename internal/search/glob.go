package search

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// wildmatch reports whether a gitignore glob matches a slash-separated path as
// a whole: * and ? do not match a slash, ** between slashes (or at either end)
// matches any number of components, [a-z] is a class, \ escapes.
func wildmatch(glob, path string) bool {
	// Backtracking restarts at the latest star only; that is enough because a
	// later star can match everything an earlier one could.
	var starGlob, starPath string
	haveStar := false
	g, p := glob, path
	for {
		if g == "" {
			if p == "" {
				return true
			}
		} else {
			rest := strings.TrimLeft(g, "*")
			switch stars := len(g) - len(rest); {
			case stars >= 2 && rest == "" && atComponent(glob, g):
				return true
			case stars >= 2 && rest != "" && rest[0] == '/' && atComponent(glob, g):
				return anyDepth(rest[1:], p)
			case stars > 0:
				g = rest
				starGlob, starPath, haveStar = g, p, true
				continue
			case p != "":
				if gw, pw, ok := matchOne(g, p); ok {
					g, p = g[gw:], p[pw:]
					continue
				}
			}
		}
		// No match here: let the latest star take one character more.
		if !haveStar || starPath == "" || starPath[0] == '/' {
			return false
		}
		_, w := utf8.DecodeRuneInString(starPath)
		starPath = starPath[w:]
		g, p = starGlob, starPath
	}
}

// atComponent reports whether rest begins a component of glob.
func atComponent(glob, rest string) bool {
	i := len(glob) - len(rest)
	return i == 0 || glob[i-1] == '/'
}

// anyDepth matches glob against path and against what follows each slash.
func anyDepth(glob, path string) bool {
	for {
		if wildmatch(glob, path) {
			return true
		}
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[i+1:]
	}
}

// matchOne matches one unit of a glob that is not a star against one character
// and returns the lengths of both.
func matchOne(g, p string) (gw, pw int, ok bool) {
	r, pw := utf8.DecodeRuneInString(p)
	switch g[0] {
	case '?':
		return 1, pw, r != '/'
	case '[':
		if n, in, valid := matchClass(g, r); valid {
			return n, pw, in && r != '/'
		}
		return 0, 0, false // an unclosed class matches nothing
	case '\\':
		if len(g) == 1 {
			return 0, 0, false
		}
		g = g[1:]
		gr, w := utf8.DecodeRuneInString(g)
		return 1 + w, pw, gr == r && (r != utf8.RuneError || g[0] == p[0])
	}
	gr, w := utf8.DecodeRuneInString(g)
	return w, pw, gr == r && (r != utf8.RuneError || g[0] == p[0])
}

// matchClass matches r against the class that g begins with and returns the
// class's length. valid is false when it is not closed.
func matchClass(g string, r rune) (n int, in, valid bool) {
	i := 1
	negated := i < len(g) && (g[i] == '!' || g[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(g) && (g[i] != ']' || first); first = false {
		if name, w, ok := posixClass(g[i:]); ok {
			in = in || inPosix(name, r)
			i += w
			continue
		}
		lo, w := classRune(g[i:])
		if w == 0 {
			return 0, false, false
		}
		i += w
		hi := lo
		if i+1 < len(g) && g[i] == '-' && g[i+1] != ']' {
			hi, w = classRune(g[i+1:])
			if w == 0 {
				return 0, false, false
			}
			i += 1 + w
		}
		in = in || lo <= r && r <= hi
	}
	if i >= len(g) {
		return 0, false, false
	}
	return i + 1, in != negated, true
}

func classRune(g string) (rune, int) {
	if g == "" {
		return 0, 0
	}
	if g[0] == '\\' {
		if len(g) == 1 {
			return 0, 0
		}
		r, w := utf8.DecodeRuneInString(g[1:])
		return r, w + 1
	}
	return utf8.DecodeRuneInString(g)
}

// posixClass reads [:name:].
func posixClass(g string) (name string, n int, ok bool) {
	if !strings.HasPrefix(g, "[:") {
		return "", 0, false
	}
	end := strings.Index(g, ":]")
	if end < 0 {
		return "", 0, false
	}
	return g[2:end], end + 2, true
}

func inPosix(name string, r rune) bool {
	lower, upper, digit := r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9'
	switch name {
	case "alpha":
		return lower || upper
	case "digit":
		return digit
	case "alnum":
		return lower || upper || digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return r == ' ' || r >= '\t' && r <= '\r'
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return r > ' ' && r < 0x7f && !lower && !upper && !digit
	case "print":
		return r >= ' ' && r < 0x7f
	case "graph":
		return r > ' ' && r < 0x7f
	case "cntrl":
		return r < ' ' || r == 0x7f
	case "xdigit":
		return digit || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
	}
	return false
}

// maxBraces bounds what {a,b} may expand to.
const maxBraces = 256

// expandBraces returns the globs that the alternatives of glob stand for.
func expandBraces(glob string) ([]string, error) {
	open, depth, inClass := -1, 0, false
	var commas []int
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '{':
			if depth == 0 {
				open, commas = i, nil
			}
			depth++
		case c == ',' && depth == 1:
			commas = append(commas, i)
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				return expandAt(glob, open, i, commas)
			}
		}
	}
	if depth > 0 {
		return nil, errors.New("a { is not closed")
	}
	return []string{glob}, nil
}

func expandAt(glob string, open, end int, commas []int) ([]string, error) {
	var out []string
	from := open + 1
	for _, to := range append(commas, end) {
		part, err := expandBraces(glob[:open] + glob[from:to] + glob[end+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, part...); len(out) > maxBraces {
			return nil, fmt.Errorf("the braces stand for more than %d globs", maxBraces)
		}
		from = to + 1
	}
	return out, nil
}
