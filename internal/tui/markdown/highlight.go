package markdown

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/openmuse/muse/internal/tui/text"
)

// language is what has to be known of a language to colour its words.
type language struct {
	words    map[string]bool
	line     []string  // what begins a comment that ends with its line
	block    [2]string // what encloses a comment
	quotes   string
	raw      string // what encloses a text of several lines
	anyCase  bool
	diff     bool
	dollarOK bool // $ belongs to names
}

// highlighter colours lines of code one after the other.
type highlighter struct {
	lang *language
	open string // what ends the comment or text that the line before left open
	as   text.Style
}

func newHighlighter(info string) *highlighter {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(info)), " ")
	name = strings.Trim(name, "{}.")
	return &highlighter{lang: languages()[name]}
}

// line colours one line.
func (h *highlighter) line(s string) text.Line {
	s = strings.ReplaceAll(s, "\t", "    ")
	l := h.lang
	if l == nil {
		return text.Of(text.Plain, s)
	}
	if l.diff {
		return text.Of(DiffStyle(s), s)
	}
	var out text.Line
	for i := 0; i < len(s); {
		if h.open != "" {
			end := strings.Index(s[i:], h.open)
			if end < 0 {
				return out.Add(h.as, s[i:])
			}
			end += i + len(h.open)
			out, h.open = out.Add(h.as, s[i:end]), ""
			i = end
			continue
		}
		n, style := h.token(s[i:])
		out = out.Add(style, s[i:i+n])
		i += n
	}
	return out
}

// token is the length and the style of the first token.
func (h *highlighter) token(s string) (int, text.Style) {
	l := h.lang
	for _, c := range l.line {
		if strings.HasPrefix(s, c) {
			return len(s), text.Comment
		}
	}
	for _, o := range []struct {
		begin, end string
		as         text.Style
	}{{l.block[0], l.block[1], text.Comment}, {l.raw, l.raw, text.String}} {
		if o.begin != "" && strings.HasPrefix(s, o.begin) {
			if end := strings.Index(s[len(o.begin):], o.end); end >= 0 {
				return len(o.begin) + end + len(o.end), o.as
			}
			h.open, h.as = o.end, o.as
			return len(s), o.as
		}
	}
	c := s[0]
	if strings.IndexByte(l.quotes, c) >= 0 {
		for j := 1; j < len(s); j++ {
			switch s[j] {
			case '\\':
				j++
			case c:
				return j + 1, text.String
			}
		}
		return len(s), text.String
	}
	if c >= '0' && c <= '9' {
		j := 1
		for j < len(s) && (s[j] == '.' || s[j] == '_' || s[j] < 0x80 && isWord(rune(s[j]))) {
			j++
		}
		return j, text.Number
	}
	j := 0
	for j < len(s) {
		r, n := utf8.DecodeRuneInString(s[j:])
		if r != '_' && (r != '$' || !l.dollarOK) && !unicode.IsLetter(r) && !(j > 0 && unicode.IsDigit(r)) {
			break
		}
		j += n
	}
	if j == 0 {
		_, n := utf8.DecodeRuneInString(s)
		return n, text.Plain
	}
	word := s[:j]
	if l.anyCase {
		word = strings.ToLower(word)
	}
	if l.words[word] {
		return j, text.Keyword
	}
	return j, text.Plain
}

// DiffStyle is the style of a line of a unified diff.
func DiffStyle(s string) text.Style {
	switch {
	case strings.HasPrefix(s, "+++"), strings.HasPrefix(s, "---"):
		return text.Bold
	case strings.HasPrefix(s, "+"):
		return text.Added
	case strings.HasPrefix(s, "-"):
		return text.Removed
	case strings.HasPrefix(s, "@@"):
		return text.Accent
	}
	return text.Plain
}

// languages is made when the first code is shown.
var languages = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	add := func(names, words string, l language) {
		l.words = map[string]bool{}
		for _, w := range strings.Fields(words) {
			l.words[w] = true
		}
		for _, n := range strings.Fields(names) {
			all[n] = &l
		}
	}
	slashes, stars := []string{"//"}, [2]string{"/*", "*/"}
	hash := []string{"#"}
	add("go golang", "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var nil true false iota any error string int bool byte rune",
		language{line: slashes, block: stars, quotes: `"'`, raw: "`"})
	add("js javascript jsx mjs ts typescript tsx", "async await break case catch class const continue debugger default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private protected public readonly return set static super switch this throw true try type typeof undefined var void while with yield",
		language{line: slashes, block: stars, quotes: `"'`, raw: "`", dollarOK: true})
	add("py python python3", "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match case None nonlocal not or pass raise return True try while with yield self",
		language{line: hash, quotes: `"'`, raw: `"""`})
	add("sh bash shell zsh console fish", "if then else elif fi for while until do done case esac in function return local export set unset source eval exec exit cd echo trap shift readonly",
		language{line: hash, quotes: `"'`})
	add("rs rust", "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
		language{line: slashes, block: stars, quotes: `"`})
	add("c h cpp c++ cc hpp objc", "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false float for friend goto if inline int long namespace new nullptr operator private protected public register return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while include define ifdef ifndef endif",
		language{line: slashes, block: stars, quotes: `"'`})
	add("java kotlin kt scala swift cs csharp c# dart groovy", "abstract as async await base bool boolean break byte case catch char class const continue default do double else enum extends false final finally float for fun func get guard if implements import in init int interface internal is let long namespace native new nil null object open operator override package private protected public return sealed self short static string struct super switch this throw throws true try typealias using val var void volatile when where while yield",
		language{line: slashes, block: stars, quotes: `"'`})
	add("rb ruby", "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo require rescue retry return self super then true undef unless until when while yield",
		language{line: hash, quotes: `"'`})
	add("php", "abstract and array as break case catch class const continue default do echo else elseif extends false final for foreach function global if implements interface namespace new null or private protected public return static switch throw true try use var while",
		language{line: []string{"//", "#"}, block: stars, quotes: `"'`, dollarOK: true})
	add("sql sqlite postgres postgresql mysql", "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references right rollback select set table then transaction union unique update using values view when where with",
		language{line: []string{"--"}, block: stars, quotes: `'"`, anyCase: true})
	add("json jsonc json5", "true false null", language{line: slashes, block: stars, quotes: `"`})
	add("yaml yml toml ini conf dotenv", "true false null yes no on off", language{line: hash, quotes: `"'`})
	add("dockerfile docker make makefile cmake hcl terraform tf nix", "from run cmd copy add env arg workdir expose entrypoint volume user label if else endif ifeq ifneq include define resource variable output module provider data let in rec with inherit",
		language{line: hash, quotes: `"'`, anyCase: true})
	add("css scss less", "important media import keyframes supports include mixin extend", language{line: slashes, block: stars, quotes: `"'`})
	add("html xml svg vue", "", language{block: [2]string{"<!--", "-->"}, quotes: `"`})
	add("lua", "and break do else elseif end false for function goto if in local nil not or repeat return then true until while", language{line: []string{"--"}, quotes: `"'`})
	add("hs haskell elm", "case class data deriving do else if import in infix instance let module newtype of then type where", language{line: []string{"--"}, block: [2]string{"{-", "-}"}, quotes: `"`})
	add("ex exs elixir erl erlang", "after alias and case catch cond def defmodule defp do else end false fn for if import in nil not or quote raise receive require rescue true try unless use when with", language{line: []string{"#", "%"}, quotes: `"'`})
	add("diff patch", "", language{diff: true})
	return all
})
