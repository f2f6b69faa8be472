package shell

import (
	"slices"
	"strings"
)

// xargsTable is xargs' own options; the command it starts gets more arguments
// than the line shows.
var xargsTable = wrapper{
	flags: "0rtpxo", values: "adEILnPs", optional: "eil",
	long: []string{"null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "arg-file=", "delimiter=",
		"eof?", "replace?", "max-lines?", "max-args=", "max-procs=", "max-chars="},
	leaves: []string{"--help", "--version", "--show-limits"},
}

// xargs takes xargs off. Without a command it starts echo.
func (a *analysis) xargs(argv []Word, sc *scope) ([]Word, step) {
	opts, rest, next := a.options("xargs", &xargsTable, argv)
	if next != unwrap {
		return nil, next
	}
	placeholder := ""
	for _, o := range opts {
		switch o.name {
		case "-I", "-i", "--replace":
			placeholder = o.value.Value
			if placeholder == "" {
				placeholder = "{}"
			}
		}
	}
	if len(rest) == 0 {
		rest = []Word{Literal("echo")}
	}
	if placeholder == "" {
		sc.appended = true
	} else {
		rest = a.replaced(rest, placeholder, string(Hole))
	}
	sc.stdin = StdinNone
	return a.under(Wrapper{Name: "xargs", Plain: true}, argv, rest, sc)
}

// replaced marks the words that hold a placeholder: with stands for what is
// put there at run time.
func (a *analysis) replaced(words []Word, placeholder, with string) []Word {
	out := slices.Clone(words)
	for i, w := range out {
		if !strings.Contains(w.Value, placeholder) {
			continue
		}
		out[i].Value = strings.ReplaceAll(w.Value, placeholder, with)
		out[i].Known = false
		if i == 0 {
			out[i].Static = false
		}
	}
	return out
}

// find takes the commands of -exec and its kind out of a find: each becomes a
// stage of its own behind the find without them.
func (a *analysis) find(argv []Word, sc scope, in dirSet) step {
	kept := argv[:1:1]
	type started struct {
		argv  []Word
		inDir bool
	}
	var commands []started
	i := 1
	for ; i < len(argv) && argv[i].Known && findGlobal(argv[i].Value); i++ {
		kept = append(kept, argv[i])
		if argv[i].Value == "-D" && i+1 < len(argv) {
			i++
			kept = append(kept, argv[i])
		}
	}
	from := i
	for ; i < len(argv) && !strings.HasPrefix(argv[i].Value, "-") && argv[i].Value != "(" && argv[i].Value != "!"; i++ {
		kept = append(kept, argv[i])
	}
	roots := argv[from:i]
	for ; i < len(argv); i++ {
		v := argv[i].Value
		switch v {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := findEnd(argv, i+1)
			if end < 0 {
				a.refuse("find %s without its end", v)
				return leave
			}
			commands = append(commands, started{argv[i+1 : end], strings.HasSuffix(v, "dir")})
			i = end
			continue
		}
		kept = append(kept, argv[i])
		for n := FindArguments(v); n > 0 && i+1 < len(argv); n-- {
			i++
			kept = append(kept, argv[i])
		}
	}
	if len(commands) > 0 && sc.appended {
		a.refuse("arguments are added to find -exec at run time")
	}
	a.finish(kept, sc, in)
	for _, c := range commands {
		sub, dirs, below := sc, in, belowRoots(roots)
		sub.appended, sub.stdin, sub.redirs = false, StdinNone, slices.Clip(sc.redirs)
		sub.wrappers = append(slices.Clip(sc.wrappers), Wrapper{Name: "find", Plain: true, Program: argv[0], Argv: argv})
		sub.depth++
		if c.inDir {
			dirs, below = dirSet{{}}, "./"+string(Below)
		}
		a.unwrap(a.replaced(c.argv, "{}", below), sub, dirs)
	}
	return finished
}

// belowRoots is what find puts for {}: a path below one of its starting
// points, if they can be told.
func belowRoots(roots []Word) string {
	switch {
	case len(roots) == 0:
		return "./" + string(Below)
	case len(roots) == 1 && roots[0].Known && roots[0].Value != "" && roots[0].Value[0] != '-':
		return strings.TrimSuffix(roots[0].Value, "/") + "/" + string(Below)
	}
	for _, r := range roots {
		if !r.Known || r.Value == "" || strings.HasPrefix(r.Value, "/") || strings.Contains(r.Value, "..") {
			return string(Hole)
		}
	}
	return "./" + string(Below)
}

