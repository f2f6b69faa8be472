package review

import (
	"strings"

	"github.com/openmuse/muse/internal/shell"
)

// syntax is how a program reads its options.
type syntax struct {
	// values are the short options that take a value, attached or in the next
	// word; optional those whose value is only ever attached.
	values, optional string
	// long are the long options whose value may stand in the next word.
	long []string
	// single is set for programs whose long options begin with one dash (go,
	// gcc, java): there are no clusters of short options then.
	single bool
	// stops ends the options at the first operand, as for programs that start
	// another program.
	stops bool
	// detached is set for programs that take the values of a whole cluster from
	// the words behind it, in turn: "tree -Lo 2 out".
	detached bool
	// flags are long options without a value that look like an abbreviation of
	// one in long.
	flags []string
	// listed does the same for a larger list.
	listed func() map[string]bool
}

// opt is one option as it was given. name has its dashes: "-x", "--long".
type opt struct {
	name  string
	value shell.Word
	has   bool
}

// scanned is a command's arguments taken apart.
type scanned struct {
	opts     []opt
	operands []shell.Word
	// loose is the first word that the program could take for an option
	// although the text does not show one.
	loose *shell.Word
	// rest are the words behind "--".
	rest []shell.Word
	// abbreviated is an option of which it is not certain whether the next word
	// is its value.
	abbreviated string
}

// scan takes the stage's arguments apart.
func (j *judge) scan(words []shell.Word, sx *syntax) scanned {
	out := scanned{opts: j.optBuf[:0], operands: j.operBuf[:0]}
	for i := 0; i < len(words); i++ {
		w := &words[i]
		v := w.Value
		if !w.Known && w.MayBeOption() {
			if w.Glob && !w.Split && !strings.ContainsRune(w.Value, shell.Hole) && j.globIsPlain() {
				out.operands = append(out.operands, *w)
				continue
			}
			if out.loose == nil {
				out.loose = w
			}
			out.operands = append(out.operands, *w)
			continue
		}
		if v == "--" && w.Known {
			out.rest = words[i+1:]
			out.operands = append(out.operands, out.rest...)
			break
		}
		if len(v) < 2 || v[0] != '-' {
			out.operands = append(out.operands, *w)
			if sx.stops {
				out.rest = words[i+1:]
				out.operands = append(out.operands, out.rest...)
				break
			}
			continue
		}
		if !w.Known && (len(v) == 2 || v[1] == shell.Hole) && out.loose == nil {
			out.loose = w
		}
		if strings.HasPrefix(v, "--") || sx.single {
			i += out.longOption(words, i, sx)
			continue
		}
		i += out.cluster(words, i, sx)
	}
	if j.s.Appended && out.loose == nil && out.rest == nil {
		out.loose = &shell.Word{Text: "the arguments that are added at run time"}
	}
	if out.abbreviated != "" {
		j.stop(External, j.name+" "+out.abbreviated+" is cut short or has an option for its value: write --name=value")
	}
	return out
}

// longOption reads one long option and says how many further words it used.
func (s *scanned) longOption(words []shell.Word, i int, sx *syntax) int {
	w := words[i]
	name, value, attached := strings.Cut(w.Value, "=")
	if attached {
		s.opts = append(s.opts, opt{name, part(w, value), true})
		return 0
	}
	for _, l := range sx.long {
		if l == name && i+1 < len(words) {
			if v := words[i+1].Value; len(v) > 2 && v[:2] == "--" && s.abbreviated == "" && !sx.single {
				// Should the option not want a value, this is one of its own.
				s.abbreviated = name
			}
			s.opts = append(s.opts, opt{name, words[i+1], true})
			return s.valueWord(words[i+1])
		}
	}
	if !sx.single && len(name) > 2 && s.abbreviated == "" && !contains(sx.long, name) && !contains(sx.flags, name) && (sx.listed == nil || !sx.listed()[name]) {
		for _, l := range sx.long {
			if strings.HasPrefix(l, name) {
				s.abbreviated = name
			}
		}
	}
	s.opts = append(s.opts, opt{name: name})
	return 0
}

// cluster reads "-abc" and says how many further words it used.
func (s *scanned) cluster(words []shell.Word, i int, sx *syntax) int {
	w := words[i]
	v := w.Value
	used := 0
	for k := 1; k < len(v); k++ {
		name := v[k : k+1]
		switch {
		case sx.detached && strings.Contains(sx.values, name):
			if k+1 < len(v) && strings.Trim(v[k+1:], "0123456789") == "" {
				s.opts = append(s.opts, opt{"-" + name, part(w, v[k+1:]), true})
				return used
			}
			if i+used+1 >= len(words) {
				s.opts = append(s.opts, opt{name: "-" + name})
				continue
			}
			used++
			s.opts = append(s.opts, opt{"-" + name, words[i+used], true})
			s.valueWord(words[i+used])
			continue
		case strings.Contains(sx.optional, name):
			s.opts = append(s.opts, opt{"-" + name, part(w, v[k+1:]), k+1 < len(v)})
			return 0
		case strings.Contains(sx.values, name):
			if k+1 < len(v) {
				s.opts = append(s.opts, opt{"-" + name, part(w, v[k+1:]), true})
				return 0
			}
			if i+1 >= len(words) {
				s.opts = append(s.opts, opt{name: "-" + name})
				return 0
			}
			s.opts = append(s.opts, opt{"-" + name, words[i+1], true})
			return s.valueWord(words[i+1])
		}
		s.opts = append(s.opts, opt{name: "-" + name})
	}
	return used
}

// valueWord notes a value that may turn into several words: what follows the
// first could then be an option.
func (s *scanned) valueWord(w shell.Word) int {
	if w.Split && s.loose == nil {
		s.loose = &w
	}
	return 1
}

// part is the piece of a word behind an option's name.
func part(w shell.Word, value string) shell.Word {
	return shell.Word{Value: value, Text: value, Known: w.Known, Static: w.Static, Glob: w.Glob, Split: w.Split}
}

// globIsPlain reports whether a pattern cannot match anything that begins with
// a dash, as no name of the directory does.
func (j *judge) globIsPlain() bool {
	if j.p.Dashes == nil || len(j.s.Dirs) != 1 || !j.s.Dirs[0].Known {
		return false
	}
	found, err := j.p.Dashes(j.s.Dirs[0].Path)
	if err != nil || found {
		return false
	}
	// Files may come and go before the line runs, so this is no proof.
	j.atLeast(Unknown, "a pattern stands where an option could")
	return true
}

// means reports whether an option as given is the listed one. Long options may
// be abbreviated to any prefix, as getopt_long allows: "--upload-pa" is
// "--upload-pack".
func means(given, listed string) bool {
	if given == listed {
		return true
	}
	return len(given) > 2 && strings.HasPrefix(given, "--") && strings.HasPrefix(listed, given)
}

func meansAny(given string, list []string) bool {
	for _, l := range list {
		if means(given, l) {
			return true
		}
	}
	return false
}

// option finds the first option that means one of the names.
func (s *scanned) option(names ...string) *opt {
	for i := range s.opts {
		if meansAny(s.opts[i].name, names) {
			return &s.opts[i]
		}
	}
	return nil
}

// exact finds an option by its exact name.
func (s *scanned) exact(names ...string) *opt {
	for i := range s.opts {
		for _, n := range names {
			if s.opts[i].name == n {
				return &s.opts[i]
			}
		}
	}
	return nil
}