// findEnd is the index of the ";" or "{} +" that ends a command.
func findEnd(argv []Word, from int) int {
	for i := from; i < len(argv); i++ {
		if !argv[i].Known {
			continue
		}
		switch argv[i].Value {
		case ";":
			return i
		case "+":
			if i > from && argv[i-1].Value == "{}" {
				return i
			}
		}
	}
	return -1
}

func findGlobal(v string) bool {
	return v == "-H" || v == "-L" || v == "-P" || v == "-D" || strings.HasPrefix(v, "-O")
}

// FindArguments counts the words that belong to a test or action of find, so
// that a pattern named "-exec" is not taken for one.
func FindArguments(v string) int {
	switch v {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-regextype",
		"-lname", "-ilname", "-newer", "-anewer", "-cnewer", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin",
		"-used", "-size", "-type", "-xtype", "-perm", "-user", "-group", "-uid", "-gid", "-links", "-inum", "-samefile",
		"-fstype", "-maxdepth", "-mindepth", "-printf", "-fprint", "-fprint0", "-fls", "-context", "-files0-from":
		return 1
	case "-fprintf":
		return 2
	}
	if strings.HasPrefix(v, "-newer") && len(v) == len("-newerXY") {
		return 1
	}
	return 0
}

// fd takes the command of -x and -X out of an fd.
func (a *analysis) fd(argv []Word, sc scope, in dirSet) step {
	kept := argv[:1:1]
	var command []Word
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		kind, skip := fdOption(w)
		switch kind {
		case fdExec:
			if i+1 >= len(argv) {
				a.refuse("fd %s without a command", w.Text)
				return leave
			}
			end := slices.IndexFunc(argv[i+1:], func(x Word) bool { return x.Known && x.Value == ";" })
			if end < 0 {
				end = len(argv) - i - 1
			}
			if command != nil {
				a.refuse("fd with more than one command")
			}
			command = argv[i+1 : i+1+end]
			i += end + 1
			continue
		case fdOdd:
			a.refuse("fd option that is not read here: %s", w.Text)
			return leave
		}
		kept = append(kept, w)
		if skip && i+1 < len(argv) {
			i++
			kept = append(kept, argv[i])
		}
		if w.Known && w.Value == "--" {
			kept = append(kept, argv[i+1:]...)
			break
		}
	}
	if command != nil && sc.appended {
		a.refuse("arguments are added to fd -x at run time")
	}
	a.finish(kept, sc, in)
	if command == nil {
		return finished
	}
	sub := sc
	sub.stdin, sub.redirs, sub.appended = StdinNone, slices.Clip(sc.redirs), true
	sub.wrappers = append(slices.Clip(sc.wrappers), Wrapper{Name: "fd", Plain: true, Program: argv[0], Argv: argv})
	sub.depth++
	for _, p := range []string{"{}", "{.}", "{/}", "{//}", "{/.}"} {
		if slices.ContainsFunc(command, func(w Word) bool { return strings.Contains(w.Value, p) }) {
			sub.appended = false
		}
		command = a.replaced(command, p, string(Hole))
	}
	a.unwrap(command, sub, in)
	return finished
}

type fdKind uint8

const (
	fdPlain fdKind = iota
	fdExec
	fdOdd
)

// fdOption classifies one word of fd's arguments; skip says that the next word
// is its value.
func fdOption(w Word) (kind fdKind, skip bool) {
	v := w.Value
	if len(v) < 2 || v[0] != '-' || v == "--" {
		return fdPlain, false
	}
	if strings.HasPrefix(v, "--") {
		name, _, attached := strings.Cut(v[2:], "=")
		switch name {
		case "exec", "exec-batch":
			if attached {
				return fdOdd, false
			}
			return fdExec, false
		case "max-depth", "min-depth", "exact-depth", "type", "extension", "exclude", "size", "owner", "color",
			"threads", "ignore-file", "changed-within", "changed-before", "changed-after", "newer", "older", "max-results",
			"base-directory", "path-separator", "search-path", "max-buffer-time", "format", "batch-size", "and", "hyperlink":
			return fdPlain, !attached
		}
		return fdPlain, false
	}
	for i := 1; i < len(v); i++ {
		switch c := v[i]; {
		case c == 'x' || c == 'X':
			if i+1 < len(v) || i > 1 {
				// Attached commands and clusters: fd accepts them, nobody
				// writes them.
				return fdOdd, false
			}
			return fdExec, false
		case strings.IndexByte("dteESocj", c) >= 0:
			return fdPlain, i+1 == len(v)
		}
	}
	return fdPlain, false
}
